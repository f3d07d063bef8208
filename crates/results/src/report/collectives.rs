//! Collectives and steps of training, with the rank that each waited for.

use fairlane_fabric::{CollectiveRecord, Results};

use super::data::{CollectiveRow, CollectivesData};
use crate::collectives::{why, words};
use crate::write::collectives::gbps;

/// A table of more rows is left to the files of the run.
const ROWS: usize = 40;

/// All of them, or the slowest.
pub(super) fn data(results: &Results) -> CollectivesData {
    let all = &results.collectives;
    let mut shown: Vec<usize> = (0..all.len()).collect();
    // What hasn't ended is the slowest.
    let time = |number: usize| (all[number].end.is_some(), all[number].time());
    shown.sort_by_key(|&number| {
        let (ended, time) = time(number);
        (ended, std::cmp::Reverse(time))
    });
    shown.truncate(ROWS);
    shown.sort_unstable();
    let rows = shown.into_iter().map(|number| row(&all[number], results));
    CollectivesData {
        rows: rows.collect(),
        count: all.len(),
    }
}

fn row(it: &CollectiveRecord, results: &Results) -> CollectiveRow {
    CollectiveRow {
        step: it.step,
        what: words(it),
        ranks: it.ranks,
        size: match it.kind {
            Some(_) => it.size.get(),
            None => it.sent.get(),
        },
        time_ns: it.time().map(|time| time.as_ps() as f64 / 1e3),
        algorithm_gbps: it.algorithm_bandwidth().map(gbps),
        bus_gbps: it.bus_bandwidth().map(gbps),
        slowest: why(it, results),
    }
}
