//! The congestion control of InfiniBand at the channel adapter.
//!
//! Source: InfiniBand Architecture Specification, volume 1, annex A10. A switch sets FECN in packets
//! that pass a congested port; the receiver returns BECN; the sender looks up its delay in a table.
//!
//! ```text
//! BECN             CCTI <- min(CCTI_Limit, CCTI + CCTI_Increase)                  (A10.2.2.1)
//! each CCTI_Timer  CCTI <- max(CCTI_Min, CCTI - 1)
//! after a packet   delay = its transmission time x CCT[CCTI],
//!                  CCT[i] = multiplier / 2^shift                                  (A10.2.2.1.1)
//! so               rate  = line rate / (1 + CCT[CCTI])
//! ```
//!
//! FECN and BECN are the marks of switches and their echo, in acknowledgements or in CNPs, as the
//! driver has it; threshold and Marking_Rate of a switch are its marking.
//!
//! Deviations from the specification: a timer belongs to the queue pair and runs while its CCTI is
//! above the minimum, instead of one free-running timer for each port and service level; no events
//! are logged at the trigger threshold.

use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_units::{Duration, Rate, Time};

use crate::{Ack, CongestionControl, Environment, Marking, Needs, Timers, parameters};

const TIMER: usize = 0;
/// The multiplier has 14 bits and the shift 2 (A10.2.2.1.1).
const MOST_MULTIPLIER: u64 = (1 << 14) - 1;

parameters! {
    /// Parameters of the channel adapter.
    Config {
        /// Added to the table index by a BECN.
        ///
        /// Source: Mellanox's congestion control manager.
        ccti_increase: u8 = 1 => count(1, 255),
        /// Largest index.
        ccti_limit: u16 = 127 => count(1, MOST_MULTIPLIER),
        /// Smallest index.
        ccti_min: u8 = 0 => count(0, 255),
        /// Period after which the index falls by one; a multiple of 1.024 us in hardware.
        // The specification has no figures. Shorter periods leave deeper queues, longer ones idle
        // links: docs/controllers.md.
        ccti_timer: Duration = Duration::from_ns(4 * 1024) => period,
        /// Delays after a packet by index; the last holds for all larger indices. Left out, entry i has `multiplier` i and
        /// `shift` 2.
        #[cfg_attr(feature = "serde", serde(skip_serializing_if = "Vec::is_empty"))]
        table: Vec<CctEntry> = Vec::new(),
    }
    where |it| {
        ccti_min: u16::from(it.ccti_min) <= it.ccti_limit => "at most ccti_limit",
        table: it.table.iter().all(CctEntry::fits) => "multipliers up to 16383 and shifts up to 3",
    }
}

/// An entry of the congestion control table: a delay of `multiplier / 2^shift` transmission times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct CctEntry {
    /// Numerator, at most 16383: the delay is the packet's transmission time x `multiplier` / 2^`shift`.
    pub multiplier: u16,
    /// Exponent of the denominator, at most 3.
    pub shift: u8,
}

impl CctEntry {
    const fn fits(&self) -> bool {
        self.multiplier as u64 <= MOST_MULTIPLIER && self.shift <= 3
    }
}

impl Config {
    fn entry(&self, index: u16) -> CctEntry {
        let linear = CctEntry {
            multiplier: index,
            shift: 2,
        };
        match self.table.last() {
            None => linear,
            Some(last) => *self.table.get(usize::from(index)).unwrap_or(last),
        }
    }
}

/// The state of one queue pair.
#[derive(Clone, Debug)]
pub struct InfiniBand {
    config: Arc<Config>,
    line_rate: Rate,
    rate: Rate,
    index: u16,
    timers: Timers,
}

impl CongestionControl for InfiniBand {
    type Config = Config;

    const TITLE: &'static str = "InfiniBand";
    const NEEDS: Needs = Needs {
        marks: true,
        hears_cnps: true,
        ..Needs::NOTHING
    };
    // Marking_Rate 0: every packet above the threshold, whose length the specification leaves open.
    const MARKING: Marking = Marking::STEP;

    fn new(config: Arc<Config>, environment: &Environment) -> Self {
        let mut state = Self {
            index: config.ccti_min.into(),
            config,
            line_rate: environment.line_rate,
            rate: environment.line_rate,
            timers: Timers::IDLE,
        };
        state.follow();
        state
    }

    #[inline]
    fn rate(&self) -> Rate {
        self.rate
    }

    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) -> bool {
        if ack.congestion_notified {
            self.on_cnp(now);
        }
        false
    }

    fn on_cnp(&mut self, now: Time) {
        let raised = self.index.saturating_add(self.config.ccti_increase.into());
        self.index = raised.min(self.config.ccti_limit);
        self.follow();
        if self.timers.deadline(TIMER).is_none() {
            self.timers.arm(TIMER, now + self.config.ccti_timer);
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

    fn on_timer(&mut self, now: Time, _timer: usize) {
        let least = self.config.ccti_min.into();
        self.index = self.index.saturating_sub(1).max(least);
        self.follow();
        if self.index > least {
            self.timers.arm(TIMER, now + self.config.ccti_timer);
        } else {
            self.timers.cancel_all();
        }
    }
}

impl InfiniBand {
    /// CCTI: the index into the table.
    pub const fn index(&self) -> u16 {
        self.index
    }

    fn follow(&mut self) {
        self.rate = self.rate_at(self.index);
    }

    fn rate_at(&self, index: u16) -> Rate {
        let entry = self.config.entry(index);
        let unit = 1u128 << entry.shift.min(3);
        let rate =
            u128::from(self.line_rate.as_bps()) * unit / (unit + u128::from(entry.multiplier));
        // At most the line rate, so it fits.
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        Rate::from_bps(rate.max(1))
    }
}
