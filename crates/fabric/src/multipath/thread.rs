//! The thread of a host that drives its connections: what it has to do takes its time, one after the other.

use std::collections::{BTreeSet, VecDeque};

use fairlane_engine::{Engine, Wake};
use fairlane_middleware::Posting;
use fairlane_network::waking::Waking;
use fairlane_units::{Duration, FlowId, HostId, MessageId, Time};

use super::Heard;
use crate::events::THREAD;

/// Something that the thread does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Task {
    /// The thread writes a work request.
    Post(FlowId, Posting),
    /// The thread takes a completion of a queue pair.
    Completed { flow: FlowId, heard: Heard },
    /// The thread has put a message together.
    Arrived(MessageId),
}

/// The thread of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct DriverThread {
    /// When it is through with everything so far.
    free: Time,
    /// What it is at, with the times at which that is done.
    tasks: VecDeque<(Time, Task)>,
    /// Completions that can't be seen yet: from when on, and what they cost then.
    coming: VecDeque<(Time, Duration, Task)>,
    /// When connections want to be looked at.
    deadlines: BTreeSet<(Time, u32)>,
    pub(super) wake: Wake,
    /// Processor time that it has taken.
    pub(super) spent: Duration,
}

impl DriverThread {
    /// Takes a task that costs so much; returns it if it is done at once.
    pub(super) fn accept(&mut self, now: Time, cost: Duration, task: Task) -> Option<Task> {
        if cost.is_zero() && self.tasks.is_empty() && self.free <= now {
            return Some(task);
        }
        self.free = self.free.max(now) + cost;
        self.spent += cost;
        self.tasks.push_back((self.free, task));
        None
    }

    /// A completion can be seen from then on, in the order of calls.
    pub(super) fn await_completion(&mut self, visible: Time, cost: Duration, task: Task) {
        self.coming.push_back((visible, cost, task));
    }

    /// A completion that can be seen now, and what it costs.
    pub(super) fn take_visible(&mut self, now: Time) -> Option<(Duration, Task)> {
        let &(at, ..) = self.coming.front()?;
        if at > now {
            return None;
        }
        self.coming.pop_front().map(|(_, cost, task)| (cost, task))
    }

    /// The thread is busy for so long.
    pub(super) fn occupy(&mut self, now: Time, cost: Duration) {
        if !cost.is_zero() {
            self.free = self.free.max(now) + cost;
            self.spent += cost;
        }
    }

    /// A task that is done.
    pub(super) fn take(&mut self, now: Time) -> Option<Task> {
        let (at, _) = self.tasks.front()?;
        if *at > now {
            return None;
        }
        self.tasks.pop_front().map(|(_, task)| task)
    }

    /// A connection that wants to be looked at.
    pub(super) fn take_deadline(&mut self, now: Time) -> Option<u32> {
        let &(at, connection) = self.deadlines.first()?;
        if at > now {
            return None;
        }
        self.deadlines.pop_first();
        Some(connection)
    }

    /// A connection wants to be looked at then, and no longer at `before`.
    pub(super) fn set_deadline(&mut self, connection: u32, before: Time, at: Time) {
        self.deadlines.remove(&(before, connection));
        if at != Time::MAX {
            self.deadlines.insert((at, connection));
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.tasks.is_empty() || !self.coming.is_empty()
    }

    pub(super) fn arm(&mut self, engine: &mut Engine, host: HostId) {
        let task = self.tasks.front().map(|&(at, _)| at);
        let coming = self.coming.front().map(|&(at, ..)| at);
        let task = task.into_iter().chain(coming).min();
        let deadline = self.deadlines.first().map(|&(at, _)| at);
        let Some(at) = task.into_iter().chain(deadline).min() else {
            self.wake.cancel();
            return;
        };
        if at != self.wake.deadline() {
            let number = THREAD | host.get();
            let rank = Waking::Client.rank(u64::from(number));
            let at = at.max(engine.now());
            self.wake
                .arm(engine, at, rank, Waking::Client.component(number));
        }
    }

    pub(super) fn absorb(&mut self, other: &Self) {
        self.spent += other.spent;
    }
}
