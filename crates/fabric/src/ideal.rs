//! The paths that a message may take, and its completion time alone on them.

use fairlane_units::Duration;

use crate::baseline::{self, Work};
use crate::five_tuple::FiveTuple;
use crate::forwarding::{Label, Plan};
use crate::routing::{Graph, Link, Routes};
use crate::rules::Rules;
use crate::spread;

/// The hops of paths there and back, host to host.
pub(crate) type Paths = [Vec<Vec<Link>>; 2];

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
