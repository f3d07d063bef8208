//! A sender that any controller drives, and what must hold of it after every step.

use fairlane_congestion::{
    Ack, Controller, Environment, Hop, Loss, Params, Rule, TIMERS, Telemetry, Window, WindowMode,
};
use fairlane_units::{Bytes, Duration, Rate, Time};

use super::exact;

/// One thing that happens to a sender.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// So many nanoseconds pass; timers fire.
    Wait(u64),
    /// An acknowledgement without measurements.
    Plain { marked: bool, advance: u64 },
    /// One with telemetry (bytes and picoseconds since the last, queue) and a round-trip time in
    /// nanoseconds.
    Measured {
        marked: bool,
        advance: u64,
        sent: u64,
        span: u64,
        queue: u32,
        round_trip: u64,
    },
    /// A notification apart from acknowledgements.
    Cnp,
    /// A loss.
    Lost(Loss),
    /// One that came by another path.
    Elsewhere,
}

/// A controller with all that drives it.
pub struct Sender {
    pub controller: Controller,
    environment: Environment,
    floor: Rate,
    now: Time,
    acknowledged: u64,
    hop: Hop,
}

impl Sender {
    pub fn new(params: &Params, environment: Environment) -> Self {
        let controller = Controller::new(params, &environment);
        let limits = params.limits();
        let floor = limits.iter().find_map(|limit| match limit.rule {
            Rule::Floor(rate) => Some(rate),
            _ => None,
        });
        let rate_mbps = (environment.line_rate.as_bps() / 1_000_000) as u32;
        let hop = Hop {
            time: 0,
            sent: 0,
            queue: 0,
            rate_mbps,
        };
        Self {
            controller,
            environment,
            floor: floor.unwrap_or(Rate::from_bps(1)),
            now: Time::ZERO,
            acknowledged: 0,
            hop,
        }
    }

    fn wait(&mut self, span: Duration) {
        let end = self.now + span;
        while let Some((timer, at)) = self.controller.timers().next().filter(|&(_, at)| at <= end) {
            assert!(
                at >= self.now,
                "timer {timer} is due at {at}, before {}",
                self.now
            );
            self.now = at;
            self.controller.on_deadline((timer, at));
            self.check();
        }
        self.now = end;
    }

    /// Acknowledges `advance` more bytes; a mark must not raise the rate.
    fn acknowledge(&mut self, marked: bool, advance: u64, measured: Option<(&Telemetry, u64)>) {
        self.acknowledged += advance;
        let ack = Ack {
            acknowledged: Bytes::new(self.acknowledged),
            next_to_send: Bytes::new(self.acknowledged) + self.environment.bdp,
            congestion_notified: marked,
            round_trip: measured.map(|(_, ns)| Duration::from_ns(ns)),
            endpoint_delay: None,
            hops: 1,
            telemetry: measured.map(|(record, _)| exact(record)),
        };
        let mut unmarked = self.controller.clone();
        self.controller.on_ack(self.now, &ack);
        unmarked.on_ack(
            self.now,
            &Ack {
                congestion_notified: false,
                ..ack
            },
        );
        assert!(
            self.controller.rate() <= unmarked.rate(),
            "a mark raises the rate"
        );
    }

    /// Passes on bad news, which must not raise the rate.
    fn worsen(&mut self, news: impl Fn(&mut Controller, Time)) {
        let before = self.controller.rate();
        news(&mut self.controller, self.now);
        assert!(self.controller.rate() <= before, "bad news raise the rate");
    }

    pub fn apply(&mut self, step: Step) {
        match step {
            Step::Wait(ns) => self.wait(Duration::from_ns(ns)),
            Step::Plain { marked, advance } => self.acknowledge(marked, advance, None),
            Step::Measured {
                marked,
                advance,
                sent,
                span,
                queue,
                round_trip,
            } => {
                self.hop.time += span;
                self.hop.sent += sent;
                self.hop.queue = queue;
                let record = super::telemetry(&[self.hop]);
                self.acknowledge(marked, advance, Some((&record, round_trip)));
            }
            Step::Cnp => self.worsen(Controller::on_cnp),
            Step::Lost(loss) => self.worsen(|state, now| state.on_loss(now, loss)),
            Step::Elsewhere => {
                let record = super::telemetry(&[self.hop, self.hop]);
                self.acknowledge(false, 0, Some((&record, 1)));
            }
        }
        self.check();
    }

    /// What holds after every step.
    fn check(&self) {
        let rate = self.controller.rate();
        assert!(
            self.floor <= rate && rate <= self.environment.line_rate,
            "{rate}"
        );
        for timer in 0..TIMERS {
            let due = self.controller.timers().deadline(timer);
            assert!(
                due.is_none_or(|at| at >= self.now),
                "timer {timer} is due in the past"
            );
        }
        match &self.controller {
            Controller::Dcqcn(state) => assert!((0.0..=1.0).contains(&state.alpha())),
            Controller::Hpcc(state) => {
                let utilization = state.utilization();
                assert!(
                    utilization >= 0.0 && utilization.is_finite(),
                    "{utilization}"
                );
            }
            Controller::Dctcp(state) => assert!((0.0..=1.0).contains(&state.alpha())),
            Controller::Timely(state) => assert!(state.gradient().is_finite()),
            Controller::Swift(state) => assert!(state.packets() > 0.0),
            Controller::Nscc(state) => assert!(state.packets() >= 1.0),
            Controller::PowerTcp(state) => assert!(state.power() >= 0.0),
            _ => {}
        }
        let own = self.controller.window();
        assert!(own.is_none_or(|bytes| bytes >= Bytes::new(1)), "{own:?}");
        for mode in [WindowMode::None, WindowMode::Fixed, WindowMode::Scaled] {
            let window = Window::new(mode, self.environment.bdp, self.environment.line_rate);
            let limit = window.limit(rate);
            assert!(limit >= Bytes::new(1));
            assert!(mode == WindowMode::None || limit <= self.environment.bdp);
        }
    }

    /// Nothing congests the path any more: time passes, hops are nearly idle.
    pub fn calm(&mut self) {
        let rtt = self.environment.base_rtt;
        // The thresholds of delays are absolute: a long way alone exceeds them.
        let round_trip = rtt.as_ns().min(10_000);
        for _ in 0..20 {
            let span = rtt.as_ps();
            let sent = self.environment.bdp.get() / 10;
            self.apply(Step::Measured {
                marked: false,
                advance: sent + 1,
                sent,
                span,
                queue: 0,
                round_trip,
            });
            self.acknowledged += self.environment.bdp.get();
        }
        self.wait(Duration::from_ms(10));
    }
}
