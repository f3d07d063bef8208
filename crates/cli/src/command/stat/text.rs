//! Counters for people.

use super::Sample;
use super::device::{Device, Named, Pair};
use fairlane_results::table;

/// A table for each device, and perhaps one of its queue pairs. With a sample of `before`, how fast counters grow.
pub(super) fn text(sample: &Sample, before: Option<&Sample>, all: bool) -> String {
    let one = |device: &Device| {
        let before = before.and_then(|before| before.same(device, sample));
        let mut parts = vec![heading(device), counters(device, before, all)];
        parts.extend(device.pairs.as_ref().map(|own| pairs(own, all)));
        parts.join("\n")
    };
    let devices: Vec<String> = sample.devices.iter().map(one).collect();
    devices.join("\n\n")
}

fn heading(device: &Device) -> String {
    let pairs = match device.queue_pairs {
        1 => "1 queue pair".to_owned(),
        count => format!("{count} queue pairs"),
    };
    let Device {
        device: name,
        address,
        gid,
        program,
        pid,
        state,
        ..
    } = device;
    format!("{name} at {address}, GID {gid}, {state}: {program}, process {pid}, {pairs}")
}

fn counters(device: &Device, before: Option<(&Device, f64)>, all: bool) -> String {
    let shown = |(_, value): &&Named| all || *value > 0;
    let row = |(name, value): &Named| {
        let mut row = vec![name.clone(), table::count(*value)];
        row.extend(before.map(|(own, seconds)| rate(own, name, *value, seconds)));
        row
    };
    let rows: Vec<_> = device.counters.iter().filter(shown).map(row).collect();
    if rows.is_empty() {
        return "  nothing has been counted".to_owned();
    }
    let header: &[&str] = match before {
        Some(_) => &["counter", "value", "per second"],
        None => &["counter", "value"],
    };
    indented(&table::grid(header, &rows))
}

/// How fast a counter has grown.
fn rate(before: &Device, name: &str, value: u64, seconds: f64) -> String {
    let old = before.counters.iter().find(|(own, _)| own == name);
    let grown = value.saturating_sub(old.map_or(0, |(_, value)| *value));
    table::magnitude(grown as f64 / seconds)
}

/// A line for each queue pair, with a column for each counter that isn't 0 everywhere.
fn pairs(pairs: &[Pair], all: bool) -> String {
    let Some(first) = pairs.first() else {
        return String::new();
    };
    let shown = |name: &str| all || pairs.iter().any(|pair| value(pair, name) > 0);
    let names = first.counters.iter().map(|(name, _)| name.as_str());
    let names: Vec<&str> = names.filter(|name| shown(name)).collect();
    let mut header = vec![
        "queue pair",
        "service",
        "state",
        "partition",
        "peer",
        "its number",
    ];
    header.extend(&names);
    let row = |pair: &Pair| {
        let mut row = vec![
            pair.number.to_string(),
            pair.service.clone(),
            pair.state.clone(),
            pair.partition(),
            pair.peer.clone().unwrap_or_default(),
            pair.peer_number
                .map(|number| number.to_string())
                .unwrap_or_default(),
        ];
        row.extend(names.iter().map(|name| table::count(value(pair, name))));
        row
    };
    let rows: Vec<_> = pairs.iter().map(row).collect();
    format!("\n{}", indented(&table::grid(&header, &rows)))
}

fn value(pair: &Pair, name: &str) -> u64 {
    let own = pair.counters.iter().find(|(own, _)| own == name);
    own.map_or(0, |(_, value)| *value)
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
