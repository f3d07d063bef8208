//! What the summary's text says of collectives.

use fairlane_fabric::{CollectiveRecord, Results};

use crate::table;
use crate::write::collectives::gbps;

/// Lines of the summary's text at most.
const MOST_LINES: usize = 12;

/// A line for each kind of collective of each workload: how many there were, and the slowest of them, with what its last rank waited for.
pub(crate) fn block(results: &Results) -> Option<String> {
    let mut kinds: Vec<Vec<&CollectiveRecord>> = Vec::new();
    for it in &results.collectives {
        let alike = |all: &Vec<&CollectiveRecord>| {
            let first = all[0];
            (first.workload, first.kind, first.algorithm) == (it.workload, it.kind, it.algorithm)
                && (&first.name, first.size) == (&it.name, it.size)
        };
        match kinds.iter().position(alike) {
            Some(known) => kinds[known].push(it),
            None if kinds.len() < MOST_LINES => kinds.push(vec![it]),
            None => {}
        }
    }
    let rows: Vec<Vec<String>> = kinds.iter().map(|all| line(all, results)).collect();
    let header = [
        "collective",
        "ended",
        "size",
        "mean time",
        "slowest",
        "bus Gb/s",
        "the slowest one's last rank",
    ];
    (!rows.is_empty()).then(|| table::grid(&header, &rows))
}

fn line(all: &[&CollectiveRecord], results: &Results) -> Vec<String> {
    let times = || all.iter().filter_map(|it| it.time());
    let ended = times().count();
    let mean = times().map(|time| time.as_secs_f64()).sum::<f64>() / ended.max(1) as f64;
    let slowest = all.iter().max_by_key(|it| it.time()).filter(|_| ended > 0);
    let first = all[0];
    let dash = || "-".to_owned();
    vec![
        words(first),
        format!("{ended} of {}", all.len()),
        match first.kind {
            None => dash(),
            Some(_) => table::bytes(first.size.as_f64()),
        },
        if ended == 0 {
            dash()
        } else {
            table::seconds(mean)
        },
        slowest
            .and_then(|it| it.time())
            .map_or_else(dash, |time| table::seconds(time.as_secs_f64())),
        slowest
            .and_then(|it| it.bus_bandwidth())
            .map_or_else(dash, |rate| table::digits(gbps(rate))),
        slowest.map_or_else(dash, |it| why(it, results)),
    ]
}

/// Operation, algorithm and name.
pub(crate) fn words(it: &CollectiveRecord) -> String {
    let words = [it.operation(), it.algorithm_name(), &it.name];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The rank that ended last, and what it waited for.
pub(crate) fn why(it: &CollectiveRecord, results: &Results) -> String {
    let Some((rank, host)) = it.slowest else {
        return "-".into();
    };
    let waited = it
        .last
        .and_then(|id| results.messages.iter().find(|message| message.id == id));
    let waited = match (waited, it.last_slowdown) {
        (Some(message), Some(slowdown)) => {
            let (source, slowdown) = (message.source, table::digits(slowdown));
            format!(
                ": message {} from host {source}, slowdown {slowdown}",
                message.id
            )
        }
        _ if it.kind.is_some() => ": it began too late itself".to_owned(),
        _ => String::new(),
    };
    format!("{rank} on host {host}{waited}")
}
