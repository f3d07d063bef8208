//! Both ends of a connection over a carrier.

use std::sync::Arc;

use fairlane_middleware::{Endpoint, Event, Posting};
use fairlane_multipath::{
    self as multipath, Atomic, Completion, Health, Opening, Outcome, Request, Segment, Settings,
};
use fairlane_units::{Duration, PathId, Time};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use crate::carrier::{Carrier, Happened, Side};
use crate::memory::ROOM;
use crate::operations::{MOST, Model, Operation, SHARED, pattern};

/// Longer than anything takes, by the carrier's clock.
const LONG: Duration = Duration::from_ms(20_000);

pub(crate) struct Ends<C> {
    carrier: C,
    ends: [Endpoint; 2],
    paths: usize,
    messages: Vec<Operation>,
    completed: usize,
    /// Receives posted, and their messages, in order.
    receives: u64,
    arrived: Vec<Vec<u8>>,
    /// Queue pairs that were replaced.
    pub(crate) replaced: u32,
}

impl<C: Carrier> Ends<C> {
    pub(crate) fn new(carrier: C, settings: &Settings, paths: usize) -> Self {
        let settings = Arc::new(settings.clone());
        let opening = Opening {
            paths,
            seed: 7,
            ..Opening::default()
        };
        let end = || Endpoint::new(settings.clone(), &opening).expect("settings are right");
        Self {
            carrier,
            ends: [end(), end()],
            paths,
            messages: Vec::new(),
            completed: 0,
            receives: 0,
            arrived: Vec::new(),
            replaced: 0,
        }
    }

    /// Does all this, waits for the end, and compares with what one queue pair would have done.
    pub(crate) fn run(&mut self, operations: &[Operation]) -> Result<(), TestCaseError> {
        for &operation in operations {
            match operation {
                Operation::Receive(count) => (0..count).for_each(|_| self.receive()),
                Operation::Kill(path) => self.carrier.kill(PathId::new(path as u32)),
                Operation::Revive(path) => self.carrier.revive(PathId::new(path as u32)),
                Operation::Pause(span) => {
                    let until = self.carrier.now().saturating_add(span);
                    while self.carrier.now() < until {
                        self.pump()?;
                        self.wait(until);
                    }
                }
                _ => self.post(operation),
            }
            self.pump()?;
        }
        (1..self.paths).for_each(|path| self.carrier.revive(PathId::new(path as u32)));
        let sends = |one: &&Operation| matches!(one, Operation::Send { .. });
        let sent = self.messages.iter().filter(sends).count();
        while self.receives < sent as u64 {
            self.receive();
        }
        let until = self.carrier.now().saturating_add(LONG);
        while self.completed < self.messages.len() || self.arrived.len() < sent {
            self.pump()?;
            prop_assert!(
                self.carrier.now() < until,
                "stuck at {} of {:?}, {} of {sent} arrived",
                self.completed,
                self.messages,
                self.arrived.len()
            );
            self.wait(until);
        }
        let model = Model::of(&self.messages);
        let shared = self.carrier.shared(0).address;
        let shared = self.carrier.read(Side::Receiver, shared, SHARED);
        prop_assert!(shared == model.shared, "memory differs");
        prop_assert!(self.arrived == model.sent, "SENDs differ");
        Ok(())
    }

    /// How a path is, once its probes have been answered: for as long as that may take.
    pub(crate) fn health(&mut self, path: PathId) -> Health {
        let until = self.carrier.now().saturating_add(Duration::from_ms(100));
        while self.carrier.now() < until {
            self.pump().expect("nothing is under way");
            self.wait(until);
        }
        self.ends[0].connection().paths().health(path.index())
    }

    /// Posts a message. It is fenced: what READs get doesn't depend on what comes later.
    fn post(&mut self, operation: Operation) {
        let message = self.messages.len();
        let own = self.carrier.local(message as u64);
        let data: Vec<u8> = (0..operation.size())
            .map(|at| pattern(message, at))
            .collect();
        self.carrier.write(Side::Sender, own.address, &data);
        let size = operation.size();
        let shared = |at| self.carrier.shared(at);
        let asked = match operation {
            Operation::Write { at, .. } => multipath::Operation::Write(shared(at)),
            Operation::Read { at, .. } => multipath::Operation::Read(shared(at)),
            Operation::Add { at } => multipath::Operation::Atomic(shared(at), Atomic::FetchAdd(1)),
            _ => multipath::Operation::Send,
        };
        // In pieces of odd sizes, but for an atomic.
        let first = match operation {
            Operation::Add { .. } => size,
            _ => size / 3,
        };
        let piece = |offset, length| Segment {
            address: own.address + offset,
            length,
            key: own.key,
        };
        let memory = [piece(0, first), piece(first, size - first)];
        let count = if first == size { 1 } else { 2 };
        let request = Request {
            fence: true,
            context: message as u64,
            ..Request::new(asked, &memory[..count])
        };
        let now = self.carrier.now();
        let posted = self.ends[0].post(now, &request);
        assert!(posted.is_ok(), "{posted:?}");
        self.messages.push(operation);
    }

    fn receive(&mut self) {
        let memory = Segment {
            length: MOST,
            ..self.carrier.receive(self.receives)
        };
        assert!(self.ends[1].post_receive(memory, self.receives));
        self.receives += 1;
    }

    fn wait(&mut self, until: Time) {
        let due = self.ends.iter().filter_map(Endpoint::deadline).min();
        self.carrier.wait(due.unwrap_or(until).min(until));
    }

    /// Lets both ends do what they can now.
    fn pump(&mut self) -> Result<(), TestCaseError> {
        for side in Side::BOTH {
            while let Some(happened) = self.carrier.poll(side) {
                self.on_happened(side, happened)?;
            }
            let now = self.carrier.now();
            let end = &mut self.ends[side as usize];
            if end.deadline().is_some_and(|at| at <= now) {
                end.on_deadline(now);
            }
            loop {
                self.hear(side)?;
                let now = self.carrier.now();
                let Some(posting) = self.ends[side as usize].poll_posting(now) else {
                    if !self.hear(side)? {
                        break;
                    }
                    continue;
                };
                self.write(side, &posting);
            }
        }
        Ok(())
    }

    fn on_happened(&mut self, side: Side, happened: Happened) -> Result<(), TestCaseError> {
        let now = self.carrier.now();
        let end = &mut self.ends[side as usize];
        match happened {
            Happened::Ended(path, tag, outcome) => {
                if outcome != Outcome::Delivered {
                    end.on_error(path);
                }
                end.on_completion(now, tag, &Completion::of(outcome));
            }
            Happened::Came(bytes) => {
                let placed = end.on_receive(&bytes);
                prop_assert!(placed.is_ok(), "{placed:?}");
                if let Ok(Some((memory, data))) = placed {
                    self.carrier.write(side, memory.address, data);
                }
            }
        }
        Ok(())
    }

    /// Hears of what has ended, and replaces queue pairs; whether there was anything.
    fn hear(&mut self, side: Side) -> Result<bool, TestCaseError> {
        let mut any = false;
        while let Some(event) = self.ends[side as usize].poll_event() {
            any = true;
            match event {
                Event::Completed {
                    message,
                    context,
                    size,
                } => {
                    prop_assert_eq!(side, Side::Sender);
                    prop_assert_eq!(
                        (message, context),
                        (self.completed as u64, self.completed as u64)
                    );
                    prop_assert_eq!(size.get(), self.messages[self.completed].size());
                    self.completed += 1;
                }
                Event::Failed { failure, .. } => prop_assert!(false, "{failure}"),
                Event::Received { context, size } => {
                    prop_assert_eq!(side, Side::Receiver);
                    prop_assert_eq!(context, self.arrived.len() as u64);
                    let memory = self.carrier.receive(context);
                    let data = self.carrier.read(side, memory.address, size.get());
                    self.arrived.push(data);
                }
                Event::Path { .. } => {}
            }
        }
        while let Some(path) = self.ends[side as usize].poll_replacement() {
            any = true;
            self.replace(path);
        }
        Ok(any)
    }

    /// Both hosts have a new queue pair for a path. What the other one had there is flushed.
    fn replace(&mut self, path: PathId) {
        self.replaced += 1;
        let flushed = self.carrier.replace(path);
        let now = self.carrier.now();
        for (side, tags) in Side::BOTH.into_iter().zip(flushed) {
            let end = &mut self.ends[side as usize];
            for tag in tags {
                end.on_completion(now, tag, &Completion::of(Outcome::Flushed));
            }
            for posting in self.ends[side as usize].on_replaced(path) {
                self.write(side, &posting);
            }
        }
    }

    fn write(&mut self, side: Side, posting: &Posting) {
        let end = &mut self.ends[side as usize];
        if end.admits(posting) {
            let pieces: Vec<_> = end.connection().segments(&posting.chunk).collect();
            self.carrier.post(side, posting, &pieces);
        }
    }
}

const _: () = assert!(MOST <= ROOM && SHARED <= ROOM);
