//! What tells one flow from another in the headers of its packets, and the hash of it.

use fairlane_units::NodeId;

use crate::forwarding::Plan;
use crate::ideal::fixed_path;
use crate::packet::{NONE, Packet, UNDECIDED};
use crate::routing::{Graph, Routes};

/// Switches of a path that are foreseen: one more than three tiers have. Together they fill a cache line.
const FORESEEN: usize = 6;

/// What packets of a message, or of a queue pair that stays open, have in common. It changes with routes
/// only, and fills the cache line that is all of it that a hop touches.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Flow {
    /// That of packets from the requester to the responder.
    pub(crate) tuple: FiveTuple,
    /// Egress ports that switches will choose for packets there and back, as far as that follows from
    /// the tuple; else [`UNDECIDED`].
    egress: [[u32; FORESEEN]; 2],
}

const _: () = assert!(size_of::<Flow>() == 64);

impl Flow {
    /// A flow of which nothing is foreseen.
    pub(crate) const fn new(tuple: FiveTuple) -> Self {
        Self {
            tuple,
            egress: [[UNDECIDED; FORESEEN]; 2],
        }
    }

    /// The tuple of packets that go back, or don't.
    #[inline]
    pub(crate) const fn label(&self, back: bool, swaps: bool) -> FiveTuple {
        if back {
            self.tuple.answering(swaps)
        } else {
            self.tuple
        }
    }

    /// Where packets go that go back, or don't.
    #[inline]
    pub(crate) const fn destination(&self, back: bool) -> NodeId {
        if back {
            self.tuple.source
        } else {
            self.tuple.destination
        }
    }

    /// The egress port at the switch that a packet is on its way to.
    #[inline]
    pub(crate) fn egress(&self, packet: &Packet) -> u32 {
        let ports = &self.egress[usize::from(packet.has(Packet::BACK))];
        let port = ports.get(usize::from(packet.hop));
        port.copied().unwrap_or(UNDECIDED)
    }

    /// The ports of all switches that packets there, or back, pass, if they are foreseen.
    pub(crate) fn path(&self, graph: &Graph, back: bool) -> Option<&[u32]> {
        let ports = &self.egress[usize::from(back)];
        let ends = [self.tuple.source, self.tuple.destination];
        let mut node = graph.host_edge(ends[usize::from(back)]).to;
        let mut length = 0;
        while graph.is_switch[node as usize] {
            let port = ports.get(length).filter(|port| **port < UNDECIDED)?;
            node = graph.peer(*port);
            length += 1;
        }
        Some(&ports[..length])
    }

    /// Foresees what switches will choose under the present routes.
    pub(crate) fn foresee(&mut self, graph: &Graph, routes: &Routes, plan: &Plan, swaps: bool) {
        for back in [false, true] {
            let path = fixed_path(graph, routes, plan, &self.label(back, swaps));
            // Without a path the first switch drops the packet.
            let ports = path.unwrap_or_else(|| vec![NONE; FORESEEN]);
            let known = &mut self.egress[usize::from(back)];
            known
                .iter_mut()
                .zip(ports)
                .for_each(|(known, port)| *known = port);
        }
    }
}

/// What ECMP hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// Sender of the packet.
    pub source: NodeId,
    /// Receiver of the packet.
    pub destination: NodeId,
    /// UDP source port.
    pub source_port: u16,
    /// UDP destination port.
    pub destination_port: u16,
}

impl FiveTuple {
    /// The tuple of packets that go the other way. RoCEv2 packets all go to port 4791, so they have
    /// the same source port; HPCC's simulator swaps the ports (`swaps`).
    #[inline]
    #[must_use]
    pub const fn answering(self, swaps: bool) -> Self {
        let (source_port, destination_port) = if swaps {
            (self.destination_port, self.source_port)
        } else {
            (self.source_port, self.destination_port)
        };
        Self {
            source: self.destination,
            destination: self.source,
            source_port,
            destination_port,
        }
    }

    /// MurmurHash3 (32 bits) of source address, destination address and the two ports.
    #[inline]
    pub fn hash(&self, seed: u32) -> u32 {
        let ports = u32::from(self.source_port) | u32::from(self.destination_port) << 16;
        let words = [address(self.source), address(self.destination), ports];
        let mut hash = words.into_iter().fold(seed, |hash, word| {
            let word = word
                .wrapping_mul(0xcc9e_2d51)
                .rotate_left(15)
                .wrapping_mul(0x1b87_3593);
            (hash ^ word)
                .rotate_left(13)
                .wrapping_mul(5)
                .wrapping_add(0xe654_6b64)
        });
        hash ^= 12;
        hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
        hash ^ hash >> 16
    }
}

/// The IPv4 address of a host: 11.a.b.1 for node number a * 256 + b.
#[inline]
pub(crate) const fn address(node: NodeId) -> u32 {
    let number = node.get();
    0x0b00_0001_u32
        .wrapping_add((number / 256) << 16)
        .wrapping_add((number % 256) << 8)
}
