//! A network with what tests need to drive it.

use std::path::Path;

use fairlane_network::five_tuple::FiveTuple;
use fairlane_network::packet::{Kind, Side};
use fairlane_network::settings::Settings;
use fairlane_network::topology::Topology;
use fairlane_network::{Attachment, Delivery, LiveNetwork, Lost, Network, Packet};
use fairlane_scenario::Error;
use fairlane_units::{FlowId, NodeId, PortId, Psn, TenantId, Time};
use fairlane_wire::Opcode;

/// Something that has come out of a network.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Out {
    Packet {
        at: Time,
        port: PortId,
        packet: Packet,
        attachment: Option<Attachment>,
    },
    Lost(Lost),
    Pauses(u8),
}

impl Out {
    fn of(at: Time, delivery: &Delivery<'_>) -> Self {
        match *delivery {
            Delivery::Packet {
                port,
                packet,
                attachment,
                ..
            } => Self::Packet {
                at,
                port,
                packet,
                attachment,
            },
            Delivery::Lost(lost) => Self::Lost(lost),
            Delivery::Pauses { paused, .. } => Self::Pauses(paused),
        }
    }
}

pub(crate) struct Driver {
    pub(crate) net: LiveNetwork,
    pub(crate) out: Vec<Out>,
}

impl Driver {
    /// `hosts` hosts at a switch, or whatever else `topology` says, with more keys of a scenario.
    pub(crate) fn new(topology: &str, keys: &str, set: impl FnOnce(&mut Settings)) -> Self {
        let traffic = "[[workload]]\nkind = \"flows\"\nflow = [{ source = 0, destination = 1, size = \"1kB\" }]";
        let text = format!("topology = {topology}\n{keys}\n{traffic}");
        let loaded = fairlane_scenario::parse(&text, "net.toml", Path::new("."), &[], None);
        let scenario = loaded.unwrap_or_else(|error| panic!("{error}")).scenario;
        let loss = scenario.faults.loss_rate;
        let topology = Topology::build(&scenario.topology, None, loss).expect("it was checked");
        let mut settings = Settings::new(&scenario);
        set(&mut settings);
        let net = Network::new(&scenario, &topology, settings, 1 << 3);
        let net = net.unwrap_or_else(|error| panic!("{error}"));
        Self {
            net: LiveNetwork::new(net),
            out: Vec::new(),
        }
    }

    pub(crate) fn open(&mut self, source: u32, destination: u32) -> Result<FlowId, Error> {
        let tuple = tuple(source, destination);
        self.net.open(tuple, [0, 0], 3, TenantId::new(0))
    }

    pub(crate) fn send(&mut self, packet: &Packet, attachment: u32) -> Result<(), Error> {
        self.net.inject(packet, Some(Attachment::new(attachment)))
    }

    /// Goes on until nothing is to come, or to a time.
    pub(crate) fn run(&mut self, until: Time) {
        while let Some(next) = self.net.next_time().filter(|next| *next <= until) {
            let out = &mut self.out;
            self.net
                .advance(next, |delivery| out.push(Out::of(next, &delivery)));
        }
        if until < Time::MAX {
            self.net.advance(until, |_| panic!("that comes later"));
        }
    }

    pub(crate) fn change_link(&mut self, link: u32, up: bool) {
        let (now, out) = (self.net.network().now(), &mut self.out);
        self.net
            .change_link(link, up, |delivery| out.push(Out::of(now, &delivery)));
    }

    /// The attachments of packets that have arrived, in order.
    pub(crate) fn arrived(&self) -> Vec<u32> {
        let attachments = self.out.iter().filter_map(|out| match out {
            Out::Packet { attachment, .. } => attachment.map(Attachment::get),
            _ => None,
        });
        attachments.collect()
    }

    /// The attachments of packets that were lost, in order.
    pub(crate) fn lost(&self) -> Vec<u32> {
        let attachments = self.out.iter().filter_map(|out| match out {
            Out::Lost(lost) => lost.attachment.map(Attachment::get),
            _ => None,
        });
        attachments.collect()
    }
}

/// The headers of packets between two nodes.
pub(crate) fn tuple(source: u32, destination: u32) -> FiveTuple {
    FiveTuple {
        source: NodeId::new(source),
        destination: NodeId::new(destination),
        source_port: 0xc000,
        destination_port: 4791,
    }
}

/// A full packet of data.
pub(crate) fn data(flow: FlowId) -> Packet {
    Packet {
        flow,
        towards: Side::Responder,
        kind: Kind::Data,
        opcode: Opcode::RcWriteMiddle,
        psn: Psn::new(7),
        payload: 1000,
        wire: 1048,
        class: 3,
        marked: false,
        hops: 0,
    }
}
