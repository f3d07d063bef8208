//! From operations to messages, steps and edges.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::{Bytes, Duration};

use super::check::begun;
use super::{Expansion, Instance, MOST_NODES, Message, Node, Step};
use crate::pattern::{Part, Pattern, most_messages, usual};
use crate::{Collective, Error, Kind, Operation, Program, Work};

/// The rank and operation that a node comes from.
pub(super) type Origin = (u32, u32);

/// Where nodes come from: of messages, of steps.
pub(super) struct Origins {
    pub(super) messages: Vec<Origin>,
    pub(super) steps: Vec<Origin>,
}

/// What others wait for of an operation: what it waits with for others if that is a node of its own, and its end.
#[derive(Clone, Copy)]
struct Ends {
    posted: Option<u32>,
    end: Node,
}

pub(super) fn lower(program: &Program, channels: u32) -> Result<(Expansion, Origins), Error> {
    let mut lowering = Lowering {
        program,
        channels: channels.max(1),
        out: Expansion::default(),
        origins: Origins {
            messages: Vec::new(),
            steps: Vec::new(),
        },
        planned: 0,
        ends: Vec::new(),
    };
    let received = lowering.messages()?;
    lowering.operations(&received)?;
    lowering.collectives()?;
    lowering.order();
    Ok((lowering.out, lowering.origins))
}

struct Lowering<'a> {
    program: &'a Program,
    channels: u32,
    out: Expansion,
    origins: Origins,
    /// Messages and steps so far, and those to come that are known.
    planned: u64,
    /// By rank and operation.
    ends: Vec<Vec<Ends>>,
}

/// Sends or receives of a sender, a receiver and a tag.
type Channels = BTreeMap<(u32, u32, u64), VecDeque<(Origin, Bytes)>>;

impl Lowering<'_> {
    /// Makes a message of every send; returns the message of each send and receive.
    fn messages(&mut self) -> Result<BTreeMap<Origin, u32>, Error> {
        let (mut sends, mut receives) = (Channels::new(), Channels::new());
        for (rank, operations) in (0u32..).zip(&self.program.ranks) {
            for (number, operation) in (0u32..).zip(operations) {
                let (all, key, size) = match operation.work {
                    Work::Send { to, size, tag } => (&mut sends, (rank, to, tag), size),
                    Work::Receive { from, size, tag } => (&mut receives, (from, rank, tag), size),
                    _ => continue,
                };
                all.entry(key)
                    .or_default()
                    .push_back(((rank, number), size));
            }
        }
        let mut of = BTreeMap::new();
        let mut turns: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (key, all) in sends {
            let (from, to, tag) = key;
            let mut others = receives.remove(&key).unwrap_or_default();
            let turn = turns.entry((from, to)).or_insert(0);
            for (send, size) in all {
                let Some((receive, expected)) = others.pop_front() else {
                    let message =
                        format!("sends to rank {to} with tag {tag}, which doesn't receive it");
                    return Err(Error::new(
                        send,
                        message,
                        "add the receive, or correct its tag",
                    ));
                };
                // As MPI has it, a receive says how much may come (MPI 4.1, 3.2.4).
                if expected < size {
                    let message = format!(
                        "receives {expected}, but operation {} of rank {from} sends {size}",
                        send.1
                    );
                    let hint = "a receive may be longer than what is sent, not shorter";
                    return Err(Error::new(receive, message, hint));
                }
                let nics = [send, receive].map(|at| operation(self.program, at).nic);
                let message = Message {
                    from,
                    to,
                    size,
                    nics,
                    group: None,
                    channel: *turn % self.channels,
                };
                *turn += 1;
                let message = self.message(send, message)?;
                of.insert(send, message);
                of.insert(receive, message);
            }
            if let Some((receive, _)) = others.pop_front() {
                return Err(unsent(receive, from, tag));
            }
        }
        match receives.into_iter().next() {
            Some(((from, _, tag), mut all)) => match all.pop_front() {
                Some((receive, _)) => Err(unsent(receive, from, tag)),
                None => Ok(of),
            },
            None => Ok(of),
        }
    }

    /// Finds what each operation ends with.
    fn operations(&mut self, messages: &BTreeMap<Origin, u32>) -> Result<(), Error> {
        let mut streams = BTreeMap::new();
        let begun = begun(self.program);
        for (rank, operations) in (0u32..).zip(&self.program.ranks) {
            let mut all = Vec::with_capacity(operations.len());
            for (number, operation) in (0u32..).zip(operations) {
                let at = (rank, number);
                let waits = !operation.after.is_empty() || !operation.after_start.is_empty();
                let posts = begun[rank as usize][number as usize];
                let ends = match operation.work {
                    Work::Compute(time) => {
                        let next = streams.len() as u32;
                        let stream = *streams.entry((rank, operation.stream)).or_insert(next);
                        let posted = if posts { Some(self.join(at)?) } else { None };
                        let step = self.join(at)?;
                        let it = &mut self.out.steps[step as usize];
                        (it.time, it.stream, it.begins) = (time, Some(stream), posted);
                        Ends {
                            posted,
                            end: Node::Step(step),
                        }
                    }
                    Work::Send { .. } => Ends {
                        posted: if posts { Some(self.join(at)?) } else { None },
                        end: Node::Message(messages[&at]),
                    },
                    Work::Receive { .. } if !waits && !posts => Ends {
                        posted: None,
                        end: Node::Message(messages[&at]),
                    },
                    Work::Receive { .. } => {
                        let (posted, end) = (self.join(at)?, self.join(at)?);
                        self.edge(Node::Step(posted), Node::Step(end));
                        self.edge(Node::Message(messages[&at]), Node::Step(end));
                        Ends {
                            posted: Some(posted),
                            end: Node::Step(end),
                        }
                    }
                    Work::Collective(_) => {
                        let (enters, leaves) = (self.join(at)?, self.join(at)?);
                        Ends {
                            posted: Some(enters),
                            end: Node::Step(leaves),
                        }
                    }
                };
                all.push(ends);
            }
            self.ends.push(all);
        }
        self.out.streams = streams.len() as u32;
        Ok(())
    }

    /// Expands collectives: the n-th of a rank in a group is the n-th of the others.
    fn collectives(&mut self) -> Result<(), Error> {
        let program = self.program;
        let mut counts: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        // By group and number, the operation of each member, in the order of the group.
        let mut found: BTreeMap<(u32, u32), Vec<Option<Origin>>> = BTreeMap::new();
        let mut order = Vec::new();
        for (rank, operations) in (0u32..).zip(&program.ranks) {
            for (number, operation) in (0u32..).zip(operations) {
                let Work::Collective(it) = &operation.work else {
                    continue;
                };
                let group = &program.groups[it.group as usize];
                let count = counts.entry((it.group, rank)).or_insert(0);
                let key = (it.group, *count);
                *count += 1;
                let place = group.iter().position(|member| *member == rank).unwrap_or(0);
                let members = found.entry(key).or_insert_with(|| {
                    order.push(key);
                    vec![None; group.len()]
                });
                members[place] = Some((rank, number));
            }
        }
        for key in order {
            let members = agreed(program, key, &found[&key])?;
            self.instance(&members)?;
        }
        Ok(())
    }

    fn instance(&mut self, members: &[Origin]) -> Result<(), Error> {
        let of = |at: &Origin| collective(self.program, *at);
        let (first, count) = (of(&members[0]), members.len() as u32);
        let unequal = members.iter().any(|at| !of(at).parts.is_empty());
        let own: Vec<&[Bytes]> = match unequal {
            true => members.iter().map(|at| &*of(at).parts).collect(),
            false => Vec::new(),
        };
        let most = match unequal {
            true => own
                .iter()
                .flat_map(|own| own.iter())
                .filter(|part| !part.is_zero())
                .count() as u64,
            false => most_messages(first.kind, first.algorithm, count),
        };
        self.plan(members[0], most.saturating_mul(self.channels.into()))?;
        let size = match unequal {
            true => Bytes::new(
                own.iter()
                    .flat_map(|own| own.iter())
                    .map(|part| part.get())
                    .sum::<u64>()
                    / u64::from(count),
            ),
            false => first.size,
        };
        let mut sent = Bytes::ZERO;
        for channel in 0..self.channels {
            let part = |size: Bytes| share(size, channel, self.channels);
            // A barrier has nothing to divide, and a small vector no part for every channel.
            let idle = first.kind == Kind::Barrier || part(first.size).is_zero();
            if channel > 0 && idle && !unequal {
                break;
            }
            let parts = own.iter().map(|own| own.iter().copied().map(part));
            let parts: Vec<Vec<Bytes>> = parts.map(Iterator::collect).collect();
            let parts: Vec<&[Bytes]> = parts.iter().map(|parts| &**parts).collect();
            let size = (count, part(first.size));
            let pattern = Pattern::new(first.kind, first.algorithm, size, &parts);
            self.place(&pattern, members, (first.group, channel))?;
            sent += pattern.sent();
        }
        // Parts of which nothing is left aren't sent.
        self.planned = (self.out.messages.len() + self.out.steps.len()) as u64;
        let operation = &self.program.ranks[members[0].0 as usize][members[0].1 as usize];
        let steps = |at: &Origin| {
            let ends = self.ends[at.0 as usize][at.1 as usize];
            let Node::Step(leaves) = ends.end else {
                unreachable!("a collective ends with a step");
            };
            [ends.posted.unwrap_or(leaves), leaves]
        };
        let instance = Instance {
            kind: first.kind,
            algorithm: usual(first.kind, first.algorithm),
            group: first.group,
            size,
            sent,
            iteration: operation.step,
            name: operation.name.clone(),
            members: members.iter().map(steps).collect(),
        };
        self.out.collectives.push(instance);
        Ok(())
    }

    /// Makes nodes of the parts of a pattern, and edges.
    fn place(
        &mut self,
        pattern: &Pattern,
        members: &[Origin],
        (group, channel): (u32, u32),
    ) -> Result<(), Error> {
        let mut nodes: Vec<Node> = Vec::with_capacity(pattern.parts.len());
        let last = pattern.parts.len() - members.len();
        for (number, part) in pattern.parts.iter().enumerate() {
            let (node, after) = match part {
                Part::Transfer(it) => {
                    let at = members[it.from as usize];
                    let message = Message {
                        from: at.0,
                        to: members[it.to as usize].0,
                        size: it.size,
                        nics: [None; 2],
                        group: Some(group),
                        channel,
                    };
                    self.planned -= 1;
                    (Node::Message(self.message(at, message)?), &it.after)
                }
                Part::Join { member, after } => {
                    let at = members[*member as usize];
                    let ends = self.ends[at.0 as usize][at.1 as usize];
                    let node = match (number < members.len(), ends.posted) {
                        (true, Some(enters)) => Node::Step(enters),
                        _ if number >= last => ends.end,
                        _ => Node::Step(self.join(at)?),
                    };
                    (node, after)
                }
            };
            for &before in after {
                self.edge(nodes[before as usize], node);
            }
            nodes.push(node);
        }
        Ok(())
    }

    /// Edges for what operations wait for.
    fn order(&mut self) {
        let program = self.program;
        for (rank, operations) in program.ranks.iter().enumerate() {
            for (number, operation) in operations.iter().enumerate() {
                let ends = self.ends[rank][number];
                // A computation begins by itself what waits for that.
                let begins = matches!(operation.work, Work::Compute(_));
                let own = ends.posted.filter(|_| !begins);
                let first = own.map_or(ends.end, Node::Step);
                let ended = operation
                    .after
                    .iter()
                    .map(|&it| self.ends[rank][it as usize].end);
                let begun = operation.after_start.iter();
                let begun = begun.filter_map(|&it| self.ends[rank][it as usize].posted);
                let before: Vec<Node> = ended.chain(begun.map(Node::Step)).collect();
                before.into_iter().for_each(|node| self.edge(node, first));
                if let (Some(posted), Work::Send { .. }) = (own, &operation.work) {
                    self.edge(Node::Step(posted), ends.end);
                }
            }
        }
    }

    fn message(&mut self, at: Origin, message: Message) -> Result<u32, Error> {
        self.plan(at, 1)?;
        self.out.messages.push(message);
        self.origins.messages.push(at);
        Ok(self.out.messages.len() as u32 - 1)
    }

    fn join(&mut self, at: Origin) -> Result<u32, Error> {
        self.plan(at, 1)?;
        self.out.steps.push(Step {
            rank: at.0,
            time: Duration::ZERO,
            stream: None,
            begins: None,
            iteration: self.program.ranks[at.0 as usize][at.1 as usize].step,
        });
        self.origins.steps.push(at);
        Ok(self.out.steps.len() as u32 - 1)
    }

    fn edge(&mut self, before: Node, after: Node) {
        self.out.edges.push((before, after));
    }

    fn plan(&mut self, at: Origin, nodes: u64) -> Result<(), Error> {
        self.planned = self.planned.saturating_add(nodes);
        if self.planned <= MOST_NODES {
            return Ok(());
        }
        let message = format!("makes more than {MOST_NODES} messages and steps with those before");
        Err(Error::new(
            at,
            message,
            "take fewer ranks or steps, or another algorithm",
        ))
    }
}

/// The part of a vector that goes over a channel: equal ones, the first of them a byte larger where that can't be.
fn share(size: Bytes, channel: u32, channels: u32) -> Bytes {
    let (size, count) = (size.get(), u64::from(channels));
    Bytes::new(size / count + u64::from(u64::from(channel) < size % count))
}

fn unsent(receive: Origin, from: u32, tag: u64) -> Error {
    let message = format!("receives from rank {from} with tag {tag}, which doesn't send it");
    Error::new(receive, message, "add the send, or correct its tag")
}

fn operation(program: &Program, at: Origin) -> &Operation {
    &program.ranks[at.0 as usize][at.1 as usize]
}

fn collective(program: &Program, at: Origin) -> &Collective {
    let Work::Collective(it) = &operation(program, at).work else {
        unreachable!("it was found as a collective");
    };
    it
}

/// The operations of all members, which say the same.
fn agreed(
    program: &Program,
    (group, number): (u32, u32),
    members: &[Option<Origin>],
) -> Result<Vec<Origin>, Error> {
    let known: Vec<Origin> = members.iter().flatten().copied().collect();
    if let Some(missing) = members.iter().position(Option::is_none) {
        let rank = program.groups[group as usize][missing];
        let message =
            format!("is collective {number} of group {group}, which rank {rank} isn't part of");
        return Err(Error::new(
            known[0],
            message,
            "let every member have the same collectives",
        ));
    }
    let first = collective(program, known[0]);
    for &at in &known[1..] {
        let it = collective(program, at);
        let sizes = it.size == first.size || first.kind == Kind::Barrier || !it.parts.is_empty();
        let unequal = it.parts.is_empty() == first.parts.is_empty();
        if (it.kind, it.algorithm) != (first.kind, first.algorithm) || !sizes || !unequal {
            let message = format!(
                "is {} of {} by {} as collective {number} of group {group}, but rank {}, operation {} says {} of {} by {}",
                it.kind,
                it.size,
                it.algorithm,
                known[0].0,
                known[0].1,
                first.kind,
                first.size,
                first.algorithm
            );
            return Err(Error::new(
                at,
                message,
                "let all members say the same in the same order",
            ));
        }
    }
    Ok(known)
}
