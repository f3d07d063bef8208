//! What a NIC remembers of a source and a destination, whether or not a queue pair is open.

use fairlane_units::{Bytes, Duration, Rate, Time};

use super::share::Share;

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
    last_feedback: Coarse,
    last_mark: Coarse,
    /// When it had last delivered a bandwidth-delay product more.
    proven: Coarse,
    /// Bytes acknowledged since it became young.
    pub(crate) heard: u32,
    /// The lane of its open queue pairs, or [`NONE`].
    pub(crate) lane: u32,
    /// The receiver's share in units of [`Share`], 0 without.
    cap: u16,
    /// Whether it has sent since it became active and heard nothing.
    pub(crate) young: bool,
    /// What allowed the least welcome of the packets that it has sent since it became young.
    pub(crate) payer: Payer,
}

/// What allows a packet that is sent before its pair knows its path, from the most welcome on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Payer {
    /// The bucket: it goes at line rate.
    Credit,
    /// The budget of beginnings: it goes at the aggregate's rate.
    Budget,
    /// Nothing: it goes at the cautious aggregate's, or at a part of the aggregate's.
    Nobody,
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

    /// Whether it is less than `span` ago.
    fn is_within(self, now: Time, span: Duration) -> bool {
        let ago = Self::new(now).0.wrapping_sub(self.0);
        self != Self::NEVER && Duration::from_ps(u64::from(ago) << 18) < span
    }
}

impl HostPair {
    /// A pair that has never sent.
    pub(crate) const fn new(now: Time) -> Self {
        Self {
            available: now,
            last_feedback: Coarse::NEVER,
            last_mark: Coarse::NEVER,
            proven: Coarse::NEVER,
            heard: 0,
            lane: NONE,
            cap: 0,
            young: false,
            payer: Payer::Budget,
        }
    }

    /// How long nothing was heard, if ever anything was.
    pub(crate) fn idle(&self, now: Time) -> Option<Duration> {
        let ago = Coarse::new(now).0.wrapping_sub(self.last_feedback.0);
        (self.last_feedback != Coarse::NEVER).then(|| Duration::from_ps(u64::from(ago) << 18))
    }

    /// Whether something was heard less than `span` ago.
    pub(crate) fn is_fresh(&self, now: Time, span: Duration) -> bool {
        self.last_feedback.is_within(now, span)
    }

    /// Whether a mark came less than `span` ago.
    pub(crate) fn is_marked(&self, now: Time, span: Duration) -> bool {
        self.last_mark.is_within(now, span)
    }

    /// Whether it has delivered a bandwidth-delay product less than `span` ago. Single packets now and
    /// then are no proof, or they would keep every pair from being young.
    pub(crate) fn is_proven(&self, now: Time, span: Duration) -> bool {
        self.proven.is_within(now, span)
    }

    /// Begins a time of activity.
    pub(crate) fn rejuvenate(&mut self, payer: Payer) {
        (self.young, self.payer, self.heard) = (true, payer, 0);
    }

    pub(crate) fn note_feedback(&mut self, now: Time, delivered: Bytes, bdp: Bytes) {
        self.last_feedback = Coarse::new(now);
        let delivered = u32::try_from(delivered.get()).unwrap_or(u32::MAX);
        let bdp = u32::try_from(bdp.get())
            .unwrap_or(u32::MAX)
            .clamp(1, u32::MAX / 4);
        // The horizon is far behind: whole products are taken off before the counter is full.
        if self.heard > u32::MAX / 2 {
            self.heard -= u32::MAX / 4 / bdp * bdp;
        }
        let before = self.heard / bdp;
        self.heard = self.heard.saturating_add(delivered);
        if self.heard / bdp != before {
            self.proven = self.last_feedback;
        }
    }

    pub(crate) fn note_mark(&mut self, now: Time) {
        self.last_mark = Coarse::new(now);
    }

    /// The receiver's share on a NIC of this line rate.
    pub(crate) fn cap(&self, line_rate: Rate) -> Option<Rate> {
        Share::new(self.cap).map(|share| share.of(line_rate))
    }

    pub(crate) fn set_cap(&mut self, share: Option<Share>) {
        self.cap = share.map_or(0, Share::get);
    }
}
