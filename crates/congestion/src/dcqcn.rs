//! DCQCN at the reaction point, in the timer-only form that NICs run.
//!
//! Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015,
//! section 3 and figure 7; the timers replace the byte counter as in the artefact of HPCC
//! (SIGCOMM 2019), whose defaults are used here.
//!
//! ```text
//! each alpha interval      alpha  <- (1 - g) alpha + g [CNP since the last tick]          (eq. 1, 2)
//! each decrease interval,  target <- current, except in the first stage of recovery
//!   if a CNP came:         current <- max(min, current (1 - alpha / 2));  stage <- 0      (eq. 1)
//! each increase interval   stage < F: fast recovery            current <- (current + target) / 2
//!                          stage = F: target <- target + AI,   then the same                (eq. 3)
//!                          stage > F: target <- target + HAI,  then the same                (eq. 4)
//! ```
//!
//! Deviations from the paper: no byte counter; the first CNP starts the timers and doesn't cut the
//! rate by itself; a decrease while still in the first stage keeps the target unless
//! [`Config::clamp_target_rate`] asks otherwise. Rates are whole bits per second and every operation
//! truncates.

use alloc::sync::Arc;

use fairlane_units::{Duration, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Needs, Timers, parameters};

const ALPHA: usize = 0;
const DECREASE: usize = 1;
const INCREASE: usize = 2;

parameters! {
    /// Parameters of DCQCN. The defaults are those of HPCC's artefact at 100 Gb/s.
    Config {
        /// g: weight of the newest observation in alpha.
        gain: f64 = 1.0 / 256.0 => within(0.0, 1.0),
        /// Period of the update of alpha.
        alpha_interval: Duration = Duration::from_us(1) => period,
        /// Period of the check for a rate decrease.
        decrease_interval: Duration = Duration::from_us(4) => period,
        /// Period of rate increase since the last decrease.
        increase_interval: Duration = Duration::from_us(300) => period,
        /// F: increase periods in fast recovery before the target rises.
        fast_recovery_stages: u32 = 1 => count(0, u32::MAX.into()),
        /// Step of the target in additive increase.
        additive_increase: Rate = Rate::from_mbps(20) => step,
        /// Step of the target in hyper increase.
        hyper_increase: Rate = Rate::from_mbps(200) => step,
        /// Lowest rate.
        min_rate: Rate = Rate::from_mbps(1000) => floor,
        /// Whether every decrease lowers the target to the current rate.
        clamp_target_rate: bool = false,
    }
}

/// The reaction point of one rate.
#[derive(Clone, Debug)]
pub struct Dcqcn {
    config: Arc<Config>,
    line_rate: Rate,
    current_rate: Rate,
    target_rate: Rate,
    alpha: f64,
    /// Increase periods since the last decrease.
    stage: u32,
    /// Whether a CNP has ever come, and so whether the timers run.
    started: bool,
    notified_since_alpha: bool,
    notified_since_decrease: bool,
    timers: Timers,
}

impl CongestionControl for Dcqcn {
    type Config = Config;

    const TITLE: &'static str = "DCQCN";
    const NEEDS: Needs = Needs {
        marks: true,
        hears_cnps: true,
        ..Needs::NOTHING
    };

    /// A reaction point at line rate with no timer running.
    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        Self {
            config,
            line_rate: environment.line_rate,
            current_rate: environment.line_rate,
            target_rate: environment.line_rate,
            alpha: 1.0,
            stage: 0,
            started: false,
            notified_since_alpha: false,
            notified_since_decrease: false,
            timers: Timers::IDLE,
        }
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.current_rate
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool {
        if ack.congestion_notified {
            self.on_cnp(now);
        }
        false
    }

    fn on_cnp(&mut self, now: Time) {
        self.notified_since_alpha = true;
        self.notified_since_decrease = true;
        if !self.started {
            self.started = true;
            self.alpha = 1.0;
            self.notified_since_alpha = false;
            self.target_rate = self.current_rate;
            self.timers.arm(ALPHA, now + self.config.alpha_interval);
            // One nanosecond later than alpha, so that a common deadline updates alpha first.
            let decrease = self.config.decrease_interval + Duration::from_ns(1);
            self.timers.arm(DECREASE, now + decrease);
        }
    }

    #[inline]
    fn timers(&self) -> &Timers {
        &self.timers
    }

    #[inline]
    fn take_changed_timers(&mut self) -> u8 {
        self.timers.take_changed()
    }

    fn on_timer(&mut self, now: Time, timer: usize) {
        match timer {
            ALPHA => self.update_alpha(now),
            DECREASE => self.check_decrease(now),
            _ => self.increase(now),
        }
    }
}

impl Dcqcn {
    /// The estimate of congestion, in 0..=1.
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The rate that recovery aims at.
    pub const fn target_rate(&self) -> Rate {
        self.target_rate
    }

    fn update_alpha(&mut self, now: Time) {
        let gain = self.config.gain;
        self.alpha *= 1.0 - gain;
        if core::mem::take(&mut self.notified_since_alpha) {
            self.alpha += gain;
        }
        self.timers.arm(ALPHA, now + self.config.alpha_interval);
    }

    fn check_decrease(&mut self, now: Time) {
        self.timers
            .arm(DECREASE, now + self.config.decrease_interval);
        if !core::mem::take(&mut self.notified_since_decrease) {
            return;
        }
        if self.config.clamp_target_rate || self.stage > 0 {
            self.target_rate = self.current_rate;
        }
        let cut = self.current_rate.scale(1.0 - self.alpha / 2.0);
        self.current_rate = cut.max(self.config.min_rate).min(self.line_rate);
        self.stage = 0;
        self.timers
            .arm(INCREASE, now + self.config.increase_interval);
    }

    fn increase(&mut self, now: Time) {
        self.timers
            .arm(INCREASE, now + self.config.increase_interval);
        let stages = self.config.fast_recovery_stages;
        if self.stage >= stages {
            let additive = self.stage == stages;
            let step = if additive {
                self.config.additive_increase
            } else {
                self.config.hyper_increase
            };
            self.target_rate = (self.target_rate + step).min(self.line_rate);
        }
        self.current_rate = self.current_rate / 2 + self.target_rate / 2;
        self.stage = self.stage.saturating_add(1);
    }
}
