//! Queue pairs that stay open: work requests go to the requester, and their ends go back.

use fairlane_scenario::{Policy, Verb};
use fairlane_transport::{
    self as transport, Extension, Operation as Asked, Remote, Status, WorkRequest,
};
use fairlane_units::{Bytes, Duration, Psn, QpNumber, Time};
use fairlane_wire::{ExtensionKind, Opcode};

use super::{Endpoints, Posted};
use crate::baseline;
use crate::nic::card::Wqe;
use crate::packet::Packet;
use crate::world::World;

impl World {
    /// Opens the connection of a queue pair.
    pub(super) fn open_pair(&mut self, pair: u32) {
        let endpoints = self.endpoints.as_deref().expect("there is a queue pair");
        let message = endpoints.pairs[pair as usize].message;
        let slot = self.open(message, pair);
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        endpoints.pairs[pair as usize].slot = slot;
        self.refresh(slot);
    }

    /// Gives a work request that the card is done with to the requester.
    pub(super) fn request(&mut self, wqe: Wqe) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        let pair = &mut endpoints.pairs[wqe.pair as usize];
        if pair.failed {
            pair.unsent -= 1;
            endpoints.cards[pair.host as usize].begun -= 1;
            let at = self.engine.now();
            self.end_part(wqe, false, at);
            return;
        }
        let (slot, host) = (pair.slot, pair.host);
        let config = &self.rules.transport;
        let connection = self.connections.get_mut(slot);
        pair.posted.push_back(Posted {
            first: connection.requester.posted_psn(),
            wqe,
        });
        let operation = asked(pair.verb, config);
        let request = WorkRequest::new(u64::from(wqe.operation), operation, wqe.size);
        connection.requester.post(config, request);
        self.refresh(slot);
        self.send_from_host(host);
    }

    /// Whether an end of the connection in `slot` stays open.
    #[inline]
    pub(crate) fn stays_open(&self, slot: u32) -> bool {
        self.connections.get(slot).stays_open
    }

    /// Whether a packet is the last of its work request.
    pub(crate) fn ends_work_request(&self, slot: u32, packet: &transport::Packet) -> bool {
        if !self.rules.transport.direct_placement {
            return packet.opcode.position().ends();
        }
        // Each packet is a message of its own on the wire.
        let found = self.work_request_of(slot, packet.psn);
        found.is_none_or(|(wqe, offset)| offset + packet.payload >= wqe.size)
    }

    /// The work request that has the packet number `psn` on a queue pair, and the bytes of it before
    /// that packet; `None` if it has ended.
    pub(crate) fn work_request_of(&self, slot: u32, psn: Psn) -> Option<(Wqe, Bytes)> {
        let pair = self.connections.get(slot).pair;
        let mtu = self.rules.transport.mtu;
        self.endpoints.as_deref()?.work_request(pair, psn, mtu)
    }

    /// Takes the ends of work requests from the requester in `slot`; they ended at `at`.
    pub(crate) fn complete_pair(&mut self, slot: u32, at: Time) {
        while let Some(completion) = self.connections.get_mut(slot).requester.poll_completion() {
            let pair = self.connections.get(slot).pair;
            self.on_wqe_end(pair, completion.status, at);
        }
        let pair = self.connections.get(slot).pair;
        self.flush_failed(pair, at);
    }

    fn on_wqe_end(&mut self, pair: u32, status: Status, at: Time) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        let state = &mut endpoints.pairs[pair as usize];
        let Some(Posted { wqe, .. }) = state.posted.pop_front() else {
            return;
        };
        let host = state.host;
        if status != Status::Success && !std::mem::replace(&mut state.failed, true) {
            // What it hasn't sent it never will.
            let unsent = std::mem::take(&mut state.unsent);
            let processing = endpoints.cards[host as usize].processes(pair);
            state.unsent = u32::from(processing);
            endpoints.cards[host as usize].begun -= unsent - state.unsent;
        }
        if let Some(parked) = state.parked.front().copied().filter(|_| !state.resuming) {
            state.parked.pop_front();
            state.resuming = true;
            endpoints.cards[host as usize].resume(self.engine.now(), parked);
            self.advance_card(host);
        }
        self.end_part(wqe, status == Status::Success, at);
    }

    /// Ends what waits for a queue pair that has failed.
    fn flush_failed(&mut self, pair: u32, at: Time) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        if !endpoints.pairs[pair as usize].failed {
            return;
        }
        while let Some(wqe) = self
            .endpoints
            .as_deref_mut()
            .and_then(|endpoints| endpoints.pairs[pair as usize].parked.pop_front())
        {
            self.end_part(wqe, false, at);
        }
    }

    /// A part of an operation has ended at `at`: its completion goes to whoever polls.
    pub(super) fn end_part(&mut self, wqe: Wqe, succeeded: bool, at: Time) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an operation");
        let operation = &mut endpoints.operations[wqe.operation as usize];
        operation.failed |= !succeeded;
        operation.parts -= 1;
        let (ended, channel) = (operation.parts == 0, operation.channel);
        let visible = at + endpoints.costs.cqe_write;
        let host = endpoints.pairs[wqe.pair as usize].host;
        match endpoints.policy {
            Policy::Drum => self.tell_agent_of_end(host, (visible, channel, wqe.size)),
            Policy::Justitia => {
                self.note_latency(host, channel, wqe.operation, visible);
                if ended {
                    self.end_operation(channel, visible);
                }
            }
            Policy::Raw | Policy::Share if ended => self.end_operation(channel, visible),
            Policy::Raw | Policy::Share => {}
        }
    }

    /// An operation of a channel has ended, as its thread can see from `visible` on; that of the last
    /// one in the batch is the completion that is signalled.
    pub(super) fn end_operation(&mut self, channel: u32, visible: Time) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let state = &mut endpoints.channels[channel as usize];
        state.outstanding -= 1;
        if state.outstanding > 0 {
            return;
        }
        let application = state.application;
        endpoints.applications[application as usize]
            .completions
            .push_back((visible, channel));
        self.next_task(application);
    }

    /// Completion time of an operation alone on the fabric, without the costs of hosts.
    pub(super) fn ideal_of(&mut self, pair: u32, size: Bytes) -> Duration {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        let reliable = endpoints.reliable;
        let pair = &mut endpoints.pairs[pair as usize];
        if let Some((of, ideal)) = pair.ideal
            && of == size
        {
            return ideal;
        }
        let ideal = if reliable {
            let ways = pair.ways.chunks_exact(2);
            let times =
                ways.map(|way| baseline::ideal([&way[0], &way[1]], pair.verb, size, &self.rules));
            times.min()
        } else {
            let ways = pair.ways.chunks_exact(2);
            ways.map(|way| baseline::sent(&way[0], pair.verb, size, &self.rules))
                .min()
        };
        let ideal = ideal.unwrap_or(Duration::from_ps(1));
        pair.ideal = Some((size, ideal));
        ideal
    }

    /// Notes the ways of a queue pair, there and back.
    pub(crate) fn note_ways(
        &mut self,
        slot: u32,
        there: &[Vec<baseline::Link>],
        back: &[Vec<baseline::Link>],
    ) {
        let pair = self.connections.get(slot).pair;
        let Some(endpoints) = self.endpoints.as_deref_mut() else {
            return;
        };
        let Some(pair) = endpoints.pairs.get_mut(pair as usize) else {
            return;
        };
        pair.ideal = None;
        for forward in there {
            for reverse in back {
                pair.ways.extend([forward.clone(), reverse.clone()]);
            }
        }
    }
}

impl Endpoints {
    fn work_request(&self, pair: u32, psn: Psn, mtu: Bytes) -> Option<(Wqe, Bytes)> {
        let posted = &self.pairs.get(pair as usize)?.posted;
        let behind = posted.partition_point(|posted| psn.distance(posted.first) >= 0);
        let found = posted.get(behind.checked_sub(1)?)?;
        let packets = u64::from(psn.distance(found.first).unsigned_abs());
        let offset = Bytes::new(packets * mtu.get());
        (offset < found.wqe.size || packets == 0).then_some((found.wqe, offset))
    }

    /// The extension headers of a request of a queue pair; `None` if its work request has ended.
    #[cold]
    pub(crate) fn extension(
        &self,
        pair: u32,
        packet: &Packet,
        config: &transport::Config,
    ) -> Option<Extension> {
        if let ExtensionKind::Datagram = packet.opcode.extension() {
            return Some(Extension::Datagram {
                queue_key: 0,
                source: QpNumber::new(0),
                destination: QpNumber::new(0),
                immediate: None,
            });
        }
        let (wqe, offset) = self.work_request(pair, Psn::new(packet.psn), config.mtu)?;
        let remote = Remote::default();
        if packet.opcode.has_atomic_eth() {
            return Some(Extension::Atomic(Asked::FetchAdd { remote, add: 1 }));
        }
        let length = if packet.opcode == Opcode::RcReadRequest {
            wqe.size.saturating_sub(offset)
        } else if config.direct_placement {
            Bytes::new(u64::from(packet.payload))
        } else {
            wqe.size
        };
        Some(Extension::Remote {
            remote,
            length,
            immediate: None,
        })
    }
}

/// What a verb asks of its queue pair.
fn asked(verb: Verb, config: &transport::Config) -> Asked {
    let remote = Remote::default();
    match verb {
        Verb::Send if config.service == transport::Service::UnreliableDatagram => Asked::Datagram {
            destination: QpNumber::new(0),
            queue_key: 0,
            immediate: None,
        },
        Verb::Send => Asked::Send,
        Verb::Write => Asked::Write(remote),
        Verb::Read => Asked::Read(remote),
        Verb::FetchAdd => Asked::FetchAdd { remote, add: 1 },
        Verb::CompareSwap => Asked::CompareSwap {
            remote,
            compare: 0,
            swap: 1,
        },
    }
}
