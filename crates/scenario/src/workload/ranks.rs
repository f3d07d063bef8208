//! Programs of ranks: their messages, and what they do beside sending.

use fairlane_program::{Expansion, Message, Node, Program};
use fairlane_units::{Bytes, NodeId};

use super::context::Context;
use super::message::MessageSpec;
use super::messages::Messages;
use super::steps::{Planned, STEP, Step, Steps};
use super::verb::Verb;
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::rules::LARGEST_MESSAGE;

/// Checks what programs have in common; how many hosts take part.
pub(super) fn count(context: &Context<'_>, verb: Verb, hosts: &HostSet) -> Result<u32, Error> {
    ensure!(matches!(verb, Verb::Write | Verb::Send), context.key("verb"),
        "is \"{verb}\", expected \"write\" or \"send\""; "who sends decides when");
    Ok(context.members("hosts", hosts)?.len() as u32)
}

/// A program whose rank r runs on `hosts[r]`.
pub(super) struct Placed<'a> {
    /// The key at which mistakes are placed.
    pub(super) key: &'static str,
    pub(super) program: &'a Program,
    pub(super) hosts: &'a [NodeId],
    /// Connections of a communicator from one rank to another.
    pub(super) channels: u32,
}

impl Placed<'_> {
    /// Adds its messages and local steps.
    pub(super) fn add(
        &self,
        context: &Context<'_>,
        template: &MessageSpec,
        messages: &mut Messages,
    ) -> Result<(), Error> {
        let expansion = Expansion::over(self.program, self.channels);
        let expansion = expansion.map_err(|error| self.misplaced(context, &error))?;
        let first = messages.next_index();
        // Sends, then every group.
        let communicators = self.program.groups.len() as u32 + 1;
        let connections = communicators.saturating_mul(self.channels);
        let connections = messages.number_connections(connections);
        for (it, origin) in expansion.messages.iter().zip(&expansion.origins) {
            let plane = plane(context, *origin, it).and_then(|plane| match it.size {
                size if size > LARGEST_MESSAGE => Err(too_large(*origin, size)),
                _ => Ok(plane),
            });
            let connection = communicator(it.group) * self.channels + it.channel;
            let message = MessageSpec {
                source: self.host(it.from),
                destination: self.host(it.to),
                iteration: self.program.ranks[origin.0 as usize][origin.1 as usize].step,
                size: it.size,
                plane: plane.map_err(|error| self.misplaced(context, &error))?,
                connection: Some(connections + connection),
                ..*template
            };
            messages.push(context, message)?;
        }
        self.add_steps(expansion, template, first, &mut messages.steps);
        Ok(())
    }

    /// Adds local steps, beside messages of which the first has this index.
    fn add_steps(
        &self,
        expansion: Expansion,
        template: &MessageSpec,
        first: u32,
        steps: &mut Steps,
    ) {
        let workload = template.workload;
        let (base, streams) = (steps.all.len() as u32, steps.streams);
        steps.all.extend(expansion.steps.iter().map(|it| Step {
            rank: it.rank,
            host: self.host(it.rank),
            workload,
            iteration: it.iteration,
            start: template.start,
            time: it.time,
            stream: it.stream.map(|stream| streams + stream),
            begins: it.begins.map(|step| base + step),
        }));
        steps.streams += expansion.streams;
        steps.ranks.push((workload, self.hosts.to_vec()));
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
                workload,
                ranks: self.program.groups[instance.group as usize].clone(),
                instance,
            });
        }
    }

    fn host(&self, rank: u32) -> NodeId {
        self.hosts[rank as usize]
    }

    fn misplaced(&self, context: &Context<'_>, error: &fairlane_program::Error) -> Error {
        context.error(self.key, error.to_string(), &error.hint)
    }
}

/// The plane that a message takes: NIC n is a host's port to plane n.
fn plane(
    context: &Context<'_>,
    origin: (u32, u32),
    message: &Message,
) -> Result<Option<u8>, fairlane_program::Error> {
    let wrong = |message: String, hint: &str| fairlane_program::Error::new(origin, message, hint);
    let nic = match message.nics {
        [Some(from), Some(to)] if from != to => {
            let text = format!(
                "sends from NIC {from}, but rank {} receives on NIC {to}",
                message.to
            );
            let hint = "NIC n is a host's port to plane n, and planes aren't joined: name one NIC at both ends";
            return Err(wrong(text, hint));
        }
        [from, to] => match from.or(to) {
            Some(nic) => nic,
            None => return Ok(None),
        },
    };
    let planes = context.planes.count;
    if nic >= u32::from(planes) {
        let (hosts, most) = match planes {
            1 => ("hosts have one port", "0".to_owned()),
            _ => (
                "NIC n is the port to plane n",
                format!("0 to {}", planes - 1),
            ),
        };
        let text = format!("names NIC {nic}, expected {most}: {hosts}");
        let hint =
            "build a topology with `planes`, one for each NIC, or leave `nic` out of the schedule";
        return Err(wrong(text, hint));
    }
    match context.plane {
        Some(plane) if u32::from(plane) != nic => {
            let text = format!("names NIC {nic}, but the workload's `plane` is {plane}");
            Err(wrong(
                text,
                "leave `plane` out: the schedule says which NIC",
            ))
        }
        _ => Ok(Some(nic as u8)),
    }
}

/// Its number among the communicators of a program.
fn communicator(group: Option<u32>) -> u32 {
    group.map_or(0, |group| group + 1)
}

fn too_large(origin: (u32, u32), size: Bytes) -> fairlane_program::Error {
    let message = format!(
        "sends a message of {size}, expected at most {LARGEST_MESSAGE}, what a work request can hold"
    );
    let hint = "make several messages of it, or take an algorithm that divides the vector";
    fairlane_program::Error::new(origin, message, hint)
}
