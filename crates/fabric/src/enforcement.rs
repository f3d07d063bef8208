//! Scopes that share controllers: every host has an enforcer, which says whose turn it is, and divides
//! its downlink.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairlane_congestion::scope::{
    Enforcer, Grant, Offer, ReceiverShares, SenderId, Sent, Setting, Share, Weight,
};
use fairlane_congestion::{Ack, Environment, Loss, Scope};
use fairlane_scenario::{Scenario, Verb};
use fairlane_units::{Bytes, HostId, Rate, TenantId, Time};
use fairlane_wire::Opcode;

use crate::MessageSpec;
use crate::connection::Connection;
use crate::packet::{NONE, Packet};
use crate::rules::Rules;
use crate::world::World;

/// The trusted parts of all cards.
pub(crate) struct Enforcement {
    /// By host.
    enforcers: Vec<Enforcer>,
    /// By host, if receivers divide their links.
    receivers: Vec<ReceiverShares>,
    /// Line rates by host.
    lines: Vec<Rate>,
    /// Connections by host and sender.
    slots: Vec<Vec<u32>>,
    /// Size of a full packet on the wire.
    full: Bytes,
    /// Payload sent of messages with parts, by the message.
    wholes: BTreeMap<u32, Bytes>,
}

/// What each tenant of a scenario is entitled to.
fn weights(scenario: &Scenario) -> Vec<Weight> {
    (0..)
        .zip(scenario.tenants())
        .map(|(number, tenant)| Weight {
            tenant: TenantId::new(number),
            weight: tenant.weight,
            guarantee: tenant.guarantee,
        })
        .collect()
}

impl Enforcement {
    /// The enforcers of hosts with these line rates; nothing if each queue pair is on its own.
    /// `senders` are the tenants and hosts that data is sent by.
    pub(crate) fn new(
        scenario: &Scenario,
        rules: &Rules,
        lines: Vec<Rate>,
        environment: impl Fn(Rate) -> Environment,
        senders: &BTreeSet<(u32, TenantId)>,
    ) -> Option<Box<Self>> {
        let scope = scenario.congestion.scope;
        if !scope.is_shared() {
            return None;
        }
        let setting = Arc::new(Setting {
            scope,
            config: scenario.congestion.tenant.clone(),
            params: rules.params.clone(),
            window: rules.window,
            rounding: rules.rounding,
            paced: rules.paced,
        });
        let all = weights(scenario);
        let here = |host: u32| -> Vec<Weight> {
            let tenants = all.iter().copied();
            tenants
                .filter(|one| senders.contains(&(host, one.tenant)))
                .collect()
        };
        let enforcers = (0..)
            .zip(&lines)
            .map(|(host, &line)| Enforcer::new(setting.clone(), environment(line), &here(host)));
        let divided = scope == Scope::Tenant && setting.config.shares && all.len() > 1;
        let target = setting.params.target_utilization();
        let receivers = lines.iter().filter(|_| divided);
        Some(Box::new(Self {
            enforcers: enforcers.collect(),
            receivers: receivers
                .map(|&line| ReceiverShares::new(&setting.config, target, line, &all))
                .collect(),
            slots: vec![Vec::new(); lines.len()],
            lines,
            wholes: BTreeMap::new(),
            full: Bytes::new(u64::from(rules.largest()) - u64::from(rules.gap)),
        }))
    }

    /// Passes on an acknowledgement with what it says of the receiver's share; `lost` says that it reports
    /// a loss.
    pub(crate) fn on_ack(
        &mut self,
        now: Time,
        connection: &Connection,
        ack: &Ack<'_>,
        (grant, lost): (Grant, bool),
    ) {
        let (host, sender) = (connection.data_host() as usize, connection.sender());
        if lost {
            self.enforcers[host].on_loss(now, sender, Loss::Nak);
        }
        self.enforcers[host].on_ack(now, sender, ack, grant);
    }

    fn note(&mut self, host: u32, sender: SenderId, slot: u32) {
        let slots = &mut self.slots[host as usize];
        if slots.len() <= sender.index() {
            slots.resize(sender.index() + 1, NONE);
        }
        slots[sender.index()] = slot;
    }
}

/// Bytes of a connection's data that nobody has acknowledged.
fn in_flight(connection: &Connection) -> Bytes {
    match connection.verb {
        Verb::Read => connection.response.in_flight(),
        _ => connection.requester.bytes_in_flight(),
    }
}

/// The hosts and tenants that data is sent by.
pub(crate) fn senders(
    specs: &[MessageSpec],
    tenants: impl Iterator<Item = (u32, TenantId)>,
    host: impl Fn(fairlane_units::NodeId) -> u32,
) -> BTreeSet<(u32, TenantId)> {
    let sending = specs.iter().map(|spec| {
        let node = match spec.verb {
            Verb::Read => spec.destination,
            _ => spec.source,
        };
        (host(node), spec.tenant)
    });
    sending.chain(tenants).collect()
}

impl Connection {
    /// Whether an enforcer has it.
    #[inline]
    pub(crate) const fn is_enforced(&self) -> bool {
        self.sender != NONE
    }

    /// The host that sends its data.
    const fn data_host(&self) -> u32 {
        match self.verb {
            Verb::Read => self.response.host,
            _ => self.source,
        }
    }

    const fn tenant(&self) -> TenantId {
        TenantId::new(self.tenant as u32)
    }

    const fn sender(&self) -> SenderId {
        SenderId::from_index(self.sender)
    }
}

impl World {
    /// Makes a new connection known to the enforcer of the host that sends its data.
    pub(crate) fn enforce(&mut self, slot: u32, environment: &Environment) {
        let now = self.now();
        let Some(cards) = self.enforcement.as_deref_mut() else {
            return;
        };
        let connection = self.connections.get(slot);
        let spec = &self.specs[connection.message as usize];
        let (sends, gets) = match spec.verb {
            Verb::Read => (spec.destination, spec.source),
            _ => (spec.source, spec.destination),
        };
        let host = self.host_of[sends.index()];
        let destination = HostId::new(self.host_of[gets.index()]);
        let enforcer = &mut cards.enforcers[host as usize];
        let sender = enforcer.open(now, spec.tenant, destination, environment);
        cards.note(host, sender, slot);
        let connection = self.connections.get_mut(slot);
        connection.sender = sender.index() as u32;
        // The enforcer keeps the window.
        connection.window_limit = Bytes::new(u64::MAX);
    }

    /// Ends that.
    pub(crate) fn stop_enforcing(&mut self, slot: u32) {
        let now = self.now();
        let connection = self.connections.get_mut(slot);
        let (host, sender) = (connection.data_host(), connection.sender());
        connection.sender = NONE;
        let arrived = !connection.requester.has_failed();
        let cards = self.enforcement.as_deref_mut().expect("it is enforced");
        let enforcer = &mut cards.enforcers[host as usize];
        if arrived {
            // Feedback for the end of a READ may be lost; the READ isn't.
            enforcer.settle(sender);
        }
        enforcer.close(now, sender);
    }

    /// Tells the enforcer whether a connection has a packet that it may send.
    pub(crate) fn offer(&mut self, slot: u32, open: bool) {
        let now = self.now();
        let connection = self.connections.get(slot);
        let (host, sender) = (connection.data_host(), connection.sender());
        let offer = open.then(|| Offer {
            size: self
                .enforcement
                .as_deref()
                .map_or(Bytes::ZERO, |cards| cards.full),
            message_sent: self.message_sent(slot),
            in_flight: in_flight(connection),
        });
        let cards = self.enforcement.as_deref_mut().expect("it is enforced");
        let enforcer = &mut cards.enforcers[host as usize];
        match offer {
            Some(offer) => enforcer.offer(now, sender, offer),
            None => enforcer.withdraw(now, sender),
        }
    }

    /// Bytes of the message at hand that a connection has sent.
    fn message_sent(&self, slot: u32) -> Bytes {
        let connection = self.connections.get(slot);
        let read = connection.verb == Verb::Read;
        if connection.whole != NONE {
            let cards = self.enforcement.as_deref();
            let sent = cards.and_then(|cards| cards.wholes.get(&connection.whole));
            return sent.copied().unwrap_or_default();
        }
        if connection.stays_open {
            let psn = match read {
                true => fairlane_units::Psn::new(
                    (connection.response.next / u64::from(self.rules.mtu)) as u32,
                ),
                false => connection.requester.next_psn(),
            };
            let found = self.work_request_of(slot, psn);
            return found.map_or(Bytes::ZERO, |(_, offset)| offset);
        }
        match read {
            true => Bytes::new(connection.response.next),
            false => connection.requester.next_position(),
        }
    }

    /// The position of the connection whose turn it is at a host, as its enforcer says.
    pub(crate) fn enforced_turn(&mut self, host: u32) -> Option<u32> {
        let now = self.now();
        let cards = self.enforcement.as_deref_mut()?;
        let sender = cards.enforcers[host as usize].next(now)?;
        let slot = cards.slots[host as usize][sender.index()];
        let connection = self.connections.get(slot);
        Some(match connection.verb {
            Verb::Read => connection.response.position,
            _ => connection.position,
        })
    }

    /// When a host's enforcer may let somebody send.
    pub(crate) fn enforced_earliest(&mut self, host: u32) -> Option<Time> {
        let now = self.now();
        let cards = self.enforcement.as_deref_mut()?;
        cards.enforcers[host as usize].earliest(now)
    }

    /// A packet of `size` bytes of an enforced connection is being sent.
    pub(crate) fn charge(&mut self, slot: u32, size: Bytes) {
        let now = self.now();
        let connection = self.connections.get(slot);
        let (host, sender) = (connection.data_host(), connection.sender());
        let sent = Sent {
            size,
            in_flight: in_flight(connection),
        };
        let whole = connection.whole;
        let cards = self.enforcement.as_deref_mut().expect("it is enforced");
        if whole != NONE {
            *cards.wholes.entry(whole).or_default() += size;
        }
        cards.enforcers[host as usize].on_sent(now, sender, sent);
    }

    /// Passes something on to the enforcer that has a connection.
    pub(crate) fn tell<R>(
        &mut self,
        slot: u32,
        tell: impl FnOnce(&mut Enforcer, SenderId) -> R,
    ) -> R {
        let connection = self.connections.get(slot);
        let (host, sender) = (connection.data_host(), connection.sender());
        let cards = self.enforcement.as_deref_mut().expect("it is enforced");
        tell(&mut cards.enforcers[host as usize], sender)
    }

    /// Counts a data packet that has arrived at a host which divides its link.
    #[inline]
    pub(crate) fn count_arrival(&mut self, port: u32, packet: &Packet) {
        let now = self.now();
        let Some(cards) = self.enforcement.as_deref_mut() else {
            return;
        };
        let host = self.ports[port as usize].owner;
        let connection = self.connections.get(packet.connection);
        let (Some(receiver), true) = (
            cards.receivers.get_mut(host as usize),
            connection.is_enforced() && packet.opcode != Opcode::RcReadRequest,
        ) else {
            return;
        };
        let tenant = connection.tenant();
        let source = HostId::new(connection.data_host());
        let size = Bytes::new(u64::from(packet.wire));
        receiver.on_data(now, tenant, source, (size, packet.has(Packet::MARKED)));
    }

    /// The share that an acknowledgement of packet `at` carries from the host of `port`; 0 if none.
    #[inline]
    pub(crate) fn share(&self, port: u32, at: u32) -> u16 {
        let Some(cards) = self.enforcement.as_deref() else {
            return 0;
        };
        let host = self.ports[port as usize].owner as usize;
        let Some(receiver) = cards.receivers.get(host) else {
            return 0;
        };
        let connection = self.connections.get(self.packets.get(at).connection);
        let tenant = connection.tenant();
        // In parts of the sender's line rate, which the sender knows.
        let line = cards.lines[connection.data_host() as usize];
        let level = receiver.level(tenant);
        level.map_or(0, |level| Share::from_rate(level, line).get())
    }
}
