//! The receiving end of a connection: what work requests that have arrived make complete.
//!
//! A queue pair delivers its work requests in order, so that the packet numbers that its responder has passed say
//! which have come. What each of them was, its [`Frame`] says, which packets here don't carry.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use fairlane_multipath::{Reassembler, Segment, Settings, Transfer};
use fairlane_units::{Duration, FlowId, MessageId, Psn, Time};

use super::{Multipath, Output, Task};
use crate::notice::Frame;

/// The receiving end of one connection.
#[derive(Clone, Debug)]
pub(super) struct Receiver {
    /// By path, what is on its way, oldest first.
    frames: Vec<VecDeque<Frame>>,
    /// The connection, of those that have failed one after the other.
    epoch: u32,
    /// SENDs consume receives; WRITEs that somebody waits for are numbered likewise.
    sends: Order,
    writes: Order,
}

/// Messages that arrive in the order of their numbers.
#[derive(Clone, Debug)]
struct Order {
    settings: Arc<Settings>,
    reassembler: Reassembler,
    /// Receives that were posted.
    posted: u64,
    /// The message of each number, as far as it is known.
    names: BTreeMap<u64, MessageId>,
}

impl Order {
    fn new(settings: &Arc<Settings>) -> Self {
        Self {
            settings: settings.clone(),
            reassembler: Reassembler::new(settings.clone()),
            posted: 0,
            names: BTreeMap::new(),
        }
    }

    /// An order with these settings, before its first message.
    fn anew(&self) -> Self {
        Self::new(&self.settings)
    }

    /// Hears of a work request.
    fn on_frame(&mut self, frame: &Frame) {
        while self.posted <= frame.id {
            self.post();
        }
        let transfer = Transfer {
            id: frame.id,
            total: frame.total,
            offset: frame.offset,
        };
        self.names.entry(frame.id).or_insert(frame.message);
        let placed = self.reassembler.on_transfer(&transfer, frame.length);
        debug_assert!(placed.is_ok(), "{placed:?}");
    }

    fn post(&mut self) {
        let memory = Segment {
            address: 0,
            length: u64::MAX >> 1,
            key: 0,
        };
        if self.reassembler.post_receive(memory, 0).is_some() {
            self.posted += 1;
        }
    }

    /// The next message that is complete, and its number.
    fn arrived(&mut self) -> Option<(u64, MessageId)> {
        let number = self.reassembler.poll_arrived()?.receive;
        Some((number, self.names.remove(&number)?))
    }
}

impl Multipath {
    fn receiver(&mut self, connection: u32) -> &mut Receiver {
        let paths = self.connection(connection).paths as usize;
        // A sender keeps to what it may have under way.
        let own = &self.settings;
        self.receivers.entry(connection).or_insert_with(|| {
            let settings = Arc::new(Settings {
                messages: 1 << 20,
                holes: 1 << 20,
                ..(**own).clone()
            });
            Box::new(Receiver {
                frames: vec![VecDeque::new(); paths],
                epoch: 0,
                sends: Order::new(&settings),
                writes: Order::new(&settings),
            })
        })
    }

    /// Hears what a work request is that comes, or has come.
    pub(crate) fn on_frame(&mut self, flow: FlowId, frame: &Frame) {
        let (connection, path) = self.place(flow);
        let receiver = self.receiver(connection);
        if receiver.epoch != frame.epoch {
            receiver.epoch = frame.epoch;
            (receiver.sends, receiver.writes) = (receiver.sends.anew(), receiver.writes.anew());
        }
        receiver.frames[path.index()].push_back(*frame);
    }

    /// The responder of a queue pair has everything before packet `expected`.
    pub(crate) fn on_expected(&mut self, now: Time, flow: FlowId, expected: Psn) {
        let (connection, path) = self.place(flow);
        let [_, host] = self.connection(connection).hosts;
        let cost = self.costs.reassemble;
        let window = u64::from(self.settings.messages);
        let keeps = self.connection(connection).stays_open;
        let Some(receiver) = self.receivers.get_mut(&connection) else {
            return;
        };
        let mut chunks = 0;
        while let Some(frame) = receiver.frames[path.index()].front().copied() {
            if expected.distance(Psn::new(frame.end)) < 0 {
                break;
            }
            receiver.frames[path.index()].pop_front();
            chunks += 1;
            match frame.is_send {
                true => receiver.sends.on_frame(&frame),
                false => receiver.writes.on_frame(&frame),
            }
        }
        let mut arrived: Vec<MessageId> = Vec::new();
        while let Some((_, message)) = receiver.writes.arrived() {
            arrived.push(message);
        }
        while let Some((id, message)) = receiver.sends.arrived() {
            arrived.push(message);
            if keeps {
                // Another receive takes its place.
                let id = window + id;
                self.outputs.push(Output::Grant { connection, id });
            }
        }
        self.tallies.placed += chunks;
        self.tallies.arrived += arrived.len() as u64;
        let mut work = cost.saturating_mul(chunks);
        self.tallies.cpu.reassemble += work;
        for message in arrived {
            self.schedule(now, (host, work), Task::Arrived(message));
            work = Duration::ZERO;
        }
        self.threads[host.index()].occupy(now, work);
    }

    /// A queue pair has gone, and a new one takes its place: what the old one still had on its way won't come.
    pub(crate) fn forget_frames(&mut self, flow: FlowId) {
        let (connection, path) = self.place(flow);
        if let Some(receiver) = self.receivers.get_mut(&connection) {
            receiver.frames[path.index()].clear();
        }
    }

    /// A connection of one message is over at its other end.
    pub(crate) fn forget_receiver(&mut self, flow: FlowId) {
        let connection = self.connection_of_flow(flow);
        if !self.connection(connection).stays_open {
            self.receivers.remove(&connection);
        }
    }
}
