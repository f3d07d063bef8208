//! The agent of a host under policy `drum`: one thread that posts work requests for all applications
//! and polls all completions, without locks.
//!
//! At most k queue pairs are active at a time. Epoch by epoch, the frame of the plan says which;
//! places that those don't use go to others that have work, first come, first served, so that no place
//! stays free while somebody waits for longer than `linger`. An epoch ends when its time is over and
//! every queue pair of the frame that had work when it began has been served; so a queue pair with
//! work is served within the frame's longest wait. Within an epoch, active queue pairs take turns work
//! request by work request, those first that are within their rate; those beyond it come next, so
//! that rates are shares and no limits.

use std::collections::VecDeque;

use fairlane_engine::{Engine, Event, Wake};
use fairlane_network::waking::Waking;
use fairlane_scenario::Scenario;
use fairlane_units::{Bytes, Duration, HostId, Rate, Time};

use super::costs::Costs;
use super::pipeline::Wqe;
use super::plan::{Budget, Demand, plan};
use super::{Application, Channel, Endpoints};

/// Completions that one poll takes at most.
const POLLED: usize = 16;

/// What an agent keeps to.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    active: usize,
    epoch: Duration,
    window: u32,
    window_bytes: u64,
    linger: Duration,
    budget: Budget,
}

impl Limits {
    /// The limits of a host whose link has `rate`.
    pub(crate) fn new(scenario: &Scenario, costs: &Costs, rate: Rate) -> Self {
        let drum = &scenario.nic.drum;
        // A NIC that costs nothing still takes no more than a packet of no payload at a time.
        let smallest = scenario.packet.ack.as_f64() * 8.0 / rate.as_f64();
        let around = costs.doorbell
            + costs.wqe_fetch
            + costs.processing
            + costs.cqe_write
            + costs.handoff.saturating_mul(2);
        let work_request = costs.processing.as_secs_f64().max(smallest);
        Self {
            active: drum.active as usize,
            epoch: drum.epoch,
            window: drum.window,
            window_bytes: drum.window_bytes.get(),
            linger: drum.linger,
            budget: Budget {
                egress: rate.as_f64() / 8.0,
                work_requests: 1.0 / work_request,
                poll_cost: (costs.poll + costs.cqe).as_secs_f64().max(1e-9),
                round_trip: around.as_secs_f64(),
                active: drum.active,
                alpha: drum.alpha,
                beta: drum.beta,
            },
        }
    }
}

/// Epochs and round trips, and times that its bytes take on the link, for which nothing may be heard of a queue pair that
/// others wait for. A fabric that is merely full delays bytes by as many times as there are hosts that share a link.
const PATIENCE: u64 = 16;
const SHARED: f64 = 64.0;

impl Limits {
    /// How long an active queue pair with so many bytes under way may keep its place without a completion.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates"
    )]
    fn patience(&self, bytes: u64) -> Duration {
        let link = SHARED * bytes as f64 / self.budget.egress;
        let round_trips = PATIENCE as f64 * self.budget.round_trip;
        Duration::from_ps(((link + round_trips) * 1e12) as u64)
            + self.epoch.saturating_mul(PATIENCE)
    }
}

/// What the agent keeps of a channel.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    /// Time of one work request at its rate, in the present epoch, and on average while it is active.
    period: Duration,
    usual: Duration,
    /// It is within its rate from this time on.
    due: Time,
    /// Work requests posted and not seen completed, and their bytes.
    in_flight: u32,
    bytes_in_flight: u64,
    /// When the last one was posted or seen completed.
    moved: Time,
    /// Its work requests have taken so long that it has no place and doesn't count until one completes.
    silent: bool,
    /// Whether its application has begun and hasn't ended: it is planned for.
    planned: bool,
    active: bool,
    /// Whether the present epoch is one of its own.
    scheduled: bool,
    /// Whether it waits for a place.
    queued: bool,
    /// Active since before the present epoch, without being of it.
    stale: bool,
    /// Whether the present epoch can't end before it has been served.
    owed: bool,
    /// Without work since.
    idle_since: Time,
    /// The epoch in which its first work request became the first.
    head: u64,
    /// The most epochs that a first work request has waited.
    pub(crate) longest_wait: u64,
    /// What that may be at most.
    pub(crate) bound: u64,
}

/// The agent of a host.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    limits: Limits,
    channels: Vec<u32>,
    /// Channels of each epoch, with the time of one of their work requests.
    frame: Vec<Vec<(u32, Duration)>>,
    /// Number of the present epoch, and when it may end.
    epoch: u64,
    epoch_end: Time,
    /// Queue pairs of the epoch that must be served before it ends.
    owed: u32,
    active: Vec<u32>,
    /// Queue pairs that wait for a place: those of the epoch, and others.
    wanted: VecDeque<u32>,
    waiting: VecDeque<u32>,
    /// Place among the active ones that has its turn next.
    turn: usize,
    in_flight: u32,
    bytes_in_flight: u64,
    /// Channels with new work, and from when the agent can see it.
    inbox: VecDeque<(Time, u32)>,
    /// Completions: from when they can be seen, of which channel, and their size.
    completions: VecDeque<(Time, u32, Bytes)>,
    free_at: Time,
    wake: Wake,
    pub(crate) most_active: u32,
    pub(crate) posted: u64,
    /// Plans made, and those that gave everybody the same because the solver refused the demands.
    pub(crate) plans: u64,
    pub(crate) equal_plans: u64,
}

impl Agent {
    /// Whether it will do something of its own accord.
    pub(super) fn will_act(&self) -> bool {
        self.wake.is_armed()
    }

    /// The most epochs that a first work request of a channel has waited, the one that still waits
    /// included.
    pub(super) fn waited(&self, channel: &Channel) -> u64 {
        let turns = &channel.turns;
        let waiting = if channel.pending.is_empty() || turns.silent {
            0
        } else {
            self.epoch - turns.head
        };
        turns.longest_wait.max(waiting)
    }

    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            limits,
            channels: Vec::new(),
            frame: vec![Vec::new()],
            epoch: 0,
            epoch_end: Time::ZERO,
            owed: 0,
            active: Vec::new(),
            wanted: VecDeque::new(),
            waiting: VecDeque::new(),
            turn: 0,
            in_flight: 0,
            bytes_in_flight: 0,
            inbox: VecDeque::new(),
            completions: VecDeque::new(),
            free_at: Time::ZERO,
            wake: Wake::default(),
            most_active: 0,
            posted: 0,
            plans: 0,
            equal_plans: 0,
        }
    }

    /// Adds a channel, before the run.
    pub(crate) fn join(&mut self, channel: u32, turns: &mut Turns) {
        self.channels.push(channel);
        *turns = Turns::default();
    }

    /// Plans for the channels whose applications have begun and haven't ended, if these are others than planned for.
    fn plan(&mut self, now: Time, channels: &mut [Channel], applications: &[Application]) {
        let application = |channel: &Channel| &applications[channel.application as usize];
        let lives = |channel: u32| {
            let channel = &channels[channel as usize];
            application(channel).start <= now && !channel.has_ended()
        };
        let living: Vec<u32> = self
            .channels
            .iter()
            .copied()
            .filter(|&c| lives(c))
            .collect();
        let planned = |channel: &&u32| channels[**channel as usize].turns.planned;
        let before: Vec<u32> = self.channels.iter().filter(planned).copied().collect();
        if living.is_empty() || living == before {
            return;
        }
        let demand = |&channel: &u32| {
            let channel = &channels[channel as usize];
            Demand {
                weight: channel.weight,
                bytes: channel.mean.max(1.0),
                batch: f64::from(application(channel).batch),
            }
        };
        let demands: Vec<Demand> = living.iter().map(demand).collect();
        let planned = plan(&demands, &self.limits.budget);
        let earlier = self.frame.len() as u64;
        self.plans += 1;
        self.equal_plans += u64::from(planned.equal);
        for channel in &before {
            channels[*channel as usize].turns.planned = false;
        }
        for (at, &number) in living.iter().enumerate() {
            let channel = &mut channels[number as usize];
            let waits = !channel.pending.is_empty();
            let turns = &mut channel.turns;
            turns.planned = true;
            turns.usual = period(planned.rates[at]);
            // Who waits has waited under the plan before, and who wasn't of it for a frame of it at most.
            let waited = if waits { self.epoch - turns.head } else { 0 };
            let waited = if before.contains(&number) || self.plans == 1 {
                waited
            } else {
                waited.max(earlier)
            };
            turns.bound = turns.bound.max(waited + u64::from(planned.waits[at]));
        }
        let turn = |&(at, rate): &(usize, f64)| (living[at], period(rate));
        let epochs = planned.epochs.iter();
        self.frame = epochs
            .map(|epoch| epoch.iter().map(turn).collect())
            .collect();
        self.take_turns(channels);
    }

    /// Tells channels whether the present epoch is theirs, and at which rate.
    fn take_turns(&self, channels: &mut [Channel]) {
        for &channel in &self.channels {
            let turns = &mut channels[channel as usize].turns;
            turns.scheduled = false;
            turns.period = turns.usual;
        }
        let at = (self.epoch % self.frame.len() as u64) as usize;
        for &(channel, period) in &self.frame[at] {
            let turns = &mut channels[channel as usize].turns;
            turns.scheduled = true;
            turns.period = period;
        }
    }

    /// Takes the place of active queue pairs of which nothing has been heard for long, as of a server that is cut off,
    /// if others wait for it; returns when another will have been silent for long enough.
    fn pass_over(&mut self, now: Time, channels: &mut [Channel]) -> Option<Time> {
        let pending = |channel: &u32| !channels[*channel as usize].pending.is_empty();
        if !self.anyone_waits() && (self.is_open() || !self.active.iter().any(pending)) {
            return None;
        }
        let mut later: Option<Time> = None;
        for place in (0..self.active.len()).rev() {
            let turns = &mut channels[self.active[place] as usize].turns;
            if turns.in_flight == 0 {
                continue;
            }
            let until = turns.moved + self.limits.patience(turns.bytes_in_flight);
            if until > now {
                later = Some(later.map_or(until, |so_far| so_far.min(until)));
                continue;
            }
            turns.silent = true;
            self.in_flight -= turns.in_flight;
            self.bytes_in_flight -= turns.bytes_in_flight;
            self.owed -= u32::from(std::mem::take(&mut turns.owed));
            self.retire(place, channels);
        }
        later
    }

    /// Whether the agent may have more under way.
    fn is_open(&self) -> bool {
        self.in_flight < self.limits.window && self.bytes_in_flight < self.limits.window_bytes
    }

    /// Begins the next epoch if the present one is over.
    fn rotate(&mut self, now: Time, channels: &mut [Channel], applications: &[Application]) {
        if now < self.epoch_end || self.owed > 0 {
            return;
        }
        self.epoch += 1;
        self.epoch_end = now + self.limits.epoch;
        // Within a frame everybody is served who is owed; between frames others may be planned for.
        if self.epoch.is_multiple_of(self.frame.len() as u64) {
            self.plan(now, channels, applications);
        }
        self.take_turns(channels);
        for &channel in &self.channels {
            let channel = &mut channels[channel as usize];
            let turns = &mut channel.turns;
            turns.stale = turns.active && !turns.scheduled;
            turns.owed = turns.scheduled && !channel.pending.is_empty() && !turns.silent;
            self.owed += u32::from(turns.owed);
        }
        let before = std::mem::take(&mut self.wanted);
        let others = std::mem::take(&mut self.waiting);
        for channel in before.into_iter().chain(others) {
            self.enqueue(channel, channels);
        }
    }

    /// Lets a queue pair wait for a place: those of the epoch go first.
    fn enqueue(&mut self, channel: u32, channels: &mut [Channel]) {
        let turns = &mut channels[channel as usize].turns;
        turns.queued = true;
        if turns.scheduled {
            self.wanted.push_back(channel);
        } else {
            self.waiting.push_back(channel);
        }
    }

    fn anyone_waits(&self) -> bool {
        !self.wanted.is_empty() || !self.waiting.is_empty()
    }

    /// Fills the places of active queue pairs; returns when one that lingers goes, if others wait.
    fn admit(&mut self, now: Time, channels: &mut [Channel]) -> Option<Time> {
        while self.anyone_waits() {
            let wanted = !self.wanted.is_empty();
            if self.active.len() >= self.limits.active {
                let (victim, later) = self.victim(now, wanted, channels);
                let Some(victim) = victim else {
                    return later;
                };
                self.retire(victim, channels);
            }
            let first = self.wanted.pop_front();
            let next = first.or_else(|| self.waiting.pop_front())?;
            let turns = &mut channels[next as usize].turns;
            (turns.queued, turns.active, turns.stale) = (false, true, false);
            self.active.push(next);
            self.most_active = self.most_active.max(self.active.len() as u32);
        }
        None
    }

    /// The place of an active queue pair that another may take; if none, when one will have lingered
    /// long enough.
    fn victim(
        &self,
        now: Time,
        wanted: bool,
        channels: &[Channel],
    ) -> (Option<usize>, Option<Time>) {
        let mut later: Option<Time> = None;
        for (place, &channel) in self.active.iter().enumerate() {
            let channel = &channels[channel as usize];
            let turns = &channel.turns;
            if turns.in_flight > 0 {
                continue;
            }
            let yields = turns.stale || (wanted && !turns.scheduled);
            if yields {
                return (Some(place), None);
            }
            if channel.pending.is_empty() {
                let until = turns.idle_since + self.limits.linger;
                if until <= now {
                    return (Some(place), None);
                }
                later = Some(later.map_or(until, |so_far| so_far.min(until)));
            }
        }
        (None, later)
    }

    fn retire(&mut self, place: usize, channels: &mut [Channel]) {
        let gone = self.active.remove(place);
        if self.turn > place {
            self.turn -= 1;
        }
        let channel = &mut channels[gone as usize];
        channel.turns.active = false;
        if !channel.pending.is_empty() && !channel.turns.silent {
            self.enqueue(gone, channels);
        }
    }

    /// The active queue pair that may post next: in turn, those within their rate first.
    fn in_turn(&self, now: Time, channels: &[Channel]) -> Option<usize> {
        let count = self.active.len();
        let (wanted, waits) = (!self.wanted.is_empty(), self.anyone_waits());
        let open = self.is_open();
        let may_post = |place: usize| {
            let channel = &channels[self.active[place] as usize];
            let turns = &channel.turns;
            let drains = (turns.stale && waits) || (wanted && !turns.scheduled);
            !channel.pending.is_empty() && !drains && (open || turns.in_flight == 0)
        };
        let mut beyond = None;
        for place in (self.turn..count).chain(0..self.turn.min(count)) {
            if !may_post(place) {
                continue;
            }
            if channels[self.active[place] as usize].turns.due <= now {
                return Some(place);
            }
            beyond = beyond.or(Some(place));
        }
        beyond
    }
}

/// The time between work requests at a rate.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn period(rate: f64) -> Duration {
    Duration::from_ps((1e12 / rate) as u64)
}

impl Endpoints {
    /// A channel has work for the agent of its host.
    pub(super) fn tell_agent(&mut self, engine: &mut Engine, host: HostId, channel: u32) {
        let visible = engine.now() + self.costs.handoff;
        let agent = &mut self.agents[host.index()];
        agent.inbox.push_back((visible, channel));
        self.wake_agent(engine, host, visible);
    }

    /// A work request that the agent has posted has ended.
    pub(super) fn tell_agent_of_end(
        &mut self,
        engine: &mut Engine,
        host: HostId,
        end: (Time, u32, Bytes),
    ) {
        self.agents[host.index()].completions.push_back(end);
        self.wake_agent(engine, host, end.0);
    }

    /// Wakes an agent at `at`, or when it is free, unless it wakes before.
    pub(super) fn wake_agent(&mut self, engine: &mut Engine, host: HostId, at: Time) {
        let agent = &mut self.agents[host.index()];
        let at = at.max(agent.free_at);
        if agent.wake.deadline() > at {
            let rank = Waking::Agent.rank(u64::from(host.get()));
            agent
                .wake
                .arm(engine, at, rank, Waking::Agent.component(host.get()));
        }
    }

    /// An agent or a pacer has something to do.
    #[cold]
    pub(crate) fn on_agent(&mut self, engine: &mut Engine, host: HostId, event: Event) {
        if self.policy == fairlane_scenario::Policy::Justitia {
            self.on_pacer(engine, host, event);
            return;
        }
        let agent = &mut self.agents[host.index()];
        if agent.wake.fires(engine, event) {
            self.run_agent(engine, host);
        }
    }

    /// One thing that an agent does: it polls completions, or posts a work request, or waits.
    fn run_agent(&mut self, engine: &mut Engine, host: HostId) {
        let now = engine.now();
        self.take_in(host, now);
        if self.reap(engine, host) {
            return;
        }
        let agent = &mut self.agents[host.index()];
        let channels = &mut self.channels;
        agent.rotate(now, channels, &self.applications);
        let silent = agent.pass_over(now, channels);
        let later = agent.admit(now, channels);
        if let Some(place) = agent.in_turn(now, channels) {
            self.post_in_turn(engine, host, place);
            return;
        }
        let rotates = agent
            .anyone_waits()
            .then_some(agent.epoch_end)
            .filter(|&at| at > now);
        let next = [
            later,
            silent,
            rotates,
            agent.inbox.front().map(|&(at, _)| at),
            agent.completions.front().map(|&(at, ..)| at),
        ];
        if let Some(at) = next.into_iter().flatten().min() {
            self.wake_agent(engine, host, at);
        }
    }

    /// Polls the completion queue; whether there was something.
    fn reap(&mut self, engine: &mut Engine, host: HostId) -> bool {
        let now = engine.now();
        let agent = &mut self.agents[host.index()];
        let visible = |end: &&(Time, u32, Bytes)| end.0 <= now;
        let count = agent
            .completions
            .iter()
            .take(POLLED)
            .take_while(visible)
            .count();
        if count == 0 {
            return false;
        }
        let costs = &self.costs;
        agent.free_at = now + costs.poll + costs.cqe.saturating_mul(count as u64);
        let seen = agent.free_at + costs.handoff;
        for _ in 0..count {
            self.take_completion(engine, host, seen);
        }
        self.wake_agent(engine, host, now);
        true
    }

    /// Takes the first completion of an agent's queue; applications see it at `seen`.
    fn take_completion(&mut self, engine: &mut Engine, host: HostId, seen: Time) {
        let now = engine.now();
        let agent = &mut self.agents[host.index()];
        let Some((_, channel, size)) = agent.completions.pop_front() else {
            return;
        };
        let waits = !self.channels[channel as usize].pending.is_empty();
        let turns = &mut self.channels[channel as usize].turns;
        turns.in_flight -= 1;
        turns.bytes_in_flight -= size.get();
        (turns.idle_since, turns.moved) = (now, now);
        if std::mem::take(&mut turns.silent) {
            // It is heard of again, and counts again.
            agent.in_flight += turns.in_flight;
            agent.bytes_in_flight += turns.bytes_in_flight;
            turns.head = agent.epoch;
            if waits && !turns.active && !turns.queued {
                agent.enqueue(channel, &mut self.channels);
            }
        } else {
            agent.in_flight -= 1;
            agent.bytes_in_flight -= size.get();
        }
        self.end_operation(engine, channel, seen);
    }

    /// Posts the next work request of an active queue pair.
    fn post_in_turn(&mut self, engine: &mut Engine, host: HostId, place: usize) {
        let now = engine.now();
        let agent = &mut self.agents[host.index()];
        let channel = &mut self.channels[agent.active[place] as usize];
        let wqe = channel
            .pending
            .pop_front()
            .expect("a channel in turn has work");
        agent.turn = (place + 1) % agent.active.len();
        agent.in_flight += 1;
        agent.bytes_in_flight += wqe.size.get();
        agent.posted += 1;
        let turns = &mut channel.turns;
        turns.in_flight += 1;
        turns.bytes_in_flight += wqe.size.get();
        turns.moved = now;
        if turns.due <= now {
            // What it doesn't use is kept for no longer than an epoch.
            let kept = Time::from_ps(now.as_ps().saturating_sub(agent.limits.epoch.as_ps()));
            turns.due = turns.due.max(kept).saturating_add(turns.period);
        }
        agent.owed -= u32::from(std::mem::take(&mut turns.owed));
        turns.longest_wait = turns.longest_wait.max(agent.epoch - turns.head);
        turns.head = agent.epoch;
        agent.free_at = now + self.costs.post;
        let at = agent.free_at + self.costs.doorbell;
        self.pipelines[host.index()].ring(&self.costs, at, std::iter::once(wqe));
        self.advance(engine, host);
        self.wake_agent(engine, host, now);
    }
}

impl Endpoints {
    /// Lets an agent see the work that has come for it.
    fn take_in(&mut self, host: HostId, now: Time) {
        let agent = &mut self.agents[host.index()];
        if agent.epoch_end == Time::ZERO {
            agent.limits.budget.round_trip += self.base_rtt.as_secs_f64();
            agent.plan(now, &mut self.channels, &self.applications);
            agent.epoch_end = now + agent.limits.epoch;
        }
        while let Some(&(_, channel)) = agent.inbox.front().filter(|&&(at, _)| at <= now) {
            agent.inbox.pop_front();
            let state = &mut self.channels[channel as usize];
            let operations = &self.operations;
            let (pair, batch) = (state.pair, &state.batch);
            state.pending.extend(batch.iter().map(|&operation| Wqe {
                pair,
                operation,
                size: operations[operation as usize].size,
            }));
            let turns = &mut state.turns;
            turns.head = agent.epoch;
            if !turns.planned {
                // Until the next plan, at the end of the frame.
                turns.bound = turns.bound.max(agent.frame.len() as u64);
            }
            if !turns.active && !turns.queued && !turns.silent {
                agent.enqueue(channel, &mut self.channels);
            }
        }
    }
}
