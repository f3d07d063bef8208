//! All findings of a run, and their text.

use std::fmt::Write as _;

use serde::Serialize;

use crate::blame::blame;
use crate::collectives;
use crate::fabric::Fabric;
use crate::findings::{Finding, Kind, Place, Remedy, of_causes};
use crate::multipath;
use crate::numbers;
use crate::records::Run;

/// Fewer intervals than this leave little of a run to be seen.
const FEW_INTERVALS: u64 = 8;

/// Why a run went as it did.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The scenario's name.
    pub name: String,
    /// Messages that were posted.
    pub messages: u64,
    /// Pairs of hosts that they were between.
    pub pairs: u64,
    /// Time in which anything was under way, in nanoseconds.
    pub busy_ns: f64,
    /// Time that all messages took, in nanoseconds: what shares are of.
    pub message_ns: f64,
    /// Time that they would have taken alone on the fabric, of those that completed, over the time that these took.
    pub ideal_share: Option<f64>,
    /// What the time went into, the costliest first; then facts.
    pub findings: Vec<Finding>,
}

/// Finds out why a run went as it did.
pub fn explain(run: &Run) -> Report {
    let fabric = Fabric::new(run);
    let blame = blame(run, &fabric);
    let mut findings = of_causes(run, &fabric, &blame);
    if let Some(several) = &run.multipath {
        findings.extend(multipath::facts(run, several, &fabric));
    }
    findings.extend(collectives::fact(run, &blame));
    findings.extend(samples(run, &fabric));
    if run.settings.link_faults {
        let what = "links failed: messages are looked for on the ways that they have at the start";
        findings.push(fact(
            Kind::LinkFaults,
            what.into(),
            "faults.link",
            "links that fail",
        ));
    }
    if run.messages.is_empty() {
        findings.push(fact(
            Kind::Idle,
            "there was nothing to send".into(),
            "workload",
            "messages",
        ));
    }
    let ends = run.messages.iter().map(|it| (it.source, it.destination));
    let pairs: std::collections::BTreeSet<_> = ends.collect();
    Report {
        name: run.name.clone(),
        messages: run.messages.len() as u64,
        pairs: pairs.len() as u64,
        busy_ns: fabric.busy() as f64 / 1e3,
        message_ns: blame.total() as f64 / 1e3,
        ideal_share: ideal_share(run),
        findings,
    }
}

fn ideal_share(run: &Run) -> Option<f64> {
    let completed = run.messages.iter().filter_map(|message| {
        let finish = message.finish_ps?;
        Some((message.ideal_ps, finish.saturating_sub(message.start_ps)))
    });
    let (ideal, taken) = completed.fold((0.0, 0.0), |(ideal, taken), message| {
        (ideal + message.0 as f64, taken + message.1 as f64)
    });
    (taken > 0.0).then(|| ideal / taken)
}

/// Says so if the time series has too few intervals.
fn samples(run: &Run, fabric: &Fabric<'_>) -> Option<Finding> {
    let intervals = fabric.busy() / run.interval_ps.max(1);
    if run.messages.is_empty() || intervals >= FEW_INTERVALS {
        return None;
    }
    let what = format!(
        "messages were under way for {}, and the time series has intervals of {}: causes are uncertain",
        numbers::time(fabric.busy()),
        numbers::time(run.interval_ps)
    );
    let key = "output.sample_interval";
    Some(fact(
        Kind::CoarseSamples,
        what,
        key,
        "a tenth of that time or less",
    ))
}

fn fact(kind: Kind, what: String, key: &'static str, remedy: &'static str) -> Finding {
    Finding {
        kind,
        time_ns: None,
        share: None,
        what,
        places: Vec::new(),
        figures: Vec::new(),
        remedies: vec![Remedy { key, what: remedy }],
    }
}

impl Report {
    /// The findings in words.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}: {} between {}, under way for {}",
            self.name,
            numbers::count(self.messages as usize, "message"),
            pairs(self.pairs),
            time(self.busy_ns)
        );
        if let Some(share) = self.ideal_share {
            let _ = write!(
                text,
                "\nof the time that they took, {} is what they take alone on the fabric",
                numbers::percent(share)
            );
        }
        for (number, finding) in self.findings.iter().enumerate() {
            let _ = write!(text, "\n\n{}. {}", number + 1, finding.headline());
            for line in finding.lines() {
                let _ = write!(text, "\n   {line}");
            }
        }
        text
    }
}

fn pairs(number: u64) -> String {
    let pairs = numbers::count(number as usize, "pair");
    format!("{pairs} of hosts")
}

fn time(ns: f64) -> String {
    numbers::time((ns * 1e3) as u64)
}

impl Finding {
    fn headline(&self) -> String {
        match (self.time_ns, self.share) {
            (Some(ns), Some(share)) => {
                let share = numbers::percent(share);
                format!("{share} of message time ({}): {}", time(ns), self.what)
            }
            _ => self.what.clone(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let places = self.places.iter().flat_map(Place::lines);
        let remedies = self.remedies.iter();
        let remedies = remedies.map(|remedy| format!("change {}: {}", remedy.key, remedy.what));
        places
            .chain(self.figures.iter().cloned())
            .chain(remedies)
            .collect()
    }
}

impl Place {
    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{} port {} to {} ({}): {} used, {} carried; {} of message time, {} between {}",
            self.node,
            self.port,
            self.peer,
            numbers::rate(self.rate_bps),
            numbers::percent(self.usage),
            numbers::bytes(self.bytes),
            time(self.time_ns),
            numbers::count(self.messages as usize, "message"),
            pairs(self.pairs)
        )];
        if self.usage_over_time.len() > 1 {
            let parts = self.usage_over_time.iter();
            let parts: Vec<_> = parts.map(|usage| format!("{:.0}", usage * 100.0)).collect();
            lines.push(format!("  over time: {} %", parts.join(", ")));
        }
        if let [least, ..] = self.parallel_usage[..] {
            let most = self.parallel_usage.last().copied().unwrap_or(least);
            lines.push(format!(
                "  {} parallel to it: {} to {} used",
                numbers::count(self.parallel_usage.len(), "link"),
                numbers::percent(least),
                numbers::percent(most)
            ));
        }
        lines.push(format!("  most for {}", self.most.join(", ")));
        lines
    }
}
