//! Parameters of direct apportioning.

use alloc::vec;
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use fairlane_units::{Bytes, Duration};

use crate::{Limit, Parameters};

/// Whether receivers divide their links, and by which rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Mode {
    /// No apportioning.
    #[default]
    Off,
    /// Receivers send nothing; senders keep to the first burst and to a window of their own rate.
    Window,
    /// Link rate / number of senders, as published.
    Count,
    /// By tenant weight, equal among a tenant's senders.
    Weighted,
    /// The same, capped by declared demand.
    DemandAware,
    /// The same, measured for senders that don't declare it.
    Measured,
    /// Demand-aware, and within a tenant the smallest backlogs first.
    ShortestFirst,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 7] = [
        Self::Off,
        Self::Window,
        Self::Count,
        Self::Weighted,
        Self::DemandAware,
        Self::Measured,
        Self::ShortestFirst,
    ];

    /// The name used in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Window => "window",
            Self::Count => "count",
            Self::Weighted => "weighted",
            Self::DemandAware => "demand-aware",
            Self::Measured => "measured",
            Self::ShortestFirst => "shortest-first",
        }
    }

    /// Whether senders are limited at all.
    pub const fn is_on(self) -> bool {
        !matches!(self, Self::Off)
    }

    /// Whether receivers divide their links and say so.
    pub const fn divides(self) -> bool {
        !matches!(self, Self::Off | Self::Window)
    }

    /// Whether senders say what they could use. Under [`Measured`](Self::Measured) they are taken for foreign ones, which don't.
    pub const fn declares(self) -> bool {
        self.divides() && !matches!(self, Self::Measured)
    }

    /// Whether senders say what they have yet to send.
    pub const fn states_backlog(self) -> bool {
        matches!(self, Self::ShortestFirst)
    }

    /// Whether demand caps what a sender gets.
    pub(crate) const fn heeds_demand(self) -> bool {
        matches!(
            self,
            Self::DemandAware | Self::Measured | Self::ShortestFirst
        )
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Mode {
    type Err = UnknownMode;
    fn from_str(name: &str) -> Result<Self, UnknownMode> {
        let mut all = Self::ALL.into_iter();
        all.find(|mode| mode.name() == name).ok_or(UnknownMode)
    }
}

/// No mode has this name; [`Mode::ALL`] lists those that exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMode;

impl fmt::Display for UnknownMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown mode; known:")?;
        Mode::ALL.iter().try_for_each(|known| write!(f, " {known}"))
    }
}

impl core::error::Error for UnknownMode {}

/// What receivers and senders of a fabric have in common. `docs/dasr.md` has what each was measured to do.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields, default))]
pub struct Params {
    /// Whether receivers divide their links, and by which rule.
    pub mode: Mode,
    /// Part of its link that a receiver divides.
    pub eta: f64,
    /// The same while a queue may stand in front of it: for some time after a sender joined, and while more senders share
    /// the link than packets fit into a round trip.
    pub draining: f64,
    /// A sender's bytes in flight, as a multiple of share x base round trip; at least a packet.
    pub window: f64,
    /// Its bytes in flight before it has a share, in bandwidth-delay products; at least a packet.
    pub first_burst: f64,
    /// Relative change of demand below which shares stay.
    pub tolerance: f64,
    /// Relative change of its share above which a receiver notifies a sender that is not heard.
    pub push_change: f64,
    /// Round trips after which a sender counts as not heard.
    pub push_after: f64,
    /// Silent round trips after which a sender has left.
    pub silence: f64,
    /// The same in packet times at its share; the longer one holds.
    pub silent_packets: u32,
    /// Round trips over which senders that don't declare their demand are measured.
    pub measured_over: f64,
    /// The same, to check declared demand.
    pub checked_over: f64,
    /// Relative addition to a measured demand; more than this above its declared demand shows that a sender doesn't tell
    /// the truth.
    pub headroom: f64,
    /// Senders of a tenant that `"shortest-first"` serves at a time.
    pub at_a_time: u32,
    /// Senders that a receiver tracks, divided evenly among tenants; others get the least share.
    pub rows: u32,
    /// Receivers without queue pairs whose share a sender remembers.
    pub remembered: u32,
}

impl Default for Params {
    fn default() -> Self {
        // `docs/dasr.md`, "Parameters", has where each comes from.
        Self {
            mode: Mode::Off,
            eta: 1.0,
            draining: 0.98,
            window: 1.5,
            first_burst: 0.5,
            tolerance: 0.01,
            push_change: 0.05,
            push_after: 0.5,
            silence: 4.0,
            silent_packets: 4,
            measured_over: 2.0,
            checked_over: 16.0,
            headroom: 0.25,
            at_a_time: 4,
            rows: 4096,
            remembered: 1024,
        }
    }
}

impl Params {
    /// The defaults under a mode.
    pub fn of(mode: Mode) -> Self {
        Self {
            mode,
            ..Self::default()
        }
    }
}

impl Parameters for Params {
    fn limits(&self) -> Vec<Limit> {
        vec![
            // Below a tenth the rest of the link would be of no use to anybody.
            Limit::within("eta", self.eta, 0.1, 1.0),
            Limit::within("draining", self.draining, 0.1, 1.0),
            Limit::holds("draining", self.draining <= self.eta, "at most eta"),
            Limit::within("window", self.window, 1.0, 1024.0),
            Limit::within("first_burst", self.first_burst, 0.0, 16.0),
            Limit::within("tolerance", self.tolerance, 0.0, 0.5),
            Limit::within("push_change", self.push_change, 0.0, 1.0),
            Limit::holds(
                "push_change",
                self.push_change >= self.tolerance,
                "at least tolerance, below which shares don't change",
            ),
            Limit::within("push_after", self.push_after, 0.1, 1024.0),
            Limit::within("silence", self.silence, 1.0, 1024.0),
            Limit::holds(
                "silence",
                self.silence > self.push_after,
                "more than push_after, or who is to be told has left",
            ),
            Limit::count("silent_packets", self.silent_packets.into(), 1, 1024),
            Limit::within("measured_over", self.measured_over, 0.5, 1024.0),
            Limit::within("checked_over", self.checked_over, 0.5, 1024.0),
            Limit::within("headroom", self.headroom, 0.01, 16.0),
            Limit::count("at_a_time", self.at_a_time.into(), 1, 1 << 20),
            Limit::count("rows", self.rows.into(), 1, MOST_ROWS),
            Limit::count("remembered", self.remembered.into(), 0, 1 << 20),
        ]
    }
}

/// With more rows the least share, a part in 65535 of a line, would be more than an equal one.
const MOST_ROWS: u64 = 1 << 15;

/// `factor` times `span`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the cast saturates; spans below 2^53 ps are exact"
)]
pub(crate) fn spans(span: Duration, factor: f64) -> Duration {
    Duration::from_ps((span.as_ps() as f64 * factor) as u64)
}

/// `factor` times `size`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
pub(crate) fn sizes(size: Bytes, factor: f64) -> Bytes {
    Bytes::new((size.as_f64() * factor) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for mode in Mode::ALL {
            assert_eq!(mode.name().parse(), Ok(mode));
        }
        assert_eq!("equal".parse::<Mode>(), Err(UnknownMode));
    }

    #[test]
    fn products_are_rounded_down() {
        assert_eq!(spans(Duration::from_ps(3), 0.5), Duration::from_ps(1));
        assert_eq!(sizes(Bytes::new(5), 1.5), Bytes::new(7));
    }
}
