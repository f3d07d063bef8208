//! The paths that a message may take, and its completion time alone on them.

use fairlane_network::Network;
use fairlane_network::forwarding::Plan;
use fairlane_network::routing::Link;
use fairlane_units::{Duration, FlowId};

use crate::baseline::{self, Work};
use crate::rules::Rules;
use crate::spread::{self, PathProfiles};

/// The hops of paths there and back, host to host.
pub(crate) type Paths = [Vec<Vec<Link>>; 2];

/// The paths that a flow's packets take.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownPaths {
    /// Paths that they may take at all; if the flow may be moved, paths that they take if it isn't.
    pub(crate) known: Paths,
    /// If it may be moved, all that they may take.
    pub(crate) any: Paths,
}

impl KnownPaths {
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

/// Like [`bound`], for a message that is divided into packets of any size.
pub(crate) fn bound_divided([there, back]: &Paths, work: &Work, rules: &Rules) -> Option<Duration> {
    let any = !there.is_empty() && !back.is_empty();
    any.then(|| spread::divided([there, back], work, rules))
}

impl PathProfiles {
    /// The paths that a flow's packets take there and back; paths that are alike count once.
    pub(crate) fn known_paths(&mut self, net: &Network, flow: FlowId) -> KnownPaths {
        let flow = net.flow(flow);
        let swaps = net.settings().quirks.five_tuples;
        let mut any = Paths::default();
        if !net.plan().fixed {
            let legs = [false, true].map(|back| flow.leg(back, swaps));
            any = legs.map(|leg| self.paths(net.graph(), net.routes(), &leg));
        }
        if net.plan().valley {
            any = any.map(|paths| paths.iter().map(|path| ends(path)).collect());
        }
        if !net.plan().foreseen {
            return KnownPaths {
                known: any,
                any: Paths::default(),
            };
        }
        let known = [false, true].map(|back| {
            let leg = flow.leg(back, swaps);
            let hops = |path: &[u32]| baseline::hops(net.graph(), leg.from(), path);
            let known = flow.path(net.graph(), back).map(hops);
            // It is cut off, or longer than what is foreseen.
            let traced = || {
                let path = net.plan().fixed_path(net.graph(), net.routes(), &leg)?;
                Some(hops(&path))
            };
            known.or_else(traced).into_iter().collect()
        });
        KnownPaths { known, any }
    }
}

/// The hosts' links of a path: between them a way that isn't shortest may still be faster.
pub(crate) fn ends(path: &[Link]) -> Vec<Link> {
    match path {
        [first, .., last] => vec![*first, *last],
        _ => path.to_vec(),
    }
}
