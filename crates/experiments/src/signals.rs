//! What the network says of a run.

use fairlane_fabric::{Deflections, Ending, Results};

use crate::metric::Quantity;

/// A figure of the network; nothing if the run has none, or if the quantity is of something else.
pub(crate) fn figure(results: &Results, of: Quantity) -> Option<f64> {
    match of {
        Quantity::DeepestQueue => Some(results.totals.queue_max.get() as f64 * 1e-3),
        Quantity::Pauses => Some(results.signals.pauses.count as f64),
        Quantity::Marks => Some(results.signals.ecn_marks.count as f64),
        Quantity::Retransmissions => Some(results.signals.retransmissions.count as f64),
        Quantity::Filtered => {
            let filtered = results.signals.filtered_marks.as_ref();
            filtered.map(|signal| signal.count as f64)
        }
        Quantity::Reordered => deflections(results, |all| all.reordered),
        Quantity::Forks => deflections(results, |all| all.forks),
        Quantity::Held => Some(deflections(results, |all| all.held_bytes_max)? * 1e-3),
        Quantity::Cnps => Some(results.signals.cnps.count as f64),
        Quantity::Stalled => {
            let stalled = matches!(results.totals.ending, Ending::Stalled(_));
            Some(f64::from(u8::from(stalled)))
        }
        Quantity::Placed => {
            let placed: u64 = results.tenants.iter().map(|one| one.placed.get()).sum();
            let sizes: u64 = results.messages.iter().map(|one| one.size.get()).sum();
            (sizes > 0).then(|| placed as f64 / sizes as f64)
        }
        Quantity::Again => Some(results.multipath.as_ref()?.again as f64),
        Quantity::Quarantines => {
            let paths = &results.multipath.as_ref()?.paths;
            Some(paths.iter().map(|path| path.quarantines).sum::<u64>() as f64)
        }
        _ => None,
    }
}

/// The part of all carried chunks that passed a node; nothing if switches choose packet by packet.
pub(crate) fn path_share(results: &Results, node: u32) -> Option<f64> {
    let paths = &results.multipath.as_ref()?.paths;
    let (mut passed, mut all) = (0.0, 0.0);
    for path in paths.iter().filter(|path| path.chunks > 0) {
        let way = path.way.as_ref()?;
        all += path.chunks as f64;
        if way.nodes.iter().any(|on_way| on_way.get() == node) {
            passed += path.chunks as f64;
        }
    }
    (all > 0.0).then(|| passed / all)
}

/// A count of what became of flows that switches moved.
fn deflections(results: &Results, count: fn(&Deflections) -> u64) -> Option<f64> {
    let deflections = results.signals.deflection.as_ref()?;
    Some(count(deflections) as f64)
}
