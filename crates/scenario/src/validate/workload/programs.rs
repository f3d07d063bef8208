//! Workloads whose hosts are ranks of a parallel program.

use fairlane_program::pattern::{Pattern, is_possible, most_messages};
use fairlane_units::{Bytes, Duration};

use super::{Kind, Scope, Stated};
use crate::collective::{
    CollectiveAlgorithm, CollectiveKind, TracePath, data_ranks, hosts_of_group,
};
use crate::error::{Error, ensure};
use crate::rules::range;
use crate::sizes::LARGEST_MESSAGE;
use crate::types::{Collective, HostSet, Program, Training, Verb};
use crate::validate::{Check, Subject};

/// Operations of all ranks of a training.
const MOST_OPERATIONS: u64 = 10_000_000;

impl Kind for Collective {
    fn check(&self, scope: &Scope<'_>) -> Check {
        collective(scope, self)
    }

    /// Of a larger vector, too, no message is larger than a work request holds.
    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        Some(Stated {
            smallest: Bytes::new(1),
            ..Stated::one(self.size.min(LARGEST_MESSAGE))
        })
    }
}

impl Kind for Training {
    fn check(&self, scope: &Scope<'_>) -> Check {
        training(scope, self)
    }

    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        None
    }
}

impl Kind for Program {
    fn check(&self, scope: &Scope<'_>) -> Check {
        trace(scope, self)
    }

    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        None
    }
}

impl Scope<'_> {
    /// Checks what programs have in common; how many hosts take part.
    fn ranks(&self, verb: Verb, hosts: &HostSet) -> Result<u32, Error> {
        ensure!(matches!(verb, Verb::Write | Verb::Send), self.key("verb"),
            "is \"{verb}\", expected \"write\" or \"send\""; "who sends decides when");
        Ok(self.hosts("hosts", hosts)?.len() as u32)
    }
}

fn collective(scope: &Scope<'_>, it: &Collective) -> Check {
    let (size, rounds, groups) = (it.size, it.rounds, it.groups);
    let count = scope.ranks(it.verb, &it.hosts)?;
    let barrier = it.operation == CollectiveKind::Barrier;
    ensure!(barrier || !size.is_zero(), scope.key("size"),
        "is 0, expected at least 1 byte"; "write a size such as \"1MB\"");
    scope.in_all("rounds", rounds, it.gap)?;
    let each = hosts_of_group(count, groups, || scope.key("groups"))?;
    range(it.root, 0, each - 1).map_err(|error| error.at(scope.key("root")))?;
    let hierarchical = it.algorithm == CollectiveAlgorithm::Hierarchical;
    ensure!(it.inner.is_some() || !hierarchical, scope.key("inner"),
        "isn't stated, expected the hosts of an inner group"; "write `inner = 8`");
    ensure!(it.inner.is_none() || hierarchical, scope.key("inner"),
        "is stated, expected only with algorithm = \"hierarchical\""; "leave it out");
    let inner = it.inner.unwrap_or(1);
    range(inner, 1, each).map_err(|error| error.at(scope.key("inner")))?;
    let (kind, steps) = (it.operation.program(it.root), it.algorithm.program(inner));
    ensure!(is_possible(kind, steps), scope.key("algorithm"),
        "isn't one for this operation, expected another"; "leave it out for the usual one");
    let all = most_messages(kind, steps, each).saturating_mul(u64::from(groups));
    scope.messages(all.saturating_mul(u64::from(rounds)))?;
    if size <= LARGEST_MESSAGE || barrier {
        return Ok(());
    }
    let largest = Pattern::new(kind, steps, (each, size), &[]).largest();
    ensure!(largest <= LARGEST_MESSAGE, scope.key("size"),
        "is {size}, which makes messages of {largest}, expected at most {LARGEST_MESSAGE}, \
        what a work request can hold";
        "lower it, or take more hosts and an algorithm that divides the vector");
    Ok(())
}

fn training(scope: &Scope<'_>, it: &Training) -> Check {
    let pipeline = it.pipeline;
    let count = scope.ranks(it.verb, &it.hosts)?;
    let all_reduce = CollectiveKind::AllReduce.program(0);
    ensure!(is_possible(all_reduce, it.algorithm.program(0)), scope.key("algorithm"),
        "isn't one for all-reduce without further figures, expected another";
        "write \"ring\", \"tree\" or \"halving-doubling\"");
    data_ranks(count, [it.tensor, pipeline, it.expert], |key| {
        scope.key(key)
    })?;
    ensure!(!it.layers.is_empty(), scope.key("layers"), "has none, expected one or more";
        "write `layers = [{{ count = 8, parameters = ..., activation = ..., forward = ..., \
        backward = ... }}]`");
    let depth: u64 = it.layers.iter().map(|layer| u64::from(layer.count)).sum();
    ensure!(depth >= u64::from(pipeline), scope.key("pipeline"),
        "is {pipeline} stages of {depth} layers, expected a layer for each at least";
        "lower it, or add layers");
    let batches = u64::from(it.steps).saturating_mul(u64::from(it.micro_batches));
    let operations = u64::from(count)
        .saturating_mul(batches)
        .saturating_mul(depth * 8 / u64::from(pipeline) + 8);
    ensure!(operations <= MOST_OPERATIONS, scope.key("steps"),
        "about {operations} operations, expected at most {MOST_OPERATIONS}";
        "train fewer steps, micro-batches or layers");
    scope.in_all("steps", it.steps, step(it))
}

/// What a rank with all layers computes in a step.
fn step(it: &Training) -> Duration {
    let spans = it.layers.iter().map(|layer| {
        let span = u128::from((layer.forward + layer.backward).as_ps());
        span * u128::from(layer.count) * u128::from(it.micro_batches)
    });
    let all = spans.sum::<u128>() + u128::from(it.optimizer.as_ps());
    Duration::from_ps(u64::try_from(all).unwrap_or(u64::MAX))
}

fn trace(scope: &Scope<'_>, it: &Program) -> Check {
    let count = scope.ranks(it.verb, &it.hosts)?;
    ensure!(!matches!(&it.path, TracePath::Each(paths) if paths.is_empty()), scope.key("path"),
        "has no file, expected one for each rank"; "name the files");
    let mut taken = vec![false; count as usize];
    for (rank, &place) in it.placement.iter().enumerate() {
        let key = scope.key(&format!("placement[{rank}]"));
        range(place, 0, count.saturating_sub(1)).map_err(|error| error.at(&key))?;
        ensure!(!std::mem::replace(&mut taken[place as usize], true), key,
            "is {place}, where an earlier rank is, expected a host of its own";
            "name every place once at most");
    }
    Ok(())
}
