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
    /// Nobody apportions anything.
    #[default]
    Off,
    /// Senders hold to first burst and window, which is that of the rate their controllers allow; receivers say nothing. It shows
    /// what these limits do without shares.
    Window,
    /// Every sender gets the link over the number of senders, whatever its tenant and demand: as published.
    Count,
    /// Tenants by weight, then their senders alike.
    Weighted,
    /// The same, and nobody gets more than it says it can use.
    DemandAware,
    /// The same; for a sender that doesn't say what it can use, what it sends stands, and some head-room.
    Measured,
    /// As [`DemandAware`](Self::DemandAware), but inside a tenant the senders with the smallest backlog first,
    /// a few at a time.
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
    /// Whether receivers divide, and by which rule.
    pub mode: Mode,
    /// The part of its link that a receiver divides.
    pub eta: f64,
    /// The same, while a queue may stand in front of it: for some time after a sender joined, and while more senders share
    /// the link than packets fit into a round trip.
    pub draining: f64,
    /// What a sender may have in flight, in parts of what its share carries in a round trip without queues; one packet
    /// at least.
    pub window: f64,
    /// What a sender may have in flight before it has heard its share, in bandwidth-delay products; one
    /// packet at least.
    pub first_burst: f64,
    /// A change of demand below this part of it changes no share.
    pub tolerance: f64,
    /// A sender that isn't heard is told of its share without being asked once it has changed by more than this part.
    pub push_change: f64,
    /// A sender counts as not heard after so many round trips.
    pub push_after: f64,
    /// A sender that is silent for so many round trips has left, unless ...
    pub silence: f64,
    /// ... its share asks for longer: so many packet times are allowed.
    pub silent_packets: u32,
    /// Round trips over which a receiver measures what a sender sends that doesn't declare its demand.
    pub measured_over: f64,
    /// The same, to check what others declare: more, since queues that come and go change rates for a round trip or two.
    pub checked_over: f64,
    /// What a sender is given beyond what is measured, as a part of that; the same excess over its declared demand shows that
    /// this is untrue.
    pub headroom: f64,
    /// Senders of a tenant that [`Mode::ShortestFirst`] serves at a time.
    pub at_a_time: u32,
    /// Senders that a receiver knows, divided alike among the tenants that it knows.
    pub rows: u32,
    /// Receivers that a sender remembers beside those it has queue pairs to.
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
