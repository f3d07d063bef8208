//! `summary.json`, and the tables that say the same on standard output.

use fairlane_fabric::metrics::{SlowdownBin, Spread, Summary};
use fairlane_fabric::{RealTime, Results, Signal, Signals};
use fairlane_scenario::{Profile, Scenario};
use serde::Serialize;

use crate::figures::Figures;
use crate::meter::Host;
use crate::table;
use crate::{collectives, heading, tenants};

/// Content of `summary.json`.
#[derive(Debug, Serialize)]
pub struct File<'a> {
    name: &'a str,
    profile: &'static str,
    congestion: String,
    seed: u64,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Slowdown by message size, against the ideal time.
    slowdown_bins: &'a [SlowdownBin],
    /// Slowdown by message size, against the standalone time of HPCC's text format.
    standalone_bins: &'a [SlowdownBin],
    /// What differs from run to run.
    host: &'a Host,
    #[serde(skip)]
    scenario: &'a Scenario,
}

impl<'a> File<'a> {
    /// The summary of a run.
    pub fn new(scenario: &'a Scenario, figures: &'a Figures, host: &'a Host) -> Self {
        Self {
            name: &scenario.name,
            profile: heading::profile(scenario.profile),
            congestion: scenario.of_controls(|control| control.title().into()),
            seed: scenario.seed,
            summary: &figures.summary,
            slowdown_bins: &figures.bins,
            standalone_bins: &figures.standalone_bins,
            host,
            scenario,
        }
    }

    /// The summary as tables.
    pub fn text(&self, results: &Results, all_signals: bool) -> String {
        let title = format!(
            "{}: {}, profile {}, seed {}",
            self.name, self.congestion, self.profile, self.seed
        );
        let mut parts = vec![title, self.overview(), self.spreads()];
        parts.extend(self.bins());
        if let Some(tenancy) = &self.summary.tenancy {
            parts.extend(tenants::blocks(tenancy, results.signals.tenants.as_ref()));
        }
        parts.extend(collectives::block(results));
        parts.push(signals(&results.signals, all_signals));
        parts.extend(speed(self.host));
        parts.join("\n\n")
    }

    fn overview(&self) -> String {
        let summary = self.summary;
        let mut lines = vec![
            ("ending", summary.ending.to_owned()),
            ("messages", messages(summary)),
            ("payload", payload(summary)),
            ("simulated", self.simulated()),
            ("goodput", self.goodput()),
            (
                "steady goodput",
                summary.goodput_steady_gbps.map_or_else(
                    || "-".into(),
                    |rate| {
                        format!(
                            "{} Gb/s without the first and last tenth",
                            table::digits(rate)
                        )
                    },
                ),
            ),
            (
                "deepest queue",
                table::bytes(summary.queue_max_bytes as f64),
            ),
            ("base round trip", table::seconds(summary.base_rtt_ns / 1e9)),
            ("transmissions", table::count(summary.transmissions)),
            ("events", table::count(summary.events)),
        ];
        if let Some(real_time) = &summary.real_time {
            lines.push(("real time", slower(real_time, summary.base_rtt_ns)));
        }
        table::list(&lines)
    }

    /// While messages were posted, if they came over time; and in the whole run.
    fn goodput(&self) -> String {
        let summary = self.summary;
        let rate = |gbps: f64| format!("{} Gb/s", table::digits(gbps));
        let run = format!(
            "{} over {}",
            rate(summary.goodput_run_gbps),
            self.simulated()
        );
        let (gbps, time) = (
            rate(summary.goodput_gbps),
            table::seconds(summary.goodput_ns / 1e9),
        );
        let posting = format!("{gbps} over {time}");
        match posting == run {
            true => run,
            false => format!("{posting}, until the last message was posted; {run}"),
        }
    }

    /// From the first message to the end.
    fn simulated(&self) -> String {
        table::seconds((self.summary.end_ns - self.summary.first_start_ns) / 1e9)
    }

    fn spreads(&self) -> String {
        let summary = self.summary;
        let ratio = |value: f64| table::digits(value);
        let time = |value: f64| table::seconds(value / 1e9);
        let mut rows = vec![
            row("completion time", summary.completion_ns.as_ref(), &time),
            row("slowdown", summary.slowdown.as_ref(), &ratio),
        ];
        if self.scenario.profile == Profile::HpccNs3 {
            rows.push(row(
                "over standalone",
                summary.standalone_slowdown.as_ref(),
                &ratio,
            ));
        }
        table::grid(&["", "mean", "p50", "p95", "p99", "p99.9", "max"], &rows)
    }

    /// Slowdown by size, if anything completed; of the profile that has its own baseline, by that.
    fn bins(&self) -> Option<String> {
        let (baseline, bins) = match self.scenario.profile {
            Profile::Exact => ("slowdown", self.slowdown_bins),
            Profile::HpccNs3 => ("over standalone", self.standalone_bins),
        };
        let header = [baseline, "messages", "p50", "p95", "p99", "p99.9", "max"];
        let rows: Vec<_> = bins.iter().map(bin).collect();
        (!rows.is_empty()).then(|| table::grid(&header, &rows))
    }
}

/// How a run in real time kept up with it.
fn slower(real_time: &RealTime, base_rtt_ns: f64) -> String {
    let late = [
        real_time.late_p50_ns,
        real_time.late_p99_ns,
        real_time.late_max_ns,
    ];
    let [half, most, worst] = late.map(|late| table::seconds(late / 1e9));
    let part = table::digits(100.0 * real_time.late_p99_ns / base_rtt_ns);
    let scale = table::digits(real_time.scale);
    let enough = real_time.enough.map_or_else(String::new, |enough| {
        format!(
            "; LATE, more than 5 %: a scale of {} would do",
            table::digits(enough)
        )
    });
    format!(
        "{scale} times slower; events late by {half} (p50), {most} (p99), {worst} (most); p99 is {part} % of the base round trip{enough}"
    )
}

/// How fast a run was; processor time comes in steps, so that short runs say nothing.
fn speed(host: &Host) -> Option<String> {
    if host.user_cpu_s < SPEED_MIN_S {
        return None;
    }
    let rate = |rate: Option<f64>| rate.map_or_else(|| "-".into(), table::magnitude);
    Some(format!(
        "speed: {} packet transmissions and {} events per second of processor time, {} s, {} MiB",
        rate(host.transmissions_per_user_second),
        rate(host.events_per_user_second),
        table::digits(host.user_cpu_s),
        host.max_rss_bytes >> 20,
    ))
}

/// Processor time from which on a speed is stated.
const SPEED_MIN_S: f64 = 0.1;

fn messages(summary: &Summary) -> String {
    let mut text = format!(
        "{} of {} complete",
        table::count(summary.completed as u64),
        table::count(summary.messages as u64)
    );
    for (number, what) in [
        (summary.unfinished, "unfinished"),
        (summary.failed, "failed"),
    ] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", table::count(number as u64)));
        }
    }
    text
}

/// Payload at receivers, and that of all messages if it isn't the same.
fn payload(summary: &Summary) -> String {
    let placed = table::bytes(summary.placed_bytes as f64);
    match summary.unfinished + summary.failed {
        0 => placed,
        _ => format!("{placed} of {}", table::bytes(summary.bytes as f64)),
    }
}

fn row(name: &str, spread: Option<&Spread>, show: &dyn Fn(f64) -> String) -> Vec<String> {
    let values = spread.map_or([None; 6], |s| {
        [Some(s.mean), s.p50, s.p95, s.p99, s.p999, Some(s.max)]
    });
    let cells = values.map(|value| table::dash(value, show));
    std::iter::once(name.to_owned()).chain(cells).collect()
}

fn bin(bin: &SlowdownBin) -> Vec<String> {
    let mut cells = vec![
        format!("up to {}", table::bytes(bin.upto_bytes as f64)),
        table::count(bin.count as u64),
    ];
    let figures = [bin.p50, bin.p95, bin.p99, bin.p999, Some(bin.max)];
    cells.extend(figures.map(|figure| table::dash(figure, table::digits)));
    cells
}

/// Which signals the run saw, and why it didn't see the others.
fn signals(signals: &Signals, all: bool) -> String {
    let filtered = (signals.filtered_marks.as_ref()).map(|signal| ("filtered marks", signal));
    let named = [
        ("marks", &signals.ecn_marks),
        ("CNPs", &signals.cnps),
        ("pauses", &signals.pauses),
        ("retransmissions", &signals.retransmissions),
        ("NAKs", &signals.naks),
        ("timeouts", &signals.timeouts),
    ];
    let named = named.into_iter().chain(filtered);
    let named = named.map(|(name, signal)| (name.to_owned(), signal));
    let drops = signals.drops.iter();
    let drops = drops.map(|(reason, signal)| (format!("drops ({reason})"), signal));
    let (seen, silent): (Vec<_>, Vec<_>) =
        named.chain(drops).partition(|(_, signal)| signal.count > 0);
    let seen: Vec<_> = seen
        .iter()
        .map(|(name, signal)| format!("{} {name}", table::count(signal.count)))
        .collect();
    let mut text = match seen.is_empty() {
        true => "signals seen: none".to_owned(),
        false => format!("signals seen: {}", seen.join(", ")),
    };
    // That packets were lost and none was marked is a surprise.
    let lost = signals.drops.values().any(|drop| drop.count > 0);
    let surprises = |name: &str| lost && name == "marks";
    for (name, signal) in silent
        .into_iter()
        .filter(|(name, _)| all || surprises(name))
    {
        text.push_str(&format!("\n  no {name}: {}", why(signal)));
    }
    text
}

fn why(signal: &Signal) -> &str {
    signal.why_zero.as_deref().unwrap_or("nothing caused any")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_is_stated_of_runs_of_a_tenth_of_a_second() {
        let host = |user_cpu_s| Host {
            version: "1",
            user_cpu_s,
            system_cpu_s: 0.0,
            wall_s: 9.0,
            max_rss_bytes: 7 << 20,
            transmissions_per_user_second: Some(3e6),
            events_per_user_second: Some(2e6),
        };
        assert_eq!(speed(&host(0.0)), None);
        assert_eq!(speed(&host(0.099)), None);
        let words = speed(&host(0.1)).expect("long enough");
        assert!(
            words.contains("3 M packet") && words.contains("0.1 s, 7 MiB"),
            "{words}"
        );
    }
}
