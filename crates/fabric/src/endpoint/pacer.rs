//! The pacer of a host under policy `justitia`.
//!
//! After Justitia (Zhang et al., NSDI 2022): latency-sensitive applications post directly; the others
//! post pieces of messages, one after the other in turn, each for tokens that come at one rate for the
//! host. The rate is halved where a latency-sensitive application misses the target, and rises by
//! steps otherwise.
//!
//! Simplified: who is latency-sensitive follows from batch and mean size instead of being declared; the
//! latency is that of the applications' own operations instead of a reference flow's; receivers don't
//! take part.

use std::collections::VecDeque;

use fairlane_engine::{Engine, Event, Wake};
use fairlane_network::waking::Waking;
use fairlane_scenario::{Justitia, Policy};
use fairlane_units::{Bytes, Duration, HostId, Rate, Time};

use super::Endpoints;
use super::pipeline::Wqe;

/// Steps of the rate from nothing to the line rate.
const STEPS: u64 = 20;

/// The pacer of a host.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    settings: Justitia,
    line: Rate,
    rate: Rate,
    /// When there are tokens again.
    next: Time,
    /// Channels with work, in turn.
    queue: VecDeque<u32>,
    /// The longest completion time of a latency-sensitive operation since the last adjustment.
    worst: Duration,
    adjusted: Time,
    wake: Wake,
}

impl Pacer {
    /// Whether it will do something of its own accord.
    pub(super) fn will_act(&self) -> bool {
        self.wake.is_armed()
    }

    pub(crate) fn new(settings: &Justitia, line: Rate) -> Self {
        Self {
            settings: settings.clone(),
            line,
            rate: line,
            next: Time::ZERO,
            queue: VecDeque::new(),
            worst: Duration::ZERO,
            adjusted: Time::ZERO,
            wake: Wake::default(),
        }
    }

    /// Whether it paces channels with such batches and mean sizes.
    pub(super) fn paces(&self, batch: u32, mean: f64) -> bool {
        batch > 1 || mean > self.settings.chunk.as_f64()
    }

    /// Follows the latency that was seen.
    fn adjust(&mut self, now: Time) {
        if now < self.adjusted + self.settings.interval {
            return;
        }
        self.adjusted = now;
        let worst = std::mem::take(&mut self.worst);
        self.rate = if worst > self.settings.latency_target {
            (self.rate / 2).max(self.settings.min_rate.min(self.line))
        } else {
            let step = self.line.as_bps() / STEPS;
            Rate::from_bps(self.rate.as_bps() + step).min(self.line)
        };
    }

    /// Time of the tokens for a piece: its transmission, or the NIC's work if that is longer, both
    /// stretched by the rate.
    fn tokens(&self, size: Bytes, processing: Duration) -> Duration {
        let stretched = u128::from(processing.as_ps()) * u128::from(self.line.as_bps())
            / u128::from(self.rate.as_bps().max(1));
        let work = Duration::from_ps(u64::try_from(stretched).unwrap_or(u64::MAX));
        size.serialization(self.rate).max(work)
    }
}

impl Endpoints {
    /// Whether operations of a channel wait for tokens.
    pub(super) fn is_paced(&self, channel: u32) -> bool {
        let channel = &self.channels[channel as usize];
        let host = self.pairs[channel.pair.index()].host;
        let batch = self.applications[channel.application as usize].batch;
        self.policy == Policy::Justitia && self.pacers[host.index()].paces(batch, channel.mean)
    }

    /// Payload of the work requests that an operation of a channel is posted as.
    pub(super) fn piece_of(&self, channel: u32, size: Bytes) -> Bytes {
        let pair = &self.pairs[self.channels[channel as usize].pair.index()];
        match self.is_paced(channel) && !pair.verb.is_atomic() {
            true => self.pacers[pair.host.index()].settings.chunk,
            false => size,
        }
    }

    /// A channel's batch is to be paced, in pieces.
    pub(super) fn pace(&mut self, engine: &mut Engine, host: HostId, channel: u32) {
        let now = engine.now();
        let pacer = &mut self.pacers[host.index()];
        let chunk = pacer.settings.chunk.get();
        let state = &mut self.channels[channel as usize];
        let splits = !self.pairs[state.pair.index()].verb.is_atomic();
        for &at in &state.batch {
            let operation = &mut self.operations[at as usize];
            let size = operation.size.get();
            let chunk = if splits { chunk } else { size };
            operation.parts = u32::try_from(size.div_ceil(chunk)).unwrap_or(u32::MAX);
            // Pieces are cut as they go, so that a large message takes no more memory than a small one.
            state.pending.push_back(Wqe {
                pair: state.pair,
                operation: at,
                size: operation.size,
            });
        }
        pacer.queue.push_back(channel);
        let at = now.max(pacer.next);
        self.wake_pacer(engine, host, at);
    }

    fn wake_pacer(&mut self, engine: &mut Engine, host: HostId, at: Time) {
        let wake = &mut self.pacers[host.index()].wake;
        if wake.deadline() > at {
            let rank = Waking::Agent.rank(u64::from(host.get()));
            wake.arm(engine, at, rank, Waking::Agent.component(host.get()));
        }
    }

    /// A part of an operation has ended; of latency-sensitive ones the pacer notes the time.
    pub(super) fn note_latency(&mut self, host: HostId, channel: u32, operation: u32, seen: Time) {
        let channel = &self.channels[channel as usize];
        let batch = self.applications[channel.application as usize].batch;
        let pacer = &mut self.pacers[host.index()];
        if !pacer.paces(batch, channel.mean) {
            let taken = seen - self.operations[operation as usize].start;
            pacer.worst = pacer.worst.max(taken);
        }
    }

    /// There are tokens for the next piece.
    pub(super) fn on_pacer(&mut self, engine: &mut Engine, host: HostId, event: Event) {
        let now = engine.now();
        let pacer = &mut self.pacers[host.index()];
        if !pacer.wake.fires(engine, event) {
            return;
        }
        pacer.adjust(now);
        let Some(channel) = pacer.queue.pop_front() else {
            return;
        };
        let state = &mut self.channels[channel as usize];
        let splits = !self.pairs[state.pair.index()].verb.is_atomic();
        let chunk = pacer.settings.chunk;
        let pending = &mut state.pending;
        let Some(wqe) = pending.front_mut() else {
            return;
        };
        let wqe = if splits && wqe.size > chunk {
            let rest = wqe.size.saturating_sub(chunk);
            let piece = Wqe {
                size: chunk,
                ..*wqe
            };
            wqe.size = rest;
            piece
        } else {
            let last = *wqe;
            pending.pop_front();
            last
        };
        if !pending.is_empty() {
            pacer.queue.push_back(channel);
        }
        let costs = &self.costs;
        pacer.next = now + pacer.tokens(wqe.size, costs.processing);
        let (next, more) = (pacer.next, !pacer.queue.is_empty());
        self.pipelines[host.index()].ring(costs, now + costs.doorbell, std::iter::once(wqe));
        if more {
            self.wake_pacer(engine, host, next);
        }
        self.advance(engine, host);
    }
}
