//! TIMELY: the gradient of round-trip times.
//!
//! Source: Mittal et al., "TIMELY: RTT-based Congestion Control for the Datacenter", SIGCOMM 2015,
//! section 4.3 and algorithm 1, in the form of HPCC's artefact (SIGCOMM 2019).
//!
//! ```text
//! once per round trip, with the round-trip time rtt of one packet:
//!   diff     <- (1 - a) diff + a (rtt - previous rtt)
//!   gradient  = diff / minimum rtt
//!   rtt < low:         increase
//!   rtt > high:        rate <- rate (1 - b (1 - high / rtt))
//!   gradient <= 0:     increase
//!   otherwise:         rate <- rate max(0, 1 - b gradient)
//! increase: rate <- rate + step, a larger step after five increases in a row
//! ```
//!
//! Deviations from the paper: the round-trip time is that of one packet instead of a segment of
//! 16 KB or more, and includes the packet's own transmission; one packet per round trip counts, the
//! first that was sent after the last one that counted; every increase counts for the larger step,
//! also one below the low threshold. Rates are whole bits per second and every operation truncates.

use alloc::sync::Arc;

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Needs, parameters};

parameters! {
    /// Parameters of TIMELY. The defaults are those of HPCC's artefact at 100 Gb/s, which has gains and
    /// thresholds from the paper.
    Config {
        /// Weight of the newest difference of round-trip times.
        gain: f64 = 0.875 => within(0.0, 1.0),
        /// beta: strength of a decrease.
        decrease_gain: f64 = 0.8 => within(0.0, 1.0),
        /// Below this round-trip time the rate always rises.
        low_threshold: Duration = Duration::from_us(50) => span,
        /// Above this round-trip time the rate always falls.
        high_threshold: Duration = Duration::from_us(500) => period,
        /// Round-trip time that the gradient is relative to.
        min_rtt: Duration = Duration::from_us(20) => period,
        /// Step of an increase.
        additive_increase: Rate = Rate::from_mbps(100) => step,
        /// Step after `hyper_after` increases in a row.
        hyper_increase: Rate = Rate::from_mbps(500) => step,
        /// N: increases in a row before the step grows.
        hyper_after: u32 = 5 => count(0, u32::MAX.into()),
        /// Lowest rate.
        min_rate: Rate = Rate::from_mbps(1000) => floor,
    }
    where |it| {
        high_threshold: it.low_threshold <= it.high_threshold => "at least low_threshold",
    }
}

/// The state of one TIMELY sender.
#[derive(Clone, Debug)]
pub struct Timely {
    config: Arc<Config>,
    line_rate: Rate,
    rate: Rate,
    /// Increases since the last decrease.
    increases: u32,
    /// The smoothed difference of round-trip times, in nanoseconds.
    difference_ns: f64,
    previous_rtt: Duration,
    /// Packets from this position on belong to the next round trip; zero before the first.
    last_update: Bytes,
}

impl CongestionControl for Timely {
    type Config = Config;

    const TITLE: &'static str = "TIMELY";
    const NEEDS: Needs = Needs {
        round_trip: true,
        ..Needs::NOTHING
    };

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        Self {
            config,
            line_rate: environment.line_rate,
            rate: environment.line_rate,
            increases: 0,
            difference_ns: 0.0,
            previous_rtt: Duration::ZERO,
            last_update: Bytes::ZERO,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    /// Ignores an acknowledgement without a round-trip time.
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) -> bool {
        let Some(rtt) = ack.round_trip else {
            return false;
        };
        if ack.acknowledged <= self.last_update {
            return false;
        }
        if !self.last_update.is_zero() {
            self.update(rtt);
        }
        if ack.next_to_send > self.last_update {
            self.last_update = ack.next_to_send;
            self.previous_rtt = rtt;
        }
        false
    }
}

impl Timely {
    /// The smoothed difference of round-trip times over the minimum.
    pub fn gradient(&self) -> f64 {
        self.difference_ns / self.config.min_rtt.as_ns_f64()
    }

    fn update(&mut self, rtt: Duration) {
        let config = &self.config;
        let newest_ns = rtt.as_ns_f64() - self.previous_rtt.as_ns_f64();
        self.difference_ns = (1.0 - config.gain) * self.difference_ns + config.gain * newest_ns;
        let (gain, gradient) = (config.decrease_gain, self.gradient());
        if rtt < config.low_threshold {
            self.increase();
        } else if rtt > config.high_threshold {
            let excess = 1.0 - config.high_threshold.as_ns_f64() / rtt.as_ns_f64();
            self.decrease(1.0 - gain * excess);
        } else if gradient <= 0.0 {
            self.increase();
        } else {
            self.decrease((1.0 - gain * gradient).max(0.0));
        }
    }

    fn increase(&mut self) {
        let step = if self.increases < self.config.hyper_after {
            self.config.additive_increase
        } else {
            self.config.hyper_increase
        };
        self.rate = (self.rate + step).min(self.line_rate);
        self.increases = self.increases.saturating_add(1);
    }

    fn decrease(&mut self, factor: f64) {
        let cut = self.rate.scale(factor).max(self.config.min_rate);
        self.rate = cut.min(self.line_rate);
        self.increases = 0;
    }
}
