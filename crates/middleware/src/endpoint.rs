//! One end of a multipath connection: messages and receives in, work requests for the queue pairs of its paths out.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use fairlane_multipath::{
    self as multipath, Chunk, Completion, Connection, Failure, Frame, Grant, Health, Mistake,
    Opening, Placement, Reassembler, Refusal, Request, Segment, Settings, Tag,
};
use fairlane_units::{Bytes, PathId, Time};

/// A work request for the queue pair of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// What it does.
    pub chunk: Chunk,
    /// How often its path's queue pair had been given up.
    generation: u32,
}

/// Something that the application, or the driver, should know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message is complete. They come in the order of posting (IBTA 10.8).
    Completed {
        /// Its number, from 0 in the order of posting.
        message: u64,
        /// What was posted with it.
        context: u64,
        /// Its bytes.
        size: Bytes,
    },
    /// A message failed, and with it all that are behind it. The end sends no more.
    Failed {
        /// Which, and why.
        failure: Failure,
        /// What was posted with it.
        context: u64,
    },
    /// A message has consumed the oldest receive. They come in the order in which the other end has posted them.
    Received {
        /// What was posted with the receive.
        context: u64,
        /// Bytes of the message.
        size: Bytes,
    },
    /// The health of a path has changed.
    Path {
        /// The path.
        path: PathId,
        /// How it is.
        health: Health,
    },
}

impl Event {
    const fn of(event: multipath::Event) -> Self {
        match event {
            multipath::Event::Completed {
                message,
                context,
                size,
            } => Self::Completed {
                message,
                context,
                size,
            },
            multipath::Event::Failed { failure, context } => Self::Failed { failure, context },
            multipath::Event::Path { path, health } => Self::Path { path, health },
        }
    }
}

/// The queue pair of a path at this end.
#[derive(Clone, Debug, Default)]
struct PathPair {
    /// Whether work requests have gone to it.
    used: bool,
    /// Whether it is being replaced.
    replaced: bool,
    /// Whether a work request has failed there: it takes no more (IBTA 10.3.1).
    failed: bool,
    /// How often the path was given up.
    generation: u32,
    /// Work requests that wait until it has been replaced.
    waiting: Vec<Posting>,
}

/// One end of a multipath connection.
///
/// A [`Connection`] for what it sends and a [`Reassembler`] for what it receives, with the state of the queue pairs of its paths.
/// Receives are offered to the other end, and its offers heard, by SENDs on the same queue pairs: all that crosses are
/// bytes of work requests.
///
/// | what happens | call |
/// |---|---|
/// | the application posts | [`post`](Self::post), [`post_receive`](Self::post_receive) |
/// | a queue pair's work request has ended | [`on_completion`](Self::on_completion), and unless it was [delivered](multipath::Outcome::Delivered) [`on_error`](Self::on_error) of its path before |
/// | a SEND has come to a queue pair | [`on_receive`](Self::on_receive), and its data goes where that says |
/// | the deadline has come | [`on_deadline`](Self::on_deadline) |
/// | after any of these | [`poll_event`](Self::poll_event) until there is none, then [`poll_replacement`](Self::poll_replacement) until there is none, then [`poll_posting`](Self::poll_posting), which may make events, until both have nothing |
/// | a work request is posted | [`admits`](Self::admits) says whether it still is to go |
/// | a queue pair was replaced at both ends | [`on_replaced`](Self::on_replaced) |
#[derive(Clone, Debug)]
pub struct Endpoint {
    settings: Arc<Settings>,
    connection: Connection,
    reassembler: Reassembler,
    pairs: Vec<PathPair>,
    /// Queue pairs that are to be replaced.
    replacements: VecDeque<PathId>,
    /// Receives that the other end hasn't been offered.
    grants: VecDeque<Grant>,
}

impl Endpoint {
    /// An end before its first message.
    ///
    /// # Errors
    /// If a parameter or the number of paths is out of range.
    pub fn new(settings: Arc<Settings>, opening: &Opening) -> Result<Self, Mistake> {
        let connection = Connection::new(settings.clone(), opening)?;
        let mut pairs = Vec::new();
        pairs.resize_with(opening.paths, PathPair::default);
        Ok(Self {
            reassembler: Reassembler::new(settings.clone()),
            settings,
            connection,
            pairs,
            replacements: VecDeque::new(),
            grants: VecDeque::new(),
        })
    }

    /// Begins anew after a failure, over the same queue pairs; those in use are replaced. Receives are to be posted again.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn restart(&mut self, opening: &Opening) -> Result<(), Mistake> {
        let mut next = Self::new(self.settings.clone(), opening)?;
        (0..self.pairs.len()).for_each(|path| self.give_up(PathId::new(path as u32)));
        next.pairs = mem::take(&mut self.pairs);
        next.replacements = mem::take(&mut self.replacements);
        *self = next;
        Ok(())
    }

    /// What it sends by.
    pub const fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Mutable access to the connection, for drivers that report routes, probe, or carry offers of receives themselves.
    pub const fn connection_mut(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Posts a message.
    ///
    /// # Errors
    /// As [`Connection::post`].
    pub fn post(&mut self, now: Time, request: &Request<'_>) -> Result<u64, Refusal> {
        self.connection.post(now, request)
    }

    /// Posts a receive into one piece of memory; `false` if as many as may be are posted.
    pub fn post_receive(&mut self, memory: Segment, context: u64) -> bool {
        let grant = self.reassembler.post_receive(memory, context);
        self.grants.extend(grant);
        self.offer();
        grant.is_some()
    }

    /// A SEND with these bytes has come to a queue pair of a path. Returns where those behind its frame go, if anywhere.
    ///
    /// # Errors
    /// If they can't be what an end like this one sends.
    pub fn on_receive<'a>(
        &mut self,
        bytes: &'a [u8],
    ) -> Result<Option<(Segment, &'a [u8])>, Mistake> {
        let refuse = |message| Mistake::new("SEND", message, "both ends must be of one version");
        let (frame, data) = Frame::parse(bytes).map_err(|error| refuse(format!("{error}")))?;
        match frame {
            Frame::Grant(grant) => match self.connection.on_grant(&grant) {
                true => Ok(None),
                false => Err(refuse(format!("receive {} is out of turn", grant.id))),
            },
            Frame::Transfer(transfer) => {
                let placed = self.reassembler.on_transfer(&transfer, data.len() as u64)?;
                Ok(match placed {
                    Placement::Place(memory) => Some((memory, data)),
                    Placement::Nothing => None,
                })
            }
        }
    }

    /// A work request has ended.
    pub fn on_completion(&mut self, now: Time, tag: Tag, completion: &Completion) {
        self.connection.on_completion(now, tag, completion);
    }

    /// A queue pair is in its error state: it is replaced.
    pub fn on_error(&mut self, path: PathId) {
        let pair = &mut self.pairs[path.index()];
        if !mem::replace(&mut pair.failed, true) {
            self.replace(path);
        }
    }

    /// Does what is due.
    pub fn on_deadline(&mut self, now: Time) {
        self.connection.on_deadline(now);
    }

    /// When [`on_deadline`](Self::on_deadline) is to be called at the latest.
    pub fn deadline(&self) -> Option<Time> {
        self.connection.deadline()
    }

    /// Reports what has happened; `None` when all is said.
    pub fn poll_event(&mut self) -> Option<Event> {
        if let Some(event) = self.connection.poll_event() {
            if let multipath::Event::Path {
                path,
                health: Health::Quarantined,
            } = event
            {
                self.give_up(path);
            }
            return Some(Event::of(event));
        }
        let arrived = self.reassembler.poll_arrived()?;
        Some(Event::Received {
            context: arrived.context,
            size: arrived.size,
        })
    }

    /// The next path whose queue pair is to be torn down and opened anew at both ends.
    pub fn poll_replacement(&mut self) -> Option<PathId> {
        self.replacements.pop_front()
    }

    /// The next work request; `None` until something else happens.
    pub fn poll_posting(&mut self, now: Time) -> Option<Posting> {
        self.offer();
        let chunk = self.connection.poll_chunk(now)?;
        let generation = self.pairs[chunk.path.index()].generation;
        Some(Posting { chunk, generation })
    }

    /// Whether a work request goes to its queue pair, now that it would be posted. One whose path was given up meanwhile doesn't;
    /// one whose queue pair is being replaced is kept for that.
    pub fn admits(&mut self, posting: &Posting) -> bool {
        let pair = &mut self.pairs[posting.chunk.path.index()];
        if pair.generation != posting.generation {
            return false;
        }
        if pair.replaced {
            pair.waiting.push(*posting);
            return false;
        }
        pair.used = true;
        true
    }

    /// A queue pair was replaced at both ends. Returns the work requests that have waited for that, in order.
    pub fn on_replaced(&mut self, path: PathId) -> Vec<Posting> {
        let pair = &mut self.pairs[path.index()];
        (pair.used, pair.replaced, pair.failed) = (false, false, false);
        mem::take(&mut pair.waiting)
    }

    /// A path is given up for now: its queue pair is replaced, and nothing goes out of what it has or what waits for it.
    pub fn give_up(&mut self, path: PathId) {
        let pair = &mut self.pairs[path.index()];
        pair.generation += 1;
        pair.waiting.clear();
        self.replace(path);
    }

    /// Whether the queue pair of a path has been used and isn't being replaced.
    pub fn is_in_use(&self, path: PathId) -> bool {
        let pair = &self.pairs[path.index()];
        pair.used && !pair.replaced
    }

    /// How often a path was given up; completions of work requests from before are none of it.
    pub fn generation(&self, path: PathId) -> u32 {
        self.pairs[path.index()].generation
    }

    fn replace(&mut self, path: PathId) {
        let pair = &mut self.pairs[path.index()];
        if pair.used && !mem::replace(&mut pair.replaced, true) {
            self.replacements.push_back(path);
        }
    }

    /// Offers receives to the other end as far as there is room.
    fn offer(&mut self) {
        while let Some(grant) = self.grants.front() {
            if !self.connection.offer(grant) {
                return;
            }
            self.grants.pop_front();
        }
    }
}
