//! What packets of a flow have in common.

use crate::five_tuple::FiveTuple;
use crate::forwarding::Plan;
use crate::packet::{NONE, PacketRecord, UNDECIDED};
use crate::path::Path;
use crate::routing::{Graph, HostPort, Leg, PortPair, Routes};

/// Switches of a path that are foreseen: one more than three tiers have. Together they fill a cache line.
const FORESEEN: usize = 6;

/// What packets of a flow have in common. It changes with routes only, and fills the cache line that is all of it that a hop
/// touches.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    /// The five-tuple of packets from the requester to the responder.
    pub tuple: FiveTuple,
    /// Egress ports that switches will choose for packets there and back, as far as that follows from
    /// the tuple, and behind them the port of the host; else [`UNDECIDED`].
    egress: [[u32; FORESEEN]; 2],
    /// The ports of requester and responder that all of its packets take.
    pub ports: PortPair,
    /// The traffic class that hosts send its data in.
    pub(crate) class: u8,
}

const _: () = assert!(size_of::<Flow>() == 64);

impl Flow {
    /// A flow of which nothing is foreseen.
    pub const fn new(tuple: FiveTuple, ports: PortPair, class: u8) -> Self {
        Self {
            tuple,
            ports,
            class,
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

    /// Packets that go back, or don't.
    #[inline]
    pub const fn leg(&self, back: bool, swaps: bool) -> Leg {
        let there = Leg {
            tuple: self.tuple,
            ports: self.ports,
        };
        if back { there.answering(swaps) } else { there }
    }

    /// Where packets go that go back, or don't.
    #[inline]
    pub(crate) const fn destination(&self, back: bool) -> HostPort {
        if back {
            HostPort {
                host: self.tuple.source,
                port: self.ports[0],
            }
        } else {
            HostPort {
                host: self.tuple.destination,
                port: self.ports[1],
            }
        }
    }

    /// The egress port at the switch that a packet is on its way to.
    #[inline]
    pub(crate) fn egress(&self, packet: &PacketRecord) -> u32 {
        let ports = &self.egress[usize::from(packet.has(PacketRecord::BACK))];
        let port = ports.get(usize::from(packet.hop));
        port.copied().unwrap_or(UNDECIDED)
    }

    /// The ports of all switches that packets there, or back, pass, if they are foreseen.
    pub fn path(&self, graph: &Graph, back: bool) -> Option<&[u32]> {
        let ports = &self.egress[usize::from(back)];
        let mut node = graph.host_edge(self.destination(!back)).to;
        let mut length = 0;
        while graph.is_switch[node as usize] {
            let port = ports.get(length).filter(|port| **port < UNDECIDED)?;
            node = graph.peer(*port);
            length += 1;
        }
        Some(&ports[..length])
    }

    /// A number that flows between two hosts have in common whose packets there, or back, take the same way, if that
    /// is foreseen.
    pub fn route(&self, graph: &Graph, back: bool) -> Option<u64> {
        // FNV-1a.
        let fold = |hash: u64, port: &u32| (hash ^ u64::from(*port)).wrapping_mul(0x0100_0000_01b3);
        let way = self.path(graph, back)?.iter();
        Some(way.fold(0xcbf2_9ce4_8422_2325 ^ u64::from(self.ports[0]), fold))
    }

    /// The path that its packets take there, if that is foreseen.
    pub fn path_there(&self, graph: &Graph) -> Option<Path> {
        let ports = self.path(graph, false)?.iter().copied();
        let first = graph.host_edge(self.destination(true)).port;
        let ports = std::iter::once(first).chain(ports);
        Some(Path::new(graph, self.tuple.source, ports))
    }

    /// Foresees what switches will choose under the present routes.
    pub(crate) fn foresee(&mut self, graph: &Graph, routes: &Routes, plan: &Plan, swaps: bool) {
        for back in [false, true] {
            let path = plan.fixed_path(graph, routes, &self.leg(back, swaps));
            // Without a path the first switch drops the packet.
            let ports = path.unwrap_or_else(|| vec![NONE; FORESEEN]);
            // A host answers by the port that the packet comes to.
            let answers = graph.host_edge(self.destination(back)).port;
            let known = self.egress[usize::from(back)].iter_mut();
            let ports = ports.into_iter().chain([answers]);
            known.zip(ports).for_each(|(known, port)| *known = port);
        }
    }
}
