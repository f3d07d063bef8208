//! Two hosts and a network, in virtual time.

use fairlane_transport::{
    Extension, Outgoing, Packet, Placement, ReceiveCompletion, Receives, Source, Status,
};
use fairlane_units::{FlowId, Psn, TenantId, Time};
use fairlane_wire as wire;

use super::fault::Fault;
use super::frames::{self, describe};
use super::generate::QUEUE_KEY;
use super::link::{Flight, Network};
use super::machine::Machine;
use super::model::{Effect, Model, Violation, ensure};
use super::outcome::{Failure, Statistics};
use super::program::{Action, Program, Side, Step};
use fairlane_nic::{Arrival, Departure, Event, Measured, Meta, Role};

/// Events after which a program hasn't ended because it never will.
const MOST_EVENTS: u64 = 200_000;
/// Virtual time after which a program hasn't ended because it never will.
const LATEST: Time = Time::from_ns(60_000_000_000);

/// Two hosts and a network, in virtual time.
///
/// Every packet becomes a frame with an ICRC and is read back from it.
#[derive(Clone, Debug)]
pub struct Pair {
    program: Program,
    now: Time,
    network: Network,
    hosts: [Machine; 2],
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
        Self {
            program: program.clone(),
            now: Time::ZERO,
            network: Network::new(program.link),
            hosts: Side::BOTH.map(|side| Machine::new(program, side, None)),
            model: Model::new(program),
            next_step: 0,
            step_at: program.steps.first().map(|step| Time::ZERO + step.after),
            fault: None,
            trace: None,
            statistics: Statistics::default(),
        }
    }

    /// Adds a deliberate fault.
    #[must_use]
    pub fn with_fault(mut self, fault: Fault) -> Self {
        self.fault = Some(fault);
        self.hosts = Side::BOTH.map(|side| Machine::new(&self.program, side, Some(fault)));
        self
    }

    /// Records what happens.
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

    fn next_event(&mut self) -> Option<Time> {
        let hosts = self.hosts.iter_mut();
        let hosts = hosts.filter_map(Machine::next_event);
        let others = [self.network.next(), self.step_at].into_iter().flatten();
        hosts.chain(others).min()
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
            self.fire(side)?;
        }
        Ok(())
    }

    /// Fires the deadlines of a host that have come.
    fn fire(&mut self, side: Side) -> Result<(), Violation> {
        let now = self.now;
        let host = &mut self.hosts[side.index()];
        let is_due = |deadline: Option<Time>| deadline.is_some_and(|deadline| deadline <= now);
        if !is_due(host.nic.deadline()) || self.fault == Some(Fault::NeverTimesOut) {
            return Ok(());
        }
        for (connection, end) in host.endpoints.iter().enumerate() {
            if is_due(host.nic.pair(end.id).requester().deadline()) {
                self.statistics.timeouts += 1;
                self.model.timed_out(side, connection);
            }
        }
        host.nic.on_deadline(now);
        self.note(|| format!("{side:?} deadline"));
        self.settle(side)
    }

    /// Sends one packet of a host if its transmitter is free.
    fn transmit(&mut self, side: Side) -> Result<(), Violation> {
        let now = self.now;
        let host = &mut self.hosts[side.index()];
        let Some((connection, departure)) = host.poll_transmit(now) else {
            return Ok(());
        };
        host.free = now + self.program.link.slot;
        let from = (side, connection);
        match host.nic.source() {
            Source::Request { id, .. } if self.model.is_unreadable(from, id) => {
                host.nic.on_local_error(now, departure.pair, id);
                self.model.skipped(from);
                self.note(|| format!("{from:?} request {id} can't be read"));
            }
            _ => self.send(from, &departure)?,
        }
        // Unreliable services complete by sending.
        self.settle(side)
    }

    fn send(&mut self, from: (Side, usize), departure: &Departure) -> Result<(), Violation> {
        let Some(packet) = Fault::reply(self.fault, departure.packet) else {
            return Ok(());
        };
        let length = packet.payload.get();
        let source = self.hosts[from.0.index()].nic.source();
        let payload = match source {
            _ if length == 0 => &[][..],
            Source::Nothing => &[][..],
            Source::Request { id, offset } => self.model.data(from, id, (offset.get(), length)),
            Source::Memory(remote) => {
                let memory = &self.hosts[from.0.index()].memory;
                let bytes = memory.read(remote.address, length as usize);
                bytes.ok_or("a READ outside of memory")?
            }
        };
        let payload = payload.to_vec();
        self.statistics.retransmitted += u64::from(departure.meta.retransmitted);
        let outgoing = Outgoing {
            packet,
            source,
            retransmitted: departure.meta.retransmitted,
            ends: departure.ends,
        };
        self.model.transmitted(from, &outgoing, &payload)?;
        let packet = Fault::response(self.fault, packet);
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
        let marked = frames::is_marked(&flight.frame);
        match wire::Frame::parse(&flight.frame) {
            Ok(_) if flight.altered => Err("an altered frame was read".into()),
            Ok(frame) => {
                let packet = frames::decode(to, &frame)?;
                self.hand_over(to, &packet, marked, frame.datagram.packet.payload)
            }
            Err(error) if flight.altered => {
                let hears = self.fault == Some(Fault::HearsCorrupted);
                match frames::decode_altered(&flight.frame).filter(|_| hears) {
                    Some((packet, payload)) => self.hand_over(to, &packet, marked, payload),
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
        marked: bool,
        payload: &[u8],
    ) -> Result<(), Violation> {
        self.note(|| format!("{to:?} hears {}", describe(packet)));
        let fault = self.fault;
        let host = &mut self.hosts[to.0.index()];
        let end = &mut host.endpoints[to.1];
        let arrival = arrival(packet, end.flow, payload.len(), marked);
        let failed = host.nic.pair(end.id).has_failed();
        let (memory, receives) = (&mut host.memory, &mut end.receives);
        let placement = match has_key(packet) {
            true => {
                let heard = host
                    .nic
                    .on_packet(self.now, end.id, &arrival, memory, receives);
                heard.placement
            }
            false => None,
        };
        let placement = Fault::placement(fault, packet, placement, memory);
        if let Some(Placement::Memory(remote)) = placement {
            let short = fault == Some(Fault::PlacesTooLittle);
            let kept = payload.len().saturating_sub(usize::from(short));
            let written = memory.write(remote.address, &payload[..kept]);
            ensure!(written, "placed outside of memory: {remote:?}");
        }
        let effect = Effect {
            packet,
            payload,
            placement,
            deeds: std::mem::take(&mut memory.deeds),
            failed: !failed && host.nic.pair(end.id).has_failed(),
        };
        self.model.heard(to, &effect)?;
        self.settle(to.0)
    }

    /// Takes all that has ended at a host.
    fn settle(&mut self, side: Side) -> Result<(), Violation> {
        while let Some(event) = self.hosts[side.index()].nic.poll_event() {
            let flow = match event {
                Event::Completed { flow, .. } | Event::Received { flow, .. } => flow,
            };
            let connection = self.hosts[side.index()].connection(flow);
            let connection = connection.ok_or("an event of a queue pair that has gone")?;
            self.take((side, connection), &event)?;
        }
        for connection in 0..self.program.connections.len() {
            let host = &mut self.hosts[side.index()];
            let end = &mut host.endpoints[connection];
            while host.nic.pair(end.id).has_failed()
                && let Some(receive) = end.receives.take()
            {
                let flushed = ReceiveCompletion::failed(receive.id, Status::Flushed);
                self.model.receive_completed((side, connection), flushed)?;
            }
        }
        Ok(())
    }

    fn take(&mut self, at: (Side, usize), event: &Event) -> Result<(), Violation> {
        self.note(|| format!("{at:?} {event:?}"));
        match *event {
            Event::Completed { id, status, .. } => {
                let completion = fairlane_transport::Completion { id, status };
                let (completion, times) = Fault::completion(self.fault, completion);
                self.statistics.requests[completion.status as usize] += 1;
                for _ in 0..times {
                    self.model.completed(at, completion)?;
                }
            }
            Event::Received { completion, .. } => {
                let Some(completion) = completion else {
                    return Ok(());
                };
                let (completion, times) = Fault::receive_completion(self.fault, completion);
                self.statistics.received += 1;
                for _ in 0..times {
                    self.model.receive_completed(at, completion)?;
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Violation> {
        let at = (step.side, step.connection);
        self.note(|| format!("{at:?} {:?}", step.action));
        let now = self.now;
        let host = &mut self.hosts[step.side.index()];
        let has_room = host.has_room(step.connection);
        let end = &mut host.endpoints[step.connection];
        let stopped = host.nic.pair(end.id).requester().has_failed();
        match step.action {
            Action::Request(request) if has_room => {
                let posted = Fault::request(self.fault, request);
                host.nic.post(now, end.id, posted);
                self.model.requested(at, request);
            }
            Action::Receive(length) => {
                if let Some(receive) = end.post_receive(length) {
                    self.model.receive_posted(at, receive);
                }
            }
            Action::Drain if !stopped => {
                end.draining = true;
                host.nic.drain(now, end.id);
                self.model.draining(at, true);
            }
            Action::Resume if stopped && !host.nic.pair(end.id).has_failed() => {
                host.nic.resume(now, end.id);
                self.model.restarted(at);
            }
            Action::Resume if end.draining && !stopped => {
                end.draining = false;
                host.nic.resume(now, end.id);
                self.model.draining(at, false);
            }
            Action::Request(_) | Action::Drain | Action::Resume => {}
            Action::Fail => {
                host.nic.fail(now, end.id);
                self.model.failed(at);
            }
            Action::Reconnect(a, b) => self.reconnect(step.connection, [a, b]),
        }
        self.settle(step.side)
    }

    /// Closes both ends of a connection and opens them again.
    fn reconnect(&mut self, connection: usize, [a, b]: [Psn; 2]) {
        self.network.forget(connection);
        self.model.reconnected(connection, [a, b]);
        for (side, psns) in Side::BOTH.into_iter().zip([[a, b], [b, a]]) {
            let host = &mut self.hosts[side.index()];
            host.reopen(self.now, side, connection, psns);
        }
    }

    fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{}: {}", self.now, line()));
        }
    }
}

/// Whether a packet has the key that its queue pair asks for, if it is a datagram.
fn has_key(packet: &Packet) -> bool {
    match packet.extension {
        Extension::Datagram { queue_key, .. } => queue_key == QUEUE_KEY,
        _ => true,
    }
}

fn arrival(packet: &Packet, flow: FlowId, payload: usize, marked: bool) -> Arrival<'_> {
    let role = match packet.opcode.is_response() {
        true => Role::Response,
        false => Role::Request,
    };
    Arrival {
        packet,
        meta: Meta {
            wire: payload as u16,
            marked,
            ..Meta::new(flow, TenantId::new(0), role, 3)
        },
        measured: Measured::default(),
    }
}
