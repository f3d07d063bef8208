//! Causes put in words, with figures and what could be changed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::blame::{Blame, Cause};
use crate::fabric::Fabric;
use crate::numbers;
use crate::records::Run;

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
    /// That over the time that all messages took.
    pub share: Option<f64>,
    /// What, in a sentence.
    pub what: String,
    /// Where: the links that cost most, at most [`MOST_PLACES`].
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
    /// The same in each of up to ten equal parts of the time series.
    pub usage_over_time: Vec<f64>,
    /// That of the links that are parallel to it for those messages, from the least used; empty if there are none.
    pub parallel_usage: Vec<f64>,
    /// Messages that it held up.
    pub messages: u64,
    /// Pairs of hosts that these were between.
    pub pairs: u64,
    /// Those that it held up most, such as `0->19 (10 MB)`.
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

/// The most places of a finding.
const MOST_PLACES: usize = 3;
/// Parts of the time series in which the use of a link is shown.
const PARTS: usize = 10;
/// The most messages named at a place.
const MOST_MESSAGES: usize = 3;

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

const fn kind(cause: Cause) -> Kind {
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

const fn port(cause: Cause) -> Option<usize> {
    match cause {
        Cause::Receiver(port)
        | Cause::Collision(port)
        | Cause::Fabric(port)
        | Cause::Sender(port)
        | Cause::Paused(port) => Some(port),
        _ => None,
    }
}

const fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Receiver => "the receiver's link was full: more paths bring nothing",
        Kind::Collision => "a link was full while parallel ones had room",
        Kind::Fabric => "all parallel links of the fabric were full: more paths bring nothing",
        Kind::Sender => "the sender's link was full: more paths bring nothing",
        Kind::Pauses => "links were paused, and none on the way was full",
        Kind::Loss => "no link was full, but packets were lost and sent again",
        Kind::FailedPath => "no link was full, but a path had given up",
        Kind::RoundTrip => "messages were so short that they took the way there and back",
        Kind::ChunkCosts => "no link was full: the host was busy with chunks",
        Kind::ChunkDepth => "no link was full: too few chunks were in flight to fill the paths",
        Kind::CongestionControl => {
            "no link was full: rates, windows or the way there and back held messages up"
        }
        Kind::PathsShareAWay
        | Kind::PathShares
        | Kind::Idle
        | Kind::CoarseSamples
        | Kind::LinkFaults => "",
    }
}

const fn remedy(key: &'static str, what: &'static str) -> Remedy {
    Remedy { key, what }
}

/// What could be changed about a kind of cause.
fn remedies(run: &Run, kind: Kind) -> Vec<Remedy> {
    match kind {
        Kind::Receiver | Kind::Sender | Kind::Collision | Kind::Fabric => {
            links_to_change(run.multipath.is_some(), kind)
        }
        Kind::Pauses => vec![
            remedy("switch.pfc", "what pauses; pauses.csv says who and when"),
            remedy("switch.buffer", "more room before a pause"),
        ],
        Kind::Loss => vec![
            remedy(
                "transport.recovery",
                "\"selective-repeat\" sends again only what is lost",
            ),
            remedy("transport.ack_timeout", "a lost tail waits for this long"),
        ],
        Kind::FailedPath => vec![remedy(
            "faults.link",
            "links that fail; others carry the rest",
        )],
        Kind::RoundTrip => vec![remedy(
            "workload.size",
            "longer messages, or more of them at a time",
        )],
        Kind::ChunkCosts => vec![
            remedy("multipath.chunk", "larger chunks cost less often"),
            remedy(
                "multipath.costs",
                "what a work request, a completion and a chunk cost",
            ),
        ],
        Kind::ChunkDepth => vec![
            remedy("multipath.depth", "more chunks of a path in flight"),
            remedy("multipath.chunk", "larger chunks"),
        ],
        Kind::CongestionControl => vec![
            remedy(
                "congestion.scope",
                "who shares a controller: more paths of one share go no faster",
            ),
            remedy(
                "congestion",
                "window, rates and thresholds of the algorithm",
            ),
        ],
        _ => Vec::new(),
    }
}

/// What could be changed about links that are full.
fn links_to_change(several: bool, kind: Kind) -> Vec<Remedy> {
    let faster = "a faster link, or topology.planes for a second one";
    let faster = remedy("topology.host_link.rate", faster);
    match kind {
        Kind::Receiver => vec![
            faster,
            remedy("workload", "fewer senders to one receiver at a time"),
        ],
        Kind::Sender => vec![faster],
        Kind::Collision if several => vec![
            remedy(
                "multipath.plan",
                "source ports that take different ways; `fairlane paths` says which do",
            ),
            remedy("multipath.paths", "more paths reach more links by chance"),
        ],
        Kind::Collision => vec![
            remedy("multipath", "several paths for a message"),
            remedy(
                "switch.forwarding",
                "a policy that follows queues or chooses packet by packet",
            ),
        ],
        _ => vec![remedy(
            "topology.fabric_link.rate",
            "faster links, or more of them, between switches",
        )],
    }
}

/// A kind of cause, and where it is looked up.
struct Subject<'a> {
    run: &'a Run,
    fabric: &'a Fabric<'a>,
    blame: &'a Blame,
    /// The costliest first.
    causes: &'a [Cause],
}

impl Subject<'_> {
    fn places(&self) -> Vec<Place> {
        let causes = self.causes.iter();
        let places = causes.filter_map(|cause| Some(self.place(*cause, port(*cause)?)));
        places.take(MOST_PLACES).collect()
    }

    fn place(&self, cause: Cause, port: usize) -> Place {
        let held = &self.blame.by_cause[&cause];
        let mut most: Vec<(usize, u64)> = held.iter().map(|(index, ps)| (*index, *ps)).collect();
        most.sort_by_key(|(index, ps)| (std::cmp::Reverse(*ps), *index));
        let message = |index: usize| &self.run.messages[index];
        let named = most.iter().take(MOST_MESSAGES).map(|(index, _)| {
            let message = message(*index);
            let size = numbers::bytes(message.size);
            format!("{}->{} ({size})", message.source, message.destination)
        });
        let pairs: BTreeSet<(u32, u32)> = held
            .keys()
            .map(|index| (message(*index).source, message(*index).destination))
            .collect();
        let parallel = match cause {
            Cause::Collision(_) => most.first().map(|(index, _)| {
                let message = message(*index);
                self.parallel(port, message.source, message.destination)
            }),
            _ => None,
        };
        let it = &self.fabric.ports[port];
        Place {
            node: self.name(it.node, it.on_switch),
            port: it.number,
            peer: self.name(it.peer, self.is_switch(it.peer)),
            rate_bps: it.rate_bps,
            time_ns: self.blame.time(cause) as f64 / 1e3,
            bytes: self.fabric.sent(port),
            usage: self.fabric.mean_usage(port, 0..self.fabric.count()),
            usage_over_time: self.over_time(port),
            parallel_usage: parallel.unwrap_or_default(),
            messages: held.len() as u64,
            pairs: pairs.len() as u64,
            most: named.collect(),
        }
    }

    /// Use of the links that are parallel to a port between two hosts, from the least used.
    fn parallel(&self, port: usize, source: u32, destination: u32) -> Vec<f64> {
        let stages = self.fabric.stages(source, destination);
        let stage = stages.into_iter().find(|stage| stage.contains(&port));
        let others = stage.into_iter().flatten().filter(|other| *other != port);
        let mut uses: Vec<f64> = others
            .map(|other| self.fabric.mean_usage(other, 0..self.fabric.count()))
            .collect();
        uses.sort_by(f64::total_cmp);
        uses
    }

    /// Use of a port in parts of the time series.
    fn over_time(&self, port: usize) -> Vec<f64> {
        let count = self.fabric.count();
        let parts = count.min(PARTS);
        let part = |part: usize| {
            let range = part * count / parts..(part + 1) * count / parts;
            self.fabric.mean_usage(port, range)
        };
        (0..parts).map(part).collect()
    }

    fn is_switch(&self, node: u32) -> bool {
        let mut ports = self.fabric.ports.iter();
        ports.any(|port| port.node == node && port.on_switch)
    }

    fn name(&self, node: u32, on_switch: bool) -> String {
        let kind = if on_switch { "switch" } else { "host" };
        format!("{kind} {node}")
    }

    fn figures(&self, kind: Kind) -> Vec<String> {
        let messages: BTreeSet<usize> = self
            .causes
            .iter()
            .flat_map(|cause| self.blame.by_cause[cause].keys().copied())
            .collect();
        let settings = &self.run.settings;
        match kind {
            Kind::Receiver => self.line_rate(&messages).into_iter().collect(),
            Kind::Loss => {
                let again: u64 = messages
                    .iter()
                    .map(|index| self.run.messages[*index].retransmitted)
                    .sum();
                let gave_up = messages
                    .iter()
                    .filter(|index| self.run.messages[**index].failed)
                    .count();
                let mut figures = vec![format!(
                    "{} sent again for {}",
                    numbers::count(again as usize, "packet"),
                    numbers::count(messages.len(), "message")
                )];
                if gave_up > 0 {
                    figures.push(format!(
                        "queue pairs gave up on {}",
                        numbers::count(gave_up, "message")
                    ));
                }
                figures
            }
            Kind::RoundTrip => vec![format!(
                "{} of up to {}, the bandwidth-delay product",
                numbers::count(messages.len(), "message"),
                numbers::bytes(self.run.bdp_bytes)
            )],
            Kind::ChunkCosts => self.chunk_costs(),
            Kind::ChunkDepth => self.depth().into_iter().collect(),
            Kind::CongestionControl => {
                let who = format!(
                    "{} under {}, scope {}, window {}",
                    numbers::count(messages.len(), "message"),
                    settings.algorithm,
                    settings.scope,
                    settings.window
                );
                let told = format!(
                    "{} reached senders in the whole run",
                    numbers::count(self.run.cnps as usize, "congestion notification")
                );
                let shared = self.sharing().map(str::to_owned);
                [who, told].into_iter().chain(shared).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Who shares a rate, where that bears on several paths.
    fn sharing(&self) -> Option<&'static str> {
        let several = self.run.multipath.as_ref();
        match (self.run.settings.scope.as_str(), several) {
            ("qp", None) => None,
            ("qp", Some(several)) if several.coupled => {
                Some("queue pairs of a connection share one rate: more paths add none")
            }
            ("qp", Some(_)) => Some("each queue pair has a rate of its own: more paths buy more"),
            _ => Some("the scope's queue pairs share one rate: more paths add none"),
        }
    }

    /// Whether the receivers' only senders were at their own limit too.
    fn line_rate(&self, messages: &BTreeSet<usize>) -> Option<String> {
        let ends = messages.iter().map(|index| &self.run.messages[*index]);
        let mut senders: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for message in ends {
            let of = senders.entry(message.destination).or_default();
            of.insert(message.source);
        }
        let most = senders.values().map(BTreeSet::len).max()?;
        Some(match most {
            1 => "each of these receivers had one sender: its messages went as fast as the hosts' links".into(),
            most => format!(
                "{} with up to {} each",
                numbers::count(senders.len(), "receiver"),
                numbers::count(most, "sender")
            ),
        })
    }

    fn depth(&self) -> Option<String> {
        let several = self.run.multipath.as_ref()?;
        let (bytes, chunks) = several.paths.iter().fold((0, 0), |(bytes, chunks), path| {
            (bytes + path.bytes, chunks + path.chunks)
        });
        Some(format!(
            "{} of {} a path, while the bandwidth-delay product is {}",
            numbers::count(several.depth as usize, "chunk"),
            numbers::bytes(bytes / u64::max(chunks, 1)),
            numbers::bytes(self.run.bdp_bytes)
        ))
    }

    fn chunk_costs(&self) -> Vec<String> {
        let Some(multipath) = &self.run.multipath else {
            return Vec::new();
        };
        let costs = &multipath.costs;
        let each = |ns: f64| {
            let chunks = multipath.chunks.max(1) as f64;
            numbers::time((ns / chunks * 1e3) as u64)
        };
        vec![format!(
            "{} chunks at {} each: {} for posting, {} for polling, {} for cutting",
            multipath.chunks,
            each(costs.at_source()),
            each(costs.post_ns),
            each(costs.poll_ns),
            each(costs.split_ns)
        )]
    }
}
