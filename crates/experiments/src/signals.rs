//! What the network says of a run.

use fairlane_fabric::{Deflections, Ending, Results};

use crate::manifest::Quantity;

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
        _ => None,
    }
}

/// A count of what became of flows that switches moved.
fn deflections(results: &Results, count: fn(&Deflections) -> u64) -> Option<f64> {
    let deflections = results.signals.deflection.as_ref()?;
    Some(count(deflections) as f64)
}
