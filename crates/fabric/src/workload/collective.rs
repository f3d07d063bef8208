//! Collectives, one after the other, in groups of neighbouring hosts.

use fairlane_program::{Collective, Operation, Program, Work};
use fairlane_scenario::{self as scenario, Error, hosts_of_group};
use fairlane_units::Bytes;

use super::context::{Context, Messages};
use super::program;

pub(super) fn generate(
    context: &Context<'_>,
    it: &scenario::Collective,
    messages: &mut Messages,
) -> Result<(), Error> {
    let hosts = context.members(&it.hosts, "hosts")?;
    context.at_least_two(&hosts)?;
    let count = hosts.len() as u32;
    let each = hosts_of_group(count, it.groups, || context.place("groups"))?;
    let rank = |rank: u32| {
        let collective = Work::Collective(Collective {
            kind: it.operation.program(it.root),
            algorithm: it.algorithm.program(it.inner.unwrap_or(1)),
            group: rank / each,
            size: it.size,
            parts: Vec::new(),
        });
        let mut operations: Vec<Operation> = Vec::new();
        for round in 0..it.rounds {
            let gaps = (round > 0 && !it.gap.is_zero()).then_some(Work::Compute(it.gap));
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
    let template = context.template(Bytes::new(1), it.start, it.class)?;
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
