//! A NIC of the fabric: a [`Nic`] with what joins it to links and to the clock.

use std::sync::Arc;

use fairlane_congestion::Reading;
use fairlane_engine::{Engine, Event as Woken, Wake};
use fairlane_network::Network;
use fairlane_network::packet::{PacketList, PacketPool, PacketRecord};
use fairlane_network::waking::Waking;
use fairlane_nic::{Admission, Arrival, Departure, Measured, Nic, PairId, Reception, Role};
use fairlane_transport::Unchecked;
use fairlane_units::{FlowId, HostId, NodeId, Psn, Time};

use crate::TraceEvent;
use crate::header;
use crate::rules::Rules;

/// The NIC of a host, with what joins it to the fabric.
#[derive(Clone, Debug)]
pub(crate) struct AttachedNic {
    /// The host's number.
    pub(crate) number: HostId,
    pub(crate) node: NodeId,
    /// The NIC's queue pairs, controllers and turns.
    pub(crate) core: Nic,
    rules: Arc<Rules>,
    /// By plane.
    pub(crate) ports: Vec<NicPort>,
    /// Wakes the NIC at its next deadline.
    pub(crate) alarm: Wake,
}

/// What lies between a port of a [`Nic`] and its link.
#[derive(Clone, Debug)]
pub(crate) struct NicPort {
    pub(crate) port: u32,
    /// Its number among those of all NICs, by which it is woken.
    number: u32,
    /// Pause frames of its own, which go first.
    frames: PacketList,
    /// When a queue pair may send next.
    pub(crate) wake: Wake,
}

/// What a NIC has sent, as far as those behind it care.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) flow: FlowId,
    /// Whether it is the first transmission of the last packet of a work request.
    pub(crate) ends: bool,
    pub(crate) psn: Psn,
    /// Whether it has been sent before.
    pub(crate) again: bool,
    pub(crate) from_responder: bool,
}

impl AttachedNic {
    /// One of `count` NICs, whose host has `ports`.
    pub(crate) fn new(
        number: HostId,
        count: u32,
        node: NodeId,
        ports: impl Iterator<Item = u32>,
        core: Nic,
        rules: Arc<Rules>,
    ) -> Self {
        let nic_port = |(plane, port): (u32, u32)| NicPort {
            port,
            number: number.get() + plane * count,
            frames: PacketList::default(),
            wake: Wake::default(),
        };
        Self {
            number,
            node,
            core,
            rules,
            ports: (0..).zip(ports).map(nic_port).collect(),
            alarm: Wake::default(),
        }
    }

    /// The port at a plane.
    #[inline]
    pub(crate) fn port(&self, plane: u8) -> u32 {
        self.ports[usize::from(plane)].port
    }

    /// The plane that one of its ports is linked to.
    #[inline]
    pub(crate) fn plane_of(&self, port: u32) -> u8 {
        let mut ports = (0..).zip(&self.ports);
        let found = ports.find(|(_, nic_port)| nic_port.port == port);
        found.map_or(0, |(plane, _)| plane)
    }

    /// Its planes.
    #[inline]
    pub(crate) fn planes(&self) -> std::ops::Range<u8> {
        0..self.ports.len() as u8
    }

    /// Takes in a packet that has arrived for a queue pair, or for one that has gone, and forgets it.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        net: &mut Network,
        (plane, at): (u8, u32),
        pair: Option<PairId>,
    ) -> Reception {
        if net.recorder.tracer.is_on() {
            let before = self.core.port(plane).answers();
            let heard = self.deliver(net, at, pair);
            self.trace_answers(net, plane, before);
            return heard;
        }
        self.deliver(net, at, pair)
    }

    #[inline(always)]
    fn deliver(&mut self, net: &mut Network, at: u32, pair: Option<PairId>) -> Reception {
        let now = net.engine.now();
        if self.rules.stamps {
            net.packets.note_hops(at);
        }
        let packet = net.packets.get(at);
        let (role, headers) = (header::role(packet), header::unpack(packet));
        let asks = matches!(role, Role::Request) || packet.opcode.has_payload();
        let mut arrival = Arrival {
            packet: &headers,
            meta: header::meta(packet, role, asks),
            measured: match asks {
                true => Measured::default(),
                false => measured(net, packet.telemetry, now),
            },
        };
        if self.rules.dasr.divides() && asks {
            (arrival.meta.demand, arrival.meta.backlog) =
                declared(&net.packets, &self.rules, packet);
        }
        let heard = match pair {
            Some(pair) => {
                let (memory, receives) = (&mut Unchecked, &mut Unchecked);
                self.core.on_packet(now, pair, &arrival, memory, receives)
            }
            None => {
                self.core.on_stale(&arrival);
                Reception::default()
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
    fn trace_answers(&self, net: &mut Network, plane: u8, known: [usize; 2]) {
        for departure in self.core.answers_behind(plane, known) {
            let (at, packet) = net.packets.alloc();
            header::pack(&departure, packet);
            net.trace(self.port(plane), at, TraceEvent::Enqueued);
            net.packets.release_without_record(at);
        }
    }

    /// Sends the next packet to a plane if the transmitter is free: pause frames first, then answers, then queue
    /// pairs that `admission` admits.
    #[inline]
    pub(crate) fn send(
        &mut self,
        net: &mut Network,
        plane: u8,
        admission: &mut impl Admission,
    ) -> Option<Sent> {
        let nic_port = &mut self.ports[usize::from(plane)];
        let port = nic_port.port;
        if !net.ports()[port as usize].up {
            return None;
        }
        if net.is_busy(port) {
            // Who is told that the transmitter is free sees then what comes next.
            if self.rules.quirks.nics || !net.ports()[port as usize].free_armed {
                self.await_transmitter(net, plane);
            }
            return None;
        }
        if let Some(at) = nic_port.frames.pop(&net.packets) {
            net.transmit(port, at);
            self.await_transmitter(net, plane);
            return None;
        }
        let now = net.engine.now();
        let departure = match self.core.poll_admitted(now, plane, admission) {
            Ok(Some(departure)) => departure,
            Ok(None) => {
                self.await_turn(net, plane);
                return None;
            }
            Err(at) => {
                nic_port.arm_wake(&mut net.engine, at);
                return None;
            }
        };
        let sent = inject(net, port, &departure, self.rules.collected());
        self.await_transmitter(net, plane);
        Some(sent)
    }

    /// Adds frames that pause a class of what the switches of all planes send, or end that; nobody hears of
    /// them where the link is down.
    pub(crate) fn push_frames(&mut self, net: &mut Network, class: u8, pause: bool) {
        for nic_port in &mut self.ports {
            if !net.ports()[nic_port.port as usize].up {
                continue;
            }
            let at = net.new_pause_frame(class, pause);
            nic_port.frames.push(&mut net.packets, at);
            if net.recorder.tracer.is_on() {
                net.trace(nic_port.port, at, TraceEvent::Enqueued);
            }
        }
    }

    /// The link to a plane has come up or gone down, with which frames are lost. Acknowledgements that never
    /// left were never injected, so they aren't.
    pub(crate) fn on_link(&mut self, net: &mut Network, plane: u8, up: bool) {
        if !up {
            let frames = &mut self.ports[usize::from(plane)].frames;
            while let Some(at) = frames.pop(&net.packets) {
                net.discard_pause_frame(at);
            }
        }
        let (now, packets) = (net.engine.now(), &mut net.packets);
        self.core
            .on_link(now, plane, up, |record| packets.release_record(record));
    }

    /// The pauses of the port at a plane have changed.
    pub(crate) fn on_pause(&mut self, net: &Network, plane: u8) {
        let paused = net.ports()[self.port(plane) as usize].paused;
        self.core.on_pauses(net.now(), plane, paused);
    }

    /// Asks to be woken when the port at a plane, which has just sent or is sending, can send again.
    #[inline]
    fn await_transmitter(&mut self, net: &mut Network, plane: u8) {
        let nic_port = &mut self.ports[usize::from(plane)];
        let waits = !nic_port.frames.is_empty() || self.core.port(plane).has_answers();
        if waits || (self.rules.quirks.nics && !self.core.port(plane).is_quiet()) {
            net.await_port(nic_port.port);
        } else if let Some(at) = self.core.sends_at(plane) {
            if at <= net.ports()[nic_port.port as usize].free_at {
                net.await_port(nic_port.port);
            } else {
                nic_port.arm_wake(&mut net.engine, at);
            }
        }
    }

    /// Asks to be woken when the port at a plane, whose transmitter is free, has a queue pair that may send.
    fn await_turn(&mut self, net: &mut Network, plane: u8) {
        let now = net.now();
        if self.rules.quirks.nics {
            self.await_turn_as_ns3(net);
        } else if let Some(at) = self.core.sends_at(plane) {
            // A gate that has opened in the meantime is due already.
            self.ports[usize::from(plane)].arm_wake(&mut net.engine, at.max(now));
        }
    }

    /// Sees to it that the host is asked at its deadline.
    #[inline]
    pub(crate) fn arm_alarm(&mut self, engine: &mut Engine) {
        let Some(at) = self.core.deadline() else {
            return;
        };
        if at < self.alarm.deadline() {
            let rank = Waking::Alarm.rank(u64::from(self.number.get()));
            let at = at.max(engine.now());
            let component = Waking::Alarm.component(self.number.get());
            self.alarm.arm(engine, at, rank, component);
        }
    }

    /// Fires the host's deadlines if `event` is the one for that; whether it was.
    pub(crate) fn on_alarm(&mut self, engine: &mut Engine, event: Woken) -> bool {
        let fires = self.alarm.fires(engine, event);
        if fires {
            self.core.on_deadline(engine.now());
        }
        fires
    }
}

impl NicPort {
    pub(crate) fn arm_wake(&mut self, engine: &mut Engine, at: Time) {
        if self.wake.deadline() != at {
            let rank = Waking::Nic.rank(u64::from(self.number));
            let component = Waking::Nic.component(self.number);
            self.wake.arm(engine, at, rank, component);
        }
    }
}

/// Puts a packet on the link of a port.
#[inline(always)]
fn inject(net: &mut Network, port: u32, departure: &Departure, collected: (bool, bool)) -> Sent {
    let asks =
        matches!(departure.meta.role, Role::Request) || departure.packet.opcode.has_payload();
    let record = match asks {
        true => net.packets.alloc_record(collected, net.engine.now()),
        false => departure.meta.echo,
    };
    if let Some(backlog) = departure.meta.backlog {
        net.packets.set_backlog(record, backlog);
    }
    net.enter(port, record, |packet| header::pack(departure, packet));
    Sent {
        flow: departure.meta.flow,
        ends: departure.ends,
        psn: departure.packet.psn,
        again: departure.meta.retransmitted,
        from_responder: departure.from_responder,
    }
}

/// What data says of its sender: demand and backlog.
#[cold]
fn declared(
    packets: &PacketPool,
    rules: &Rules,
    packet: &PacketRecord,
) -> (Option<u16>, Option<u32>) {
    let stamp = packets.stamp(packet.telemetry);
    let stamp = stamp.filter(|_| rules.dasr.states_backlog());
    let demand = rules.dasr.declares().then_some(packet.share);
    (demand, stamp.map(|stamp| stamp.backlog))
}

/// What a reply with this record brings back of the packet that it answers.
#[inline]
fn measured(net: &Network, record: u32, now: Time) -> Measured<'_> {
    let stamp = net.packets.stamp(record);
    let telemetry = net.packets.telemetry(record);
    let format = net.settings().telemetry_format.as_ref();
    Measured {
        round_trip: stamp.map(|stamp| now - stamp.sent),
        hops: stamp.map_or(0, |stamp| stamp.hops),
        telemetry: telemetry
            .zip(format)
            .map(|(record, format)| Reading::new(record, format)),
    }
}
