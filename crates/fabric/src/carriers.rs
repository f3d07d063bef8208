//! Which queue pair carries which message: one of its own, or one that stays open and carries several in the order of posting.
//!
//! A connection that stays open is named after the first of its messages. One that would carry a single message is that
//! message's own.

use std::collections::BTreeMap;

use fairlane_units::{MessageId, NodeId, TenantId};

use crate::MessageSpec;

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

/// The connections that carry messages.
#[derive(Clone, Debug)]
pub(crate) struct Carriers {
    /// By message the first one of the connection that it shares, or itself; empty if none is shared.
    firsts: Vec<MessageId>,
    /// How many messages each shared connection carries, by the first.
    counts: BTreeMap<MessageId, u32>,
}

impl Carriers {
    /// Assigns messages to connections; `shares` says which of those that have the [number](MessageSpec::connection) of a
    /// connection share it.
    pub(crate) fn new(
        specs: &[MessageSpec],
        shares: impl Fn(MessageId, &MessageSpec) -> bool,
    ) -> Self {
        let mut known: BTreeMap<Shared, MessageId> = BTreeMap::new();
        let mut counts: BTreeMap<MessageId, u32> = BTreeMap::new();
        let mut first = |(message, spec): (MessageId, &MessageSpec)| {
            let Some(shared) = Shared::of(spec).filter(|_| shares(message, spec)) else {
                return message;
            };
            let first = *known.entry(shared).or_insert(message);
            *counts.entry(first).or_default() += 1;
            first
        };
        let numbered = (0..).map(MessageId::new).zip(specs);
        let mut firsts: Vec<MessageId> = numbered.map(&mut first).collect();
        counts.retain(|_, count| *count > 1);
        if counts.is_empty() {
            firsts = Vec::new();
        }
        Self { firsts, counts }
    }

    /// The first message of the connection that carries one: the message itself if it has that alone.
    #[inline]
    pub(crate) fn first_of(&self, message: MessageId) -> MessageId {
        self.firsts.get(message.index()).copied().unwrap_or(message)
    }

    /// Whether a message is the first of several on a connection.
    pub(crate) fn is_shared(&self, message: MessageId) -> bool {
        self.counts.contains_key(&message)
    }

    /// How many messages the connection has that begins with this one.
    pub(crate) fn count(&self, first: MessageId) -> u32 {
        self.counts.get(&first).copied().unwrap_or(1)
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

    fn carriers(specs: &[MessageSpec], shares: bool) -> (Vec<u32>, Carriers) {
        let carriers = Carriers::new(specs, |_, _| shares);
        let numbers = (0..specs.len() as u32).map(MessageId::new);
        let firsts = numbers.map(|message| carriers.first_of(message).get());
        (firsts.collect(), carriers)
    }

    /// GOAL's sends name a NIC each.
    #[test]
    fn messages_on_different_planes_have_different_connections() {
        let on = |plane| MessageSpec {
            plane: Some(plane),
            ..message(Some(0), 1)
        };
        let (firsts, _) = carriers(&[on(0), on(1), on(0), on(1)], true);
        assert_eq!(firsts, [0, 1, 0, 1]);
    }

    #[test]
    fn only_what_is_shared_is_named_after_another() {
        let specs = [
            message(Some(0), 1),
            message(Some(0), 2),
            message(Some(1), 1),
            message(None, 1),
            message(Some(0), 1),
            message(Some(1), 1),
        ];
        let (firsts, known) = carriers(&specs, true);
        assert_eq!(firsts, [0, 1, 2, 3, 0, 2]);
        let shared = (0..6).filter(|&message| known.is_shared(MessageId::new(message)));
        assert_eq!(shared.collect::<Vec<u32>>(), [0, 2]);
        let count = |message| known.count(MessageId::new(message));
        assert_eq!((count(0), count(1)), (2, 1));
        let (own, none) = carriers(&specs, false);
        assert_eq!(own, [0, 1, 2, 3, 4, 5]);
        assert!((0..6).all(|message| !none.is_shared(MessageId::new(message))));
    }
}
