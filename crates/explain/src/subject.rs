//! Where a kind of cause is, and figures about it.

use std::collections::{BTreeMap, BTreeSet};

use crate::blame::{Blame, Cause};
use crate::fabric::Fabric;
use crate::findings::{Kind, Place};
use crate::numbers;
use crate::records::Run;

/// Parts of the time series in which the use of a link is shown.
const PARTS: usize = 10;
/// The most places of a finding.
const MOST_PLACES: usize = 3;
/// The most messages named at a place.
const MOST_MESSAGES: usize = 3;

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

/// A kind of cause, and where it is looked up.
pub(crate) struct Subject<'a> {
    pub(crate) run: &'a Run,
    pub(crate) fabric: &'a Fabric<'a>,
    pub(crate) blame: &'a Blame,
    /// The costliest first.
    pub(crate) causes: &'a [Cause],
}

impl Subject<'_> {
    pub(crate) fn places(&self) -> Vec<Place> {
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
            peer: self.name(it.peer, self.fabric.is_switch(it.peer)),
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

    fn name(&self, node: u32, on_switch: bool) -> String {
        let kind = if on_switch { "switch" } else { "host" };
        format!("{kind} {node}")
    }

    pub(crate) fn figures(&self, kind: Kind) -> Vec<String> {
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
            ("qp", Some(several)) if several.coupled => Some(
                "queue pairs of a connection take one flow's share together: more paths add none where all are crowded",
            ),
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
