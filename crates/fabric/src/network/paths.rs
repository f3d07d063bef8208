//! The paths that flows take under the present routes.

use std::sync::Arc;

use fairlane_units::FlowId;

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

    /// The paths that a flow's packets take there and back; paths that are alike count once.
    pub(crate) fn known_paths(&mut self, flow: FlowId) -> Ways {
        let flow = &self.flows[flow.index()];
        let swaps = self.rules.quirks.five_tuples;
        let mut any = Paths::default();
        if !self.plan.fixed {
            let legs = [false, true].map(|back| flow.leg(back, swaps));
            any = legs.map(|leg| self.shapes.paths(&self.graph, &self.routes, &leg));
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
            let leg = flow.leg(back, swaps);
            let hops = |path: &[u32]| baseline::hops(&self.graph, leg.from(), path);
            let known = flow.path(&self.graph, back).map(hops);
            // It is cut off, or longer than what is foreseen.
            let traced = || {
                let path = fixed_path(&self.graph, &self.routes, &self.plan, &leg)?;
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
