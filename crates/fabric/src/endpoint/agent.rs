//! The agent of a host under policy `drum`: one thread that posts work requests for all applications
//! and polls all completions, without locks. An [`Arbiter`] says whose work request is next; here are the times that
//! this takes a thread.

use std::collections::VecDeque;

use fairlane_engine::{Engine, Event, Wake};
use fairlane_middleware::{Arbiter, Budget, Limits, Member, MemberId};
use fairlane_network::waking::Waking;
use fairlane_scenario::Scenario;
use fairlane_units::{Bytes, Duration, HostId, Rate, Time};

use super::Endpoints;
use super::costs::Costs;
use super::pipeline::Wqe;

/// The agent stops posting once this much payload is under way: a bandwidth-delay product at 40 Gb/s and 4 us.
const WINDOW_BYTES: Bytes = Bytes::new(20_000);
/// How long a queue pair without work keeps its place while others wait: a NIC's answer and an application's next request.
const LINGER: Duration = Duration::from_us(8);
/// Completions that one poll takes at most.
const POLLED: usize = 16;

/// What the agent of a host keeps to whose link has `rate`, where no fabric takes time.
pub(super) fn limits(scenario: &Scenario, costs: &Costs, rate: Rate) -> Limits {
    let drum = &scenario.nic.drum;
    // A NIC that costs nothing still takes no more than a packet of no payload at a time.
    let smallest = scenario.packet.ack.as_f64() * 8.0 / rate.as_f64();
    let work_request = costs.processing.as_secs_f64().max(smallest);
    Limits {
        active: drum.active as usize,
        epoch: drum.epoch,
        window: drum.window,
        window_bytes: WINDOW_BYTES,
        linger: LINGER,
        budget: Budget {
            egress: rate.as_f64() / 8.0,
            work_requests: 1.0 / work_request,
            poll_cost: (costs.poll + costs.cqe).as_secs_f64().max(1e-9),
            round_trip: around(costs).as_secs_f64(),
            active: drum.active,
            alpha: drum.alpha,
            beta: drum.beta,
        },
    }
}

/// What a work request takes beside its way through the fabric.
fn around(costs: &Costs) -> Duration {
    let own = costs.doorbell + costs.wqe_fetch + costs.processing + costs.cqe_write;
    own + costs.handoff.saturating_mul(2)
}

/// The agent of a host.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) arbiter: Arbiter,
    /// The channel of each member.
    channels: Vec<u32>,
    /// Channels with new work, and from when the agent can see it.
    inbox: VecDeque<(Time, u32)>,
    /// Completions: from when they can be seen, of which channel, and their size.
    completions: VecDeque<(Time, u32, Bytes)>,
    free_at: Time,
    wake: Wake,
}

impl Agent {
    /// Whether it will do something of its own accord.
    pub(super) fn will_act(&self) -> bool {
        self.wake.is_armed()
    }

    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            arbiter: Arbiter::new(limits),
            channels: Vec::new(),
            inbox: VecDeque::new(),
            completions: VecDeque::new(),
            free_at: Time::ZERO,
            wake: Wake::default(),
        }
    }

    /// Sets the arbiter's round trip from `base_rtt`, what the longest way through the fabric takes.
    pub(crate) fn set_base_rtt(&mut self, costs: &Costs, base_rtt: Duration) {
        let round_trip = around(costs).as_secs_f64() + base_rtt.as_secs_f64();
        self.arbiter.set_round_trip(round_trip);
    }

    /// Adds a channel, before the run.
    pub(crate) fn join(&mut self, channel: u32, member: Member) -> MemberId {
        self.channels.push(channel);
        self.arbiter.join(member)
    }
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
        self.receive(host, now);
        if self.reap(engine, host) {
            return;
        }
        let agent = &mut self.agents[host.index()];
        if let Some(member) = agent.arbiter.poll(now) {
            self.post_in_turn(engine, host, member);
            return;
        }
        let next = [
            agent.arbiter.next_time(),
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
        let member = self.channels[channel as usize].member;
        agent.arbiter.on_completion(now, member, size);
        self.end_operation(engine, channel, seen);
    }

    /// Posts the next work request of a member.
    fn post_in_turn(&mut self, engine: &mut Engine, host: HostId, member: MemberId) {
        let now = engine.now();
        let agent = &mut self.agents[host.index()];
        let channel = &mut self.channels[agent.channels[member.index()] as usize];
        let wqe = channel
            .pending
            .pop_front()
            .expect("a channel in turn has work");
        agent.arbiter.on_posted(now, member, wqe.size);
        agent.free_at = now + self.costs.post;
        let at = agent.free_at + self.costs.doorbell;
        self.pipelines[host.index()].ring(&self.costs, at, std::iter::once(wqe));
        self.advance(engine, host);
        self.wake_agent(engine, host, now);
    }
}

impl Endpoints {
    /// Lets an agent see the work that has come for it.
    fn receive(&mut self, host: HostId, now: Time) {
        let agent = &mut self.agents[host.index()];
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
            agent
                .arbiter
                .on_work(now, state.member, state.batch.len() as u32);
        }
    }
}
