//! Messages that NICs outside of a simulation carry: what their driver is to do, and what it has said.

use std::collections::{BTreeMap, VecDeque};

use fairlane_congestion::Telemetry;
use fairlane_network::capture::CaptureRecord;
use fairlane_network::flow::Flow;
use fairlane_network::{Attachment, Attachments, Delivery, Edge, Network, Packet};
use fairlane_nic::Ledger;
use fairlane_units::{Bytes, FlowId, HostId, MessageId, TenantId};

/// Something that concerns NICs outside of a simulation.
#[derive(Clone, Copy, Debug)]
pub enum Happening {
    /// A message is posted at its source.
    Posted(MessageId),
    /// A packet has come to a host.
    Arrived {
        /// The packet, as it has come.
        packet: Packet,
        /// What its driver had of it.
        attachment: Attachment,
    },
    /// A packet was lost, of which the driver had this. No NIC hears of it.
    Lost(Attachment),
    /// A packet has passed a captured port; it is told of all of them, in order.
    Captured {
        /// As it is recorded.
        record: CaptureRecord,
        /// What its driver has of it, if that is one outside.
        attachment: Option<Attachment>,
    },
    /// The classes of a host's port that are paused have changed.
    Pauses {
        /// The host.
        host: HostId,
        /// Its port, counted from 0.
        plane: u8,
        /// The classes that are paused now, as a bit set.
        paused: u8,
    },
    /// The transmitter of a host's port is free, and nobody else uses it. Who has nothing to send
    /// [says so](crate::LiveSimulation::resume).
    Free {
        /// The host.
        host: HostId,
        /// Its port, counted from 0.
        plane: u8,
    },
}

/// What NICs outside know of a message that they carry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CarriedState {
    /// How much of it its source knows to have arrived.
    pub acknowledged: Bytes,
    /// How much of it has been placed at its receiver.
    pub placed: Bytes,
    /// Packets sent more than once.
    pub retransmitted: u32,
}

/// NICs outside, as the simulation knows them.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    /// By flow, whether two of them carry it.
    carried: Vec<bool>,
    /// Tenants of flows that were opened since, which come behind these.
    opened: Vec<TenantId>,
    /// By port of the network, whether it is one of theirs.
    attached: Vec<bool>,
    attachments: Attachments,
    /// By attachment, what switches wrote into a packet that has come, if packets collect telemetry.
    telemetry: Vec<Telemetry>,
    /// What their driver hasn't heard of.
    pub(crate) happened: VecDeque<Happening>,
    /// By port of the network, whether one of them has sent last.
    pub(crate) sent_last: Vec<bool>,
    /// What their driver has said of messages that haven't ended, or have just done so.
    states: BTreeMap<MessageId, CarriedState>,
    /// What they have counted.
    pub(crate) ledger: Ledger,
    /// Whether one of them will do something by itself.
    pub(crate) will_act: bool,
}

impl Outside {
    /// NICs at those ports that are `attached`, for those flows that are `carried`.
    pub(crate) fn new(carried: Vec<bool>, attached: Vec<bool>, tenants: usize) -> Self {
        Self {
            sent_last: vec![false; attached.len()],
            carried,
            opened: Vec::new(),
            attached,
            attachments: Attachments::default(),
            telemetry: Vec::new(),
            happened: VecDeque::new(),
            states: BTreeMap::new(),
            ledger: Ledger::of(tenants),
            will_act: false,
        }
    }

    /// Whether two of them carry a flow.
    pub(crate) fn carries(&self, flow: FlowId) -> bool {
        let carried = self.carried.get(flow.index());
        carried.is_none_or(|carried| *carried)
    }

    /// A NIC is attached to a port of the network.
    pub(crate) fn attach(&mut self, port: u32) {
        self.attached[port as usize] = true;
    }

    /// Opens a flow of a tenant for them.
    pub(crate) fn open(&mut self, net: &mut Network, flow: Flow, tenant: TenantId) -> FlowId {
        let number = FlowId::new((self.carried.len() + self.opened.len()) as u32);
        self.opened.push(tenant);
        self.edge(net).set_flow(number, flow);
        number
    }

    /// The tenant of a flow that was opened for them.
    pub(crate) fn tenant(&self, flow: FlowId) -> Option<TenantId> {
        let place = flow.index().checked_sub(self.carried.len())?;
        self.opened.get(place).copied()
    }

    /// A packet has come to a port of a host; whether one of the NICs takes it.
    pub(crate) fn take_in(&mut self, net: &mut Network, at: u32) -> bool {
        let flow = net.packets.get(at).flow;
        if !self.carries(flow) {
            return false;
        }
        self.take_captured(net);
        let side = net.packets.get(at).towards();
        let Self {
            attachments,
            happened,
            telemetry: known,
            ..
        } = self;
        let mut edge = Edge { net, attachments };
        let port = edge.port_of(flow, side);
        edge.take_out(port, at, |delivery| {
            if let Delivery::Packet {
                packet,
                attachment: Some(attachment),
                telemetry,
                ..
            } = delivery
            {
                if let Some(telemetry) = telemetry {
                    let place = attachment.get() as usize;
                    known.resize(known.len().max(place + 1), Telemetry::EMPTY);
                    known[place] = *telemetry;
                }
                happened.push_back(Happening::Arrived { packet, attachment });
            }
        });
        true
    }

    /// The transmitter of a host's port is free: whether it is their turn, and nobody else is to use it before their driver has said so.
    pub(crate) fn takes_turn(&mut self, number: u32, host: HostId, plane: u8) -> bool {
        let number = number as usize;
        let theirs = self.attached[number] && !std::mem::take(&mut self.sent_last[number]);
        if theirs {
            self.happened.push_back(Happening::Free { host, plane });
        }
        theirs
    }

    /// Others have had their turn: the driver hears when the transmitter of the port is free, which it is if they had nothing.
    pub(crate) fn comes_again(&mut self, net: &mut Network, number: u32, host: HostId, plane: u8) {
        match net.is_busy(number) {
            true if self.attached[number as usize] => net.await_port(number),
            true => {}
            false => drop(self.takes_turn(number, host, plane)),
        }
    }

    /// Their driver hears which classes of a host's port are paused now.
    pub(crate) fn tell_pauses(&mut self, net: &Network, number: u32, host: HostId, plane: u8) {
        if self.attached[number as usize] {
            let paused = net.ports()[number as usize].paused;
            self.happened.push_back(Happening::Pauses {
                host,
                plane,
                paused,
            });
        }
    }

    /// Their driver hears of what was lost.
    pub(crate) fn take_lost(&mut self, net: &mut Network) {
        let Self {
            attachments,
            happened,
            ..
        } = self;
        let mut edge = Edge { net, attachments };
        edge.take_lost(|lost| happened.extend(lost.attachment.map(Happening::Lost)));
    }

    /// What switches wrote into the packet that has come last of those that had an attachment.
    pub(crate) fn telemetry(&self, attachment: Attachment) -> Option<&Telemetry> {
        self.telemetry.get(attachment.get() as usize)
    }

    /// Their driver hears of what was captured.
    pub(crate) fn take_captured(&mut self, net: &mut Network) {
        let Self {
            attachments,
            happened,
            ..
        } = self;
        let mut edge = Edge { net, attachments };
        edge.take_captured(|record, attachment| {
            let record = *record;
            happened.push_back(Happening::Captured { record, attachment });
        });
    }

    /// Flows that were opened for them.
    pub(crate) fn opened(&self) -> impl Iterator<Item = FlowId> + use<> {
        let first = self.carried.len() as u32;
        (first..first + self.opened.len() as u32).map(FlowId::new)
    }

    /// Their driver says how far a message is.
    pub(crate) fn note(&mut self, message: MessageId, state: CarriedState) {
        self.states.insert(message, state);
    }

    /// How far a message is that they carry, if their driver has said so.
    pub(crate) fn state(&self, message: MessageId) -> Option<&CarriedState> {
        self.states.get(&message)
    }

    /// A message has ended, and its record is written.
    pub(crate) fn forget(&mut self, message: MessageId) {
        self.states.remove(&message);
    }

    /// The ports of hosts.
    pub(crate) const fn edge<'a>(&'a mut self, net: &'a mut Network) -> Edge<'a> {
        Edge {
            net,
            attachments: &mut self.attachments,
        }
    }
}
