//! Collectives, one after the other, in groups of neighbouring hosts.

use fairlane_program::{Collective, Operation, Program, Work};
use fairlane_scenario::{Error, Workload, hosts_of_group};
use fairlane_units::Bytes;

use super::context::{Context, Messages};
use super::program;

pub(super) fn generate(
    context: &Context<'_>,
    workload: &Workload,
    messages: &mut Messages,
) -> Result<(), Error> {
    let Workload::Collective {
        operation,
        algorithm,
        inner,
        root,
        size,
        start,
        rounds,
        gap,
        groups,
        hosts,
        class,
        ..
    } = workload
    else {
        return Ok(());
    };
    let hosts = context.members(hosts, "hosts")?;
    context.at_least_two(&hosts)?;
    let count = hosts.len() as u32;
    let each = hosts_of_group(count, *groups, || context.place("groups"))?;
    let rank = |rank: u32| {
        let collective = Work::Collective(Collective {
            kind: operation.program(*root),
            algorithm: algorithm.program(inner.unwrap_or(1)),
            group: rank / each,
            size: *size,
            parts: Vec::new(),
        });
        let mut operations: Vec<Operation> = Vec::new();
        for round in 0..*rounds {
            let gaps = (round > 0 && !gap.is_zero()).then_some(Work::Compute(*gap));
            for work in gaps.into_iter().chain([collective.clone()]) {
                let before = (operations.len() as u32).checked_sub(1);
                operations.push(Operation {
                    work,
                    after: before.into_iter().collect(),
                    after_start: Vec::new(),
                    stream: 0,
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
    let template = context.template(Bytes::new(1), *start, *class)?;
    if program.groups.len() > 1 {
        messages.steps.recorded.push(context.index);
    }
    program::add(
        context,
        &template,
        ("operation", &program, &hosts),
        messages,
    )
}
