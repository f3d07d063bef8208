//! Collectives, one after the other, in groups of neighbouring hosts.

use fairlane_program::pattern::{Pattern, is_possible, most_messages};
use fairlane_program::{self as program, Operation, Program, Work};
use fairlane_units::{Bytes, Duration};

use super::context::Context;
use super::kind::{Figures, Kind, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use super::ranks::{self, Placed};
use crate::collective::{CollectiveAlgorithm, CollectiveKind, hosts_of_group};
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::rules::LARGEST_MESSAGE;
use crate::rules::range;
use crate::section::{Check, number};
use fairlane_program::LONGEST as LONGEST_VECTOR;

workload! {
    /// A collective operation.
    Collective [hosts] {
        /// The operation.
        operation: CollectiveKind,
        /// Its steps.
        algorithm: CollectiveAlgorithm = "CollectiveAlgorithm::default",
        /// Hosts of an inner group of algorithm `"hierarchical"`.
        inner: Option<u32>,
        /// Rank within each group that has the vector of a broadcast, or gets the sum of a reduce.
        root: u32 = "u32::default",
        /// Size of the vector, for all but barriers at least 1 byte; of an all-to-all, what each rank sends to all.
        size: Bytes = "Bytes::default" => within(Bytes::ZERO, LONGEST_VECTOR),
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Collectives, one after the other.
        rounds: u32 = "number::<1, u32>" => positive,
        /// Time that a rank computes between two.
        gap: Duration = "Duration::default" => span,
        /// Groups of neighbouring hosts, each with a collective of its own.
        groups: u32 = "number::<1, u32>" => positive,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
    } + class + rank + sends + owner & paths
}

impl Kind for Collective {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    /// Of a larger vector, too, no message is larger than a work request holds.
    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        Some(StatedSizes {
            smallest: Bytes::new(1),
            ..StatedSizes::one(self.size.min(LARGEST_MESSAGE))
        })
    }

    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let hosts = context.members("hosts", &self.hosts)?;
        let count = hosts.len() as u32;
        let each = hosts_of_group(count, self.groups, || context.key("groups"))?;
        let rank = |rank: u32| {
            let collective = Work::Collective(program::Collective {
                kind: self.operation.program(self.root),
                algorithm: self.algorithm.program(self.inner.unwrap_or(1)),
                group: rank / each,
                size: self.size,
                parts: Vec::new(),
            });
            let mut operations: Vec<Operation> = Vec::new();
            for round in 0..self.rounds {
                let gaps = (round > 0 && !self.gap.is_zero()).then_some(Work::Compute(self.gap));
                for work in gaps.into_iter().chain([collective.clone()]) {
                    let before = (operations.len() as u32).checked_sub(1);
                    operations.push(Operation {
                        work,
                        after: before.into_iter().collect(),
                        after_start: Vec::new(),
                        stream: 0,
                        nic: None,
                        step: round,
                        name: String::new(),
                    });
                }
            }
            operations
        };
        let all: Vec<u32> = (0..count).collect();
        let program = Program {
            ranks: (0..count).map(rank).collect(),
            groups: all.chunks(each as usize).map(<[u32]>::to_vec).collect(),
        };
        let template = MessageSpec {
            delay: self.send_latency,
            ..context.template(self.verb, self.class, self.start)
        };
        if program.groups.len() > 1 {
            messages.steps.recorded.push(context.index);
        }
        let placed = Placed {
            key: "operation",
            program: &program,
            hosts: &hosts,
            channels: self.channels,
        };
        placed.add(context, &template, messages)
    }

    fn heading(&self, figures: &dyn Figures) -> String {
        format!(
            "{:?} of {}, {} rounds in {} groups",
            self.operation,
            figures.size(self.size),
            self.rounds,
            self.groups
        )
    }
}

fn check(context: &Context<'_>, it: &Collective) -> Check {
    let (size, rounds, groups) = (it.size, it.rounds, it.groups);
    let count = ranks::count(context, it.verb, &it.hosts)?;
    let barrier = it.operation == CollectiveKind::Barrier;
    ensure!(barrier || !size.is_zero(), context.key("size"),
        "is 0, expected at least 1 byte"; "write a size such as \"1MB\"");
    context.in_all("rounds", rounds, it.gap)?;
    let each = hosts_of_group(count, groups, || context.key("groups"))?;
    range(it.root, 0, each - 1).map_err(|error| error.at(context.key("root")))?;
    let hierarchical = it.algorithm == CollectiveAlgorithm::Hierarchical;
    ensure!(it.inner.is_some() || !hierarchical, context.key("inner"),
        "isn't stated, expected the hosts of an inner group"; "write `inner = 8`");
    ensure!(it.inner.is_none() || hierarchical, context.key("inner"),
        "is stated, expected only with algorithm = \"hierarchical\""; "leave it out");
    let inner = it.inner.unwrap_or(1);
    range(inner, 1, each).map_err(|error| error.at(context.key("inner")))?;
    let (kind, steps) = (it.operation.program(it.root), it.algorithm.program(inner));
    ensure!(is_possible(kind, steps), context.key("algorithm"),
        "isn't one for this operation, expected another"; "leave it out for the usual one");
    let all = most_messages(kind, steps, each).saturating_mul(u64::from(groups));
    context.messages(all.saturating_mul(u64::from(rounds)))?;
    if size <= LARGEST_MESSAGE || barrier {
        return Ok(());
    }
    let largest = Pattern::new(kind, steps, (each, size), &[]).largest();
    ensure!(largest <= LARGEST_MESSAGE, context.key("size"),
        "is {size}, which makes messages of {largest}, expected at most {LARGEST_MESSAGE}, \
        what a work request can hold";
        "lower it, or take more hosts and an algorithm that divides the vector");
    Ok(())
}
