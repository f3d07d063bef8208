//! `collectives.csv`, and what the summary's text says of collectives.

use std::fmt::Write as _;

use fairlane_fabric::{CollectiveRecord, Results};
use fairlane_units::Time;

use crate::table;

/// Lines of the summary's text at most.
const MOST_LINES: usize = 12;

const HEADER: &str = "workload,step,operation,algorithm,name,group,ranks,size_bytes,sent_bytes,start_ps,ready_ps,end_ps,\
                      time_ps,algorithm_gbps,bus_gbps,slowest_rank,slowest_host,last_message,last_slowdown\n";

/// The text of the file: a row for each collective, and for each step of training. What isn't known is empty.
pub(crate) fn csv(records: &[CollectiveRecord]) -> String {
    let mut text = String::from(HEADER);
    for it in records {
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            it.workload,
            it.step,
            it.operation(),
            it.algorithm_name(),
            quoted(&it.name),
            it.group,
            it.ranks,
            it.size.get(),
            it.sent.get(),
            some(it.start.map(Time::as_ps)),
            some(it.ready.map(Time::as_ps)),
            some(it.end.map(Time::as_ps)),
            some(it.time().map(|time| time.as_ps())),
            some(it.algorithm_bandwidth().map(gbps)),
            some(it.bus_bandwidth().map(gbps)),
            some(it.slowest.map(|(rank, _)| rank)),
            some(it.slowest.map(|(_, host)| host.get())),
            some(it.last),
            some(it.last_slowdown),
        );
    }
    text
}

/// Bits per second in Gb/s.
pub(crate) fn gbps(rate: f64) -> f64 {
    rate / 1e9
}

fn some(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// A name that comes from a trace may hold anything.
fn quoted(name: &str) -> String {
    if !name.contains([',', '"', '\n', '\r']) {
        return name.to_owned();
    }
    format!("\"{}\"", name.replace('"', "\"\""))
}

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
    let words = [first.operation(), first.algorithm_name(), &first.name];
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let dash = || "-".to_owned();
    vec![
        words.join(" "),
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

/// The rank that ended last, and what it waited for.
fn why(it: &CollectiveRecord, results: &Results) -> String {
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
        _ => String::new(),
    };
    format!("{rank} on host {host}{waited}")
}
