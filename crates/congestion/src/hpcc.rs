//! HPCC: rate from the measured utilisation of every hop.
//!
//! Source: Li et al., "HPCC: High Precision Congestion Control", SIGCOMM 2019, section 3 and
//! algorithm 1, in the rate-based form of its artefact.
//!
//! ```text
//! per hop j    u_j = txRate_j / B_j + min(q_j, q_j') B_line / B_j / W          (eq. 2, lines 4 to 8)
//! U            = max u_j, tau = its time span, at most T
//! u            <- u (1 - tau / T) + U tau / T                                   (line 10)
//! u / eta >= 1 or stage >= maxStage:  rate = current / (u / eta) + AI, stage = 0 (eq. 4, line 14)
//! otherwise:                          rate = current + AI, stage + 1             (line 16)
//! ```
//!
//! `current` and the stage are committed once per round trip, when an acknowledgement passes the
//! last byte that was sent at the previous commit; between commits the rate reacts to every
//! acknowledgement from the same `current` if [`Config::fast_react`] is set (section 3.2).
//!
//! Deviations from the paper: the rate is computed and the window follows it
//! ([`WindowMode::Scaled`](crate::WindowMode)), instead of the other way round; the telemetry of the
//! previous acknowledgement is replaced on every acknowledgement.

use alloc::boxed::Box;
use alloc::sync::Arc;

use fairlane_units::{Bytes, Rate, Time};

use crate::{
    Ack, CongestionControl, Environment, Needs, Reading, Telemetry, WindowMode, parameters,
};

parameters! {
    /// Parameters of HPCC. The defaults are the paper's (section 5.1) at 100 Gb/s.
    Config {
        /// eta: target utilisation.
        target_utilization: f64 = 0.95 => share,
        /// Rounds of additive increase before a multiplicative adjustment; 0: always adjust.
        max_stage: u32 = 5 => count(0, u32::MAX.into()),
        /// W_AI as a rate: additive increase per adjustment.
        additive_increase: Rate = Rate::from_mbps(50) => step,
        /// Lowest rate.
        min_rate: Rate = Rate::from_mbps(1000) => floor,
        /// Whether every acknowledgement adjusts the rate, not only one per round trip.
        fast_react: bool = true,
        /// Multiplier of the units of the telemetry header (`hpcc-ns3` only).
        telemetry_multiplier: u64 = 1 => count(1, 1 << 16),
    }
}

/// The state of one HPCC sender.
#[derive(Clone, Debug)]
pub struct Hpcc {
    config: Arc<Config>,
    line_rate: Rate,
    /// T of the paper in nanoseconds.
    base_rtt_ns: f64,
    /// W of the paper in bytes: the window at line rate.
    window: f64,
    /// The rate in use.
    rate: Rate,
    /// The rate committed at the last full update.
    current_rate: Rate,
    utilization: f64,
    stage: u32,
    /// Position of the next byte to send at the last full update; zero before the first one.
    last_update: Bytes,
    /// What the packet before collected, if the driver keeps no history.
    previous: Option<Box<Telemetry>>,
}

impl CongestionControl for Hpcc {
    type Config = Config;

    const TITLE: &'static str = "HPCC";
    const NEEDS: Needs = Needs {
        telemetry: true,
        // The utilisation is divided by it.
        window: true,
        ..Needs::NOTHING
    };
    const WINDOW: WindowMode = WindowMode::Scaled;

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        Self {
            config,
            line_rate: environment.line_rate,
            base_rtt_ns: environment.base_rtt.as_ns_f64(),
            window: environment.bdp.as_f64(),
            rate: environment.line_rate,
            current_rate: environment.line_rate,
            utilization: 1.0,
            stage: 0,
            last_update: Bytes::ZERO,
            previous: None,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
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
        let full_round = ack.acknowledged > self.last_update;
        if !full_round && !self.config.fast_react {
            return false;
        }
        self.measure(telemetry);
        let (rate, stage) = self.adjust();
        self.rate = rate;
        if full_round {
            self.current_rate = rate;
            self.stage = stage;
            self.last_update = self.last_update.max(ack.next_to_send);
        }
        true
    }
}

impl Hpcc {
    /// The smoothed utilisation of the busiest hop.
    pub const fn utilization(&self) -> f64 {
        self.utilization
    }

    /// Folds the busiest hop since the previous acknowledgement into the utilisation.
    fn measure(&mut self, telemetry: Reading<'_>) {
        let (mut busiest, mut span_ns) = (0.0, 0.0);
        let earlier = telemetry.earlier.or(self.previous.as_deref());
        for hop in earlier
            .into_iter()
            .flat_map(|earlier| telemetry.since(earlier))
        {
            let tau_ns = hop.span.as_ns_f64();
            let sent_bits = hop.sent.as_f64() * 8.0;
            let rate = hop.rate.as_f64();
            let queue = hop.queue.min(hop.queue_before).as_f64();
            let seconds = tau_ns * 1e-9;
            // The order of these operations decides the last bit; profile `hpcc-ns3` depends on it.
            let utilization =
                sent_bits / seconds / rate + queue * self.line_rate.as_f64() / rate / self.window;
            if utilization > busiest {
                busiest = utilization;
                span_ns = tau_ns;
            }
        }
        telemetry.remember(&mut self.previous);
        let rtt = self.base_rtt_ns;
        let tau = span_ns.min(rtt);
        self.utilization = (self.utilization * (rtt - tau) + busiest * tau) / rtt;
    }

    fn adjust(&self) -> (Rate, u32) {
        let overload = self.utilization / self.config.target_utilization;
        let step = self.config.additive_increase;
        let patient = overload < 1.0 && self.stage < self.config.max_stage;
        let (rate, stage) = if patient {
            (self.current_rate, self.stage + 1)
        } else {
            (divide(self.current_rate, overload), 0)
        };
        let rate = (rate + step).max(self.config.min_rate);
        (rate.min(self.line_rate), stage)
    }
}

/// `rate / divisor`, truncated; a divisor of zero gives a rate above every limit.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates and the caller clamps to the line rate"
)]
fn divide(rate: Rate, divisor: f64) -> Rate {
    Rate::from_bps((rate.as_f64() / divisor).min(1e18) as u64)
}
