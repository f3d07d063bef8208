//! Collectives: which rank ended last, and what the message that it waited for was held up by.

use std::collections::BTreeMap;

use crate::blame::Blame;
use crate::findings::{Finding, Kind, Remedy, kind};
use crate::numbers;
use crate::records::{Collective, Run};
use crate::words::what;

/// The slowest collectives that are named.
const NAMED: usize = 3;

/// What made the slowest ranks slow, if there are collectives that have ended.
pub(crate) fn fact(run: &Run, blame: &Blame) -> Option<Finding> {
    let mut slowest: Vec<&Collective> = run.collectives.iter().collect();
    if slowest.is_empty() {
        return None;
    }
    slowest.sort_by_key(|it| (std::cmp::Reverse(it.time_ps), it.step));
    let waits = Waits::of(run, blame);
    let mut figures = vec![waits.summary(run)];
    figures.extend(waits.often(run));
    let named = slowest.iter().take(NAMED);
    figures.extend(named.map(|it| waits.line(it)));
    Some(Finding {
        kind: Kind::SlowestRanks,
        time_ns: None,
        share: None,
        what: format!(
            "{} waited for their slowest ranks",
            numbers::count(run.collectives.len(), "collective")
        ),
        places: Vec::new(),
        figures,
        remedies: vec![Remedy {
            key: "workload.algorithm",
            what: "another algorithm has other ranks wait for each other; collectives.parquet has every one",
        }],
    })
}

/// By id of a message that a slowest rank waited for, its causes with their time, the costliest first.
struct Waits(BTreeMap<u32, Vec<(Kind, u64)>>);

impl Waits {
    fn of(run: &Run, blame: &Blame) -> Self {
        let wanted = run.collectives.iter().filter_map(|it| it.last_message);
        let mut all: BTreeMap<u32, BTreeMap<Kind, u64>> =
            wanted.map(|id| (id, BTreeMap::new())).collect();
        for (cause, messages) in &blame.by_cause {
            for (&index, ps) in messages {
                if let Some(causes) = all.get_mut(&run.messages[index].id) {
                    *causes.entry(kind(*cause)).or_default() += ps;
                }
            }
        }
        let sorted = |causes: BTreeMap<Kind, u64>| {
            let mut causes: Vec<_> = causes.into_iter().collect();
            causes.sort_by_key(|(_, ps)| std::cmp::Reverse(*ps));
            causes
        };
        Self(
            all.into_iter()
                .map(|(id, causes)| (id, sorted(causes)))
                .collect(),
        )
    }

    /// How many waited for what.
    fn summary(&self, run: &Run) -> String {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for it in &run.collectives {
            *counts.entry(self.cause(it)).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let parts = counts
            .iter()
            .map(|(cause, count)| format!("{cause} ({count})"));
        format!(
            "what the last rank waited for: {}",
            parts.collect::<Vec<_>>().join("; ")
        )
    }

    /// The rank that was the slowest most often, if there are several collectives.
    fn often(&self, run: &Run) -> Option<String> {
        let mut counts: BTreeMap<(u32, u32), usize> = BTreeMap::new();
        for it in &run.collectives {
            *counts
                .entry((it.slowest_rank, it.slowest_host))
                .or_default() += 1;
        }
        let ((rank, host), count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
        let of = run.collectives.len();
        (of > 1).then(|| {
            format!("rank {rank} on host {host} was the last one most often: {count} of {of}")
        })
    }

    fn line(&self, it: &Collective) -> String {
        let last = match it.last_message {
            Some(id) => format!("message {id}, {}", self.cause(it)),
            None => self.cause(it).to_owned(),
        };
        format!(
            "{} of step {}: {}, rank {} on host {} was the last: {last}",
            it.what,
            it.step,
            numbers::time(it.time_ps),
            it.slowest_rank,
            it.slowest_host,
        )
    }

    /// What the last rank of a collective waited for.
    fn cause(&self, it: &Collective) -> &'static str {
        let Some(id) = it.last_message else {
            return "no message: it came too late itself";
        };
        match self.0.get(&id).and_then(|causes| causes.first()) {
            Some((kind, _)) => what(*kind),
            None => "nothing is known of the message",
        }
    }
}
