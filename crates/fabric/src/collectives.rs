//! What became of collectives, and of steps of training.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_units::{Bytes, MessageId, NodeId, Time};

use crate::steps::Local;
use crate::{CollectiveRecord, MessageRecord, MessageSpec};
use fairlane_scenario::traffic::Planned;

/// What became of them: collectives in the order of the programs, each workload's steps behind its collectives.
pub(crate) fn records(
    local: &Local,
    messages: &[MessageRecord],
    specs: &[MessageSpec],
    first: u32,
) -> Vec<CollectiveRecord> {
    let slowdowns: BTreeMap<MessageId, Option<f64>> = match local.plan.collectives.is_empty() {
        true => BTreeMap::new(),
        false => messages.iter().map(|it| (it.id, it.slowdown())).collect(),
    };
    let of = |planned: &Planned| {
        let mut record = collective(local, planned, first);
        record.last_slowdown = record
            .last
            .and_then(|id| slowdowns.get(&id).copied().flatten());
        record
    };
    let mut records: Vec<CollectiveRecord> = local.plan.collectives.iter().map(of).collect();
    let mut wholes = Wholes::new(local);
    wholes.add_steps(local);
    wholes.add_messages(messages, specs);
    records.extend(wholes.records());
    records.sort_by_key(|record| record.workload);
    records
}

fn collective(local: &Local, planned: &Planned, first: u32) -> CollectiveRecord {
    let Planned {
        workload,
        instance,
        ranks,
    } = planned;
    let times = |which: usize| {
        let of = move |steps: &[u32; 2]| local.ended[steps[which] as usize];
        instance.members.iter().map(of)
    };
    let ends: Option<Vec<Time>> = times(1).collect();
    let begins: Option<Vec<Time>> = times(0).collect();
    // Of several that end at the same time, the first.
    let slowest = ends.as_ref().and_then(|ends| {
        let end = ends.iter().max()?;
        ends.iter().position(|it| it == end)
    });
    let last = slowest.and_then(|member| last_message(local, instance.members[member], first));
    CollectiveRecord {
        workload: *workload,
        step: instance.iteration,
        kind: Some(instance.kind),
        algorithm: Some(instance.algorithm),
        name: instance.name.clone(),
        group: instance.group,
        ranks: ranks.len() as u32,
        size: instance.size,
        sent: instance.sent,
        start: times(0).flatten().min(),
        ready: begins.and_then(|all| all.into_iter().max()),
        end: ends.and_then(|all| all.into_iter().max()),
        slowest: slowest.map(|member| {
            let host = local.step(instance.members[member][1]).host;
            (ranks[member], host)
        }),
        last,
        last_slowdown: None,
    }
}

/// The message that the end of a member waited for last; steps are numbered from `first`.
fn last_message(local: &Local, [enters, leaves]: [u32; 2], first: u32) -> Option<MessageId> {
    let mut step = leaves;
    while step != enters {
        let node = local.last[step as usize]?;
        match node.checked_sub(first) {
            Some(before) => step = before,
            None => return Some(MessageId::new(node)),
        }
    }
    None
}

/// What the ranks of a workload do in one step of training or of a trace: computations, waits, and messages.
#[derive(Default)]
struct Whole {
    start: Option<Time>,
    end: Option<(Time, u32, NodeId)>,
    unfinished: bool,
    ranks: BTreeSet<u32>,
    sent: Bytes,
}

impl Whole {
    /// Something of a rank that began and ended then, as far as it did.
    fn add(&mut self, (rank, host): (u32, NodeId), start: Option<Time>, end: Option<Time>) {
        self.ranks.insert(rank);
        self.start = self.start.into_iter().chain(start).min();
        match end {
            None => self.unfinished = true,
            Some(end) if self.end.is_none_or(|(known, ..)| end > known) => {
                self.end = Some((end, rank, host));
            }
            Some(_) => {}
        }
    }
}

/// Steps of training and of traces, and rounds of several collectives.
struct Wholes {
    /// The rank by host, for each workload whose steps are recorded.
    ranks: BTreeMap<u32, BTreeMap<NodeId, u32>>,
    /// By workload and step.
    all: BTreeMap<(u32, u32), Whole>,
}

impl Wholes {
    fn new(local: &Local) -> Self {
        let plan = &local.plan;
        let recorded = plan.ranks.iter();
        let recorded = recorded.filter(|(workload, _)| plan.recorded.contains(workload));
        let ranks = recorded.map(|(workload, hosts)| {
            let ranks = hosts.iter().copied().zip(0..);
            (*workload, ranks.collect())
        });
        Self {
            ranks: ranks.collect(),
            all: BTreeMap::new(),
        }
    }

    fn add_steps(&mut self, local: &Local) {
        for (step, ended) in local.plan.all.iter().zip(&local.ended) {
            if self.ranks.contains_key(&step.workload) {
                let whole = self.all.entry((step.workload, step.iteration)).or_default();
                let start = ended.map(|end| end - step.time);
                whole.add((step.rank, step.host), start, *ended);
            }
        }
    }

    /// A message begins when its source may send it, and ends when its source knows that it has arrived.
    fn add_messages(&mut self, messages: &[MessageRecord], specs: &[MessageSpec]) {
        for message in messages {
            let spec = specs.get(message.id.index());
            let ranks = self.ranks.get(&message.workload);
            let Some((spec, ranks)) = spec.zip(ranks) else {
                continue;
            };
            let ends = [message.source, message.destination];
            let [Some(&from), Some(&to)] = ends.map(|host| ranks.get(&host)) else {
                continue;
            };
            let key = (message.workload, spec.iteration);
            let whole = self.all.entry(key).or_default();
            let start = message.posted.then(|| message.start - spec.delay);
            whole.add((from, message.source), start, message.finish);
            whole.ranks.insert(to);
            whole.sent += message.size;
        }
    }

    fn records(mut self) -> impl Iterator<Item = CollectiveRecord> {
        // Ranks begin a step at different times; so that times add up, it counts from the end of the step before.
        let mut before: Option<(u32, Time)> = None;
        for (&(workload, _), whole) in &mut self.all {
            let ended = before.filter(|(of, _)| *of == workload);
            let end = whole.end.map(|(end, ..)| end);
            whole.start = whole.start.map(|start| match (ended, end) {
                (Some((_, before)), Some(end)) => start.max(before).min(end),
                _ => start,
            });
            before = end.map(|end| (workload, end));
        }
        self.all.into_iter().map(record)
    }
}

fn record(((workload, step), whole): ((u32, u32), Whole)) -> CollectiveRecord {
    let end = whole.end.filter(|_| !whole.unfinished);
    CollectiveRecord {
        workload,
        step,
        kind: None,
        algorithm: None,
        name: String::new(),
        group: 0,
        ranks: whole.ranks.len() as u32,
        size: Bytes::ZERO,
        sent: whole.sent,
        start: whole.start,
        ready: None,
        end: end.map(|(end, ..)| end),
        slowest: end.map(|(_, rank, host)| (rank, host)),
        last: None,
        last_slowdown: None,
    }
}
