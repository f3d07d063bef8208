//! Which queue pair carries which message: one of its own, or one that stays open and carries several in the order of posting.
//!
//! A connection that stays open has the flow number of the first of its messages. One that would carry a single message is
//! that message's own.

use std::collections::BTreeMap;
use std::sync::Arc;

use fairlane_units::{NodeId, TenantId};

use crate::MessageSpec;
use crate::packet::NONE;

/// What messages of one connection have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Shared {
    number: u32,
    /// Workloads may have congestion controls of their own.
    workload: u32,
    source: NodeId,
    destination: NodeId,
    class: u8,
    tenant: TenantId,
    /// The plane that the message names itself: a queue pair belongs to one port.
    plane: Option<u8>,
}

impl Shared {
    /// What a message with the [number](MessageSpec::connection) of a connection has in common with others.
    pub(crate) fn of(spec: &MessageSpec) -> Option<Self> {
        Some(Self {
            number: spec.connection?,
            workload: spec.workload,
            source: spec.source,
            destination: spec.destination,
            class: spec.class,
            tenant: spec.tenant,
            plane: spec.plane,
        })
    }
}

/// The flows that carry messages.
#[derive(Clone, Debug)]
pub(crate) struct Carriers {
    /// By message the flow of a connection that stays open, or [`NONE`]; empty if there is no such connection.
    flows: Arc<[u32]>,
    /// For each such connection how many messages it carries, by flow.
    counts: Arc<BTreeMap<u32, u32>>,
}

impl Carriers {
    /// Assigns messages to connections; `shares` says which of those that have the [number](MessageSpec::connection) of a
    /// connection share it.
    pub(crate) fn new(specs: &[MessageSpec], shares: impl Fn((u32, &MessageSpec)) -> bool) -> Self {
        let mut firsts: BTreeMap<Shared, u32> = BTreeMap::new();
        let mut counts: BTreeMap<u32, u32> = BTreeMap::new();
        let mut carrier = |(message, spec): (u32, &MessageSpec)| {
            let Some(shared) = Shared::of(spec).filter(|_| shares((message, spec))) else {
                return NONE;
            };
            let first = *firsts.entry(shared).or_insert(message);
            *counts.entry(first).or_default() += 1;
            first
        };
        let mut flows: Vec<u32> = (0..).zip(specs).map(&mut carrier).collect();
        counts.retain(|_, count| *count > 1);
        if counts.is_empty() {
            flows.clear();
        }
        for flow in &mut flows {
            if *flow != NONE && !counts.contains_key(flow) {
                *flow = NONE;
            }
        }
        Self {
            flows: flows.into(),
            counts: Arc::new(counts),
        }
    }

    /// The flow that carries a message.
    pub(crate) fn flow_of(&self, message: u32) -> u32 {
        match self.flows.get(message as usize) {
            None | Some(&NONE) => message,
            Some(&flow) => flow,
        }
    }

    /// Whether a flow is a connection that stays open for several messages.
    #[inline]
    pub(crate) fn stays_open(&self, flow: u32) -> bool {
        self.flows.get(flow as usize) == Some(&flow)
    }

    /// How many messages a flow carries.
    pub(crate) fn count(&self, flow: u32) -> u32 {
        self.counts.get(&flow).copied().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use fairlane_scenario::Verb;
    use fairlane_units::{Bytes, Duration, Time};

    use super::*;

    fn message(connection: Option<u32>, destination: u32) -> MessageSpec {
        MessageSpec {
            workload: 0,
            source: NodeId::new(0),
            destination: NodeId::new(destination),
            size: Bytes::new(1),
            start: Time::ZERO,
            class: 3,
            verb: Verb::Write,
            destination_port: 100,
            after: None,
            joins: None,
            delay: Duration::ZERO,
            part_of: None,
            connection,
            iteration: 0,
            plane: None,
            tenant: TenantId::default(),
        }
    }

    /// GOAL's sends name a NIC each.
    #[test]
    fn messages_on_different_planes_have_different_connections() {
        let on = |plane| MessageSpec {
            plane: Some(plane),
            ..message(Some(0), 1)
        };
        let carriers = Carriers::new(&[on(0), on(1), on(0), on(1)], |_| true);
        let flows: Vec<u32> = (0..4).map(|message| carriers.flow_of(message)).collect();
        assert_eq!(flows, [0, 1, 0, 1]);
    }

    #[test]
    fn only_what_is_shared_has_the_number_of_another() {
        let specs = [
            message(Some(0), 1),
            message(Some(0), 2),
            message(Some(1), 1),
            message(None, 1),
            message(Some(0), 1),
            message(Some(1), 1),
        ];
        let carriers = Carriers::new(&specs, |_| true);
        let flows: Vec<u32> = (0..6).map(|message| carriers.flow_of(message)).collect();
        assert_eq!(flows, [0, 1, 2, 3, 0, 2]);
        let open: Vec<bool> = (0..6).map(|flow| carriers.stays_open(flow)).collect();
        assert_eq!(open, [true, false, true, false, false, false]);
        assert_eq!((carriers.count(0), carriers.count(1)), (2, 1));
        let own = Carriers::new(&specs, |_| false);
        assert!((0..6).all(|message| own.flow_of(message) == message && !own.stays_open(message)));
    }
}
