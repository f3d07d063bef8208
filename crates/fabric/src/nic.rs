//! The NIC of a host: what lies between a [`Host`] and its link.

use fairlane_congestion::Reading;
use fairlane_engine::{Engine, Event as Woken, Wake};
use fairlane_host::{Arrival, Departure, Heard, Host, Measured, NO_ECHO, PairId, Role};
use fairlane_transport::Unchecked;
use fairlane_units::{NodeId, TenantId, Time};
use fairlane_wire::Opcode;

use crate::TraceEvent;
use crate::header;
use crate::network::Network;
use crate::packet::{Kind, Packet, PacketList, PacketPool};
use crate::rules::Rules;
use crate::waking::Waking;

/// The NIC of a host.
#[derive(Clone, Debug)]
pub(crate) struct Nic {
    /// Of its host.
    pub(crate) number: u32,
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

/// What a NIC has sent, as far as those behind it care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) flow: u32,
    /// Whether it is the first transmission of the last packet of a work request.
    pub(crate) ends: bool,
    /// Whether a responder has sent it before.
    pub(crate) repeated: bool,
}

impl Nic {
    pub(crate) fn new(number: u32, (port, node): (u32, NodeId), host: Host) -> Self {
        Self {
            number,
            port,
            node,
            host,
            frames: PacketList::default(),
            wake: Wake::default(),
            alarm: Wake::default(),
        }
    }

    /// Takes in a packet that has arrived for a queue pair, or for one that has gone, and forgets it.
    #[inline]
    pub(crate) fn take_in(&mut self, net: &mut Network, at: u32, pair: Option<PairId>) -> Heard {
        if net.tracer.is_on() {
            let before = self.host.answers(0);
            let heard = self.hand_in(net, at, pair);
            self.trace_answers(net, before);
            return heard;
        }
        self.hand_in(net, at, pair)
    }

    #[inline]
    fn hand_in(&mut self, net: &mut Network, at: u32, pair: Option<PairId>) -> Heard {
        let now = net.engine.now();
        if net.rules.stamps {
            net.packets.note_hops(at);
        }
        let packet = net.packets.get(at);
        let (role, headers) = (packet.role(), packet.headers());
        let asks = matches!(role, Role::Request) || packet.opcode.has_payload();
        let arrival = Arrival {
            packet: &headers,
            role,
            flow: packet.flow,
            tenant: TenantId::new(u32::from(packet.tenant)),
            class: packet.class,
            wire: packet.wire,
            marked: packet.has(Packet::MARKED),
            again: packet.has(Packet::AGAIN),
            share: packet.share,
            echo: if asks { packet.telemetry } else { NO_ECHO },
            measured: match asks {
                true => Measured::default(),
                false => measured(&net.packets, &net.rules, (packet.telemetry, now)),
            },
        };
        let heard = match pair {
            Some(pair) => {
                let (memory, receives) = (&mut Unchecked, &mut Unchecked);
                self.host.on_packet(now, pair, &arrival, memory, receives)
            }
            None => {
                self.host.on_stray(&arrival);
                Heard::default()
            }
        };
        if heard.echoed {
            net.packets.release_without_record(at);
        } else {
            net.packets.release(at);
        }
        heard
    }

    /// Records that answers have been queued since there were so `known` ones.
    #[cold]
    fn trace_answers(&self, net: &mut Network, known: [usize; 2]) {
        for departure in self.host.answers_behind(0, known) {
            let (at, packet) = net.packets.alloc();
            header::pack(&departure, packet);
            net.trace(self.port, at, TraceEvent::Enqueued);
            net.packets.release_without_record(at);
        }
    }

    /// Sends the next packet if the transmitter is free: pause frames first, then answers, then queue pairs in
    /// turn. `admit` gives the queue pair that is to send in place of one in turn, or the time to wait for it.
    #[inline]
    pub(crate) fn send(
        &mut self,
        net: &mut Network,
        admit: impl FnOnce(&Host, PairId) -> Result<PairId, Time>,
    ) -> Option<Sent> {
        if !net.ports[self.port as usize].up {
            return None;
        }
        if net.is_busy(self.port) {
            self.await_transmitter(net);
            return None;
        }
        if let Some(at) = self.frames.pop(&net.packets) {
            net.transmit(self.port, at);
            self.await_transmitter(net);
            return None;
        }
        let now = net.engine.now();
        let sent = match self.host.poll_answer(0) {
            Some(answer) => self.inject(net, &answer),
            None => {
                let Some(pair) = self.host.turn(now, 0) else {
                    self.await_turn(net);
                    return None;
                };
                match admit(&self.host, pair) {
                    Ok(pair) => {
                        let departure = self.host.transmit(now, pair);
                        self.inject(net, &departure)
                    }
                    Err(at) => {
                        self.arm_wake(&mut net.engine, at);
                        return None;
                    }
                }
            }
        };
        self.await_transmitter(net);
        Some(sent)
    }

    /// Puts a packet on the link.
    #[inline]
    fn inject(&self, net: &mut Network, departure: &Departure) -> Sent {
        let asks = matches!(departure.role, Role::Request) || departure.packet.opcode.has_payload();
        let record = match asks {
            true => net
                .packets
                .alloc_record(net.rules.collected(), net.engine.now()),
            false => departure.echo,
        };
        let (at, packet) = net.packets.alloc();
        header::pack(departure, packet);
        packet.epoch = net.epoch;
        packet.telemetry = record;
        net.counters.injected.add(packet.wire);
        if net.tracer.is_on() {
            net.trace(self.port, at, TraceEvent::Dequeued);
        }
        net.transmit(self.port, at);
        Sent {
            flow: departure.flow,
            ends: departure.ends,
            repeated: departure.again && departure.from_responder,
        }
    }

    /// Adds a frame that pauses a class of what the switch sends, or ends that.
    pub(crate) fn push_frame(&mut self, net: &mut Network, class: u8, pause: bool) {
        let kind = if pause { Kind::Pause } else { Kind::Resume };
        // Of a pause frame the opcode has no meaning.
        let (at, packet) = net.packets.alloc();
        *packet = Packet::new(kind, Opcode::Cnp, class, net.rules.pause);
        packet.epoch = net.epoch;
        net.counters.pause_transmissions += 1;
        self.frames.push(&mut net.packets, at);
        if net.tracer.is_on() {
            net.trace(self.port, at, TraceEvent::Enqueued);
        }
    }

    /// The link has come up or gone down, with which frames are lost. Acknowledgements that never left were
    /// never injected, so they aren't.
    pub(crate) fn on_link(&mut self, net: &mut Network, up: bool) {
        let packets = &mut net.packets;
        if !up {
            while let Some(at) = self.frames.pop(packets) {
                packets.release(at);
            }
        }
        let now = net.engine.now();
        self.host
            .on_link(now, 0, up, |record| packets.release_record(record));
    }

    /// The pauses of the port have changed.
    pub(crate) fn on_pause(&mut self, net: &Network) {
        let paused = net.ports[self.port as usize].paused;
        self.host.on_pauses(net.now(), 0, paused);
    }

    /// Asks to be woken when the NIC, which has just sent or is sending, can send again.
    #[inline]
    fn await_transmitter(&mut self, net: &mut Network) {
        let now = net.engine.now();
        let waits = !self.frames.is_empty() || self.host.has_answers(0);
        if waits || (net.rules.hpcc_ns3 && !self.host.is_quiet(0)) {
            net.await_port(self.port);
        } else if let Some(at) = self.host.sends_at(now, 0) {
            if at <= net.ports[self.port as usize].free_at {
                net.await_port(self.port);
            } else {
                self.arm_wake(&mut net.engine, at);
            }
        }
    }

    /// Asks to be woken when the NIC, whose transmitter is free, has a queue pair that may send.
    fn await_turn(&mut self, net: &mut Network) {
        let now = net.now();
        if net.rules.hpcc_ns3 {
            self.await_turn_as_ns3(net);
        } else if let Some(at) = self.host.sends_at(now, 0) {
            // What the bucket pays for may be due already, if less was in it than was thought.
            self.arm_wake(&mut net.engine, at.max(now));
        }
    }

    pub(crate) fn arm_wake(&mut self, engine: &mut Engine, at: Time) {
        if self.wake.deadline() != at {
            let rank = Waking::Nic.rank(u64::from(self.number));
            let component = Waking::Nic.component(self.number);
            self.wake.arm(engine, at, rank, component);
        }
    }

    /// Sees to it that the host is asked at its deadline.
    #[inline]
    pub(crate) fn arm_alarm(&mut self, engine: &mut Engine) {
        let Some(at) = self.host.deadline() else {
            return;
        };
        if at < self.alarm.deadline() {
            let rank = Waking::Alarm.rank(u64::from(self.number));
            let at = at.max(engine.now());
            let component = Waking::Alarm.component(self.number);
            self.alarm.arm(engine, at, rank, component);
        }
    }

    /// Fires the host's deadlines if `event` is the one for that; whether it was.
    pub(crate) fn on_alarm(&mut self, engine: &mut Engine, event: Woken) -> bool {
        let fires = self.alarm.fires(engine, event);
        if fires {
            self.host.on_deadline(engine.now());
        }
        fires
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
