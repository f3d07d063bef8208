//! The trusted part of a NIC: who may send next, and what everyone's rate is.

mod heard;
mod places;
mod turns;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

use super::debt::Debt;
use super::history::History;
use super::lane::{Allowed, Lane, Member, Ring, Slab};
use super::pair::{HostPair, NONE};
use super::tenant::{Tenant, shares};
use super::{Config, Scope};
use crate::algorithm::Controllers;
use crate::{Environment, Pacer, PacingRounding, Params, Window, WindowMode};

/// A queue pair that an [`Enforcer`] knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SenderId(u32);

impl SenderId {
    /// The number of the queue pair at its NIC; numbers of closed ones are used again.
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The queue pair with this [`index`](Self::index).
    pub const fn from_index(index: u32) -> Self {
        Self(index)
    }
}

/// What a tenant is entitled to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weight {
    /// The tenant that this weight is for.
    pub tenant: TenantId,
    /// Its part relative to those of others, above zero.
    pub weight: f64,
    /// What it gets of every link in any case.
    pub guarantee: Option<Rate>,
}

/// What every NIC of a fabric has in common.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Who shares a controller; one that [is shared](Scope::is_shared).
    pub scope: Scope,
    /// Parameters of scope `tenant`.
    pub config: Config,
    /// The algorithm of every controller.
    pub params: Params,
    /// Whether and how bytes in flight are limited.
    pub window: WindowMode,
    /// How times of packets are rounded.
    pub rounding: PacingRounding,
    /// Whether the rate paces packets; without, only the window limits.
    pub paced: bool,
    /// Whether ECN marks and telemetry are computed per tenant, so that telemetry of different tenants can't be
    /// compared.
    pub per_tenant_feedback: bool,
}

/// A packet that a queue pair could send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Bytes of the queue pair that nobody has acknowledged.
    pub in_flight: Bytes,
    /// Payload of the message that the packet is of.
    pub message: Bytes,
}

/// A packet that a queue pair sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Its size on the wire.
    pub size: Bytes,
    /// Bytes of the queue pair that nobody has acknowledged, this packet's among them.
    pub in_flight: Bytes,
}

/// Holds the queue pairs of a NIC to what their scope allows.
///
/// A driver [opens](Self::open) each queue pair here, [offers](Self::offer) its next packet when it has
/// one, and asks [whose turn it is](Self::next) when the transmitter is free. Once a packet has been [sent](Self::on_sent)
/// it offers the queue pair's next one, or [withdraws](Self::withdraw) the queue pair. It passes on what comes back.
/// There are no timers: those of controllers are evaluated lazily, when a packet goes or
/// feedback comes.
#[derive(Clone, Debug)]
pub struct Enforcer {
    setting: Arc<Setting>,
    environment: Environment,
    /// By number of the pair.
    controllers: Controllers,
    pairs: Vec<HostPair>,
    tenants: Vec<Tenant>,
    index: BTreeMap<(TenantId, HostId), u32>,
    lanes: Slab<Lane>,
    members: Slab<Member>,
    /// What has been seen of ports, by tenant where each is told something else.
    histories: Vec<(TenantId, History)>,
    entries: u64,
    /// Payload of the largest message that is small: what a pair may send ahead of its pace. Zero if nothing is.
    ahead: Bytes,
    /// Packets sent.
    sent: u64,
    /// The turn that was served last.
    virtual_time: u128,
}

impl Enforcer {
    /// A NIC on which these tenants run, with the round-trip time and bandwidth-delay product that hold
    /// for all of it. Scopes other than `tenant` take all for one.
    pub fn new(setting: Arc<Setting>, environment: Environment, tenants: &[Weight]) -> Self {
        let shares = match setting.scope {
            Scope::Tenant => shares(tenants, environment.line_rate),
            _ => alloc::vec![(TenantId::new(0), 1.0)],
        };
        let tenant = |(id, share): (TenantId, f64)| Tenant::new(id, share);
        let ahead = match setting.scope {
            Scope::Tenant => setting.config.ahead(environment.bdp),
            _ => Bytes::ZERO,
        };
        Self {
            ahead,
            sent: 0,
            controllers: Controllers::new(&setting.params),
            tenants: shares.into_iter().map(tenant).collect(),
            setting,
            environment,
            pairs: Vec::new(),
            index: BTreeMap::new(),
            lanes: Slab::new(),
            members: Slab::new(),
            histories: Vec::new(),
            entries: 0,
            virtual_time: 0,
        }
    }

    /// A queue pair of `tenant` to `destination` begins.
    ///
    /// # Panics
    /// If the NIC doesn't know the tenant.
    pub fn open(
        &mut self,
        now: Time,
        tenant: TenantId,
        destination: HostId,
        environment: &Environment,
    ) -> SenderId {
        let first = TenantId::new(0);
        let by_tenant = self.setting.scope == Scope::Tenant;
        let told = by_tenant || self.setting.per_tenant_feedback;
        let owner = if told { tenant } else { first };
        let history = shared(&mut self.histories, owner, self.environment.base_rtt);
        let tenant = if by_tenant { tenant } else { first };
        let at = self.tenants.iter().position(|one| one.id == tenant);
        let at = at.expect("a tenant of this NIC") as u32;
        let pair = self.pair(now, (tenant, destination), at, environment);
        let lane = match self.pairs[pair as usize].lane {
            NONE => self.open_lane(now, pair, at, environment),
            lane => lane,
        };
        self.lanes.all[lane as usize].members += 1;
        let member = Member::new(lane, history, self.sent);
        SenderId(self.members.insert(member))
    }

    /// The queue pair of a sender begins to send a second stream, with positions of its own: the two take turns
    /// behind one pacer.
    pub fn open_beside(&mut self, id: SenderId) -> SenderId {
        let Member { lane, history, .. } = self.members.all[id.0 as usize];
        self.lanes.all[lane as usize].members += 1;
        let member = Member::new(lane, history, self.sent);
        SenderId(self.members.insert(member))
    }

    fn open_lane(&mut self, now: Time, pair: u32, tenant: u32, environment: &Environment) -> u32 {
        let shared = self.setting.scope != Scope::DestinationUnsplit;
        let state = &mut self.pairs[pair as usize];
        let lane = self.lanes.insert(Lane {
            pair,
            tenant,
            pacer: Pacer::new(if shared { state.available } else { now }),
            charged: environment.line_rate,
            debt: Debt::new(now),
            window: Window::new(self.setting.window, environment.bdp, environment.line_rate),
            allowed: Allowed {
                rate: environment.line_rate,
                window: Bytes::ZERO,
                carried: environment.line_rate,
            },
            in_flight: Bytes::ZERO,
            small: Ring::EMPTY,
            large: Ring::EMPTY,
            entry: 0,
            entry_at: Time::MAX,
            members: 0,
        });
        if shared {
            state.lane = lane;
        }
        let allowed = self.allowed(lane);
        let opened = &mut self.lanes.all[lane as usize];
        opened.allowed = allowed;
        let HostPair {
            available, owed, ..
        } = self.pairs[pair as usize];
        let owed = Bytes::new(owed.into()).serialization(allowed.carried);
        opened.debt.resume(available.saturating_add(owed));
        lane
    }

    /// Everything that a queue pair has sent has arrived, whether or not its feedback comes.
    pub fn settle(&mut self, id: SenderId) {
        let member = &mut self.members.all[id.0 as usize];
        member.timed = None;
        let Member {
            lane, in_flight, ..
        } = *member;
        if !in_flight.is_zero() {
            self.set_in_flight(id, Bytes::ZERO);
            self.schedule(lane);
        }
    }

    /// A queue pair ends. Bytes in flight count as lost to congestion, unless it was
    /// [settled](Self::settle).
    pub fn close(&mut self, now: Time, id: SenderId) {
        self.withdraw(id);
        let Member {
            lane, in_flight, ..
        } = self.members.all[id.0 as usize];
        self.members.remove(id.0);
        if !in_flight.is_zero() {
            self.disown(now, lane);
        }
        let state = &mut self.lanes.all[lane as usize];
        state.in_flight = state.in_flight.saturating_sub(in_flight);
        state.members -= 1;
        if state.members > 0 {
            self.schedule(lane);
            return;
        }
        let pair = &mut self.pairs[state.pair as usize];
        if pair.lane == lane {
            pair.lane = NONE;
            pair.available = state.pacer.available();
            let owed = state.debt.paid_at().saturating_since(pair.available);
            let owed = state.allowed.carried.bytes_in(owed).get();
            pair.owed = u32::try_from(owed).unwrap_or(u32::MAX);
        }
        self.lanes.remove(lane);
    }

    /// A queue pair has a packet that it could send.
    pub fn offer(&mut self, id: SenderId, offer: Offer) {
        self.set_in_flight(id, offer.in_flight);
        let small = self.is_small(offer.message);
        if self.members.all[id.0 as usize].small != small {
            self.put(id, false);
            self.members.all[id.0 as usize].small = small;
        }
        self.put(id, true);
        self.schedule(self.members.all[id.0 as usize].lane);
    }

    /// Whether packets of a message with so much payload may leave ahead of their pair's pace.
    pub fn is_small(&self, message: Bytes) -> bool {
        !self.ahead.is_zero() && message <= self.ahead
    }

    /// A queue pair has nothing that it may send.
    pub fn withdraw(&mut self, id: SenderId) {
        if self.put(id, false) {
            self.schedule(self.members.all[id.0 as usize].lane);
        }
    }

    /// Bytes of a queue pair that nobody has acknowledged.
    fn set_in_flight(&mut self, id: SenderId, in_flight: Bytes) {
        let member = &mut self.members.all[id.0 as usize];
        let lane = &mut self.lanes.all[member.lane as usize];
        let others = lane.in_flight.saturating_sub(member.in_flight);
        lane.in_flight = others + in_flight;
        member.in_flight = in_flight;
    }

    /// Has a queue pair take part in the turns of its lane, or not; whether that is new.
    fn put(&mut self, id: SenderId, ready: bool) -> bool {
        let member = &mut self.members.all[id.0 as usize];
        if core::mem::replace(&mut member.ready, ready) == ready {
            return false;
        }
        let lane = &mut self.lanes.all[member.lane as usize];
        let ring = lane.ring(member.small);
        match ready {
            true => ring.push(&mut self.members.all, id.0),
            false => ring.remove(&mut self.members.all, id.0),
        }
        true
    }

    /// The rate of a queue pair's lane: what its controller lets go, by rate or by window.
    pub fn rate_of(&self, id: SenderId) -> Rate {
        let lane = self.members.all[id.0 as usize].lane;
        self.lanes.all[lane as usize].allowed.carried
    }

    /// The rate that a queue pair's lane could use: more than its own for a `small` message that may leave ahead of its pace.
    pub fn usable(&self, now: Time, id: SenderId, small: bool) -> Rate {
        let at = self.members.all[id.0 as usize].lane;
        match small && self.ahead_of_pace(at) <= now {
            true => self.environment.line_rate,
            false => self.lanes.all[at as usize].allowed.carried,
        }
    }

    /// Pairs that the NIC remembers.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }
}

/// The history that a tenant shares in.
#[expect(clippy::cast_possible_truncation, reason = "memory ends earlier")]
fn shared(histories: &mut Vec<(TenantId, History)>, tenant: TenantId, base_rtt: Duration) -> u32 {
    let known = histories.iter().position(|(one, _)| *one == tenant);
    let at = known.unwrap_or_else(|| {
        histories.push((tenant, History::new(base_rtt)));
        histories.len() - 1
    });
    at as u32
}
