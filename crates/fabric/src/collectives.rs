//! What became of collectives, and of steps of training.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_units::{Bytes, NodeId, Time};

use crate::steps::{Local, Planned};
use crate::{CollectiveRecord, MessageRecord};

/// What became of them: collectives in the order of the programs, each workload's steps behind its collectives.
pub(crate) fn records(
    local: &Local,
    messages: &[MessageRecord],
    first: u32,
) -> Vec<CollectiveRecord> {
    let slowdowns: BTreeMap<u32, Option<f64>> = match local.plan.collectives.is_empty() {
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
    records.extend(wholes(local));
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
fn last_message(local: &Local, [enters, leaves]: [u32; 2], first: u32) -> Option<u32> {
    let mut step = leaves;
    while step != enters {
        let node = local.last[step as usize]?;
        match node.checked_sub(first) {
            Some(before) => step = before,
            None => return Some(node),
        }
    }
    None
}

/// What the ranks of a workload do in one step of training.
#[derive(Default)]
struct Whole {
    start: Option<Time>,
    end: Option<(Time, u32, NodeId)>,
    unfinished: bool,
    ranks: BTreeSet<u32>,
    sent: Bytes,
}

/// Steps of training, and rounds of several collectives.
fn wholes(local: &Local) -> Vec<CollectiveRecord> {
    let mut all: BTreeMap<(u32, u32), Whole> = BTreeMap::new();
    for planned in &local.plan.collectives {
        let key = (planned.workload, planned.instance.iteration);
        let whole = all.entry(key).or_default();
        whole.sent += planned.instance.sent;
    }
    for (step, ended) in local.plan.all.iter().zip(&local.ended) {
        let whole = all.entry((step.workload, step.iteration)).or_default();
        whole.ranks.insert(step.rank);
        let Some(end) = *ended else {
            whole.unfinished = true;
            continue;
        };
        let start = end - step.time;
        whole.start = Some(whole.start.map_or(start, |known| known.min(start)));
        if whole.end.is_none_or(|(known, ..)| end > known) {
            whole.end = Some((end, step.rank, step.host));
        }
    }
    // Ranks begin a step at different times; so that times add up, it counts from the end of the step before.
    let mut before: Option<(u32, Time)> = None;
    for (&(workload, _), whole) in &mut all {
        let ended = before.filter(|(of, _)| *of == workload);
        let end = whole.end.map(|(end, ..)| end);
        whole.start = whole.start.map(|start| match (ended, end) {
            (Some((_, before)), Some(end)) => start.max(before).min(end),
            _ => start,
        });
        before = end.map(|end| (workload, end));
    }
    let record = |((workload, step), whole): ((u32, u32), Whole)| {
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
    };
    all.into_iter()
        .filter(|((workload, _), _)| local.plan.recorded.contains(workload))
        .map(record)
        .collect()
}
