//! The paths that flows take under the present routes.

use std::sync::Arc;

use fairlane_units::NodeId;

use crate::baseline;
use crate::ideal::{Paths, Ways, fixed_path};
use crate::network::Network;
use crate::routing::Link;

impl Network {
    /// Foresees the paths of all flows, if they follow from their packets.
    pub(crate) fn foresee_flows(&mut self) {
        if !self.plan.fixed {
            return;
        }
        for flow in Arc::make_mut(&mut self.flows) {
            flow.foresee(
                &self.graph,
                &self.routes,
                &self.plan,
                self.rules.quirks.five_tuples,
            );
        }
    }

    /// A number that flows between two hosts have in common whose data takes the same way, if that is foreseen.
    pub(crate) fn route_of(&self, flow: u32) -> Option<u64> {
        let back = self.specs[flow as usize].verb.awaits_response();
        let flow = &self.flows[flow as usize];
        let way = flow.path(&self.graph, back)?;
        // FNV-1a.
        let fold = |hash: u64, port: &u32| (hash ^ u64::from(*port)).wrapping_mul(0x0100_0000_01b3);
        Some(
            way.iter()
                .fold(0xcbf2_9ce4_8422_2325 ^ u64::from(flow.plane), fold),
        )
    }

    /// The nodes that a flow's packets pass on their way there, both hosts included, if they are foreseen.
    pub(crate) fn way_of(&self, flow: u32) -> Vec<NodeId> {
        let flow = &self.flows[flow as usize];
        let Some(ports) = flow.path(&self.graph, false).filter(|_| self.plan.foreseen) else {
            return Vec::new();
        };
        let source = flow.tuple.source;
        let first = self.graph.host_edge(source, flow.plane).to;
        let behind = ports.iter().map(|&port| self.graph.peer(port));
        let nodes = std::iter::once(first).chain(behind).map(NodeId::new);
        std::iter::once(source).chain(nodes).collect()
    }

    /// The paths that a flow's packets take there and back; paths that are alike count once.
    pub(crate) fn known_paths(&mut self, flow: u32) -> Ways {
        let flow = &self.flows[flow as usize];
        let plane = flow.plane;
        let swaps = self.rules.quirks.five_tuples;
        let mut any = Paths::default();
        if !self.plan.fixed {
            let tuples = [false, true].map(|back| flow.label(back, swaps));
            any = tuples.map(|tuple| {
                self.shapes
                    .paths(&self.graph, &self.routes, (plane, &tuple))
            });
        }
        if self.plan.valley {
            any = any.map(|paths| paths.iter().map(|path| ends(path)).collect());
        }
        if !self.plan.foreseen {
            return Ways {
                known: any,
                any: Paths::default(),
            };
        }
        let known = [false, true].map(|back| {
            let tuple = flow.label(back, swaps);
            let hops = |path: &[u32]| baseline::hops(&self.graph, (tuple.source, plane), path);
            let known = flow.path(&self.graph, back).map(hops);
            // It is cut off, or longer than what is foreseen.
            let traced = || {
                let path = fixed_path(&self.graph, &self.routes, &self.plan, (plane, &tuple))?;
                Some(hops(&path))
            };
            known.or_else(traced).into_iter().collect()
        });
        Ways { known, any }
    }
}

/// The hosts' links of a path: between them a way that isn't shortest may still be faster.
fn ends(path: &[Link]) -> Vec<Link> {
    match path {
        [first, .., last] => vec![*first, *last],
        _ => path.to_vec(),
    }
}
