//! Parameters of direct apportioning.

use core::fmt;

use fairlane_units::{Bytes, Duration};

use crate::parameters;

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

parameters! {
    /// What receivers and senders of a fabric have in common. `docs/dasr.md` has what each was measured to do and where
    /// defaults come from.
    Params {
        /// Whether receivers divide their links, and by which rule.
        // `docs/dasr.md`, "Parameters", has where each comes from.
        mode: Mode = Mode::Off,
        /// Part of its link that a receiver divides.
        // Below a tenth the rest of the link would be of no use to anybody.
        eta: f64 = 1.0 => within(0.1, 1.0),
        /// The same while a queue may stand in front of it: for some time after a sender joined, and while more senders share
        /// the link than packets fit into a round trip.
        draining: f64 = 0.98 => within(0.1, 1.0),
        /// A sender's bytes in flight, as a multiple of share x base round trip; at least a packet.
        window: f64 = 1.5 => within(1.0, 1024.0),
        /// Its bytes in flight before it has a share, in bandwidth-delay products; at least a packet.
        first_burst: f64 = 0.5 => within(0.0, 16.0),
        /// The same once nothing is in flight, while its share is remembered; at least `first_burst`.
        return_burst: f64 = 0.5 => within(0.0, 16.0),
        /// Relative change of demand below which shares stay.
        tolerance: f64 = 0.01 => within(0.0, PUSH_CHANGE),
        /// Relative addition to a measured demand; more than this above its declared demand shows that a sender doesn't tell
        /// the truth.
        headroom: f64 = 0.25 => within(0.01, 16.0),
        /// Senders that a receiver tracks, divided evenly among tenants; others get the least share.
        rows: u32 = 4096 => count(1, MOST_ROWS),
    }
    where |it| {
        draining: it.draining <= it.eta => "at most eta",
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

    /// What a sender may have in flight as it returns, in bandwidth-delay products.
    pub(crate) fn return_burst(&self) -> f64 {
        self.first_burst.max(self.return_burst)
    }
}

// `docs/dasr.md`, "Parameters", has why these are what they are.

/// Relative change of its share above which a receiver notifies a sender that is not heard.
pub(super) const PUSH_CHANGE: f64 = 0.05;
/// Round trips after which a sender counts as not heard.
pub(super) const PUSH_AFTER: f64 = 0.5;
/// Silent round trips after which a sender has left.
pub(super) const SILENCE: f64 = 4.0;
/// The same in packet times at its share; the longer one holds.
pub(super) const SILENT_PACKETS: u64 = 4;

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
    fn products_are_rounded_down() {
        assert_eq!(spans(Duration::from_ps(3), 0.5), Duration::from_ps(1));
        assert_eq!(sizes(Bytes::new(5), 1.5), Bytes::new(7));
    }
}
