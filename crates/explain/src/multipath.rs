//! Facts about connections with several paths.

use std::collections::{BTreeMap, BTreeSet};

use crate::fabric::{Fabric, joined_spans};
use crate::findings::{Finding, Kind, Remedy};
use crate::numbers;
use crate::records::{Message, Multipath, Path, Run, Way};

/// The most pairs of hosts that are spoken of one by one.
const MOST_PAIRS: usize = 3;

/// Facts about the paths of each pair of hosts, those with most bytes first.
pub(crate) fn facts(run: &Run, multipath: &Multipath, fabric: &Fabric<'_>) -> Vec<Finding> {
    let mut pairs: BTreeMap<(u32, u32), Vec<&Path>> = BTreeMap::new();
    for path in &multipath.paths {
        let ends = (path.source, path.destination);
        pairs.entry(ends).or_default().push(path);
    }
    let mut pairs: Vec<_> = pairs.into_iter().collect();
    let bytes = |paths: &[&Path]| paths.iter().map(|path| path.bytes).sum::<u64>();
    pairs.sort_by_key(|(ends, paths)| (std::cmp::Reverse(bytes(paths)), *ends));
    let of_pair = |(ends, paths): &((u32, u32), Vec<&Path>)| {
        let facts = [
            shared_ways(*ends, paths, fabric),
            Some(shares(*ends, paths, gain(run, *ends, paths, fabric))),
        ];
        let given_up = given_up(*ends, paths, multipath.again);
        facts
            .into_iter()
            .flatten()
            .chain(given_up)
            .collect::<Vec<_>>()
    };
    pairs.iter().take(MOST_PAIRS).flat_map(of_pair).collect()
}

fn fact(kind: Kind, what: String, figures: Vec<String>, remedies: Vec<Remedy>) -> Finding {
    Finding {
        kind,
        time_ns: None,
        share: None,
        what,
        places: Vec::new(),
        figures,
        remedies,
    }
}

/// How many different ways the paths of a pair take, if fewer than they could.
fn shared_ways(
    (source, destination): (u32, u32),
    paths: &[&Path],
    fabric: &Fabric<'_>,
) -> Option<Finding> {
    let mut ways: BTreeMap<&Way, Vec<u32>> = BTreeMap::new();
    for path in paths.iter().filter(|path| !path.way.is_empty()) {
        ways.entry(&path.way).or_default().push(path.path);
    }
    let stages = fabric.stages(source, destination);
    let there_are = stages.iter().map(Vec::len).max().unwrap_or(0);
    let possible = there_are.min(paths.len());
    if ways.is_empty() || ways.len() >= possible {
        return None;
    }
    let (way, sharing) = ways.iter().max_by_key(|(_, sharing)| sharing.len())?;
    let nodes: Vec<String> = way.nodes.iter().map(u32::to_string).collect();
    let what = format!(
        "{source}->{destination}: {} take {}, and there are {there_are}",
        numbers::count(paths.len(), "path"),
        numbers::count(ways.len(), "way")
    );
    let mut figures = vec![format!(
        "{} take {}",
        numbers::count(sharing.len(), "path"),
        nodes.join(" - ")
    )];
    let twins = paths.iter().filter(|path| path.twin_of.is_some()).count();
    if twins > 0 {
        let twins = numbers::count(twins, "path");
        figures.push(format!(
            "{twins} left out, since another one takes the same way"
        ));
    }
    let remedy = Remedy {
        key: "multipath.plan",
        what: "source ports that take different ways; `fairlane paths` says which do",
    };
    Some(fact(Kind::PathsShareAWay, what, figures, vec![remedy]))
}

/// What several paths brought a pair: its goodput beside what the links of one way carry.
fn gain(run: &Run, ends: (u32, u32), paths: &[&Path], fabric: &Fabric<'_>) -> Option<String> {
    let of_pair = |message: &&Message| (message.source, message.destination) == ends;
    let messages = run.messages.iter().filter(of_pair);
    let taken: u64 = joined_spans(messages, run.end_ps)
        .iter()
        .map(|(from, to)| to - from)
        .sum();
    let slowest = |path: &&&Path| {
        let links = fabric.links(&path.way).into_iter();
        links.map(|port| fabric.ports[port].rate_bps).min()
    };
    let one = paths.iter().filter_map(|path| slowest(&path)).max()?;
    let bytes: u64 = paths.iter().map(|path| path.bytes).sum();
    if taken == 0 || bytes == 0 {
        return None;
    }
    let goodput = bytes as f64 * 8e12 / taken as f64;
    let ratio = goodput / one as f64;
    let rates = format!(
        "{} of payload, and the links of one way carry {}",
        numbers::rate(goodput as u64),
        numbers::rate(one)
    );
    Some(match ratio {
        1.0.. => format!(
            "{rates}: several paths brought {} times as much",
            numbers::digits(ratio)
        ),
        _ => format!("{rates}: one path could do as much"),
    })
}

/// What each path carried, and what that brought.
fn shares((source, destination): (u32, u32), paths: &[&Path], gain: Option<String>) -> Finding {
    let total: u64 = paths.iter().map(|path| path.bytes).sum();
    let shares = paths
        .iter()
        .map(|path| path.bytes as f64 / total.max(1) as f64);
    let shares: Vec<f64> = shares.collect();
    let carried = shares.iter().filter(|share| **share > 0.0).count();
    let ways: BTreeSet<&Way> = paths
        .iter()
        .filter(|path| path.bytes > 0 && !path.way.is_empty())
        .map(|path| &path.way)
        .collect();
    let over = match ways.len() {
        0 => String::new(),
        ways => format!(" over {}", numbers::count(ways, "way")),
    };
    let what = format!(
        "{source}->{destination}: {carried} of {} carried {}{over}",
        numbers::count(paths.len(), "path"),
        numbers::bytes(total)
    );
    let most = shares.iter().copied().fold(0.0, f64::max);
    let used = shares.iter().copied().filter(|share| *share > 0.0);
    let least = used.reduce(f64::min).unwrap_or(0.0);
    let each = format!(
        "{} to {} of the bytes on each of these",
        numbers::percent(least),
        numbers::percent(most)
    );
    let figures = std::iter::once(each).chain(gain).collect();
    fact(Kind::PathShares, what, figures, Vec::new())
}

/// Paths that were given up.
fn given_up((source, destination): (u32, u32), paths: &[&Path], again: u64) -> Vec<Finding> {
    let failed: Vec<_> = paths
        .iter()
        .filter(|path| path.failures + path.quarantines > 0)
        .collect();
    if failed.is_empty() {
        return Vec::new();
    }
    let what = format!(
        "{source}->{destination}: {} of {} gave up",
        failed.len(),
        numbers::count(paths.len(), "path")
    );
    let figure = |path: &&&Path| {
        format!(
            "path {} (source port {}): {} failed, given up {}, {} at the end",
            path.path,
            path.source_port,
            numbers::count(path.failures as usize, "chunk"),
            numbers::count(path.quarantines as usize, "time"),
            path.health
        )
    };
    let again = numbers::count(again as usize, "chunk");
    let again = format!("{again} of the whole run posted again, on other paths");
    let figures = failed.iter().map(figure).chain([again]).collect();
    let remedy = Remedy {
        key: "faults.link",
        what: "links that fail; others carry the rest",
    };
    vec![fact(Kind::FailedPath, what, figures, vec![remedy])]
}
