//! The NICs of hosts: what lies between a [`Host`] and its link.

pub(crate) mod cache;
pub(crate) mod card;
pub(crate) mod costs;

use fairlane_congestion::{Environment, Reading};
use fairlane_engine::{Event as Woken, Wake};
use fairlane_host::{Arrival, Departure, Event, Host, Measured, NO_ECHO, Opening, PairId, Role};
use fairlane_scenario::Verb;
use fairlane_transport::{Status, Unchecked};
use fairlane_units::{Bytes, HostId, NodeId, Time};

use crate::TraceEvent;
use crate::connections::{End, Side};
use crate::header;
use crate::packet::{NONE, Packet, PacketList, PacketPool};
use crate::rules::Rules;
use crate::world::{Waking, World};

/// The NIC of a host.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    pub(crate) port: u32,
    pub(crate) node: NodeId,
    pub(crate) host: Host,
    /// Pause frames of its own, which go first.
    pub(crate) frames: PacketList,
    /// When a queue pair may send next.
    pub(crate) wake: Wake,
    /// The deadline of the host.
    pub(crate) alarm: Wake,
}

impl Nic {
    pub(crate) fn new((port, node): (u32, NodeId), host: Host) -> Self {
        Self {
            port,
            node,
            host,
            frames: PacketList::default(),
            wake: Wake::default(),
            alarm: Wake::default(),
        }
    }
}

impl Packet {
    /// The end of its connection that it goes to.
    #[inline]
    const fn towards(&self) -> Side {
        if self.has(Self::BACK) {
            Side::Requester
        } else {
            Side::Responder
        }
    }
}

impl World {
    /// A packet has arrived at a host. Not part of what handles arrivals at switches, which would need
    /// more registers than there are.
    #[inline(never)]
    pub(crate) fn on_host_arrival(&mut self, port: u32, at: u32) {
        if self.endpoints.is_some() && self.is_held(port, at) {
            return;
        }
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Received);
        }
        let packet = *self.packets.get(at);
        self.counters.delivered.add(packet.wire);
        let host = self.ports[port as usize].owner;
        let end = self.connections.end(packet.flow, packet.towards());
        let pair = match end {
            End::Open(pair) => Some(pair),
            End::Unknown if packet.role() == Role::Request => Some(self.accept(packet.flow)),
            End::Unknown | End::Closed => None,
        };
        if self.tracer.is_on() {
            let before = self.nics[host as usize].host.answers();
            self.hand_in(host, at, pair);
            self.trace_answers(host, before);
        } else {
            self.hand_in(host, at, pair);
        }
        self.on_events(host, self.now());
        self.send_from_host(host);
    }

    /// Records that answers have been queued since there were so `known` ones.
    #[cold]
    fn trace_answers(&mut self, host: u32, known: [usize; 2]) {
        let nic = &self.nics[host as usize];
        let (port, queued) = (nic.port, nic.host.answers_behind(known));
        for departure in queued.collect::<Vec<_>>() {
            let at = self.packets.alloc(header::pack(&departure));
            self.trace(port, at, TraceEvent::Enqueued);
            self.packets.get_mut(at).telemetry = NONE;
            self.packets.release(at);
        }
    }

    /// Gives a packet to the NIC of a host, and forgets it.
    #[inline]
    fn hand_in(&mut self, host: u32, at: u32, pair: Option<PairId>) {
        let now = self.engine.now();
        let packet = *self.packets.get(at);
        let (role, headers) = (packet.role(), packet.headers());
        let asks = matches!(role, Role::Request) || packet.opcode.has_payload();
        if self.rules.stamps && asks {
            self.packets.note_hops(at);
        }
        let arrival = Arrival {
            packet: &headers,
            role,
            flow: packet.flow,
            tenant: fairlane_units::TenantId::new(u32::from(packet.tenant)),
            class: packet.class,
            wire: packet.wire,
            marked: packet.has(Packet::MARKED),
            again: packet.has(Packet::AGAIN),
            share: packet.share,
            echo: if asks { packet.telemetry } else { NO_ECHO },
            measured: match asks {
                true => Measured::default(),
                false => measured(&self.packets, &self.rules, (packet.telemetry, now)),
            },
        };
        let nic = &mut self.nics[host as usize].host;
        let Some(pair) = pair else {
            nic.on_stray(&arrival);
            self.packets.release(at);
            return;
        };
        let (memory, receives) = (&mut Unchecked, &mut Unchecked);
        let heard = nic.on_packet(now, pair, &arrival, memory, receives);
        if heard.echoed {
            self.packets.get_mut(at).telemetry = NONE;
        }
        self.packets.release(at);
        if self.ns3.is_some() {
            self.follow(host, (packet.flow, pair), heard.shifted);
        }
    }

    /// Opens the end of a flow at the host that posts.
    pub(crate) fn connect(&mut self, flow: u32) -> PairId {
        self.open_end(flow, Side::Requester)
    }

    /// Opens the other end, as the first packet comes.
    #[cold]
    fn accept(&mut self, flow: u32) -> PairId {
        self.open_end(flow, Side::Responder)
    }

    fn open_end(&mut self, flow: u32, side: Side) -> PairId {
        let spec = self.specs[flow as usize];
        let trip = self.baseline.for_controller(
            &self.graph,
            self.base_rtt,
            (spec.source, spec.destination),
        );
        let (here, there) = match side {
            Side::Requester => (spec.source, spec.destination),
            Side::Responder => (spec.destination, spec.source),
        };
        let (here, there) = (self.host(here), self.host(there));
        let rate = |host: u32| self.ports[self.nics[host as usize].port as usize].rate;
        let opening = Opening {
            flow,
            class: spec.class,
            tenant: spec.tenant,
            peer: HostId::new(there),
            peer_rate: rate(there),
            environment: Environment {
                line_rate: rate(here),
                base_rtt: trip.rtt,
                bdp: trip.bdp,
                mtu: Bytes::new(u64::from(self.rules.mtu)),
            },
            whole: spec.part_of,
        };
        let now = self.now();
        let pair = self.nics[here as usize].host.open(now, &opening);
        self.connections.open(flow, side, pair);
        pair
    }

    /// Forgets an end of a flow; `settled` says that what it sent has arrived.
    pub(crate) fn close_end(&mut self, flow: u32, side: Side, settled: bool) {
        let spec = &self.specs[flow as usize];
        let node = match side {
            Side::Requester => spec.source,
            Side::Responder => spec.destination,
        };
        let host = self.host(node);
        if let Some(pair) = self.connections.pair(flow, side) {
            let now = self.now();
            self.nics[host as usize].host.close(now, pair, settled);
            self.forget_timers(flow);
        }
        self.connections.close(flow, side);
    }

    /// Sees to what applications hear from the NIC of a host; what was sent is on the wire `by` then.
    #[inline]
    pub(crate) fn on_events(&mut self, host: u32, by: Time) {
        while let Some(event) = self.nics[host as usize].host.poll_event() {
            match event {
                Event::Completed {
                    flow, pair, status, ..
                } => self.on_completed(flow, pair, status, by),
                Event::Received { flow, placed, .. } => self.on_received(flow, placed),
            }
        }
    }

    /// A work request has ended.
    fn on_completed(&mut self, flow: u32, pair: PairId, status: Status, by: Time) {
        if self.stays_open(flow) {
            self.on_wqe_end(self.pair_of(flow), status, by);
            return;
        }
        let succeeded = status == Status::Success;
        self.finish(flow, pair, succeeded);
        self.close_end(flow, Side::Requester, succeeded);
        self.disconnect(flow, succeeded);
        if succeeded {
            self.on_message_completed(flow);
        }
    }

    /// Payload of a message has arrived; each packet is a message of its own for the transport if it is
    /// placed directly, so it is the application that knows how much there is to come.
    fn on_received(&mut self, flow: u32, placed: Bytes) {
        let whole =
            !self.rules.transport.direct_placement || placed == self.specs[flow as usize].size;
        if whole && !self.stays_open(flow) {
            self.on_message_received(flow);
        }
    }

    /// Sends the next packet of a host if its transmitter is free: pause frames first, then what the NIC has.
    #[inline]
    pub(crate) fn send_from_host(&mut self, host: u32) {
        self.send_next(host);
        self.arm_alarm(host);
    }

    #[inline]
    fn send_next(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        let port = nic.port;
        if !self.ports[port as usize].up {
            return;
        }
        if self.is_busy(port) {
            self.await_host(host);
            return;
        }
        let nic = &mut self.nics[host as usize];
        if let Some(at) = nic.frames.pop(&self.packets) {
            self.transmit(port, at);
            self.await_host(host);
            return;
        }
        let now = self.engine.now();
        let departure = match nic.host.poll_answer() {
            Some(answer) => answer,
            None => {
                let Some(pair) = nic.host.turn(now) else {
                    self.await_turn(host);
                    return;
                };
                let pair = match self.endpoints {
                    None => Some(pair),
                    Some(_) => self.with_context(host, pair),
                };
                let Some(pair) = pair else {
                    return;
                };
                self.nics[host as usize].host.transmit(now, pair)
            }
        };
        self.inject(port, &departure);
        self.on_sent(host, port, &departure);
        self.await_host(host);
    }

    /// Puts a packet of a host on its link.
    #[inline]
    fn inject(&mut self, port: u32, departure: &Departure) {
        let mut packet = header::pack(departure);
        packet.epoch = self.epoch;
        if matches!(departure.role, Role::Request) || departure.packet.opcode.has_payload() {
            packet.telemetry = self.packets.alloc_record(&self.rules, self.engine.now());
        }
        self.counters.injected.add(packet.wire);
        let at = self.packets.alloc(packet);
        if self.tracer.is_on() {
            self.trace(port, at, TraceEvent::Dequeued);
        }
        self.transmit(port, at);
    }

    /// What a packet that leaves means to those behind it.
    #[inline]
    fn on_sent(&mut self, host: u32, port: u32, departure: &Departure) {
        if departure.again && departure.from_responder {
            *self.connections.repeats.entry(departure.flow).or_default() += 1;
        }
        if self.endpoints.is_none() || !self.stays_open(departure.flow) {
            return;
        }
        // Of an unreliable service, work requests end when their last packet is on the wire.
        let by = self.ports[port as usize].free_at;
        self.on_events(host, by);
        if departure.ends {
            self.on_wqe_sent(self.pair_of(departure.flow));
        }
    }

    /// The pauses of a host's port have changed.
    pub(crate) fn on_host_pause(&mut self, host: u32) {
        let now = self.now();
        let nic = &mut self.nics[host as usize];
        nic.host
            .on_pauses(now, self.ports[nic.port as usize].paused);
    }

    /// Asks to be woken when a host that has just sent, or is sending, can send again.
    #[inline]
    fn await_host(&mut self, host: u32) {
        let now = self.engine.now();
        let nic = &mut self.nics[host as usize];
        let port = nic.port;
        let waits = !nic.frames.is_empty() || nic.host.has_answers();
        if waits || (self.ns3.is_some() && !nic.host.is_quiet()) {
            self.await_port(port);
        } else if let Some(at) = nic.host.sends_at(now) {
            if at <= self.ports[port as usize].free_at {
                self.await_port(port);
            } else {
                self.arm_wake(host, at);
            }
        }
    }

    /// Asks to be woken when a host whose transmitter is free has a queue pair that may send.
    fn await_turn(&mut self, host: u32) {
        if self.ns3.is_some() {
            self.await_turn_as_ns3(host);
            return;
        }
        let now = self.now();
        if let Some(at) = self.nics[host as usize].host.sends_at(now) {
            // What the bucket pays for may be due already, if less was in it than was thought.
            self.arm_wake(host, at.max(now));
        }
    }

    pub(crate) fn arm_wake(&mut self, host: u32, at: Time) {
        let wake = &mut self.nics[host as usize].wake;
        if wake.deadline() != at {
            let rank = Waking::Nic.rank(u64::from(host));
            wake.arm(&mut self.engine, at, rank, Waking::Nic.component(host));
        }
    }

    pub(crate) fn on_nic_wake(&mut self, host: u32, event: Woken) {
        if self.nics[host as usize].wake.fires(&mut self.engine, event) {
            self.send_from_host(host);
        }
    }

    /// Sees to it that the host is asked at its deadline.
    #[inline]
    fn arm_alarm(&mut self, host: u32) {
        let nic = &mut self.nics[host as usize];
        let Some(at) = nic.host.deadline() else {
            return;
        };
        if at < nic.alarm.deadline() {
            let rank = Waking::Alarm.rank(u64::from(host));
            let at = at.max(self.engine.now());
            let component = Waking::Alarm.component(host);
            nic.alarm.arm(&mut self.engine, at, rank, component);
        }
    }

    pub(crate) fn on_alarm(&mut self, number: u32, event: Woken) {
        let hosts = self.nics.len() as u32;
        if number >= hosts {
            self.on_controller_timer(number - hosts, event);
            return;
        }
        let (now, host) = (self.now(), number);
        let nic = &mut self.nics[host as usize];
        if nic.alarm.fires(&mut self.engine, event) {
            nic.host.on_deadline(now);
            self.on_events(host, now);
            self.send_from_host(host);
        }
    }
}

/// What a reply with this record brings back of the packet that it answers.
#[inline]
fn measured<'a>(
    packets: &'a PacketPool,
    rules: &'a Rules,
    (record, now): (u32, Time),
) -> Measured<'a> {
    let stamp = packets.stamp(record);
    let telemetry = packets.telemetry(record);
    let format = rules.telemetry_format.as_ref();
    Measured {
        round_trip: stamp.map(|stamp| now - stamp.sent),
        hops: stamp.map_or(0, |stamp| stamp.hops),
        telemetry: telemetry
            .zip(format)
            .map(|(record, format)| Reading::new(record, format)),
    }
}

/// Whether a message arrives at the host that posted it.
pub(crate) const fn arrives_at_source(verb: Verb) -> bool {
    verb.awaits_response()
}
