//! The messages of a run, and the flows that carry them.
//!
//! Every message has the number of a flow, whether it uses that flow or shares another's; the queue pairs that stay open have
//! those behind. That only this file knows: elsewhere a flow is asked for its [`FlowKind`].

use std::sync::Arc;

use fairlane_units::{Bytes, FlowId, MessageId, QpId};

use crate::MessageSpec;
use crate::carriers::Carriers;
use crate::controls::Controls;
use crate::rules::Rules;
use crate::spec::ConnectionSpec;

/// What a flow carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowKind {
    /// A message, over a connection of its own.
    Message(MessageId),
    /// Several messages in the order of posting, of which this is the first.
    Shared(MessageId),
    /// The operations of applications that use this queue pair.
    Application(QpId),
    /// Parts of messages that have several paths, over this queue pair.
    Path(QpId),
}

impl FlowKind {
    /// The queue pair that stays open, if it is one.
    #[inline]
    pub(crate) const fn qp(self) -> Option<QpId> {
        match self {
            Self::Application(qp) | Self::Path(qp) => Some(qp),
            Self::Message(_) | Self::Shared(_) => None,
        }
    }
}

/// Queue pairs that stay open, by [`QpId`]: first those of applications, then paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenQueuePairs {
    pub(crate) specs: Vec<ConnectionSpec>,
    /// How many of them are applications'.
    pub(crate) applications: usize,
}

/// The messages of a run, and the flows that carry them. It doesn't change, and all parts of a fabric share it.
#[derive(Clone, Debug)]
pub(crate) struct Traffic {
    messages: Vec<MessageSpec>,
    qps: Vec<ConnectionSpec>,
    /// By flow.
    kinds: Vec<FlowKind>,
    carriers: Carriers,
    /// Whether work requests of paths pass a NIC with costs, as those of applications do.
    paths_pay: bool,
    /// What profile and scenario make of the fabric.
    pub(crate) rules: Arc<Rules>,
    /// Congestion controls of some messages, with rules of their own.
    pub(crate) controls: Controls,
}

impl Traffic {
    pub(crate) fn new(
        messages: Vec<MessageSpec>,
        qps: OpenQueuePairs,
        carriers: Carriers,
        rules: Arc<Rules>,
        controls: Controls,
        paths_pay: bool,
    ) -> Self {
        let count = messages.len() as u32;
        let of_messages = (0..count).map(|number| {
            let message = MessageId::new(number);
            match carriers.is_shared(message) {
                true => FlowKind::Shared(message),
                false => FlowKind::Message(message),
            }
        });
        let of_qps = (0..qps.specs.len()).map(|at| {
            let qp = QpId::new(at as u32);
            match at < qps.applications {
                true => FlowKind::Application(qp),
                false => FlowKind::Path(qp),
            }
        });
        Self {
            kinds: of_messages.chain(of_qps).collect(),
            messages,
            qps: qps.specs,
            carriers,
            paths_pay,
            rules,
            controls,
        }
    }

    /// The flow of a queue pair that stays open, if there are so many `messages`.
    pub(crate) const fn flow_of_qp(messages: usize, qp: QpId) -> FlowId {
        FlowId::new(messages as u32 + qp.get())
    }

    pub(crate) fn messages(&self) -> &[MessageSpec] {
        &self.messages
    }

    #[inline]
    pub(crate) fn message(&self, message: MessageId) -> &MessageSpec {
        &self.messages[message.index()]
    }

    /// What each flow carries in all, where sequence numbers end with it.
    pub(crate) fn lengths(&self) -> impl Iterator<Item = Bytes> + '_ {
        self.kinds.iter().map(|kind| match kind {
            FlowKind::Message(message) => self.message(*message).size,
            _ => Bytes::new(u64::MAX),
        })
    }

    /// How many flows there are, used or not.
    pub(crate) const fn flow_count(&self) -> usize {
        self.kinds.len()
    }

    /// The flows, in order.
    pub(crate) fn flows(&self) -> impl Iterator<Item = FlowId> + use<> {
        (0..self.kinds.len() as u32).map(FlowId::new)
    }

    /// Queue pairs of applications, with their flows.
    pub(crate) fn applications(&self) -> impl Iterator<Item = (QpId, FlowId)> + '_ {
        let kinds = self.flows().zip(&self.kinds).skip(self.messages.len());
        kinds.filter_map(|(flow, kind)| match kind {
            FlowKind::Application(qp) => Some((*qp, flow)),
            _ => None,
        })
    }

    #[inline]
    pub(crate) fn kind(&self, flow: FlowId) -> FlowKind {
        self.kinds[flow.index()]
    }

    #[inline]
    pub(crate) fn is_path(&self, flow: FlowId) -> bool {
        matches!(self.kind(flow), FlowKind::Path(_))
    }

    #[inline]
    pub(crate) fn is_shared(&self, flow: FlowId) -> bool {
        matches!(self.kind(flow), FlowKind::Shared(_))
    }

    /// The queue pair of a flow whose work requests pass a NIC with costs.
    #[inline]
    pub(crate) fn charged_qp(&self, flow: FlowId) -> Option<QpId> {
        match self.kind(flow) {
            FlowKind::Application(qp) => Some(qp),
            FlowKind::Path(qp) if self.paths_pay => Some(qp),
            _ => None,
        }
    }

    /// The two ends of a flow.
    #[inline]
    pub(crate) fn connection(&self, flow: FlowId) -> ConnectionSpec {
        match self.kind(flow) {
            FlowKind::Message(message) | FlowKind::Shared(message) => {
                ConnectionSpec::of(self.message(message))
            }
            FlowKind::Application(qp) | FlowKind::Path(qp) => self.qps[qp.index()],
        }
    }

    /// The rules under the congestion control of a flow.
    pub(crate) fn rules_of(&self, flow: FlowId) -> &Rules {
        let control = self.controls.of(&self.connection(flow));
        self.controls.rules(control).unwrap_or(&self.rules)
    }

    /// The flow that carries a message; of one with several paths a flow without packets, labelled as the first path.
    #[inline]
    pub(crate) fn flow_of(&self, message: MessageId) -> FlowId {
        FlowId::new(self.carriers.first_of(message).get())
    }

    /// How many messages a flow carries; of queue pairs that stay open nothing is known beforehand.
    pub(crate) fn message_count(&self, flow: FlowId) -> u32 {
        match self.kind(flow) {
            FlowKind::Shared(first) => self.carriers.count(first),
            _ => 1,
        }
    }
}
