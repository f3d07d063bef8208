//! The threads of applications.

use fairlane_engine::Event;
use fairlane_scenario::Policy;
use fairlane_units::{Bytes, Duration, NodeId, Time};

use super::{Operation, Task};
use crate::nic::card::Wqe;
use crate::world::{Waking, World};
use crate::{MessageRecord, Outcome};

impl World {
    /// Schedules the start of all applications.
    pub(crate) fn start_applications(&mut self) {
        let Some(endpoints) = self.endpoints.as_deref() else {
            return;
        };
        let own = |&(_, node): &(u32, NodeId)| self.place.owns(node);
        let flows = endpoints.pairs.iter().map(|pair| pair.message);
        let pairs = (0..).zip(flows.map(|flow| self.specs[flow as usize].source));
        let pairs: Vec<(u32, NodeId)> = pairs.filter(own).collect();
        let applications = (0..).zip(endpoints.applications.iter().map(|one| one.node));
        let applications: Vec<(u32, NodeId)> = applications.filter(own).collect();
        let starts: Vec<Time> = endpoints.applications.iter().map(|one| one.start).collect();
        for (pair, _) in pairs {
            self.open_pair(pair);
        }
        for (application, _) in applications {
            self.wake_application(application, starts[application as usize]);
        }
    }

    pub(super) fn wake_application(&mut self, application: u32, at: Time) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an application");
        let wake = &mut endpoints.applications[application as usize].wake;
        let rank = Waking::Client.rank(u64::from(application));
        wake.arm(
            &mut self.engine,
            at,
            rank,
            Waking::Client.component(application),
        );
    }

    /// A thread has finished what it was at, or there may be something for it to do.
    #[cold]
    pub(crate) fn on_application(&mut self, application: u32, event: Event) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an application");
        let thread = &mut endpoints.applications[application as usize];
        if !thread.wake.fires(&mut self.engine, event) {
            return;
        }
        match thread.task.take() {
            Some(Task::Post(channel)) => self.hand_over(channel),
            Some(Task::Reap(channel)) => self.finish_batch(channel),
            None => {}
        }
        self.next_task(application);
    }

    /// Gives a thread that has nothing to do its next task.
    pub(super) fn next_task(&mut self, application: u32) {
        let now = self.now();
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an application");
        let thread = &mut endpoints.applications[application as usize];
        if thread.task.is_some() || now < thread.start {
            return;
        }
        while let Some(channel) = self.next_idle(application) {
            if let Some(until) = self.begin_batch(channel) {
                self.begin_task(application, Task::Post(channel), until);
                return;
            }
            self.close(channel);
        }
        self.next_completion(application);
    }

    fn next_idle(&mut self, application: u32) -> Option<u32> {
        let endpoints = self.endpoints.as_deref_mut()?;
        endpoints.applications[application as usize]
            .idle
            .pop_front()
    }

    fn begin_task(&mut self, application: u32, task: Task, until: Time) {
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an application");
        endpoints.applications[application as usize].task = Some(task);
        self.wake_application(application, until);
    }

    /// Takes the next completion, or waits for the poll that finds it.
    fn next_completion(&mut self, application: u32) {
        let now = self.now();
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an application");
        let thread = &mut endpoints.applications[application as usize];
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
            self.wake_application(application, at);
            return;
        }
        thread.completions.pop_front();
        thread.polled = at + Duration::from_ps(1);
        let work = endpoints.costs.poll + endpoints.costs.cqe;
        let until = self.locked(channel, work);
        self.begin_task(application, Task::Reap(channel), until);
    }

    /// When a thread that works on a channel's queue pair for `work` from now on is done.
    fn locked(&mut self, channel: u32, work: Duration) -> Time {
        let now = self.now();
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let channel = &endpoints.channels[channel as usize];
        let pair = &mut endpoints.pairs[channel.pair as usize];
        if !pair.shared {
            return now + work;
        }
        let own = u32::from(!channel.batch.is_empty());
        let others = pair.busy.saturating_sub(own);
        pair.lock.take(&endpoints.costs, now, others, work)
    }

    /// Makes the operations of a channel's next batch; returns when their work requests are written,
    /// or `None` if the channel is at its end.
    fn begin_batch(&mut self, channel: u32) -> Option<Time> {
        let now = self.now();
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let at = channel as usize;
        let application = endpoints.channels[at].application;
        let pair = endpoints.channels[at].pair as usize;
        if !endpoints.goes_on(application, now) || endpoints.pairs[pair].failed {
            return None;
        }
        let batch = endpoints.applications[application as usize].batch;
        let count = endpoints.channels[at]
            .left
            .map_or(batch, |left| left.min(batch));
        if count == 0 {
            return None;
        }
        endpoints.pairs[pair].busy += 1;
        for _ in 0..count {
            let size = endpoints.channels[at].draw();
            let operation = endpoints.insert(Operation {
                id: endpoints.next_id,
                channel,
                size,
                start: now,
                parts: 1,
                begun: false,
                failed: false,
            });
            endpoints.next_id += 1;
            endpoints.births.push(self.engine.current());
            endpoints.channels[at].batch.push(operation);
        }
        let posting = &mut endpoints.channels[at];
        posting.outstanding = count;
        posting.left = posting.left.map(|left| left - count);
        self.owed += count as usize;
        let work = endpoints.costs.post.saturating_mul(u64::from(count));
        Some(if endpoints.policy == Policy::Share {
            self.locked(channel, work)
        } else {
            now + work
        })
    }

    /// The work requests of a channel's batch are written.
    fn hand_over(&mut self, channel: u32) {
        let now = self.now();
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let at = channel as usize;
        let pair = endpoints.channels[at].pair;
        let host = endpoints.pairs[pair as usize].host;
        match endpoints.policy {
            Policy::Drum => self.tell_agent(host, channel),
            Policy::Justitia if endpoints.is_paced(channel) => self.pace(host, channel),
            Policy::Raw | Policy::Share | Policy::Justitia => {
                let (costs, operations) = (&endpoints.costs, &endpoints.operations);
                let wqes = endpoints.channels[at].batch.iter().map(|&operation| Wqe {
                    pair,
                    operation,
                    size: operations[operation as usize].size,
                });
                endpoints.cards[host as usize].ring(costs, now + costs.doorbell, wqes);
                self.advance_card(host);
            }
        }
    }

    /// A thread has seen the completion of a channel's batch.
    fn finish_batch(&mut self, channel: u32) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let at = channel as usize;
        let pair = endpoints.channels[at].pair as usize;
        endpoints.pairs[pair].busy -= 1;
        let batch = std::mem::take(&mut endpoints.channels[at].batch);
        for &operation in &batch {
            let record = self.operation_record(operation, true);
            self.counters.failed += u32::from(record.outcome != Outcome::Completed);
            self.records.push(self.engine.current(), record);
            let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
            endpoints.free_operations.push(operation);
        }
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let channel_state = &mut endpoints.channels[at];
        channel_state.batch = batch;
        channel_state.batch.clear();
        let application = &mut endpoints.applications[channel_state.application as usize];
        application.idle.push_back(channel);
    }

    /// A channel posts nothing further.
    fn close(&mut self, channel: u32) {
        let endpoints = self.endpoints.as_deref_mut().expect("there is a channel");
        let application = endpoints.channels[channel as usize].application as usize;
        let application = &mut endpoints.applications[application];
        application.open -= 1;
        if application.open == 0 && !application.background {
            endpoints.ending -= 1;
            self.owed -= 1;
        }
    }

    /// What is known of an operation; `ended` says that its end has been seen.
    pub(crate) fn operation_record(&mut self, operation: u32, ended: bool) -> MessageRecord {
        let now = self.now();
        let endpoints = self
            .endpoints
            .as_deref_mut()
            .expect("there is an operation");
        let Operation {
            id,
            channel: number,
            size,
            start,
            failed,
            ..
        } = endpoints.operations[operation as usize];
        let channel = &endpoints.channels[number as usize];
        let application = &mut endpoints.applications[channel.application as usize];
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
        let message = endpoints.pairs[pair as usize].message as usize;
        let ideal = self.ideal_of(number, size);
        let round_trip = self.baseline.pair(&self.graph, source, server);
        let spec = &self.specs[message];
        MessageRecord {
            id,
            workload,
            source,
            destination: server,
            source_port: self.flows[message].tuple.source_port,
            destination_port: spec.destination_port,
            class: spec.class,
            verb: spec.verb,
            size,
            acknowledged: match outcome {
                Outcome::Completed => size,
                _ => Bytes::ZERO,
            },
            posted: true,
            start,
            finish: (outcome == Outcome::Completed).then_some(now),
            ideal,
            standalone: crate::baseline::standalone(round_trip, size, self.rules.mtu),
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
