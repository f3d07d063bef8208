//! Drives the NICs: work requests, and packets that wait for the state of their connection.

use fairlane_engine::{Engine, Event};
use fairlane_network::Network;
use fairlane_network::waking::Waking;
use fairlane_nic::{Admission, Nic, PairId};
use fairlane_units::{HostId, QpId, Time};

use super::pipeline::{Step, Transmitter, Wqe};
use super::{Endpoints, Output};
use crate::traffic::Traffic;

/// Wakes of a NIC: for work requests, and for its receiver.
const WAKES: u32 = 2;

impl Endpoints {
    /// Lets a NIC do what it can now, up to the next work request that goes to its queue pair: what follows
    /// from that comes first.
    pub(crate) fn advance(&mut self, engine: &mut Engine, host: HostId) {
        let now = engine.now();
        loop {
            let (pairs, most) = (&self.pairs, self.max_reads as usize);
            let blocked = |pair: QpId, resumed: bool| {
                let pair = &pairs[pair.index()];
                let behind = (!pair.parked.is_empty() || pair.resuming) && !resumed;
                let full = pair.verb.awaits_response() && pair.posted.len() >= most;
                behind || full
            };
            let pipeline = &mut self.pipelines[host.index()];
            match pipeline.step(&self.costs, now, self.cached, blocked) {
                Step::Rest => return,
                Step::Wait(at) => {
                    self.wake_pipeline(engine, host, at);
                    return;
                }
                Step::Park(wqe, resumed) => self.park(engine, wqe, resumed),
                Step::Begin(wqe, _) => self.on_begun(now, wqe),
                Step::Done(wqe) => {
                    if self.request(engine, wqe) {
                        self.outputs.push(Output::Advance(host));
                        return;
                    }
                }
            }
        }
    }

    fn wake_pipeline(&mut self, engine: &mut Engine, host: HostId, at: Time) {
        let number = host.get() * WAKES;
        let rank = Waking::Unit.rank(u64::from(number));
        let wake = &mut self.pipelines[host.index()].wake;
        if wake.deadline() != at {
            wake.arm(engine, at, rank, Waking::Unit.component(number));
        }
    }

    /// Lays a work request aside until a READ of its queue pair ends.
    fn park(&mut self, engine: &mut Engine, wqe: Wqe, resumed: bool) {
        let pair = &mut self.pairs[wqe.pair.index()];
        if pair.failed {
            let at = engine.now();
            self.end_part(engine, wqe, false, at);
        } else if resumed {
            pair.resuming = false;
            pair.parked.push_front(wqe);
        } else {
            pair.parked.push_back(wqe);
        }
    }

    fn on_begun(&mut self, now: Time, wqe: Wqe) {
        let pair = &mut self.pairs[wqe.pair.index()];
        pair.resuming = false;
        pair.unsent += 1;
        if wqe.is_of_path() {
            return;
        }
        let operation = &mut self.operations[wqe.operation as usize];
        if std::mem::replace(&mut operation.begun, true) {
            return;
        }
        let wait = now - operation.start;
        let channel = &self.channels[operation.channel as usize];
        let application = &mut self.applications[channel.application as usize];
        application.longest_wait = application.longest_wait.max(wait);
    }

    /// All packets of a work request have been sent for the first time.
    pub(crate) fn on_wqe_sent(&mut self, engine: &mut Engine, pair: QpId) {
        let pair = &mut self.pairs[pair.index()];
        if pair.unsent == 0 {
            return;
        }
        pair.unsent -= 1;
        let host = pair.host;
        self.pipelines[host.index()].begun -= 1;
        self.advance(engine, host);
    }

    /// A NIC has something to do with work requests, or with packets that wait for the state of a connection:
    /// the host, if it is packets.
    pub(crate) fn on_unit(
        &mut self,
        engine: &mut Engine,
        number: u32,
        event: Event,
    ) -> Option<HostId> {
        let host = HostId::new(number / WAKES);
        let pipeline = &mut self.pipelines[host.index()];
        if !number.is_multiple_of(WAKES) {
            return pipeline.receiving.fires(engine, event).then_some(host);
        }
        if pipeline.wake.fires(engine, event) {
            self.advance(engine, host);
        }
        None
    }

    /// Whether a packet that has arrived at a host for a queue pair has to wait at its NIC.
    pub(crate) fn is_held(&mut self, net: &mut Network, host: HostId, at: u32, pair: QpId) -> bool {
        if !self.cached {
            return false;
        }
        let now = net.now();
        let pipeline = &mut self.pipelines[host.index()];
        if pipeline.received.is_empty() {
            let ready = pipeline.context(&self.costs, now, pair);
            if ready <= now {
                return false;
            }
            self.wake_receiver(&mut net.engine, host, ready);
        }
        self.hold(net, host, at);
        true
    }

    /// Keeps a packet at the NIC; where there are too many, it pauses the switch.
    fn hold(&mut self, net: &mut Network, host: HostId, at: u32) {
        let packet = *net.packets.get(at);
        let pauses = net.settings().pfc && packet.class != 0;
        let pipeline = &mut self.pipelines[host.index()];
        pipeline.held += u64::from(packet.wire);
        pipeline.received.push(&mut net.packets, at);
        let stops = pauses && pipeline.held > self.costs.receive_buffer;
        if stops && pipeline.stopped & 1 << packet.class == 0 {
            pipeline.stopped |= 1 << packet.class;
            self.pause(host, packet.class, true);
        }
    }

    /// The link of a host has come back: its NIC pauses the switch again where it needs to.
    pub(crate) fn pause_again(&mut self, host: HostId) {
        let stopped = self.pipelines[host.index()].stopped;
        for class in (1..8).filter(|class| stopped & 1 << class != 0) {
            self.pause(host, class, true);
        }
    }

    /// Takes the first packet that waits at a NIC, whose connection it has the state of.
    pub(crate) fn release(&mut self, net: &Network, host: HostId) -> Option<u32> {
        let pipeline = &mut self.pipelines[host.index()];
        let at = pipeline.received.pop(&net.packets)?;
        pipeline.held -= u64::from(net.packets.get(at).wire);
        if pipeline.stopped != 0 && pipeline.held <= self.costs.receive_buffer / 2 {
            let stopped = std::mem::take(&mut pipeline.stopped);
            for class in (1..8).filter(|class| stopped & 1 << class != 0) {
                self.pause(host, class, false);
            }
        }
        Some(at)
    }

    /// Whether the packet that is now first among those that wait at a NIC may be taken at once; else the NIC
    /// waits for the state of its connection.
    pub(crate) fn may_go_on(&mut self, net: &mut Network, traffic: &Traffic, host: HostId) -> bool {
        let now = net.now();
        let pipeline = &mut self.pipelines[host.index()];
        let Some(next) = pipeline.received.iter(&net.packets).next() else {
            return false;
        };
        let Some(pair) = traffic.charged_qp(next.flow) else {
            return true;
        };
        let ready = pipeline.context(&self.costs, now, pair);
        if ready > now {
            self.wake_receiver(&mut net.engine, host, ready);
        }
        ready <= now
    }

    fn pause(&mut self, host: HostId, class: u8, pause: bool) {
        self.outputs.push(Output::Pause { host, class, pause });
    }

    fn wake_receiver(&mut self, engine: &mut Engine, host: HostId, at: Time) {
        let number = host.get() * WAKES + 1;
        let rank = Waking::Unit.rank(u64::from(number));
        let wake = &mut self.pipelines[host.index()].receiving;
        wake.arm(engine, at, rank, Waking::Unit.component(number));
    }
}

/// A NIC that sends only for connections whose state it has.
pub(crate) struct Contexts<'a> {
    pub(crate) host: HostId,
    pub(crate) plane: u8,
    pub(crate) traffic: &'a Traffic,
    pub(crate) endpoints: &'a mut Endpoints,
}

impl Admission for Contexts<'_> {
    /// Connections of single messages need no state.
    fn admit(&mut self, now: Time, nic: &Nic, chosen: PairId) -> Result<PairId, Time> {
        let Endpoints {
            cached,
            costs,
            pipelines,
            ..
        } = self.endpoints;
        if !*cached {
            return Ok(chosen);
        }
        let pipeline = &mut pipelines[self.host.index()];
        let transmitter = &mut pipeline.transmitters[usize::from(self.plane)];
        if now < transmitter.stalled {
            return Err(transmitter.stalled);
        }
        if let Some(granted) = transmitter.granted.take()
            && nic.may_send(now, granted)
        {
            return Ok(granted);
        }
        let flow = nic.pair(chosen).opening().flow;
        let Some(pair) = self.traffic.kind(flow).qp() else {
            return Ok(chosen);
        };
        let ready = pipeline.context(costs, now, pair);
        if ready <= now {
            return Ok(chosen);
        }
        pipeline.transmitters[usize::from(self.plane)] = Transmitter {
            granted: Some(chosen),
            stalled: ready,
        };
        Err(ready)
    }
}
