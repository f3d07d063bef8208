//! DCTCP: the share of marked packets decides how deep the cut is.
//!
//! Source: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, section 3.1, in the rate-based
//! form of HPCC's artefact (SIGCOMM 2019), whose window follows the rate.
//!
//! ```text
//! once per round trip   alpha <- (1 - g) alpha + g F, F the share of marked packets   (eq. 1)
//! on a mark, at most    rate  <- max(min, rate (1 - alpha / 2))                       (eq. 2)
//!   once per round trip
//! once per round trip   rate  <- rate + AI, unless it was cut within this round trip
//! ```
//!
//! Deviations from the paper: a rate with a window in proportion ([`WindowMode::Scaled`]) instead of
//! a window; no slow start: a message starts at the line rate; F is marks over the packets that were
//! in flight when the round trip began, plus one, and at most 1. Rates are whole bits per second and
//! every operation truncates.

use alloc::sync::Arc;

use fairlane_units::{Bytes, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Marking, Needs, WindowMode, parameters};

parameters! {
    /// Parameters of DCTCP. The gain is the paper's, the increase that of HPCC's artefact at 100 Gb/s.
    Config {
        /// g: weight of the newest share of marks in alpha.
        ///
        /// Source: DCTCP (SIGCOMM 2010).
        gain: f64 = 1.0 / 16.0 => within(0.0, 1.0),
        /// Step of the rate, once per round trip.
        ///
        /// Source: HPCC's artefact at 100 Gb/s.
        additive_increase: Rate = Rate::from_mbps(615) => step,
        /// Lowest rate.
        min_rate: Rate = Rate::from_mbps(1000) => floor,
    }
}

/// The state of one DCTCP sender.
#[derive(Clone, Debug)]
pub struct Dctcp {
    config: Arc<Config>,
    line_rate: Rate,
    mtu: Bytes,
    rate: Rate,
    alpha: f64,
    /// Marks since the round trip began.
    marked: u64,
    /// Packets of the round trip, the divisor of the marks.
    batch: u64,
    /// Packets from this position on belong to the next round trip; zero before the first.
    last_update: Bytes,
    /// While the rate is cut: the position that ends this.
    reduced_until: Option<Bytes>,
}

impl CongestionControl for Dctcp {
    type Config = Config;

    const TITLE: &'static str = "DCTCP";
    const NEEDS: Needs = Needs {
        marks: true,
        ..Needs::NOTHING
    };
    const WINDOW: WindowMode = WindowMode::Scaled;
    const MARKING: Marking = Marking::STEP;

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        Self {
            config,
            line_rate: environment.line_rate,
            mtu: environment.mtu,
            rate: environment.line_rate,
            alpha: 1.0,
            marked: 0,
            batch: 0,
            last_update: Bytes::ZERO,
            reduced_until: None,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) -> bool {
        self.marked += u64::from(ack.congestion_notified);
        let new_round = ack.acknowledged > self.last_update;
        if new_round {
            self.begin_round(ack);
        }
        if self.reduced_until.is_some_and(|end| ack.acknowledged > end) {
            self.reduced_until = None;
        }
        if ack.congestion_notified && self.reduced_until.is_none() {
            let cut = self.rate.scale(1.0 - self.alpha / 2.0);
            self.rate = cut.max(self.config.min_rate).min(self.line_rate);
            self.reduced_until = Some(ack.next_to_send);
        }
        if new_round && self.reduced_until.is_none() {
            self.rate = (self.rate + self.config.additive_increase).min(self.line_rate);
        }
        false
    }
}

impl Dctcp {
    /// The estimate of congestion, in 0..=1.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "counts of packets of one round trip are below 2^53"
    )]
    fn begin_round(&mut self, ack: &Ack<'_>) {
        let mut in_flight = ack.next_to_send;
        if !self.last_update.is_zero() {
            let share = (self.marked as f64 / self.batch as f64).min(1.0);
            let gain = self.config.gain;
            self.alpha = (1.0 - gain) * self.alpha + gain * share;
            self.marked = 0;
            in_flight = ack.next_to_send.saturating_sub(ack.acknowledged);
        }
        self.last_update = ack.next_to_send;
        self.batch = in_flight.get() / self.mtu.get() + 1;
    }
}
