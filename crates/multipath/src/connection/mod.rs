//! The sending end of a connection: messages in, work requests out, completions in, one completion per message
//! out.

mod end;
mod grants;
mod memory;
mod message;
mod post;
mod probing;
mod slots;
mod split;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::sync::Arc;

use fairlane_units::{Bytes, PathId, Time};

use crate::balancer::Balancer;
use crate::numbered::Numbered;
use crate::{Chunk, Failure, Health, Mistake, Paths, Remote, Segment, Settings};

use grants::Grants;
use memory::Memory;
use message::Message;
use probing::Round;
use slots::{Piece, Slots};

pub use post::Refusal;

/// What one connection has for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// How many paths it has: queue pairs, each with a selector of its own.
    pub paths: usize,
    /// What its random numbers begin with.
    pub seed: u64,
    /// The number of its group, which is told to the card with each queue pair.
    pub group: u32,
    /// Memory of the other end that probes may overwrite: [`Settings::probe`] bytes.
    pub probe_region: Option<Remote>,
}

/// What a connection tells its card when it opens queue pairs: their subflows take one share together.
///
/// The card's scope says whose traffic shares a controller. Under scope `qp` queue pairs of a group are coupled: more
/// paths change where bytes go, and a crowded one is avoided, but nowhere do they take more than one flow would; under scopes by destination or tenant all paths of a connection share anyway. A card that ignores
/// groups under scope `qp` gives a connection with k paths k times the share, and its results are to say so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coupling {
    /// A number common to all queue pairs of a connection, and to no other on this card.
    pub group: u32,
    /// How many queue pairs there are in the group.
    pub subflows: u32,
}

/// Something that the driver, or the application, should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message is complete. They come in the order of posting (IBTA 10.8).
    Completed {
        /// Its number.
        message: u64,
        /// What was posted with it.
        context: u64,
        /// Its bytes.
        size: Bytes,
    },
    /// A message failed, and with it all that are behind it. The connection takes no more.
    Failed {
        /// Which, and why.
        failure: Failure,
        /// What was posted with it.
        context: u64,
    },
    /// The health of a path has changed. A queue pair that is quarantined must be torn down at both ends before
    /// its next probe is posted: what it still sends would come from a chunk that others carry.
    Path {
        /// The path.
        path: PathId,
        /// How it is.
        health: Health,
    },
}

/// The sending end of one connection.
#[derive(Clone, Debug)]
pub struct Connection {
    settings: Arc<Settings>,
    coupling: Coupling,
    paths: Paths,
    balancer: Balancer,
    /// The epoch of `paths` that the balancer has heard of.
    heard: u32,
    messages: Numbered<Message>,
    memory: Memory,
    slots: Slots,
    /// Parts that failed, to be posted again before anything else.
    again: VecDeque<Piece>,
    /// The message that is split next.
    next: u64,
    /// The oldest message whose notice may still be owed.
    noticed: u64,
    /// All messages before this number are complete.
    done: u64,
    /// Messages that consume a receive, so far.
    sends: u64,
    /// The path of all atomics in flight, and how many these are.
    atomic_path: usize,
    atomics: u32,
    grants: Grants,
    broken: Option<Failure>,
    probe_region: Option<Remote>,
    round: Option<Box<Round>>,
}

impl Connection {
    /// A connection before its first message.
    ///
    /// # Errors
    /// If a parameter or the number of paths is out of range.
    pub fn new(settings: Arc<Settings>, opening: &Opening) -> Result<Self, Mistake> {
        settings.validate(opening.paths)?;
        Ok(Self {
            coupling: Coupling {
                group: opening.group,
                subflows: opening.paths as u32,
            },
            paths: Paths::new(settings.clone(), opening.paths),
            balancer: Balancer::new(&settings, opening.paths, opening.seed),
            heard: 0,
            messages: Numbered::new(),
            memory: Memory::new(),
            slots: Slots::new(),
            again: VecDeque::new(),
            next: 0,
            noticed: 0,
            done: 0,
            sends: 0,
            atomic_path: 0,
            atomics: 0,
            grants: Grants::new(),
            broken: None,
            probe_region: opening.probe_region,
            round: None,
            settings,
        })
    }

    /// What the card is told with each queue pair.
    pub const fn coupling(&self) -> Coupling {
        self.coupling
    }

    /// What is known of the paths.
    pub const fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Why the connection takes no more messages, if it doesn't.
    pub const fn failure(&self) -> Option<&Failure> {
        self.broken.as_ref()
    }

    /// Messages that are posted and not reported yet.
    pub fn outstanding(&self) -> usize {
        self.messages.len()
    }

    /// Work requests that are posted and not completed.
    pub fn in_flight(&self) -> usize {
        self.slots.in_flight()
    }

    /// The pieces of local memory of a chunk that was just polled, at most [`Settings::segments`], with the
    /// frame of a SEND as one of them.
    pub fn segments(&self, chunk: &Chunk) -> impl Iterator<Item = Segment> + '_ {
        let (offset, length) = (chunk.offset.get(), chunk.length.get());
        let message = chunk.message.and_then(|number| self.messages.get(number));
        let within = message.map(|it| self.memory.within(it.pieces, offset, length));
        within.into_iter().flatten()
    }

    /// Reports what happened, oldest message first; `None` when all is said.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some((path, health)) = self.paths.take_change() {
            let path = PathId::new(path as u32);
            return Some(Event::Path { path, health });
        }
        let number = self.messages.first();
        if number < self.done {
            let message = self.pop()?;
            return Some(Event::Completed {
                message: number,
                context: message.context,
                size: Bytes::new(message.size),
            });
        }
        let broken = self.broken.filter(|broken| broken.message <= number)?;
        let message = self.pop()?;
        let failure = match broken.message == number {
            true => broken,
            false => Failure {
                message: number,
                cause: crate::Cause::Flushed,
            },
        };
        Some(Event::Failed {
            failure,
            context: message.context,
        })
    }

    fn pop(&mut self) -> Option<Message> {
        let message = self.messages.pop()?;
        self.memory.release(message.pieces);
        Some(message)
    }

    /// When [`Self::on_deadline`] is to be called, at the latest; it may turn out that nothing is due.
    pub fn deadline(&self) -> Option<Time> {
        let deadline = self.paths.deadline();
        (deadline != Time::MAX).then_some(deadline)
    }

    /// Bytes of memory that the connection takes, itself included.
    pub fn footprint(&self) -> usize {
        size_of::<Self>()
            + self.paths.heap()
            + self.messages.heap()
            + self.memory.heap()
            + self.slots.heap()
            + self.again.capacity() * size_of::<Piece>()
            + self.grants.heap()
            + self.balancer.heap()
    }
}
