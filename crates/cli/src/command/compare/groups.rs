//! Runs that differ in their seed alone, as one. Runs with one seed are one sample: they are alike, or something other than the
//! scenario differs, such as a file that it names, and they are told apart.

use std::collections::BTreeSet;

use fairlane_attacks::Estimate;
use serde_json::Value;

use super::{Run, dashed, short_names};
use crate::command::flatten;
use fairlane_results::table;

/// Runs that differ in their seed alone.
pub(super) struct Group {
    /// What sets them apart from others.
    pub(super) name: String,
    /// Places of the runs.
    pub(super) runs: Vec<usize>,
    /// Places of a run for each seed.
    pub(super) seeds: Vec<usize>,
}

/// Settings by which groups are called before all others.
const TELLING: [&str; 3] = [
    "congestion.algorithm",
    "congestion.scope",
    "switch.forwarding",
];

/// Puts runs into groups; `differing` are the settings that aren't the same in all.
pub(super) fn groups(runs: &[Run], differing: &[String]) -> Vec<Group> {
    let told: Vec<&str> = differing
        .iter()
        .map(String::as_str)
        .filter(|name| *name != "seed")
        .collect();
    let values = |run: &Run, names: &[&str]| -> Vec<Value> {
        names
            .iter()
            .map(|name| flatten::get(&run.settings, name))
            .collect()
    };
    let mut groups: Vec<(Vec<Value>, Vec<usize>)> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        let values = values(run, &told);
        let fits = |other: usize| runs[other].seed() != run.seed() || runs[other].is_again(run);
        let mut alike = groups.iter_mut();
        let alike =
            alike.find(|(other, members)| *other == values && members.iter().all(|it| fits(*it)));
        match alike {
            Some((_, members)) => members.push(number),
            None => groups.push((values, vec![number])),
        }
    }
    let first = |group: &(Vec<Value>, Vec<usize>)| &runs[group.1[0]];
    let naming = naming(&told, &|names| {
        let distinct = groups
            .iter()
            .map(|group| words(&values(first(group), names)));
        distinct.collect::<BTreeSet<_>>().len()
    });
    let short = short_names(runs);
    let named = |group: &(Vec<Value>, Vec<usize>)| words(&values(first(group), &naming));
    let group = |group: &(Vec<Value>, Vec<usize>)| {
        let name = named(group);
        let others = groups.iter().filter(|other| named(other) == name);
        Group {
            name: match naming.is_empty() || others.count() > 1 {
                true => short[group.1[0]].clone(),
                false => name,
            },
            runs: group.1.clone(),
            seeds: samples(runs, &group.1),
        }
    };
    groups.iter().map(group).collect()
}

/// The runs of one group that count: of several with the same seed, which are the same run, the first.
fn samples(runs: &[Run], members: &[usize]) -> Vec<usize> {
    let mut samples: Vec<usize> = Vec::new();
    for &member in members {
        if samples
            .iter()
            .all(|other| runs[*other].seed() != runs[member].seed())
        {
            samples.push(member);
        }
    }
    samples
}

/// The fewest settings, as far as taking the best one by one finds them, that tell all groups apart.
fn naming<'a>(told: &[&'a str], distinct: &dyn Fn(&[&str]) -> usize) -> Vec<&'a str> {
    let whole = distinct(told);
    let mut order: Vec<&str> = told.to_vec();
    order.sort_by_key(|name| {
        TELLING
            .iter()
            .position(|other| other == name)
            .unwrap_or(TELLING.len())
    });
    let mut chosen: Vec<&str> = Vec::new();
    while distinct(&chosen) < whole {
        let more = |name: &&&str| distinct(&[&chosen[..], &[**name]].concat());
        // Of equally good ones the first.
        let Some(best) = order.iter().rev().max_by_key(more) else {
            break;
        };
        chosen.push(best);
    }
    chosen
}

fn words(values: &[Value]) -> String {
    values.iter().map(dashed).collect::<Vec<_>>().join(", ")
}

/// Mean and interval of a figure over the runs of a group.
pub(super) fn estimate(group: &Group, runs: &[Run], name: &str) -> Estimate {
    Estimate::of(group.seeds.iter().map(|run| runs[*run].number(name)))
}

/// Figures of groups: header, name, what they are multiplied by.
const COLUMNS: [(&str, &str, f64); 6] = [
    ("completion p50 (us)", "completion_ns.p50", 1e-3),
    ("p99 (us)", "completion_ns.p99", 1e-3),
    ("slowdown p50", "slowdown.p50", 1.0),
    ("p99", "slowdown.p99", 1.0),
    ("goodput (Gb/s)", "goodput_gbps", 1.0),
    ("deepest queue (kB)", "queue_max_bytes", 1e-3),
];

/// A row for each group: means over seeds with half the width of their 95 % confidence intervals.
pub(super) fn table(groups: &[Group], runs: &[Run]) -> String {
    let mut header = vec!["means over seeds", "seeds"];
    header.extend(COLUMNS.iter().map(|(header, ..)| *header));
    let row = |group: &Group| {
        let cell = |(_, name, factor): &(&str, &str, f64)| {
            let estimate = estimate(group, runs, name);
            let scaled = |value: Option<f64>| value.map(|value| table::digits(value * factor));
            match (scaled(estimate.mean), scaled(estimate.half_width)) {
                (Some(mean), Some(half)) => format!("{mean} ± {half}"),
                (mean, _) => mean.unwrap_or_else(|| "-".into()),
            }
        };
        let start = [group.name.clone(), group.seeds.len().to_string()];
        start.into_iter().chain(COLUMNS.iter().map(cell)).collect()
    };
    table::grid(&header, &groups.iter().map(row).collect::<Vec<_>>())
}
