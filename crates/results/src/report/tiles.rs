//! The key figures and the table of signals.

use fairlane_fabric::metrics::least_for;
use fairlane_fabric::{Outcome, Results, Signal, Signals};

use super::Figures;
use super::data::{SignalRow, Tile};
use super::text::{count, percent, scaled, three_digits, time};

/// The key figures in the order of display. While a run goes on, messages that aren't complete are no concern.
pub(super) fn tiles(results: &Results, figures: &Figures, goes_on: bool) -> Vec<Tile> {
    let mut completed = completed(results);
    completed.bad &= !goes_on;
    let mut tiles = vec![completed, goodput(figures)];
    tiles.extend([
        slowdown("Slowdown p50", figures.slowdown_p50, 0.5),
        slowdown("Slowdown p99", figures.slowdown_p99, 0.99),
        slowdown("Slowdown p99.9", figures.slowdown_p999, 0.999),
        deepest_queue(results),
    ]);
    tiles.extend(signal_tiles(results));
    tiles.extend(cost_tiles(results, figures));
    tiles
}

fn tile(label: &'static str, value: String, note: String) -> Tile {
    Tile {
        label,
        value,
        unit: String::new(),
        note,
        bad: false,
    }
}

fn with_unit(label: &'static str, (value, unit): (String, String), note: String) -> Tile {
    Tile {
        unit,
        ..tile(label, value, note)
    }
}

/// Messages that aren't complete.
pub(super) fn unfinished(results: &Results) -> u64 {
    let open = results
        .messages
        .iter()
        .filter(|message| message.outcome != Outcome::Completed);
    open.count() as u64
}

fn completed(results: &Results) -> Tile {
    let all = results.messages.len() as u64;
    let open = unfinished(results);
    let note = if open == 0 {
        "all".into()
    } else {
        format!("of {}", count(all))
    };
    Tile {
        bad: open > 0,
        ..tile("Messages completed", count(all - open), note)
    }
}

fn goodput(figures: &Figures) -> Tile {
    let (span, unit) = time(figures.goodput_ns);
    let note = format!("payload placed in {span} {unit}");
    match figures.goodput_bps {
        Some(bps) => with_unit("Goodput", scaled(bps, "b/s"), note),
        None => tile("Goodput", "–".into(), "nothing was placed".into()),
    }
}

/// Percentile `p`, which too few messages don't have.
fn slowdown(label: &'static str, value: Option<f64>, p: f64) -> Tile {
    match value {
        Some(value) => with_unit(
            label,
            (three_digits(value), "×".into()),
            "of ideal time".into(),
        ),
        None => {
            let note = format!("of {} completed or more", count(least_for(p) as u64));
            tile(label, "–".into(), note)
        }
    }
}

fn deepest_queue(results: &Results) -> Tile {
    let deepest = scaled(results.totals.queue_max.as_f64(), "B");
    with_unit("Deepest queue", deepest, "at any switch port".into())
}

fn signal_tiles(results: &Results) -> [Tile; 4] {
    let signals = &results.signals;
    let drops: u64 = signals.drops.values().map(|signal| signal.count).sum();
    let data = results.totals.data_packets;
    let of_data = |part: u64| match data {
        0 => String::new(),
        data => format!("{} of packets", percent(part as f64 / data as f64)),
    };
    let paused = match signals.paused_ns.count {
        0 => "no port paused".into(),
        ns => {
            let (value, unit) = time(ns as f64);
            format!("{value} {unit} port time")
        }
    };
    [
        tile(
            "ECN marks",
            count(signals.ecn_marks.count),
            of_data(signals.ecn_marks.count),
        ),
        tile("Pauses", count(signals.pauses.count), paused),
        Tile {
            bad: drops > 0,
            ..tile("Drops", count(drops), "packets, all reasons".into())
        },
        tile(
            "Retransmissions",
            count(signals.retransmissions.count),
            of_data(signals.retransmissions.count),
        ),
    ]
}

fn cost_tiles(results: &Results, figures: &Figures) -> Vec<Tile> {
    let totals = &results.totals;
    let (span, unit) = time(totals.end.as_ps() as f64 / 1e3);
    let transmissions = scaled(totals.transmissions as f64, "");
    let events = format!("{} events", count(totals.events));
    let mut tiles = vec![
        with_unit(
            "Packet transmissions",
            transmissions,
            "packets × links".into(),
        ),
        with_unit("Simulated time", (span, unit.into()), events),
    ];
    if let Some(speed) = figures.events_per_second {
        tiles.push(with_unit(
            "Speed",
            scaled(speed, " events/s"),
            "of processor time".into(),
        ));
    }
    tiles
}

/// The table of signals in the order of display.
pub(super) fn signal_rows(signals: &Signals) -> Vec<SignalRow> {
    let mut rows = vec![row(
        "ECN marks",
        &signals.ecn_marks,
        "packets marked by switches",
    )];
    if let Some(filtered) = &signals.filtered_marks {
        let what = "packets that ports in front of hosts would have marked";
        rows.push(row("Marks filtered", filtered, what));
    }
    rows.extend([
        row(
            "CNPs sent",
            &signals.cnps_sent,
            "congestion notifications that receivers sent",
        ),
        row(
            "CNPs",
            &signals.cnps,
            "congestion notifications that reached senders",
        ),
        row("Pauses", &signals.pauses, "pause frames received"),
        paused_row(&signals.paused_ns),
    ]);
    for (reason, signal) in &signals.drops {
        rows.push(row(&format!("Drops: {reason}"), signal, "packets lost"));
    }
    rows.extend([
        row(
            "Retransmissions",
            &signals.retransmissions,
            "packets sent more than once",
        ),
        row(
            "NAKs",
            &signals.naks,
            "negative acknowledgements that reached senders",
        ),
        row("Timeouts", &signals.timeouts, "acknowledgement timeouts"),
    ]);
    rows
}

fn row(name: &str, signal: &Signal, meaning: &str) -> SignalRow {
    let note = signal
        .why_zero
        .clone()
        .unwrap_or_else(|| meaning.to_string());
    SignalRow {
        name: name.into(),
        value: count(signal.count),
        note,
        zero: signal.count == 0,
    }
}

fn paused_row(signal: &Signal) -> SignalRow {
    let (value, unit) = time(signal.count as f64);
    SignalRow {
        value: format!("{value} {unit}"),
        ..row("Paused", signal, "summed over ports")
    }
}
