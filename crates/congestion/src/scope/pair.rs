//! What a NIC remembers of a source and a destination, whether or not a queue pair is open.

use fairlane_units::{Bytes, Duration, Time};

/// No lane.
pub(crate) const NONE: u32 = u32::MAX;

/// Bytes that a pair takes beside its controller, its index included.
pub const STATE_BYTES: usize = size_of::<HostPair>() + INDEX_BYTES;

/// Key and value of the index of pairs.
const INDEX_BYTES: usize = 12;

const _: () = assert!(STATE_BYTES <= 48);
const _: () = assert!(size_of::<crate::dcqcn::Dcqcn>() + STATE_BYTES < 128);
const _: () = assert!(size_of::<crate::hpcc::Hpcc>() + STATE_BYTES < 128);

/// A source and a destination, beside their controller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostPair {
    /// From when on the pacer lets the next packet go.
    pub(crate) available: Time,
    /// Bytes acknowledged: to its controller the pair is one stream, whoever sends.
    pub(crate) delivered: Bytes,
    last_feedback: Coarse,
    /// Bytes that it owes then.
    pub(crate) owed: u32,
    /// The round-trip time measured last, in nanoseconds; 0 if none was.
    rtt: u32,
    /// The lane of its open queue pairs, or [`NONE`].
    pub(crate) lane: u32,
}

/// A time in units of 2^18 ps, 262 ns; 0 means never. It wraps after 19 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Coarse(u32);

impl Coarse {
    const NEVER: Self = Self(0);

    #[expect(clippy::cast_possible_truncation, reason = "it wraps by definition")]
    fn new(at: Time) -> Self {
        Self(((at.as_ps() >> 18) as u32).max(1))
    }
}

impl HostPair {
    /// A pair that has never sent.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            available: now,
            delivered: Bytes::ZERO,
            last_feedback: Coarse::NEVER,
            owed: 0,
            rtt: 0,
            lane: NONE,
        }
    }

    /// How long nothing was heard, if ever anything was.
    pub(crate) fn idle(&self, now: Time) -> Option<Duration> {
        let ago = Coarse::new(now).0.wrapping_sub(self.last_feedback.0);
        (self.last_feedback != Coarse::NEVER).then(|| Duration::from_ps(u64::from(ago) << 18))
    }

    /// The round-trip time measured last, zero if none was.
    pub(crate) fn rtt(&self) -> Duration {
        Duration::from_ns(self.rtt.into())
    }

    pub(crate) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = u32::try_from(rtt.as_ns()).unwrap_or(u32::MAX);
    }

    pub(crate) fn note_feedback(&mut self, now: Time, delivered: Bytes) {
        self.last_feedback = Coarse::new(now);
        self.delivered += delivered;
    }
}
