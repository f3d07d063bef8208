//! Workloads whose hosts are ranks of a parallel program.

use fairlane_program::pattern::{Pattern, is_possible, most_messages};
use fairlane_units::Duration;

use super::Check;
use super::limits::{fail, within};
use super::traffic::Scope;
use crate::collective::{
    CollectiveAlgorithm, CollectiveKind, Layer, TracePath, data_ranks, hosts_of_group,
};
use crate::error::Error;
use crate::sizes::LARGEST_MESSAGE;
use crate::types::{Collective, HostSet, Program, Training, Verb};

/// Operations of all ranks of a training.
const MOST_OPERATIONS: u64 = 10_000_000;

impl Scope<'_> {
    /// Checks what programs have in common; how many hosts take part.
    fn ranks(&self, verb: Verb, hosts: &HostSet) -> Result<u32, Error> {
        if !matches!(verb, Verb::Write | Verb::Send) {
            let name = verb.name();
            let message = format!("is \"{name}\", expected \"write\" or \"send\"");
            let hint = "who sends decides when";
            return Err(Error::new(self.key("verb"), message, hint));
        }
        Ok(self.hosts("hosts", hosts)?.len() as u32)
    }
}

pub(super) fn collective(scope: &Scope<'_>, it: &Collective) -> Check {
    let (size, rounds, groups) = (it.size, it.rounds, it.groups);
    let count = scope.ranks(it.verb, &it.hosts)?;
    if it.operation != CollectiveKind::Barrier && size.is_zero() {
        let hint = "write a size such as \"1MB\"";
        return fail(scope.key("size"), "is 0, expected at least 1 byte", hint);
    }
    scope.in_all("rounds", rounds, it.gap)?;
    let each = hosts_of_group(count, groups, || scope.key("groups"))?;
    within(it.root, 0, each - 1).map_err(|error| error.at(scope.key("root")))?;
    inner_group(scope, it.algorithm, it.inner, each)?;
    let kind = it.operation.program(it.root);
    let steps = it.algorithm.program(it.inner.unwrap_or(1));
    if !is_possible(kind, steps) {
        let message = "isn't one for this operation, expected another";
        return fail(
            scope.key("algorithm"),
            message,
            "leave it out for the usual one",
        );
    }
    let all = most_messages(kind, steps, each).saturating_mul(u64::from(groups));
    scope.messages(all.saturating_mul(u64::from(rounds)))?;
    if size <= LARGEST_MESSAGE || it.operation == CollectiveKind::Barrier {
        return Ok(());
    }
    let largest = Pattern::new(kind, steps, (each, size), &[]).largest();
    if largest <= LARGEST_MESSAGE {
        return Ok(());
    }
    let message = format!(
        "is {size}, which makes messages of {largest}, expected at most {LARGEST_MESSAGE}, what a work request can hold"
    );
    let hint = "lower it, or take more hosts and an algorithm that divides the vector";
    fail(scope.key("size"), message, hint)
}

/// Whether the size of inner groups is stated where there are such, of `each` hosts.
fn inner_group(
    scope: &Scope<'_>,
    algorithm: CollectiveAlgorithm,
    inner: Option<u32>,
    each: u32,
) -> Check {
    let key = scope.key("inner");
    match (algorithm, inner) {
        (CollectiveAlgorithm::Hierarchical, Some(inner)) => {
            within(inner, 1, each).map_err(|error| error.at(key))
        }
        (CollectiveAlgorithm::Hierarchical, None) => {
            let message = "isn't stated, expected the hosts of an inner group";
            fail(key, message, "write `inner = 8`")
        }
        (_, Some(_)) => {
            let message = "is stated, expected only with algorithm = \"hierarchical\"";
            fail(key, message, "leave it out")
        }
        (_, None) => Ok(()),
    }
}

pub(super) fn training(scope: &Scope<'_>, it: &Training) -> Check {
    let pipeline = it.pipeline;
    let count = scope.ranks(it.verb, &it.hosts)?;
    let all_reduce = CollectiveKind::AllReduce.program(0);
    if !is_possible(all_reduce, it.algorithm.program(0)) {
        let message = "isn't one for all-reduce without further figures, expected another";
        return fail(
            scope.key("algorithm"),
            message,
            "write \"ring\", \"tree\" or \"halving-doubling\"",
        );
    }
    data_ranks(count, [it.tensor, pipeline, it.expert], |key| {
        scope.key(key)
    })?;
    let depth = all_layers(scope, &it.layers)?;
    if depth < u64::from(pipeline) {
        let message =
            format!("is {pipeline} stages of {depth} layers, expected a layer for each at least");
        return fail(scope.key("pipeline"), message, "lower it, or add layers");
    }
    let batches = u64::from(it.steps).saturating_mul(u64::from(it.micro_batches));
    let operations = u64::from(count)
        .saturating_mul(batches)
        .saturating_mul(depth * 8 / u64::from(pipeline) + 8);
    if operations > MOST_OPERATIONS {
        let message = format!("about {operations} operations, expected at most {MOST_OPERATIONS}");
        return fail(
            scope.key("steps"),
            message,
            "train fewer steps, micro-batches or layers",
        );
    }
    scope.in_all(
        "steps",
        it.steps,
        step(&it.layers, it.micro_batches, it.optimizer),
    )
}

/// What a rank with all layers computes in a step.
fn step(layers: &[Layer], micro_batches: u32, optimizer: Duration) -> Duration {
    let spans = layers.iter().map(|layer| {
        let span = u128::from((layer.forward + layer.backward).as_ps());
        span * u128::from(layer.count) * u128::from(micro_batches)
    });
    let all = spans.sum::<u128>() + u128::from(optimizer.as_ps());
    Duration::from_ps(u64::try_from(all).unwrap_or(u64::MAX))
}

/// How many layers there are.
fn all_layers(scope: &Scope<'_>, layers: &[Layer]) -> Result<u64, Error> {
    if layers.is_empty() {
        let hint = "write `layers = [{ count = 8, parameters = ..., activation = ..., forward = ..., backward = ... }]`";
        return Err(Error::new(
            scope.key("layers"),
            "has none, expected one or more",
            hint,
        ));
    }
    Ok(layers.iter().map(|layer| u64::from(layer.count)).sum())
}

pub(super) fn trace(scope: &Scope<'_>, it: &Program) -> Check {
    let count = scope.ranks(it.verb, &it.hosts)?;
    if matches!(&it.path, TracePath::Each(paths) if paths.is_empty()) {
        return fail(
            scope.key("path"),
            "has no file, expected one for each rank",
            "name the files",
        );
    }
    let mut taken = vec![false; count as usize];
    for (rank, &place) in it.placement.iter().enumerate() {
        let key = scope.key(&format!("placement[{rank}]"));
        within(place, 0, count.saturating_sub(1)).map_err(|error| error.at(&key))?;
        if std::mem::replace(&mut taken[place as usize], true) {
            let message =
                format!("is {place}, where an earlier rank is, expected a host of its own");
            return fail(key, message, "name every place once at most");
        }
    }
    Ok(())
}
