//! PowerTCP: telemetry from every hop, with the trend of queues beside their length.
//!
//! Source: Addanki et al., "PowerTCP: Pushing the Performance Limits of Datacenter Networks",
//! NSDI 2022, section 3 and algorithm 1.
//!
//! ```text
//! per hop   current  = dq / dt + dtx / dt                 what comes in      (NORMPOWER)
//!           voltage  = q + B T                            what is in flight
//!           power    = current voltage / (B B T)          1: full, no queue
//! Power     = max power, dt = its time span, at most T
//! smooth   <- (smooth (T - dt) + Power dt) / T
//! w        <- gamma (w_old / smooth + beta) + (1 - gamma) w                  (UPDATEWINDOW)
//! w_old    <- w once per round trip                                          (UPDATEOLD)
//! rate      = w / T,  beta = B_host T / N
//! ```
//!
//! Deviations from the paper: the window is at most `B_host T` and at least what
//! [`Config::min_rate`] sends in T.

use alloc::boxed::Box;
use alloc::sync::Arc;

use fairlane_units::{Bytes, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Interval, Needs, Reading, Telemetry, parameters};

parameters! {
    /// Parameters of PowerTCP.
    Config {
        /// gamma: weight of the newest window.
        ///
        /// Source: PowerTCP (NSDI 2022).
        gain: f64 = 0.9 => share,
        /// N: the additive increase is a bandwidth-delay product / N, so n senders leave a queue of n / N of it.
        ///
        /// Source: the paper has no figure; 100 keeps the queue of an incast of 16 below a fifth.
        expected_flows: u32 = 100 => count(1, 1 << 24),
        /// Lowest rate.
        ///
        /// Source: HPCC's artefact.
        min_rate: Rate = Rate::from_mbps(100) => floor,
    }
}

/// The state of one PowerTCP sender.
#[derive(Clone, Debug)]
pub struct PowerTcp {
    config: Arc<Config>,
    line_rate: Rate,
    /// T of the paper in nanoseconds.
    base_rtt_ns: f64,
    /// Bytes.
    window: f64,
    /// The window a round trip ago, in bytes.
    window_before: f64,
    power: f64,
    rate: Rate,
    /// Packets from this position on belong to the next round trip; zero before the first.
    last_update: Bytes,
    /// What the packet before collected, if the driver keeps no history.
    previous: Option<Box<Telemetry>>,
}

impl CongestionControl for PowerTcp {
    type Config = Config;

    const TITLE: &'static str = "PowerTCP";
    const NEEDS: Needs = Needs {
        telemetry: true,
        ..Needs::NOTHING
    };

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        let base_rtt_ns = environment.base_rtt.as_ns_f64();
        let window = window_at(environment.line_rate, base_rtt_ns);
        Self {
            config,
            line_rate: environment.line_rate,
            base_rtt_ns,
            window,
            window_before: window,
            power: 1.0,
            rate: environment.line_rate,
            last_update: Bytes::ZERO,
            previous: None,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, and rounding down is wanted"
    )]
    fn window(&self) -> Option<Bytes> {
        Some(Bytes::new((self.window as u64).max(1)))
    }

    /// Ignores an acknowledgement without telemetry; says whether the rate was computed anew.
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) -> bool {
        let Some(telemetry) = ack.telemetry else {
            return false;
        };
        let first = self.last_update.is_zero();
        if first {
            self.last_update = ack.next_to_send;
        }
        // What was remembered before the first is of another stream.
        let remembered = self.previous.as_deref().filter(|_| !first);
        let earlier = telemetry.earlier.or(remembered);
        if !earlier.is_some_and(|earlier| telemetry.follows(earlier)) {
            // Counters of different ports, or that went back, can't be compared: start over from here.
            telemetry.remember(&mut self.previous);
            return false;
        }
        self.measure(telemetry);
        self.adjust();
        if ack.acknowledged > self.last_update {
            self.window_before = self.window;
            self.last_update = self.last_update.max(ack.next_to_send);
        }
        true
    }
}

impl PowerTcp {
    /// The smoothed power of the busiest hop; 1 is a full link without a queue.
    pub const fn power(&self) -> f64 {
        self.power
    }

    /// Folds the busiest hop since the previous acknowledgement into the power.
    fn measure(&mut self, telemetry: Reading<'_>) {
        let (mut busiest, mut span_ns) = (0.0, 0.0);
        let earlier = telemetry.earlier.or(self.previous.as_deref());
        for hop in earlier
            .into_iter()
            .flat_map(|earlier| telemetry.since(earlier))
        {
            let power = self.power_of(&hop);
            if power > busiest {
                busiest = power;
                span_ns = hop.span.as_ns_f64();
            }
        }
        telemetry.remember(&mut self.previous);
        let rtt = self.base_rtt_ns;
        let span = span_ns.min(rtt);
        self.power = (self.power * (rtt - span) + busiest * span) / rtt;
    }

    fn power_of(&self, hop: &Interval) -> f64 {
        let bandwidth = hop.rate.as_f64() / 8.0;
        let growth = hop.queue.as_f64() - hop.queue_before.as_f64();
        let current = (growth + hop.sent.as_f64()) / (hop.span.as_ns_f64() * 1e-9);
        let in_flight = bandwidth * (self.base_rtt_ns * 1e-9);
        let voltage = hop.queue.as_f64() + in_flight;
        current / bandwidth * (voltage / in_flight)
    }

    fn adjust(&mut self) {
        let config = &self.config;
        let most = window_at(self.line_rate, self.base_rtt_ns);
        let least = window_at(config.min_rate, self.base_rtt_ns);
        let step = most / f64::from(config.expected_flows);
        let newest = self.window_before / self.power + step;
        let window = config.gain * newest + (1.0 - config.gain) * self.window;
        // A power of zero makes the newest window infinite.
        self.window = window.min(most).max(least);
        let rate = self.line_rate.scale(self.window / most);
        self.rate = rate.max(config.min_rate).min(self.line_rate);
    }
}

/// Bytes in flight at a rate, over a round trip.
fn window_at(rate: Rate, rtt_ns: f64) -> f64 {
    rate.as_f64() / 8.0 * (rtt_ns * 1e-9)
}
