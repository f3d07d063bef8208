//! Programs of ranks: their messages, and what they do beside sending.

use fairlane_program::{Expansion, Node, Program};
use fairlane_scenario::{Error, LARGEST_MESSAGE};
use fairlane_units::{Bytes, NodeId};

use super::context::{Context, Messages};
use crate::MessageSpec;
use crate::steps::{Planned, STEP, Step};

/// Adds the messages and local steps of a program whose rank r runs on `hosts[r]`. Mistakes are placed at `key`.
pub(super) fn add(
    context: &Context<'_>,
    template: &MessageSpec,
    (key, program, hosts): (&str, &Program, &[NodeId]),
    messages: &mut Messages,
) -> Result<(), Error> {
    let expansion = Expansion::new(program);
    let expansion =
        expansion.map_err(|error| context.error(key, error.to_string(), &error.hint))?;
    let host = |rank: u32| hosts[rank as usize];
    let first = messages.next_index();
    for (it, origin) in expansion.messages.iter().zip(&expansion.origins) {
        if it.size > LARGEST_MESSAGE {
            let error = too_large(*origin, it.size);
            return Err(context.error(key, error.to_string(), &error.hint));
        }
        let message = MessageSpec {
            source: host(it.from),
            destination: host(it.to),
            size: it.size,
            ..*template
        };
        messages.push(context, message)?;
    }
    let steps = &mut messages.steps;
    let (base, streams) = (steps.all.len() as u32, steps.streams);
    steps.all.extend(expansion.steps.iter().map(|it| Step {
        rank: it.rank,
        host: host(it.rank),
        workload: context.index,
        iteration: it.iteration,
        start: template.start,
        time: it.time,
        stream: it.stream.map(|stream| streams + stream),
        begins: it.begins.map(|step| base + step),
    }));
    steps.streams += expansion.streams;
    let node = |node: Node| match node {
        Node::Message(it) => first + it,
        Node::Step(it) => STEP | (base + it),
    };
    let edges = expansion.edges.iter();
    let edges = edges.map(|&(before, after)| (node(before), node(after)));
    steps.edges.extend(edges);
    for mut instance in expansion.collectives {
        for step in instance.members.iter_mut().flatten() {
            *step += base;
        }
        steps.collectives.push(Planned {
            workload: context.index,
            ranks: program.groups[instance.group as usize].clone(),
            instance,
        });
    }
    Ok(())
}

fn too_large(origin: (u32, u32), size: Bytes) -> fairlane_program::Error {
    let message = format!(
        "sends a message of {size}, expected at most {LARGEST_MESSAGE}, what a work request can hold"
    );
    let hint = "make several messages of it, or take an algorithm that divides the vector";
    fairlane_program::Error::new(origin, message, hint)
}
