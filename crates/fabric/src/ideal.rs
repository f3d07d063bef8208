//! The paths that a message may take, and its completion time alone on them.

use fairlane_units::Duration;

use crate::baseline::{self, Work};
use crate::forwarding::{Label, Plan};
use crate::routing::{Graph, Leg, Link, Routes};
use crate::rules::Rules;
use crate::spread;

/// The hops of paths there and back, host to host.
pub(crate) type Paths = [Vec<Vec<Link>>; 2];

/// The paths that a flow's packets take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways {
    /// Those that they may take at all; if the flow may be moved, those that they take if it isn't.
    pub(crate) known: Paths,
    /// If it may be moved, all that they may take.
    pub(crate) any: Paths,
}

impl Ways {
    /// These and others, as packets may be on both at once.
    pub(crate) fn extend(&mut self, others: Self) {
        let extend = |all: &mut Paths, others: Paths| {
            let pairs = all.iter_mut().zip(others);
            pairs.for_each(|(all, others)| all.extend(others));
        };
        extend(&mut self.known, others.known);
        extend(&mut self.any, others.any);
    }
}

/// What no distribution of packets over the paths there and back can beat, if there are any.
pub(crate) fn least(
    [there, back]: &Paths,
    work: &Work,
    plan: &Plan,
    rules: &Rules,
) -> Option<Duration> {
    if there.is_empty() || back.is_empty() {
        return None;
    }
    // Packets of a message that was under way when routes changed have taken several.
    let one = |paths: &[Vec<Link>]| paths.iter().all(|path| *path == paths[0]);
    Some(if plan.foreseen && one(there) && one(back) {
        baseline::ideal([&there[0], &back[0]], work, rules)
    } else {
        spread::ideal([there, back], work, rules)
    })
}

/// What no choice of path for each packet can beat, if there are any.
pub(crate) fn bound([there, back]: &Paths, work: &Work, rules: &Rules) -> Option<Duration> {
    let any = !there.is_empty() && !back.is_empty();
    any.then(|| spread::ideal([there, back], work, rules))
}

/// The same if the message is divided into packets of any size.
pub(crate) fn bound_divided([there, back]: &Paths, work: &Work, rules: &Rules) -> Option<Duration> {
    let any = !there.is_empty() && !back.is_empty();
    any.then(|| spread::divided([there, back], work, rules))
}

/// The egress ports of switches on the path of packets that have only one.
pub(crate) fn fixed_path(
    graph: &Graph,
    routes: &Routes,
    plan: &Plan,
    leg: &Leg,
) -> Option<Vec<u32>> {
    let label = Label { tuple: leg.tuple };
    routes.trace(graph, leg, |switch, count| {
        let foreseen = plan.foresee(switch, &label, count);
        foreseen.expect("a policy that foresees one packet foresees all")
    })
}
