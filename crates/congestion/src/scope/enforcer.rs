//! The trusted part of a NIC: who may send next, and what everyone's rate is.

mod heard;
mod places;
mod rates;
mod sent;
mod turns;

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};

use super::history::History;
use super::lane::{Lane, Limited, Member, Place, Ring, Slab};
use super::pair::{HostPair, NONE, Payer};
use super::tenant::Tenant;
use super::{Config, Scope};
use crate::algorithm::Controllers;
use crate::{Environment, PacingRounding, Params, Window, WindowMode};

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
    /// Whose.
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
    /// Whether switches tell each tenant something else, so that telemetry of different tenants can't be
    /// compared.
    pub told_apart: bool,
}

/// A packet that a queue pair could send next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// Its size on the wire.
    pub size: Bytes,
    /// Bytes of its message that have been sent; those of a message on several paths count together.
    pub message_sent: Bytes,
    /// Bytes of the queue pair that nobody has acknowledged.
    pub in_flight: Bytes,
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
/// one, asks [whose turn it is](Self::next) when the transmitter is free, and passes on what comes back.
/// There are no timers: those of controllers are evaluated lazily, when a packet goes or
/// feedback comes.
#[derive(Clone, Debug)]
pub struct Enforcer {
    setting: Arc<Setting>,
    environment: Environment,
    /// For each tenant its aggregate, and the cautious one or what its limited pairs have in common; then those of pairs.
    controllers: Controllers,
    tenants: Vec<Tenant>,
    pairs: Vec<HostPair>,
    index: BTreeMap<(TenantId, HostId), u32>,
    /// Whether one controller stands for all limited pairs of a tenant: where controllers count
    /// notifications, each of k pairs would hear a k-th of them.
    pooled: bool,
    /// Whether there is a cautious aggregate: where telemetry says how much room there is.
    cautious: bool,
    /// Whether beginners are restrained after marks: where controllers count notifications.
    restrained: bool,
    /// Bytes that are the beginning of a pair.
    beginning: u32,
    /// What its budget keeps for the first product of each.
    reserve: Bytes,
    lanes: Slab<Lane>,
    members: Slab<Member>,
    /// What has been seen of ports, by tenant where each is told something else.
    histories: Vec<(TenantId, History)>,
    entries: u64,
    /// The turn that was served last.
    virtual_time: u128,
}

impl Enforcer {
    /// A NIC on which these tenants run, with the round-trip time and bandwidth-delay product that hold
    /// for all of it. Scopes other than `tenant` take all for one.
    pub fn new(setting: Arc<Setting>, environment: Environment, tenants: &[Weight]) -> Self {
        let config = &setting.config;
        let depth = scale(environment.bdp, config.depth);
        let shares = match setting.scope {
            Scope::Tenant => shares(tenants, environment.line_rate),
            _ => alloc::vec![(TenantId::new(0), 1.0)],
        };
        let beginnings = scale(environment.bdp, config.beginnings);
        let tenant = |(id, share): (TenantId, f64)| Tenant::new(id, share, depth, beginnings);
        let tenants: Vec<Tenant> = shares.into_iter().map(tenant).collect();
        let mut controllers = Controllers::new(&setting.params);
        let own = OF_TENANT * tenants.len();
        let needs = setting.params.algorithm().needs();
        (0..own).for_each(|_| controllers.push(&environment));
        Self {
            pooled: needs.hears_cnps && config.pooling,
            cautious: needs.telemetry && config.caution > 0.0,
            restrained: needs.hears_cnps && config.restraint > 0.0,
            beginning: rates::countable(scale(environment.bdp, config.beginning_length).get()),
            reserve: scale(environment.bdp, config.beginnings_reserve),
            histories: Vec::new(),
            setting,
            environment,
            controllers,
            tenants,
            pairs: Vec::new(),
            index: BTreeMap::new(),
            lanes: Slab::new(),
            members: Slab::new(),
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
        let told = by_tenant || self.setting.told_apart;
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
        SenderId(self.members.insert(Member::new(lane, history)))
    }

    /// The queue pair of a sender begins to send a second stream, with positions of its own: the two take turns
    /// behind one pacer.
    pub fn open_beside(&mut self, id: SenderId) -> SenderId {
        let Member { lane, history, .. } = self.members.all[id.0 as usize];
        self.lanes.all[lane as usize].members += 1;
        SenderId(self.members.insert(Member::new(lane, history)))
    }

    fn open_lane(&mut self, now: Time, pair: u32, tenant: u32, environment: &Environment) -> u32 {
        let shared = self.setting.scope != Scope::DestinationUnsplit;
        let state = &mut self.pairs[pair as usize];
        let lane = self.lanes.insert(Lane {
            pair,
            tenant,
            available: if shared { state.available } else { now },
            window: Window::new(self.setting.window, environment.bdp, environment.line_rate),
            in_flight: Bytes::ZERO,
            delivered: Bytes::ZERO,
            last_size: Bytes::ZERO,
            last_rate: environment.line_rate,
            early: Ring::EMPTY,
            late: Ring::EMPTY,
            entry: 0,
            entry_at: Time::MAX,
            members: 0,
            in_express: false,
            limited: Limited::No,
            weight: 0,
            awaited: Bytes::ZERO,
        });
        if shared {
            state.lane = lane;
        }
        // What is still owed was charged at about this rate.
        self.lanes.all[lane as usize].last_rate = self.rate(lane);
        lane
    }

    /// Everything that a queue pair has sent has arrived, whether or not its feedback comes.
    pub fn settle(&mut self, id: SenderId) {
        self.set_in_flight(id, Bytes::ZERO);
    }

    /// A queue pair ends. Bytes in flight count as lost to congestion, unless it was
    /// [settled](Self::settle).
    pub fn close(&mut self, now: Time, id: SenderId) {
        self.withdraw(now, id);
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
        self.await_heard(lane);
        let state = &mut self.lanes.all[lane as usize];
        if state.members > 0 {
            self.schedule(now, lane);
            return;
        }
        let pair = &mut self.pairs[state.pair as usize];
        if pair.lane == lane {
            pair.lane = NONE;
            pair.available = state.available;
        }
        let (pair, delivered) = (state.pair, state.delivered);
        if state.in_express {
            let express = &mut self.tenants[state.tenant as usize].express;
            express.retain(|&one| one != lane);
        }
        self.lanes.remove(lane);
        if self.setting.scope != Scope::DestinationUnsplit {
            let controller = self.controller(pair);
            self.controllers.rebase(controller, delivered);
        }
    }

    /// Bytes will never be acknowledged because their queue pair has gone. Whatever they met, nobody
    /// would hear of it; so they count as if it had been congestion.
    fn disown(&mut self, now: Time, lane: u32) {
        let Lane { pair, tenant, .. } = self.lanes.all[lane as usize];
        let beginner = self.pairs[pair as usize].heard < self.horizon();
        let teaches = self.setting.scope == Scope::Tenant && beginner;
        let own = self.controller(pair);
        for controller in core::iter::once(own).chain(teaches.then_some(tenant as usize)) {
            let half = self.controllers.rate(controller) / 2;
            self.controllers.approach(controller, now, half, 1.0);
        }
    }

    /// A queue pair could send this packet.
    pub fn offer(&mut self, now: Time, id: SenderId, offer: Offer) {
        let at = self.members.all[id.0 as usize].lane;
        self.set_in_flight(id, offer.in_flight);
        if !self.lanes.all[at as usize].has_packet() {
            self.activate(now, at);
        }
        let early =
            self.setting.scope == Scope::Tenant && offer.message_sent < self.environment.bdp;
        let place = if early { Place::Early } else { Place::Late };
        self.members.all[id.0 as usize].wire = offer.size;
        self.put(at, id.0, place);
        self.count_limited(now, at);
        self.schedule(now, at);
    }

    /// A queue pair has nothing that it may send.
    pub fn withdraw(&mut self, now: Time, id: SenderId) {
        let at = self.members.all[id.0 as usize].lane;
        self.put(at, id.0, Place::Idle);
        self.count_limited(now, at);
        self.schedule(now, at);
    }

    /// Bytes of a queue pair that nobody has acknowledged.
    fn set_in_flight(&mut self, id: SenderId, in_flight: Bytes) {
        let member = &mut self.members.all[id.0 as usize];
        let lane = &mut self.lanes.all[member.lane as usize];
        let others = lane.in_flight.saturating_sub(member.in_flight);
        lane.in_flight = others + in_flight;
        let lane = member.lane;
        member.in_flight = in_flight;
        self.await_heard(lane);
    }

    /// Brings up to date what a tenant's aggregate waits for.
    fn await_heard(&mut self, at: u32) {
        let lane = &self.lanes.all[at as usize];
        let beginner = self.pairs[lane.pair as usize].heard < self.horizon();
        let awaited = match beginner {
            true => lane.in_flight,
            false => Bytes::ZERO,
        };
        let tenant = &mut self.tenants[lane.tenant as usize];
        tenant.awaited = tenant.awaited + awaited - lane.awaited;
        self.lanes.all[at as usize].awaited = awaited;
    }

    /// Moves a queue pair between the lists of its lane.
    fn put(&mut self, lane: u32, id: u32, place: Place) {
        let lane = &mut self.lanes.all[lane as usize];
        let was = core::mem::replace(&mut self.members.all[id as usize].place, place);
        if was == place {
            return;
        }
        if let Some(ring) = lane.ring_mut(was) {
            ring.remove(&mut self.members.all, id);
        }
        if let Some(ring) = lane.ring_mut(place) {
            ring.push(&mut self.members.all, id);
        }
    }

    /// A lane gets something to send.
    fn activate(&mut self, now: Time, at: u32) {
        let lane = &self.lanes.all[at as usize];
        let config = &self.setting.config;
        let pair = &mut self.pairs[lane.pair as usize];
        // A young one stays as it is: it has heard nothing since.
        let begins = !pair.young && !pair.is_proven(now, config.young_after);
        if self.setting.scope != Scope::Tenant || !begins {
            return;
        }
        let recovery = config.idle_recovery;
        let idle = !pair.is_fresh(now, config.young_after);
        let span = pair.idle(now).filter(|_| idle);
        let share = span.map_or(0.0, |span| recovered(span, recovery));
        if idle {
            pair.set_cap(None);
        }
        pair.rejuvenate(Payer::Credit);
        let controller = self.controller(lane.pair);
        if share > 0.0 {
            self.controllers.recover(controller, share);
        }
    }

    /// The rate of a queue pair's lane, express credit aside.
    pub fn rate_of(&self, id: SenderId) -> Rate {
        self.rate(self.members.all[id.0 as usize].lane)
    }

    /// Pairs that the NIC remembers.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }
}

/// Controllers of a tenant: its aggregate, and a second one, which hears of more or gives way more.
const OF_TENANT: usize = 2;

/// What guarantees leave to tenants without one, so that nobody starves.
const LEAST_SHARE: f64 = 1e-3;

/// The share of the distance to the line rate that an idle time recovers.
fn recovered(idle: Duration, recovery: Duration) -> f64 {
    if recovery.is_zero() {
        return 0.0;
    }
    1.0 - libm::exp(-(idle.as_ns_f64() / recovery.as_ns_f64()))
}

/// What each tenant has of a NIC: its guarantee, and by weight of what is left.
fn shares(tenants: &[Weight], line_rate: Rate) -> Vec<(TenantId, f64)> {
    let weights: f64 = tenants.iter().map(|one| one.weight).sum();
    let guaranteed = |one: &Weight| one.guarantee.map_or(0.0, Rate::as_f64) / line_rate.as_f64();
    let all: f64 = tenants.iter().map(guaranteed).sum();
    // Guarantees that the NIC can't give together shrink alike.
    let fits = if all > 1.0 { 1.0 / all } else { 1.0 };
    let left = (1.0 - all * fits).max(LEAST_SHARE);
    let share = |one: &Weight| fits * guaranteed(one) + left * one.weight / weights;
    let share = |one: &Weight| (one.tenant, share(one));
    tenants.iter().map(share).collect()
}

/// `factor` times `bytes`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
const fn scale(bytes: Bytes, factor: f64) -> Bytes {
    Bytes::new((bytes.as_f64() * factor) as u64)
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
