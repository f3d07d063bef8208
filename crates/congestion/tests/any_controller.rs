//! Random operations against every algorithm: what holds of any controller.

mod common;

use std::sync::Arc;

use fairlane_congestion::{
    Ack, Algorithm, Controller, Environment, Hop, Params, TIMERS, Telemetry, Window, WindowMode, dcqcn,
    hpcc,
};
use fairlane_units::{Bytes, Duration, Rate, Time};
use proptest::prelude::*;

/// One thing that happens to a sender.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// So many nanoseconds pass; timers fire.
    Wait(u64),
    /// An acknowledgement without telemetry.
    Plain { marked: bool, advance: u64 },
    /// One with telemetry: bytes and picoseconds since the last, queue.
    Measured { marked: bool, advance: u64, sent: u64, span: u64, queue: u32 },
    /// One that came by another path.
    Elsewhere,
}

fn step() -> impl Strategy<Value = Step> {
    let advance = 0u64..20_000;
    // Coarse clocks can stamp two packets with the same time.
    let span = prop_oneof![1 => Just(0), 20 => 0u64..40_000_000];
    prop_oneof![
        (0u64..500_000).prop_map(Step::Wait),
        (any::<bool>(), advance.clone()).prop_map(|(marked, advance)| Step::Plain { marked, advance }),
        (any::<bool>(), advance, 0u64..2_000_000, span, 0u32..4_000_000).prop_map(
            |(marked, advance, sent, span, queue)| Step::Measured { marked, advance, sent, span, queue }
        ),
        Just(Step::Elsewhere),
    ]
}

fn environment() -> impl Strategy<Value = Environment> {
    (1u64..=800, 500u64..2_000_000).prop_map(|(gbps, rtt_ns)| {
        let (line_rate, base_rtt) = (Rate::from_gbps(gbps), Duration::from_ns(rtt_ns));
        Environment { line_rate, base_rtt, bdp: line_rate.bytes_in(base_rtt) }
    })
}

/// Every algorithm with parameters that a scenario may state.
fn params() -> impl Strategy<Value = Params> {
    let dcqcn = (0.0..=1.0, 1u64..200, 1u64..200, 1u64..2000, 0u32..6, any::<bool>()).prop_map(
        |(gain, alpha, decrease, increase, fast_recovery_stages, clamp_target_rate)| dcqcn::Config {
            gain,
            alpha_interval: Duration::from_us(alpha),
            decrease_interval: Duration::from_us(decrease),
            increase_interval: Duration::from_us(increase),
            fast_recovery_stages,
            clamp_target_rate,
            ..dcqcn::Config::default()
        },
    );
    let hpcc = (0.01..=1.0, 0u32..6, any::<bool>()).prop_map(|(eta, max_stage, fast_react)| {
        hpcc::Config { target_utilization: eta, max_stage, fast_react, ..hpcc::Config::default() }
    });
    prop_oneof![
        Just(Params::new(Algorithm::Fixed)),
        Just(Params::new(Algorithm::Dcqcn)),
        Just(Params::new(Algorithm::Hpcc)),
        dcqcn.prop_map(|config| Params::Dcqcn(Arc::new(config))),
        hpcc.prop_map(|config| Params::Hpcc(Arc::new(config))),
    ]
}

/// A controller with all that drives it.
struct Sender {
    controller: Controller,
    environment: Environment,
    floor: Rate,
    now: Time,
    acknowledged: u64,
    hop: Hop,
}

impl Sender {
    fn new(params: &Params, environment: Environment) -> Self {
        let controller = Controller::new(params, &environment);
        let floor = match params {
            Params::Fixed(_) => environment.line_rate,
            Params::Dcqcn(config) => config.min_rate,
            Params::Hpcc(config) => config.min_rate,
        };
        let rate_mbps = (environment.line_rate.as_bps() / 1_000_000) as u32;
        let hop = Hop { time: 0, sent: 0, queue: 0, rate_mbps };
        Self { controller, environment, floor, now: Time::ZERO, acknowledged: 0, hop }
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some((timer, at)) = self.controller.timers().next().filter(|&(_, at)| at <= end) {
            assert!(at >= self.now, "timer {timer} is due at {at}, before {}", self.now);
            self.now = at;
            self.controller.on_deadline((timer, at));
            self.check();
        }
        self.now = end;
    }

    /// Acknowledges `advance` more bytes; a mark alone must not raise the rate.
    fn acknowledge(&mut self, marked: bool, advance: u64, telemetry: Option<&Telemetry>) {
        self.acknowledged += advance;
        let ack = Ack {
            acknowledged: Bytes::new(self.acknowledged),
            next_to_send: Bytes::new(self.acknowledged) + self.environment.bdp,
            congestion_notified: marked,
            round_trip: None,
            telemetry,
        };
        let before = self.controller.rate();
        let mut unmarked = self.controller.clone();
        self.controller.on_ack(self.now, &ack);
        unmarked.on_ack(self.now, &Ack { congestion_notified: false, ..ack });
        assert!(self.controller.rate() <= unmarked.rate(), "a mark raises the rate");
        if telemetry.is_none() {
            assert!(self.controller.rate() <= before, "an acknowledgement raises the rate");
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Wait(ns) => self.wait(Duration::from_ns(ns)),
            Step::Plain { marked, advance } => self.acknowledge(marked, advance, None),
            Step::Measured { marked, advance, sent, span, queue } => {
                self.hop.time += span;
                self.hop.sent += sent;
                self.hop.queue = queue;
                let record = common::telemetry(&[self.hop]);
                self.acknowledge(marked, advance, Some(&record));
            }
            Step::Elsewhere => {
                let record = common::telemetry(&[self.hop, self.hop]);
                self.acknowledge(false, 0, Some(&record));
            }
        }
        self.check();
    }

    /// What holds after every step.
    fn check(&self) {
        let rate = self.controller.rate();
        assert!(self.floor <= rate && rate <= self.environment.line_rate, "{rate}");
        for timer in 0..TIMERS {
            let due = self.controller.timers().deadline(timer);
            assert!(due.is_none_or(|at| at >= self.now), "timer {timer} is due in the past");
        }
        match &self.controller {
            Controller::Dcqcn(state) => assert!((0.0..=1.0).contains(&state.alpha())),
            Controller::Hpcc(state) => {
                let utilization = state.utilization();
                assert!(utilization >= 0.0 && utilization.is_finite(), "{utilization}");
            }
            Controller::Fixed(_) => {}
        }
        for mode in [WindowMode::None, WindowMode::Fixed, WindowMode::Scaled] {
            let window = Window::new(mode, self.environment.bdp, self.environment.line_rate);
            let limit = window.limit(rate);
            assert!(limit >= Bytes::new(1));
            assert!(mode == WindowMode::None || limit <= self.environment.bdp);
        }
    }

    /// Nothing congests the path any more: time passes, hops are nearly idle.
    fn calm(&mut self) {
        let rtt = self.environment.base_rtt;
        for _ in 0..20 {
            let span = rtt.as_ps();
            let sent = self.environment.bdp.get() / 10;
            self.apply(Step::Measured { marked: false, advance: sent + 1, sent, span, queue: 0 });
            self.acknowledged += self.environment.bdp.get();
        }
        self.wait(Duration::from_ms(10));
    }
}

fn cases(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn stays_within_bounds_whatever_happens(
        params in params(),
        environment in environment(),
        steps in prop::collection::vec(step(), 1..120),
    ) {
        let mut sender = Sender::new(&params, environment);
        prop_assert_eq!(sender.controller.rate(), environment.line_rate);
        steps.into_iter().for_each(|step| sender.apply(step));
    }

    #[test]
    fn equal_inputs_give_equal_outputs(
        params in params(),
        environment in environment(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (mut one, mut two) = (Sender::new(&params, environment), Sender::new(&params, environment));
        for step in steps {
            one.apply(step);
            two.apply(step);
            prop_assert_eq!(one.controller.rate(), two.controller.rate());
            prop_assert_eq!(one.controller.timers(), two.controller.timers());
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn comes_back_to_the_line_rate(
        environment in environment(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        for algorithm in Algorithm::ALL {
            let mut sender = Sender::new(&Params::new(algorithm), environment);
            steps.iter().for_each(|&step| sender.apply(step));
            // DCQCN adds 0.2 Gb/s to its target every 300 us, then halves the distance.
            let rounds = environment.line_rate.as_bps() / 200_000_000 * 3 / 100 + 3;
            (0..rounds).for_each(|_| sender.calm());
            // Halves are truncated, so the last two bits a second may stay out of reach.
            let reached = sender.controller.rate() + Rate::from_bps(2);
            prop_assert!(reached >= environment.line_rate, "{algorithm}: {reached}");
        }
    }
}
