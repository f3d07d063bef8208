//! Queue pairs that stay open: work requests go to the requester, and their ends go back.

use fairlane_engine::Engine;
use fairlane_network::Network;
use fairlane_scenario::{Policy, Verb};
use fairlane_transport::{Operation as Asked, Remote, Status, WorkRequest};
use fairlane_units::{Bytes, Duration, FlowId, QpId, QpNumber, Time};

use super::pipeline::Wqe;
use super::{Endpoints, Output, subflow};
use crate::baseline::{self, Work};
use crate::ideal::{self, KnownPaths};
use crate::traffic::Traffic;

impl Endpoints {
    /// Has a work request that the NIC is done with go to its queue pair; `false` if that has failed.
    pub(super) fn request(&mut self, engine: &mut Engine, wqe: Wqe) -> bool {
        if wqe.is_of_path() {
            subflow::begin(self, wqe);
            return true;
        }
        let pair = &mut self.pairs[wqe.pair.index()];
        if pair.failed {
            pair.unsent -= 1;
            self.pipelines[pair.host.index()].begun -= 1;
            self.end_part(engine, wqe, false, engine.now());
            return false;
        }
        pair.posted.push_back(wqe);
        let operation = asked(pair.verb, self.datagrams);
        self.outputs.push(Output::Post {
            flow: pair.flow,
            host: pair.host,
            request: WorkRequest::new(u64::from(wqe.operation), operation, wqe.size),
        });
        true
    }

    /// A work request of a queue pair ended at `at`.
    pub(crate) fn on_wqe_end(&mut self, engine: &mut Engine, pair: QpId, status: Status, at: Time) {
        let state = &mut self.pairs[pair.index()];
        let Some(wqe) = state.posted.pop_front() else {
            return;
        };
        let host = state.host;
        if status != Status::Success && !std::mem::replace(&mut state.failed, true) {
            // What it hasn't sent it never will.
            let unsent = std::mem::take(&mut state.unsent);
            let processing = self.pipelines[host.index()].processes(pair);
            state.unsent = u32::from(processing);
            self.pipelines[host.index()].begun -= unsent - state.unsent;
        }
        if let Some(parked) = state.parked.front().copied().filter(|_| !state.resuming) {
            state.parked.pop_front();
            state.resuming = true;
            self.pipelines[host.index()].resume(engine.now(), parked);
            self.advance(engine, host);
        }
        self.end_part(engine, wqe, status == Status::Success, at);
        self.flush_failed(engine, pair, at);
    }

    /// Ends what waits for a queue pair that has failed.
    fn flush_failed(&mut self, engine: &mut Engine, pair: QpId, at: Time) {
        if !self.pairs[pair.index()].failed {
            return;
        }
        while let Some(wqe) = self.pairs[pair.index()].parked.pop_front() {
            self.end_part(engine, wqe, false, at);
        }
    }

    /// A part of an operation has ended at `at`: its completion goes to whoever polls.
    pub(super) fn end_part(&mut self, engine: &mut Engine, wqe: Wqe, succeeded: bool, at: Time) {
        let operation = &mut self.operations[wqe.operation as usize];
        operation.failed |= !succeeded;
        operation.parts -= 1;
        let (ended, channel) = (operation.parts == 0, operation.channel);
        let visible = at + self.costs.cqe_write;
        let host = self.pairs[wqe.pair.index()].host;
        match self.policy {
            Policy::Drum => self.tell_agent_of_end(engine, host, (visible, channel, wqe.size)),
            Policy::Justitia => {
                self.note_latency(host, channel, wqe.operation, visible);
                if ended {
                    self.end_operation(engine, channel, visible);
                }
            }
            Policy::Raw | Policy::Share if ended => self.end_operation(engine, channel, visible),
            Policy::Raw | Policy::Share => {}
        }
    }

    /// An operation of a channel has ended, as its thread can see from `visible` on; that of the last
    /// one in the batch is the completion that is signalled.
    pub(super) fn end_operation(&mut self, engine: &mut Engine, channel: u32, visible: Time) {
        let state = &mut self.channels[channel as usize];
        state.outstanding -= 1;
        if state.outstanding > 0 {
            return;
        }
        let application = state.application;
        if state.has_ended() {
            let host = self.pairs[state.pair.index()].host;
            self.agents[host.index()].arbiter.leave(state.member);
        }
        self.applications[application as usize]
            .completions
            .push_back((visible, channel));
        self.next_task(engine, application);
    }

    /// Completion time of an operation alone on the fabric, without the costs of hosts.
    pub(super) fn ideal_of(
        &mut self,
        net: &Network,
        traffic: &Traffic,
        channel: u32,
        size: Bytes,
    ) -> Duration {
        let (reliable, work) = (self.reliable, work_of(self, channel, size));
        let pair = self.channels[channel as usize].pair;
        let pair = &mut self.pairs[pair.index()];
        if let Some((of, ideal)) = pair.ideal
            && of == work
        {
            return ideal;
        }
        let rules = traffic.rules_of(pair.flow);
        let least = |paths: &KnownPaths| {
            if reliable {
                return ideal::least(&paths.known, &work, net.plan(), rules);
            }
            let times = paths.known[0].iter();
            times.map(|path| baseline::sent(path, &work, rules)).min()
        };
        let ideal = pair.paths.iter().filter_map(least).min();
        let ideal = ideal.unwrap_or(Duration::from_ps(1));
        pair.ideal = Some((work, ideal));
        ideal
    }

    /// The flow of an operation, and the least that [its ideal time](Self::ideal_of) can be if that was moved.
    pub(crate) fn moved_ideal(
        &self,
        traffic: &Traffic,
        operation: u32,
    ) -> (FlowId, Option<Duration>) {
        let operation = &self.operations[operation as usize];
        let pair = &self.pairs[self.channels[operation.channel as usize].pair.index()];
        let work = work_of(self, operation.channel, operation.size);
        let rules = traffic.rules_of(pair.flow);
        let bounds = pair.paths.iter();
        let bounds = bounds.filter_map(|paths| ideal::bound(&paths.any, &work, rules));
        // Of an unreliable service, operations end with what their host sends.
        (pair.flow, bounds.min().filter(|_| self.reliable))
    }

    /// Notes the paths of a queue pair, there and back.
    pub(crate) fn note_paths(&mut self, pair: QpId, paths: KnownPaths) {
        let Some(pair) = self.pairs.get_mut(pair.index()) else {
            return;
        };
        pair.ideal = None;
        pair.paths.push(paths);
    }
}

/// What an operation of a channel has to do.
fn work_of(endpoints: &Endpoints, channel: u32, size: Bytes) -> Work {
    let pair = endpoints.channels[channel as usize].pair;
    Work {
        verb: endpoints.pairs[pair.index()].verb,
        size,
        piece: endpoints.piece_of(channel, size),
        counted: false,
    }
}

/// What a verb asks of its queue pair.
const fn asked(verb: Verb, datagrams: bool) -> Asked {
    let remote = Remote { address: 0, key: 0 };
    match verb {
        Verb::Send if datagrams => Asked::Datagram {
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
