//! Two hosts, their queue pairs and a network, in virtual time.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use fairlane_units::{Psn, Time};
use fairlane_wire as wire;

use super::fault::Fault;
use super::frames::{self, describe};
use super::generate::QUEUE_KEY;
use super::link::{Flight, Network};
use super::memory::HostMemory;
use super::model::{Effect, Model, Violation, ensure};
use super::outcome::{Failure, Statistics};
use super::program::{Action, Program, Side, Step};
use crate::config::Config;
use crate::packet::{Outgoing, Packet, Placement, Source};
use crate::queue_pair::{Heard, Modify, QueuePair};
use crate::state::State;
use crate::work::Receive;

/// Events after which a program hasn't ended because it never will.
const MOST_EVENTS: u64 = 200_000;
/// The same in virtual time.
const LATEST: Time = Time::from_ns(60_000_000_000);

/// A queue pair and what its driver knows.
#[derive(Clone, Debug)]
struct Endpoint {
    pair: QueuePair,
    config: Config,
    /// Receives posted so far, which number them.
    receives: u64,
}

/// A host: its memory, its queue pairs, its transmitter.
#[derive(Clone, Debug)]
struct Host {
    memory: HostMemory,
    endpoints: Vec<Endpoint>,
    /// When the transmitter is free.
    free: Time,
    /// Whose turn it is.
    turn: usize,
}

/// Two hosts, their queue pairs and a network, in virtual time.
///
/// Every packet becomes a frame with an ICRC and is read back from it. The drive loop is the one that
/// [`QueuePair`] documents.
#[derive(Clone, Debug)]
pub struct Pair {
    program: Program,
    now: Time,
    network: Network,
    hosts: [Host; 2],
    model: Model,
    next_step: usize,
    step_at: Option<Time>,
    fault: Option<Fault>,
    trace: Option<Vec<String>>,
    statistics: Statistics,
}

impl Pair {
    /// Two hosts about to run a program.
    pub fn new(program: &Program) -> Self {
        let mut pair = Self {
            program: program.clone(),
            now: Time::ZERO,
            network: Network::new(program.link),
            hosts: Side::BOTH.map(|side| host(program, side)),
            model: Model::new(program),
            next_step: 0,
            step_at: None,
            fault: None,
            trace: None,
            statistics: Statistics::default(),
        };
        pair.step_at = program.steps.first().map(|step| Time::ZERO + step.after);
        for connection in 0..program.connections.len() {
            let initial = [0, 1].map(|side| program.connections[connection][side].initial);
            pair.connect(connection, initial);
        }
        pair
    }

    /// The same with a deliberate fault.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        let endpoints = self.hosts.iter_mut().flat_map(|host| &mut host.endpoints);
        for Endpoint { config, .. } in endpoints {
            match fault {
                Fault::ReadsTooMany => config.max_reads += 1,
                Fault::GivesUpEarly => config.retry_limit = 0,
                _ => {}
            }
        }
        self
    }

    /// The same, recording what happens.
    #[must_use]
    pub fn with_trace(mut self) -> Self {
        self.trace = Some(vec![format!("{:#?}", self.program.link)]);
        self
    }

    /// Runs the program to its end.
    ///
    /// # Errors
    /// If anything happened that must not, or didn't that must.
    pub fn run(mut self) -> Result<Statistics, Failure> {
        let result = self.run_to_end();
        self.statistics.end = self.now;
        match result {
            Ok(()) => Ok(self.statistics),
            Err(violation) => Err(Failure {
                at: self.now,
                violation,
                trace: self.trace.take().unwrap_or_default(),
            }),
        }
    }

    fn run_to_end(&mut self) -> Result<(), Violation> {
        loop {
            for side in Side::BOTH {
                self.transmit(side)?;
            }
            let Some(next) = self.next_event() else {
                break;
            };
            self.statistics.events += 1;
            ensure!(
                self.statistics.events < MOST_EVENTS && next < LATEST,
                "no end is in sight"
            );
            self.now = self.now.max(next);
            self.advance()?;
        }
        for side in Side::BOTH {
            self.model.compare(side, &self.hosts[side.index()].memory)?;
        }
        self.model.finish()
    }

    fn next_event(&self) -> Option<Time> {
        let hosts = self.hosts.iter();
        let transmitters = hosts.filter_map(|host| {
            let waits = host.endpoints.iter().any(|end| end.pair.has_packet());
            waits.then_some(host.free)
        });
        let ends = self.hosts.iter().flat_map(|host| &host.endpoints);
        let deadlines = ends.filter_map(|end| end.pair.deadline());
        let others = [self.network.next(), self.step_at].into_iter().flatten();
        transmitters.chain(deadlines).chain(others).min()
    }

    /// What is due now.
    fn advance(&mut self) -> Result<(), Violation> {
        while let Some(flight) = self.network.arrived(self.now) {
            self.deliver(&flight)?;
        }
        while self.step_at.is_some_and(|at| at <= self.now) {
            let step = self.program.steps[self.next_step];
            self.next_step += 1;
            let next = self.program.steps.get(self.next_step);
            self.step_at = next.map(|next| self.now + next.after);
            self.step(&step)?;
        }
        for side in Side::BOTH {
            for connection in 0..self.program.connections.len() {
                self.fire((side, connection))?;
            }
        }
        Ok(())
    }

    fn fire(&mut self, at: (Side, usize)) -> Result<(), Violation> {
        let now = self.now;
        let end = &mut self.hosts[at.0.index()].endpoints[at.1];
        if end.pair.deadline().is_none_or(|deadline| deadline > now) {
            return Ok(());
        }
        if self.fault == Some(Fault::NeverTimesOut) {
            return Ok(());
        }
        self.statistics.timeouts += 1;
        end.pair.on_timeout(&end.config, now);
        self.model.timed_out(at);
        self.note(|| format!("{at:?} deadline"));
        self.settle(at)
    }

    /// Sends one packet of a host if its transmitter is free.
    fn transmit(&mut self, side: Side) -> Result<(), Violation> {
        let now = self.now;
        let host = &mut self.hosts[side.index()];
        if host.free > now {
            return Ok(());
        }
        let count = host.endpoints.len();
        let order = (0..count).map(|offset| (host.turn + offset) % count);
        let mut waiting = order.filter(|&index| host.endpoints[index].pair.has_packet());
        let Some(connection) = waiting.next() else {
            return Ok(());
        };
        host.turn = connection + 1;
        host.free = now + self.program.link.slot;
        let end = &mut host.endpoints[connection];
        let outgoing = end.pair.poll_transmit(&end.config, now);
        let outgoing = outgoing.ok_or("has_packet promised a packet")?;
        let at = (side, connection);
        match outgoing.source {
            Source::Request { id, .. } if self.model.is_unreadable(at, id) => {
                end.pair.on_local_error(&end.config, id);
                self.model.skipped(at);
                self.note(|| format!("{at:?} request {id} can't be read"));
            }
            _ => self.send(at, &outgoing)?,
        }
        // Unreliable services complete by sending.
        self.settle((side, connection))
    }

    fn send(&mut self, from: (Side, usize), outgoing: &Outgoing) -> Result<(), Violation> {
        let length = outgoing.packet.payload.get();
        let payload = match outgoing.source {
            Source::Nothing => &[][..],
            _ if length == 0 => &[][..],
            Source::Request { id, offset } => self.model.data(from, id, (offset.get(), length)),
            Source::Memory(remote) => {
                let memory = &self.hosts[from.0.index()].memory;
                let bytes = memory.read(remote.address, length as usize);
                bytes.ok_or("a READ outside of memory")?
            }
        };
        let payload = payload.to_vec();
        self.statistics.retransmitted += u64::from(outgoing.retransmitted);
        self.model.transmitted(from, outgoing, &payload)?;
        let packet = Fault::response(self.fault, outgoing.packet);
        self.launch(from, &packet, &payload)
    }

    /// Makes a frame of a packet and gives it to the network.
    fn launch(
        &mut self,
        from: (Side, usize),
        packet: &Packet,
        payload: &[u8],
    ) -> Result<(), Violation> {
        let frame = frames::encode(from, packet, payload)?;
        let to = (from.0.other(), from.1);
        let fate = self.network.send(self.now, to, &frame);
        self.statistics.packets += 1;
        if fate.copies == 0 || fate.altered {
            self.statistics.lost += 1;
            self.model.lost(from.1);
        }
        self.note(|| {
            let what = match (fate.copies, fate.altered) {
                (0, _) => "lost",
                (1, false) => "",
                (1, true) => "altered",
                (_, false) => "twice",
                (_, true) => "twice, altered",
            };
            format!("{from:?} sends {} {what}", describe(packet))
        });
        Ok(())
    }

    fn deliver(&mut self, flight: &Flight) -> Result<(), Violation> {
        let to = (flight.to, flight.connection);
        match wire::Frame::parse(&flight.frame) {
            Ok(_) if flight.altered => Err("an altered frame was read".into()),
            Ok(frame) => {
                let packet = frames::decode(to, &frame)?;
                self.hand_over(to, &packet, frame.datagram.packet.payload)
            }
            Err(error) if flight.altered => {
                let hears = self.fault == Some(Fault::HearsCorrupted);
                match frames::decode_altered(&flight.frame).filter(|_| hears) {
                    Some((packet, payload)) => self.hand_over(to, &packet, payload),
                    None => {
                        self.note(|| format!("{to:?} drops: {error}"));
                        Ok(())
                    }
                }
            }
            Err(error) => Err(format!("a frame can't be read: {error}")),
        }
    }

    fn hand_over(
        &mut self,
        to: (Side, usize),
        packet: &Packet,
        payload: &[u8],
    ) -> Result<(), Violation> {
        self.note(|| format!("{to:?} hears {}", describe(packet)));
        let (now, fault) = (self.now, self.fault);
        let host = &mut self.hosts[to.0.index()];
        let end = &mut host.endpoints[to.1];
        let before = end.pair.state();
        let heard = end
            .pair
            .on_packet(&end.config, now, packet, &mut host.memory);
        let heard = Fault::heard(fault, packet, heard, &mut host.memory);
        let failed = before != State::Error && end.pair.state() == State::Error;
        let deeds = core::mem::take(&mut host.memory.deeds);
        if let Some(Placement::Memory(remote)) = heard.placement {
            let short = fault == Some(Fault::PlacesTooLittle);
            let kept = payload.len().saturating_sub(usize::from(short));
            let written = host.memory.write(remote.address, &payload[..kept]);
            ensure!(written, "placed outside of memory: {remote:?}");
        }
        let Heard { placement, reply } = heard;
        let effect = Effect {
            packet,
            payload,
            placement,
            reply,
            deeds,
            failed,
        };
        self.model.heard(to, &effect)?;
        if let Some(reply) = reply {
            self.launch(to, &reply, &[])?;
        }
        self.settle(to)
    }

    /// Polls all that has ended.
    fn settle(&mut self, at: (Side, usize)) -> Result<(), Violation> {
        let fault = self.fault;
        let end = &mut self.hosts[at.0.index()].endpoints[at.1];
        while let Some(completion) = end.pair.poll_completion() {
            let (completion, times) = Fault::completion(fault, completion);
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{}: {at:?} {completion:?}", self.now));
            }
            self.statistics.requests[completion.status as usize] += 1;
            for _ in 0..times {
                self.model.completed(at, completion)?;
            }
        }
        while let Some(completion) = end.pair.poll_receive_completion() {
            let (completion, times) = Fault::receive_completion(fault, completion);
            if let Some(trace) = &mut self.trace {
                trace.push(format!("{}: {at:?} {completion:?}", self.now));
            }
            self.statistics.received += 1;
            for _ in 0..times {
                self.model.receive_completed(at, completion)?;
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Violation> {
        let at = (step.side, step.connection);
        self.note(|| format!("{at:?} {:?}", step.action));
        let fault = self.fault;
        let end = &mut self.hosts[at.0.index()].endpoints[at.1];
        let state = end.pair.state();
        match step.action {
            Action::Request(request) => {
                let posted = Fault::request(fault, request);
                let result = end.pair.post_request(&end.config, posted);
                self.model.requested(at, request, result)?;
            }
            Action::Receive(length) => {
                end.receives += 1;
                let receive = Receive {
                    id: end.receives,
                    length,
                };
                let result = end.pair.post_receive(receive);
                if result.is_ok() {
                    self.model.receive_posted(at, receive);
                }
            }
            Action::Drain if matches!(state, State::ReadyToSend | State::SendQueueDrain) => {
                self.modify(at, Modify::SendQueueDrain)?;
                self.model.draining(at, true);
            }
            Action::Resume if state == State::SendQueueError => {
                self.modify(at, Modify::ReadyToSend(Psn::new(0)))?;
                self.model.restarted(at);
            }
            Action::Resume if state == State::SendQueueDrain => {
                self.modify(at, Modify::ReadyToSend(Psn::new(0)))?;
                self.model.draining(at, false);
            }
            Action::Drain | Action::Resume => {}
            Action::Fail => {
                self.modify(at, Modify::Error)?;
                self.model.failed(at);
            }
            Action::Reconnect(a, b) => {
                self.network.forget(step.connection);
                self.model.reconnected(step.connection, [a, b]);
                self.connect(step.connection, [a, b]);
            }
        }
        self.settle(at)
    }

    fn modify(&mut self, at: (Side, usize), modify: Modify) -> Result<(), Violation> {
        let end = &mut self.hosts[at.0.index()].endpoints[at.1];
        let result = end.pair.modify(&end.config, modify);
        result.map_err(|error| format!("{error}"))
    }

    /// Takes both ends of a connection from any state to RTS.
    fn connect(&mut self, connection: usize, initial: [Psn; 2]) {
        for side in Side::BOTH {
            let own = initial[side.index()];
            let expected = initial[side.other().index()];
            let end = &mut self.hosts[side.index()].endpoints[connection];
            end.pair.set_queue_key(QUEUE_KEY);
            for modify in [
                Modify::Reset,
                Modify::Init,
                Modify::ReadyToReceive(expected),
                Modify::ReadyToSend(own),
            ] {
                let result = end.pair.modify(&end.config, modify);
                debug_assert!(result.is_ok(), "{result:?}");
            }
        }
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{}: {}", self.now, line()));
        }
    }
}

fn host(program: &Program, side: Side) -> Host {
    let ends = program.connections.iter().map(|ends| &ends[side.index()]);
    Host {
        memory: HostMemory::new(&program.regions[side.index()]),
        endpoints: ends
            .map(|end| Endpoint {
                pair: QueuePair::new(&end.config, end.capacity),
                config: end.config.clone(),
                receives: 0,
            })
            .collect(),
        free: Time::ZERO,
        turn: 0,
    }
}
