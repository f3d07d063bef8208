//! Causes put in words, with figures and what could be changed.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::blame::{Blame, Cause};
use crate::fabric::Fabric;
use crate::records::Run;
use crate::subject::Subject;
use crate::words::{remedies, what};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The receiver's link was full.
    Receiver,
    /// A link was full while parallel ones weren't.
    Collision,
    /// All parallel links of the fabric were full.
    Fabric,
    /// The sender's link was full.
    Sender,
    /// Links were paused, and none was full.
    Pauses,
    /// Packets were lost.
    Loss,
    /// Paths gave up.
    FailedPath,
    /// Messages took the way there and back.
    RoundTrip,
    /// Hosts were busy with chunks.
    ChunkCosts,
    /// Chunks in flight didn't fill paths.
    ChunkDepth,
    /// Congestion control let messages send no faster.
    CongestionControl,
    /// Several paths took one way.
    PathsShareAWay,
    /// How several paths carried the data.
    PathShares,
    /// What the ranks that ended last waited for.
    SlowestRanks,
    /// There was nothing to send.
    Idle,
    /// The time series is too coarse.
    CoarseSamples,
    /// Links failed, so that ways changed.
    LinkFaults,
}

/// Something that a run's time went into, or a fact about it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub kind: Kind,
    /// Message time that it cost, in nanoseconds; nothing for a fact.
    pub time_ns: Option<f64>,
    /// `time_ns` over the time that all messages took.
    pub share: Option<f64>,
    /// What, in a sentence.
    pub what: String,
    /// Where: the links that cost most, at most three.
    pub places: Vec<Place>,
    /// Figures and what they mean, a sentence each.
    pub figures: Vec<String>,
    /// What could be changed.
    pub remedies: Vec<Remedy>,
}

/// A link, in one direction.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// The node that sends, such as `switch 130`.
    pub node: String,
    /// Its port.
    pub port: u32,
    /// The node at the other end.
    pub peer: String,
    /// Rate of the link in bits per second.
    pub rate_bps: u64,
    /// Message time that it cost, in nanoseconds.
    pub time_ns: f64,
    /// Bytes that it carried in the whole run.
    pub bytes: u64,
    /// Its use over the time in which anything was under way.
    pub usage: f64,
    /// The link's use in each of up to ten equal parts of the time series.
    pub usage_over_time: Vec<f64>,
    /// Use of the links parallel to it for the message held up most, from the least used; empty if there are none.
    pub parallel_usage: Vec<f64>,
    /// Messages that it held up.
    pub messages: u64,
    /// Pairs of hosts that these were between.
    pub pairs: u64,
    /// Messages that it held up most, such as `0->19 (10 MB)`.
    pub most: Vec<String>,
}

/// Something that could be changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// The scenario's key.
    pub key: &'static str,
    /// What to do with it, and what follows.
    pub what: &'static str,
}

/// A finding for each kind of cause, the costliest first.
pub(crate) fn of_causes(run: &Run, fabric: &Fabric<'_>, blame: &Blame) -> Vec<Finding> {
    let mut by_kind: BTreeMap<Kind, Vec<Cause>> = BTreeMap::new();
    for cause in blame.by_cause.keys() {
        by_kind.entry(kind(*cause)).or_default().push(*cause);
    }
    let total = blame.total().max(1);
    let mut findings: Vec<(u64, Finding)> = Vec::new();
    for (kind, mut causes) in by_kind {
        causes.sort_by_key(|cause| std::cmp::Reverse(blame.time(*cause)));
        let time: u64 = causes.iter().map(|cause| blame.time(*cause)).sum();
        let subject = Subject {
            run,
            fabric,
            blame,
            causes: &causes,
        };
        let share = time as f64 / total as f64;
        let finding = Finding {
            kind,
            time_ns: Some(time as f64 / 1e3),
            share: Some(share),
            what: what(kind).to_owned(),
            places: subject.places(),
            figures: subject.figures(kind),
            remedies: remedies(run, kind),
        };
        findings.push((time, finding));
    }
    findings.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    findings.into_iter().map(|(_, finding)| finding).collect()
}

pub(crate) const fn kind(cause: Cause) -> Kind {
    match cause {
        Cause::Receiver(_) => Kind::Receiver,
        Cause::Collision(_) => Kind::Collision,
        Cause::Fabric(_) => Kind::Fabric,
        Cause::Sender(_) => Kind::Sender,
        Cause::Paused(_) => Kind::Pauses,
        Cause::Loss => Kind::Loss,
        Cause::FailedPath => Kind::FailedPath,
        Cause::RoundTrip => Kind::RoundTrip,
        Cause::Costs => Kind::ChunkCosts,
        Cause::Depth => Kind::ChunkDepth,
        Cause::Control => Kind::CongestionControl,
    }
}
