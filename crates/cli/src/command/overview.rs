//! The tables of `fairlane compare` that stay legible with many runs: a row for each run.

use std::path::Path;

use serde_json::Value;

use crate::command::flatten::{self, Leaves};
use fairlane_results::table;

/// What a cell shows.
#[derive(Clone, Copy)]
enum Cell {
    Text,
    /// Nanoseconds as a time.
    Time,
    Bytes,
    Count,
    /// A number without a unit.
    Number,
}

/// Columns of the overview: header, figure, form.
const COLUMNS: [(&str, &str, Cell); 12] = [
    ("congestion", "congestion", Cell::Text),
    ("ending", "ending", Cell::Text),
    ("completion p50", "completion_ns.p50", Cell::Time),
    ("p99", "completion_ns.p99", Cell::Time),
    ("max", "completion_ns.max", Cell::Time),
    ("slowdown p50", "slowdown.p50", Cell::Number),
    ("p99", "slowdown.p99", Cell::Number),
    ("deepest queue", "queue_max_bytes", Cell::Bytes),
    ("marks", "signals.ecn_marks", Cell::Count),
    ("CNPs", "signals.cnps", Cell::Count),
    ("pauses", "signals.pauses", Cell::Count),
    ("sent again", "signals.retransmissions", Cell::Count),
];

/// Runs side by side, the figures that people ask for first.
pub(crate) fn overview(names: &[String], runs: &[&Leaves]) -> String {
    let mut header = vec!["run"];
    header.extend(COLUMNS.iter().map(|(header, ..)| *header));
    let cells = |run: &Leaves| {
        let cell = |(_, name, form): &(&str, &str, Cell)| form.show(&flatten::get(run, name));
        COLUMNS.iter().map(cell).collect()
    };
    rows(&header, names, runs, cells)
}

/// Completion times by workload, if there are several; `kinds` says what each is.
pub(crate) fn workloads(names: &[String], runs: &[&Leaves], kinds: &Leaves) -> Option<String> {
    let figure = |run: &Leaves, workload: usize, field: &str| {
        flatten::get(run, &format!("workloads[{workload}].{field}"))
    };
    let has = |workload: &usize| {
        let workload = |run: &&Leaves| !figure(run, *workload, "workload").is_null();
        runs.iter().any(workload)
    };
    let count = (0..).take_while(has).count();
    if count < 2 {
        return None;
    }
    let title = |at: usize| {
        let kind = flatten::get(kinds, &format!("workload[{at}].kind"));
        format!("{at}: {}", kind.as_str().unwrap_or("workload"))
    };
    let titles: Vec<String> = (0..count).map(title).collect();
    let mut header = vec!["completion p50 / p99"];
    header.extend(titles.iter().map(String::as_str));
    let cells = |run: &Leaves| {
        let cell = |workload| {
            let field = |field| Cell::Time.show(&figure(run, workload, field));
            let (half, most) = (field("completion_ns.p50"), field("completion_ns.p99"));
            format!("{half} / {most}")
        };
        (0..count).map(cell).collect()
    };
    Some(rows(&header, names, runs, cells))
}

/// Throughput and slowdown by tenant, if any of the runs has several.
pub(crate) fn tenants(names: &[String], runs: &[&Leaves]) -> Option<String> {
    let figure = |run: &Leaves, tenant: usize, field: &str| {
        flatten::get(run, &format!("tenants[{tenant}].{field}"))
    };
    let name = |tenant: usize| {
        let mut names = runs.iter().map(|run| figure(run, tenant, "name"));
        names.find_map(|name| name.as_str().map(str::to_owned))
    };
    let titles: Vec<String> = (0..).map_while(name).collect();
    if titles.is_empty() {
        return None;
    }
    let mut header = vec!["Gb/s, slowdown p50 / p99"];
    header.extend(titles.iter().map(String::as_str));
    header.push("fairness");
    let cells = |run: &Leaves| {
        let cell = |tenant| {
            let field = |field| Cell::Number.show(&figure(run, tenant, field));
            let (half, most) = (field("slowdown.p50"), field("slowdown.p99"));
            format!("{}, {half} / {most}", field("throughput_gbps"))
        };
        let mut cells: Vec<_> = (0..titles.len()).map(cell).collect();
        cells.push(Cell::Number.show(&flatten::get(run, "tenant_fairness")));
        cells
    };
    Some(rows(&header, names, runs, cells))
}

/// A table with a row for each run.
fn rows(
    header: &[&str],
    names: &[String],
    runs: &[&Leaves],
    cells: impl Fn(&Leaves) -> Vec<String>,
) -> String {
    let row = |(name, run): (&String, &&Leaves)| {
        let mut row = vec![name.clone()];
        row.extend(cells(run));
        row
    };
    let rows: Vec<_> = names.iter().zip(runs).map(row).collect();
    table::grid(header, &rows)
}

impl Cell {
    fn show(self, value: &Value) -> String {
        let number = value.as_f64();
        match self {
            Self::Text => value.as_str().map(str::to_owned),
            Self::Time => number.map(|ns| table::seconds(ns * 1e-9)),
            Self::Bytes => number.map(table::bytes),
            Self::Count => value.as_u64().map(table::count),
            Self::Number => number.map(table::digits),
        }
        .unwrap_or_else(|| "-".into())
    }
}

/// Names of directories without the parent that all of them have in common.
pub(crate) fn short_names(names: &[String]) -> Vec<String> {
    let parent = |name: &String| Path::new(name).parent().map(Path::to_owned);
    let common = names
        .windows(2)
        .all(|two| parent(&two[0]) == parent(&two[1]));
    let last = |name: &String| {
        let file = Path::new(name).file_name().filter(|_| common);
        file.map_or_else(|| name.clone(), |file| file.to_string_lossy().into_owned())
    };
    names.iter().map(last).collect()
}
