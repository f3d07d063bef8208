//! The threads of applications.

use fairlane_engine::{Engine, Event};
use fairlane_network::Network;
use fairlane_network::waking::Waking;
use fairlane_scenario::Policy;
use fairlane_units::{Bytes, Duration, MessageId, Time};

use super::pipeline::Wqe;
use super::{Endpoints, Operation, Output, Task};
use crate::baseline::{self, Baseline};
use crate::traffic::Traffic;
use crate::{MessageRecord, Outcome};

impl Endpoints {
    /// Has a thread look what there is to do.
    pub(crate) fn wake_application(&mut self, engine: &mut Engine, application: u32, at: Time) {
        let wake = &mut self.applications[application as usize].wake;
        let rank = Waking::Client.rank(u64::from(application));
        wake.arm(engine, at, rank, Waking::Client.component(application));
    }

    /// A thread has finished what it was at, or there may be something for it to do.
    #[cold]
    pub(crate) fn on_application(&mut self, engine: &mut Engine, application: u32, event: Event) {
        let thread = &mut self.applications[application as usize];
        if !thread.wake.fires(engine, event) {
            return;
        }
        match thread.task.take() {
            Some(Task::Post(channel)) => self.hand_over(engine, channel),
            Some(Task::Reap(channel)) => self.finish_batch(channel),
            None => {}
        }
        self.next_task(engine, application);
    }

    /// Gives a thread that has nothing to do its next task.
    pub(super) fn next_task(&mut self, engine: &mut Engine, application: u32) {
        let now = engine.now();
        let thread = &mut self.applications[application as usize];
        if thread.task.is_some() || now < thread.start {
            return;
        }
        while let Some(channel) = self.applications[application as usize].idle.pop_front() {
            if let Some(until) = self.begin_batch(engine, channel) {
                self.begin_task(engine, application, Task::Post(channel), until);
                return;
            }
            self.close(channel);
        }
        self.next_completion(engine, application);
    }

    fn begin_task(&mut self, engine: &mut Engine, application: u32, task: Task, until: Time) {
        self.applications[application as usize].task = Some(task);
        self.wake_application(engine, application, until);
    }

    /// Takes the next completion, or waits for the poll that finds it.
    fn next_completion(&mut self, engine: &mut Engine, application: u32) {
        let now = engine.now();
        let thread = &mut self.applications[application as usize];
        let Some(&(visible, channel)) = thread.completions.front() else {
            return;
        };
        let at = poll_at(
            visible.max(now),
            thread.start,
            thread.polled,
            thread.poll_interval,
        );
        if at > now {
            self.wake_application(engine, application, at);
            return;
        }
        thread.completions.pop_front();
        thread.polled = at + Duration::from_ps(1);
        let work = self.costs.poll + self.costs.cqe;
        let until = self.locked(now, channel, work);
        self.begin_task(engine, application, Task::Reap(channel), until);
    }

    /// When a thread that works on a channel's queue pair for `work` from now on is done.
    fn locked(&mut self, now: Time, channel: u32, work: Duration) -> Time {
        let channel = &self.channels[channel as usize];
        let pair = &mut self.pairs[channel.pair.index()];
        if !pair.shared {
            return now + work;
        }
        let own = u32::from(!channel.batch.is_empty());
        let others = pair.busy.saturating_sub(own);
        pair.lock.take(&self.costs, now, others, work)
    }

    /// Makes the operations of a channel's next batch; returns when their work requests are written,
    /// or `None` if the channel is at its end.
    fn begin_batch(&mut self, engine: &Engine, channel: u32) -> Option<Time> {
        let now = engine.now();
        let at = channel as usize;
        let application = self.channels[at].application;
        let pair = self.channels[at].pair.index();
        if !self.goes_on(application, now) || self.pairs[pair].failed {
            return None;
        }
        let batch = self.applications[application as usize].batch;
        let count = self.channels[at].left.map_or(batch, |left| left.min(batch));
        if count == 0 {
            return None;
        }
        self.pairs[pair].busy += 1;
        for _ in 0..count {
            let size = self.channels[at].draw();
            let operation = self.insert(Operation {
                id: MessageId::new(self.next_id),
                channel,
                size,
                start: now,
                parts: 1,
                begun: false,
                failed: false,
            });
            self.next_id += 1;
            self.births.push(engine.latest());
            self.channels[at].batch.push(operation);
        }
        let posting = &mut self.channels[at];
        posting.outstanding = count;
        posting.left = posting.left.map(|left| left - count);
        self.begun += count as usize;
        let work = self.costs.post.saturating_mul(u64::from(count));
        Some(if self.policy == Policy::Share {
            self.locked(now, channel, work)
        } else {
            now + work
        })
    }

    /// The work requests of a channel's batch are written.
    fn hand_over(&mut self, engine: &mut Engine, channel: u32) {
        let now = engine.now();
        let at = channel as usize;
        let pair = self.channels[at].pair;
        let host = self.pairs[pair.index()].host;
        match self.policy {
            Policy::Drum => self.tell_agent(engine, host, channel),
            Policy::Justitia if self.is_paced(channel) => self.pace(engine, host, channel),
            Policy::Raw | Policy::Share | Policy::Justitia => {
                let (costs, operations) = (&self.costs, &self.operations);
                let wqes = self.channels[at].batch.iter().map(|&operation| Wqe {
                    pair,
                    operation,
                    size: operations[operation as usize].size,
                });
                self.pipelines[host.index()].ring(costs, now + costs.doorbell, wqes);
                self.advance(engine, host);
            }
        }
    }

    /// A thread has seen the completion of a channel's batch.
    fn finish_batch(&mut self, channel: u32) {
        let at = channel as usize;
        let pair = self.channels[at].pair.index();
        self.pairs[pair].busy -= 1;
        let state = &mut self.channels[at];
        let ended = state.batch.drain(..).map(Output::Ended);
        self.outputs.extend(ended);
        self.applications[state.application as usize]
            .idle
            .push_back(channel);
    }

    /// A channel posts nothing further.
    fn close(&mut self, channel: u32) {
        let application = self.channels[channel as usize].application as usize;
        let application = &mut self.applications[application];
        application.open -= 1;
        if application.open == 0 && !application.background {
            self.ending -= 1;
            self.ended += 1;
        }
    }

    /// What is known of an operation; `ended` says that its end has been seen.
    pub(crate) fn operation_record(
        &mut self,
        net: &Network,
        traffic: &Traffic,
        baseline: &Baseline,
        operation: u32,
        ended: bool,
    ) -> MessageRecord {
        let Operation {
            id,
            channel: number,
            size,
            start,
            failed,
            ..
        } = self.operations[operation as usize];
        let channel = &self.channels[number as usize];
        let application = &mut self.applications[channel.application as usize];
        let outcome = match (ended, failed) {
            (false, _) => Outcome::Unfinished,
            (true, true) => Outcome::RetryExceeded,
            (true, false) => Outcome::Completed,
        };
        if outcome == Outcome::Completed {
            application.operations += 1;
            application.bytes += size.get();
        }
        let (workload, pair, server) = (application.workload, channel.pair, channel.server);
        let source = application.node;
        let flow = self.pairs[pair.index()].flow;
        let ideal = self.ideal_of(net, traffic, number, size);
        let round_trip = baseline.pair(net.graph(), net.flow(flow).ports, (source, server));
        let spec = traffic.connection(flow);
        let acknowledged = match outcome {
            Outcome::Completed => size,
            _ => Bytes::ZERO,
        };
        MessageRecord {
            id,
            workload,
            source,
            destination: server,
            source_port: net.flow(flow).tuple.source_port,
            destination_port: spec.destination_port,
            class: spec.class,
            verb: spec.verb,
            size,
            acknowledged,
            placed: acknowledged,
            posted: true,
            start,
            finish: (outcome == Outcome::Completed).then_some(net.now()),
            ideal,
            standalone: baseline::standalone(round_trip, size, net.settings().mtu),
            retransmitted: 0,
            outcome,
            tenant: spec.tenant,
        }
    }
}

/// The first poll at or after `earliest`: any time at or after `polled`, or a multiple of `interval`
/// after `start`.
fn poll_at(earliest: Time, start: Time, polled: Time, interval: Duration) -> Time {
    if interval.is_zero() {
        return earliest;
    }
    let earliest = earliest.max(polled);
    let polls = (earliest - start).as_ps().div_ceil(interval.as_ps());
    start.saturating_add(interval.saturating_mul(polls))
}
