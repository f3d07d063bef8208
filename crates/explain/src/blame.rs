//! What each message waited for, interval by interval: every moment has one cause.

use std::collections::{BTreeMap, BTreeSet};

use crate::fabric::{FULL, Fabric};
use crate::records::{Message, Run};

/// What a message waits for. Ports are those whose link is full or paused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cause {
    /// The receiver's link is full.
    Receiver(usize),
    /// A link is full, and parallel ones aren't: of the fabric, or the other ports of a host.
    Collision(usize),
    /// All parallel links of the fabric are full.
    Fabric(usize),
    /// The sender's link is full.
    Sender(usize),
    /// No link is full, but one of them is paused.
    Paused(usize),
    /// Packets were lost.
    Loss,
    /// One of its paths gave up.
    FailedPath,
    /// The message is so short that its time is that of the way there and back.
    RoundTrip,
    /// Its host was busy with chunks.
    Costs,
    /// Its chunks in flight didn't fill its paths.
    Depth,
    /// Its congestion control let it send no faster.
    Control,
}

/// Message time of each cause.
#[derive(Debug, Default)]
pub(crate) struct Blame {
    /// By cause, then by index of the message, in picoseconds.
    pub(crate) by_cause: BTreeMap<Cause, BTreeMap<usize, u64>>,
}

impl Blame {
    /// Message time of a cause.
    pub(crate) fn time(&self, cause: Cause) -> u64 {
        let messages = self.by_cause.get(&cause).into_iter().flatten();
        messages.map(|(_, ps)| ps).sum()
    }

    /// Message time of all causes.
    pub(crate) fn total(&self) -> u64 {
        self.by_cause.keys().map(|cause| self.time(*cause)).sum()
    }

    fn add(&mut self, cause: Cause, message: usize, ps: u64) {
        let messages = self.by_cause.entry(cause).or_default();
        *messages.entry(message).or_default() += ps;
    }

    /// Gives the sending ends' processor time to chunks: as much of the time in which nothing else was in the way.
    fn charge_costs(&mut self, run: &Run, several: &BTreeSet<(u32, u32)>, costs_ps: u64) {
        let mut left = costs_ps;
        for cause in [Cause::Depth, Cause::Control, Cause::RoundTrip] {
            let Some(mut messages) = self.by_cause.remove(&cause) else {
                continue;
            };
            for (message, ps) in &mut messages {
                let ends = &run.messages[*message];
                if several.contains(&(ends.source, ends.destination)) {
                    let part = left.min(*ps);
                    (*ps, left) = (*ps - part, left - part);
                    if part > 0 {
                        self.add(Cause::Costs, *message, part);
                    }
                }
            }
            messages.retain(|_, ps| *ps > 0);
            if !messages.is_empty() {
                self.by_cause.insert(cause, messages);
            }
        }
    }
}

/// The links between two hosts.
struct Links {
    /// All shortest ways.
    stages: Vec<Vec<usize>>,
    /// The links of its paths, if it has several; empty if they aren't known.
    paths: BTreeSet<usize>,
    /// Whether a path of theirs gave up.
    failed: bool,
    /// Whether what its paths may have in flight together is less than a bandwidth-delay product.
    shallow: bool,
}

/// Asks of every message what it waited for.
pub(crate) fn blame(run: &Run, fabric: &Fabric<'_>) -> Blame {
    let mut blame = Blame::default();
    let mut known: BTreeMap<(u32, u32), Links> = BTreeMap::new();
    let multipath = run.multipath.as_ref();
    for (index, message) in run.messages.iter().enumerate() {
        let ends = (message.source, message.destination);
        let links = known
            .entry(ends)
            .or_insert_with(|| links(run, fabric, ends));
        let used: BTreeSet<usize> = match message.way.is_empty() {
            true => links.paths.clone(),
            false => fabric.links(&message.way).into_iter().collect(),
        };
        let look = Look {
            run,
            fabric,
            links,
            used: &used,
        };
        let finish = message.finish_ps.unwrap_or(run.end_ps);
        for (interval, ps) in fabric.intervals(message.start_ps, finish) {
            blame.add(look.cause(message, interval), index, ps);
        }
    }
    if let Some(multipath) = multipath {
        let paths = multipath.paths.iter();
        let several = paths.map(|path| (path.source, path.destination)).collect();
        let costs_ps = (multipath.costs.at_source() * 1e3) as u64;
        blame.charge_costs(run, &several, costs_ps);
    }
    blame
}

fn links(run: &Run, fabric: &Fabric<'_>, ends: (u32, u32)) -> Links {
    let several = run.multipath.as_ref();
    let of_pair = || {
        let paths = several.into_iter().flat_map(|it| &it.paths);
        paths.filter(|path| (path.source, path.destination) == ends)
    };
    let carried = || of_pair().filter(|path| path.bytes > 0 && path.chunks > 0);
    let in_flight = several.map_or(0, |several| several.in_flight(carried()));
    Links {
        stages: fabric.stages(ends.0, ends.1),
        paths: carried().flat_map(|path| fabric.links(&path.way)).collect(),
        shallow: in_flight > 0 && in_flight < run.bdp_bytes,
        failed: of_pair().any(|path| path.failures > 0 || path.quarantines > 0),
    }
}

/// A message and its links, looked at.
struct Look<'a> {
    run: &'a Run,
    fabric: &'a Fabric<'a>,
    links: &'a Links,
    /// Links that it is known to take; empty if switches choose packet by packet.
    used: &'a BTreeSet<usize>,
}

impl Look<'_> {
    fn cause(&self, message: &Message, interval: usize) -> Cause {
        let link = self.full(interval).or_else(|| self.paused(interval));
        link.unwrap_or(if message.retransmitted > 0 || message.failed {
            Cause::Loss
        } else if self.links.failed {
            Cause::FailedPath
        } else if message.size <= self.run.bdp_bytes {
            Cause::RoundTrip
        } else if self.links.shallow {
            Cause::Depth
        } else {
            Cause::Control
        })
    }

    /// The full link that counts: the nearest one to the receiver.
    fn full(&self, interval: usize) -> Option<Cause> {
        let stages = &self.links.stages;
        let last = stages.len().checked_sub(1)?;
        let full = |port: &&usize| self.fabric.usage(**port, interval) >= FULL;
        for (number, stage) in stages.iter().enumerate().rev() {
            let taken: Vec<usize> = self.taken(stage);
            // At its hosts all ports that it takes must be full, and so must all links of a switch that chooses packet by packet.
            let all = number == 0 || number == last || self.used.is_empty();
            let full_ones = taken.iter().filter(full).count();
            if taken.is_empty() || full_ones == 0 || (all && full_ones < taken.len()) {
                continue;
            }
            let port = *taken.iter().find(full)?;
            return Some(match number {
                _ if !stage.iter().all(|port| full(&port)) => Cause::Collision(port),
                _ if number == last => Cause::Receiver(port),
                0 => Cause::Sender(port),
                _ => Cause::Fabric(port),
            });
        }
        None
    }

    /// The links of a stage that it takes.
    fn taken(&self, stage: &[usize]) -> Vec<usize> {
        let takes = |port: &&usize| self.used.is_empty() || self.used.contains(port);
        stage.iter().filter(takes).copied().collect()
    }

    fn paused(&self, interval: usize) -> Option<Cause> {
        let stages = self.links.stages.iter();
        let mut taken = stages.flat_map(|stage| self.taken(stage));
        let paused = taken.find(|port| self.fabric.is_paused(*port, interval));
        paused.map(Cause::Paused)
    }
}
