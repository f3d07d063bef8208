//! The paths that a message may take, and its completion time alone on them.

use fairlane_scenario::Verb;
use fairlane_units::{Bytes, Duration};

use crate::baseline;
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
    (verb, size): (Verb, Bytes),
    plan: &Plan,
    rules: &Rules,
) -> Option<Duration> {
    if there.is_empty() || back.is_empty() {
        return None;
    }
    if !plan.fixed {
        return Some(spread::ideal([there, back], verb, size, rules));
    }
    let pairs = there
        .iter()
        .flat_map(|forward| back.iter().map(move |reverse| (forward, reverse)));
    pairs
        .map(|(forward, reverse)| baseline::ideal([forward, reverse], verb, size, rules))
        .min()
}

/// The egress ports of switches on a flow's path in its plane, where it has only one.
pub(crate) fn fixed_path(
    graph: &Graph,
    routes: &Routes,
    plan: &Plan,
    (plane, tuple): (u8, &FiveTuple),
) -> Option<Vec<u32>> {
    let label = Label { tuple: *tuple };
    routes.trace(graph, (plane, tuple), |switch, count| {
        let foreseen = plan.foresee(switch, &label, count);
        foreseen.expect("a policy that foresees one packet foresees all")
    })
}
