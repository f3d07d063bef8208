//! Queue pairs that stay open: work requests go to the requester, and their ends go back.

use fairlane_scenario::{Policy, Verb};
use fairlane_transport::{self as transport, Operation as Asked, Remote, Status, WorkRequest};
use fairlane_units::{Bytes, Duration, QpNumber, Time};

use crate::baseline::{self, Work};
use crate::connections::Side;
use crate::ideal::{self, Paths};
use crate::nic::card::Wqe;
use crate::world::World;

impl World {
    /// Opens the connection of a queue pair.
    pub(super) fn open_pair(&mut self, pair: u32) {
        let endpoints = self.endpoints.as_deref().expect("there is a queue pair");
        let flow = endpoints.pairs[pair as usize].message;
        self.connect(flow);
        self.note_ideal(flow, Default::default());
    }

    /// Gives a work request that the NIC is done with to its queue pair.
    pub(super) fn request(&mut self, wqe: Wqe) {
        let now = self.engine.now();
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        let pair = &mut endpoints.pairs[wqe.pair as usize];
        if pair.failed {
            pair.unsent -= 1;
            endpoints.cards[pair.host as usize].begun -= 1;
            self.end_part(wqe, false, now);
            return;
        }
        pair.posted.push_back(wqe);
        let (flow, host) = (pair.message, pair.host);
        let operation = asked(pair.verb, &self.rules.transport);
        let request = WorkRequest::new(u64::from(wqe.operation), operation, wqe.size);
        if let Some(open) = self.connections.pair(flow, Side::Requester) {
            self.nics[host as usize].host.post(now, open, request);
        }
        self.send_from_host(host);
    }

    /// A work request of a queue pair ended at `at`.
    pub(crate) fn on_wqe_end(&mut self, pair: u32, status: Status, at: Time) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        let state = &mut endpoints.pairs[pair as usize];
        let Some(wqe) = state.posted.pop_front() else {
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
        self.flush_failed(pair, at);
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
    pub(super) fn ideal_of(&mut self, channel: u32, size: Bytes) -> Duration {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is a queue pair");
        let reliable = endpoints.reliable;
        let piece = endpoints.piece_of(channel, size);
        let pair = endpoints.channels[channel as usize].pair;
        let pair = &mut endpoints.pairs[pair as usize];
        let work = Work {
            verb: pair.verb,
            size,
            piece,
            counted: false,
        };
        if let Some((of, ideal)) = pair.ideal
            && of == work
        {
            return ideal;
        }
        let least = |paths: &Paths| {
            if reliable {
                return ideal::least(paths, &work, &self.plan, &self.rules);
            }
            let times = paths[0].iter();
            times
                .map(|path| baseline::sent(path, &work, &self.rules))
                .min()
        };
        let ideal = pair.paths.iter().filter_map(least).min();
        let ideal = ideal.unwrap_or(Duration::from_ps(1));
        pair.ideal = Some((work, ideal));
        ideal
    }

    /// Notes the paths of a queue pair, there and back.
    pub(crate) fn note_paths(&mut self, flow: u32, paths: Paths) {
        let pair = self.pair_of(flow);
        let Some(endpoints) = self.endpoints.as_deref_mut() else {
            return;
        };
        let Some(pair) = endpoints.pairs.get_mut(pair as usize) else {
            return;
        };
        pair.ideal = None;
        pair.paths.push(paths);
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
