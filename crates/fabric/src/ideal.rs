//! The paths that a message may take, and its completion time alone on them.

use std::sync::Arc;

use fairlane_units::Duration;

use crate::MessageSpec;
use crate::baseline::{self, Link, Work};
use crate::flow::FiveTuple;
use crate::forwarding::{Label, Plan};
use crate::routing::{Graph, Routes};
use crate::rules::Rules;
use crate::spread;
use crate::world::World;

/// The hops of paths there and back, host to host.
pub(crate) type Paths = [Vec<Vec<Link>>; 2];

impl World {
    /// Foresees the paths of all flows under the present routes, if they follow from their packets.
    pub(crate) fn foresee_flows(&mut self) {
        if !self.plan.fixed {
            return;
        }
        for flow in Arc::make_mut(&mut self.flows) {
            flow.foresee(&self.graph, &self.routes, &self.plan, self.rules.hpcc_ns3);
        }
    }

    /// Notes the completion time of a message alone on the fabric, and the paths of a queue
    /// pair that stays open, under the present routes. `before` are those under the routes before them.
    ///
    /// Data and acknowledgements may be on old and new paths at once, so the ideal time is the least
    /// over the combinations.
    pub(crate) fn note_ideal(&mut self, flow: u32, before: Paths) {
        let [mut there, mut back] = before;
        let [new_there, new_back] = self.known_paths(flow);
        there.extend(new_there);
        back.extend(new_back);
        let paths = [there, back];
        if self.stays_open(flow) {
            self.note_paths(flow, paths);
            return;
        }
        let MessageSpec { verb, size, .. } = self.specs[flow as usize];
        let work = Work::message(verb, size);
        let ideal = least(&paths, &work, &self.plan, &self.rules);
        if let Some(posted) = self.connections.posted.get_mut(&flow) {
            posted.ideal = [posted.ideal, ideal].into_iter().flatten().min();
        }
    }

    /// The paths that a flow's packets may take there and back under the present routes; paths
    /// that are alike count once.
    pub(crate) fn known_paths(&mut self, flow: u32) -> Paths {
        let flow = &self.flows[flow as usize];
        let swaps = self.rules.hpcc_ns3;
        if !self.plan.fixed {
            let tuples = [false, true].map(|back| flow.label(back, swaps));
            return tuples.map(|tuple| self.shapes.paths(&self.graph, &self.routes, &tuple));
        }
        [false, true].map(|back| {
            let tuple = flow.label(back, swaps);
            let hops = |path: &[u32]| baseline::hops(&self.graph, &tuple, path);
            let known = flow.path(&self.graph, back).map(hops);
            // It is cut off, or longer than what is foreseen.
            let traced = || {
                let path = fixed_path(&self.graph, &self.routes, &self.plan, &tuple)?;
                Some(hops(&path))
            };
            known.or_else(traced).into_iter().collect()
        })
    }
}

/// The least completion time over all combinations of a path there and a path back, if there are any.
pub(crate) fn least(
    [there, back]: &Paths,
    work: &Work,
    plan: &Plan,
    rules: &Rules,
) -> Option<Duration> {
    if there.is_empty() || back.is_empty() {
        return None;
    }
    if !plan.fixed {
        return Some(spread::ideal([there, back], work, rules));
    }
    let pairs = there
        .iter()
        .flat_map(|forward| back.iter().map(move |reverse| (forward, reverse)));
    pairs
        .map(|(forward, reverse)| baseline::ideal([forward, reverse], work, rules))
        .min()
}

/// The egress ports of switches on a flow's path, where it has only one.
pub(crate) fn fixed_path(
    graph: &Graph,
    routes: &Routes,
    plan: &Plan,
    tuple: &FiveTuple,
) -> Option<Vec<u32>> {
    let label = Label { tuple: *tuple };
    routes.trace(graph, tuple, |switch, count| {
        let foreseen = plan.foresee(switch, &label, count);
        foreseen.expect("a policy that foresees one packet foresees all")
    })
}
