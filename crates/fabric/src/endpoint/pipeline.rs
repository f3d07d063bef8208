//! The NIC of a host: takes work requests in the order of their doorbells, and keeps the state of
//! some connections.
//!
//! Three units need the state of a connection: the one that begins work requests, the transmitter and
//! the receiver. Each waits where it isn't kept, and one fetch follows the other.

use std::collections::VecDeque;

use fairlane_engine::Wake;
use fairlane_network::packet::PacketList;
use fairlane_nic::PairId;
use fairlane_units::{Bytes, Duration, QpId, Time};

use super::cache::Cache;
use super::costs::Costs;

/// A work request on its way to or in a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wqe {
    /// The queue pair.
    pub(crate) pair: QpId,
    /// The operation that it carries out, or a part of.
    pub(crate) operation: u32,
    pub(crate) size: Bytes,
}

/// A work request that waits for the NIC.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    wqe: Wqe,
    /// When the NIC has fetched it.
    ready: Time,
    /// When the NIC has the state of its connection, once it was asked for.
    context: Option<Time>,
    /// Whether it has waited for a READ of its queue pair to end.
    resumed: bool,
}

/// What a NIC does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing until something else happens.
    Rest,
    /// Nothing before this time.
    Wait(Time),
    /// The first work request waits for a READ of its queue pair to end; whether it has before.
    Park(Wqe, bool),
    /// A work request is begun; it is done at this time.
    Begin(Wqe, Time),
    /// A work request is done: its packets may leave.
    Done(Wqe),
}

/// What a NIC counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PipelineCounters {
    pub(crate) doorbells: u64,
    pub(crate) work_requests: u64,
    pub(crate) lookups: u64,
    pub(crate) misses: u64,
}

/// What the transmitter of a port waits for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Transmitter {
    /// The queue pair whose state is fetched for it, and when that is there.
    pub(crate) granted: Option<PairId>,
    pub(crate) stalled: Time,
}

/// The NIC of a host.
#[derive(Clone, Debug)]
pub(crate) struct Pipeline {
    cache: Cache,
    /// When the fetch of a connection's state can begin.
    context_free: Time,
    /// When the fetch of work requests can begin.
    fetch_free: Time,
    queue: VecDeque<Waiting>,
    processing: Option<(Wqe, Time)>,
    /// Work requests begun whose packets haven't all been sent.
    pub(crate) begun: u32,
    pub(crate) wake: Wake,
    /// By port.
    pub(crate) transmitters: Vec<Transmitter>,
    /// Packets that wait for the receiver, the first one until `receiving`.
    pub(crate) received: PacketList,
    pub(crate) receiving: Wake,
    /// Their bytes, and the classes that the neighbour holds back because of them.
    pub(crate) held: u64,
    pub(crate) stopped: u8,
    pub(crate) counters: PipelineCounters,
}

impl Pipeline {
    /// The pipeline of a NIC with `ports` ports.
    pub(crate) fn new(costs: &Costs, ports: u8) -> Self {
        Self {
            cache: Cache::new(costs.cache_entries),
            context_free: Time::ZERO,
            fetch_free: Time::ZERO,
            queue: VecDeque::new(),
            processing: None,
            begun: 0,
            wake: Wake::default(),
            transmitters: vec![Transmitter::default(); usize::from(ports)],
            received: PacketList::default(),
            receiving: Wake::default(),
            held: 0,
            stopped: 0,
            counters: PipelineCounters::default(),
        }
    }

    /// A doorbell for `wqes` reaches the NIC at `at`, not before those of earlier calls.
    pub(crate) fn ring(
        &mut self,
        costs: &Costs,
        at: Time,
        wqes: impl ExactSizeIterator<Item = Wqe>,
    ) {
        let count = wqes.len();
        self.counters.doorbells += 1;
        self.counters.work_requests += count as u64;
        let start = at.max(self.fetch_free);
        for (number, wqe) in wqes.enumerate() {
            // A read returns when all of its work requests have come.
            let read = number / costs.wqes_per_fetch + 1;
            let fetched = (read * costs.wqes_per_fetch).min(count) as u64;
            let transfer = costs.wqe_transfer.saturating_mul(fetched);
            self.queue.push_back(Waiting {
                wqe,
                ready: start + costs.wqe_fetch + transfer,
                context: None,
                resumed: false,
            });
        }
        self.fetch_free = start + costs.wqe_transfer.saturating_mul(count as u64);
    }

    /// A work request that had to wait for a READ may go on.
    pub(crate) fn resume(&mut self, now: Time, wqe: Wqe) {
        self.queue.push_back(Waiting {
            wqe,
            ready: now,
            context: None,
            resumed: true,
        });
    }

    /// When the NIC has the state of `pair`, which it needs now: now if it is kept.
    pub(crate) fn context(&mut self, costs: &Costs, now: Time, pair: QpId) -> Time {
        self.counters.lookups += 1;
        if self.cache.touch(pair.get()) {
            return now;
        }
        self.counters.misses += 1;
        self.context_free = now.max(self.context_free) + costs.cache_miss;
        self.context_free
    }

    /// Whether the NIC is at a work request of `pair`.
    pub(crate) fn processes(&self, pair: QpId) -> bool {
        self.processing.is_some_and(|(wqe, _)| wqe.pair == pair)
    }

    /// What the NIC does at `now`; `blocked` says of a queue pair, and of whether its work request
    /// has waited before, that it may not begin. `cached` is off for services without connections.
    pub(crate) fn step(
        &mut self,
        costs: &Costs,
        now: Time,
        cached: bool,
        blocked: impl Fn(QpId, bool) -> bool,
    ) -> Step {
        if let Some((wqe, until)) = self.processing {
            if until > now {
                return Step::Wait(until);
            }
            self.processing = None;
            return Step::Done(wqe);
        }
        let Some(first) = self.queue.front().copied() else {
            return Step::Rest;
        };
        if first.ready > now {
            return Step::Wait(first.ready);
        }
        if blocked(first.wqe.pair, first.resumed) {
            self.queue.pop_front();
            return Step::Park(first.wqe, first.resumed);
        }
        if self.begun >= costs.pipeline {
            return Step::Rest;
        }
        if cached && let Some(at) = self.await_context(costs, now, 0) {
            return Step::Wait(at);
        }
        self.queue.pop_front();
        self.begun += 1;
        let until = now + costs.processing;
        self.processing = Some((first.wqe, until));
        if cached {
            // The state of the next one is fetched meanwhile.
            self.await_context(costs, now, 0);
        }
        Step::Begin(first.wqe, until)
    }

    /// When the state for the work request at `index` is there, unless it is.
    fn await_context(&mut self, costs: &Costs, now: Time, index: usize) -> Option<Time> {
        let waiting = *self
            .queue
            .get(index)
            .filter(|waiting| waiting.ready <= now)?;
        let at = match waiting.context {
            Some(at) => at,
            None => {
                let at = self.context(costs, now, waiting.wqe.pair);
                self.queue[index].context = Some(at);
                at
            }
        };
        (at > now).then_some(at)
    }
}

/// The lock of a queue pair that several threads share: first come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lock {
    free: Time,
    /// Acquisitions that had to wait, and for how long in all.
    pub(crate) waits: u64,
    pub(crate) waited: Duration,
}

impl Lock {
    /// Takes the lock at `now` for `hold` while `others` contend for it; returns when it is released.
    pub(crate) fn take(&mut self, costs: &Costs, now: Time, others: u32, hold: Duration) -> Time {
        let turn = now.max(self.free);
        let taken = turn + costs.lock_contention.saturating_mul(u64::from(others));
        if taken > now {
            self.waits += 1;
            self.waited += taken - now;
        }
        self.free = taken + costs.lock + hold;
        self.free
    }
}
