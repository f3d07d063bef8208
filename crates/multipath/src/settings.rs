//! What all connections of a host have in common, with defaults and their sources.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use fairlane_units::{Bytes, Duration, Rate};

use crate::{BalancerKind, LimiterKind, Mistake, Unit};

/// Most paths of a connection: a balancer that sprays has some hundred.
pub const MOST_PATHS: usize = 1024;

crate::names::named! {
    /// How messages that need a receive at the other end cross, when they are larger than
    /// [`Settings::single_send`].
    #[derive(Default)]
    TwoSided, "way of SENDs";
    /// WRITEs carry the data to where the receive says, then a SEND without data consumes the receive (S3,
    /// section 3.4). Nothing is copied.
    #[default]
    WriteThenSend = "write-then-send";
    /// Every chunk is a SEND that begins with a transfer header (S1, section III.B). The other end places by
    /// offset, so it copies.
    Stream = "stream";
}

/// Hands the parameters that a scenario states to a macro: each with its meaning, type and default, and behind `=>` what it may be
/// and what to do about another value. A bound is a figure in parentheses, or another parameter.
#[macro_export]
macro_rules! for_each_parameter {
    ($then:ident) => {
        $then! {
            /// Chooses the path of the next chunk.
            balancer: BalancerKind = BalancerKind::Completion;
            /// Limits the chunk size.
            limiter: LimiterKind = LimiterKind::Fixed;
            /// Largest message that a queue pair takes.
            ///
            /// Source: IBTA, volume 1, section 9.7.7.
            message_limit: Bytes = Bytes::new(1 << 31)
                => [(1), (1 << 31)], "a queue pair takes messages of up to 2 GiB";
            /// Size of chunks under limiter `fixed`, and of the first under others.
            ///
            /// Source: UCCL; S1, figure 10: up to 32 KiB costs no time, but it charges nothing per chunk.
            chunk: Bytes = Bytes::new(64 << 10)
                => [(1), message_limit], "chunks are at least 1 byte and at most `message_limit`";
            /// Smallest chunk of limiters that change it, and their linear step.
            ///
            /// Source: UCX, which splits from 16 KiB.
            chunk_least: Bytes = Bytes::new(16 << 10)
                => [(1), message_limit], "chunks are at least 1 byte and at most `message_limit`";
            /// Largest chunk of limiters that change it.
            ///
            /// Source: HCCL, which splits from 512 KiB per queue pair.
            chunk_most: Bytes = Bytes::new(512 << 10)
                => [chunk_least, message_limit], "it lies between `chunk_least` and `message_limit`";
            /// Chunks in flight on each path.
            ///
            /// Source: S1, section III.B: "equal and small amount" for each queue pair. One on the wire, one waiting.
            depth: u32 = 2 => [(1), (1 << 14)], "the send queue of a queue pair has room for so many";
            /// Messages of a connection that are posted and not complete.
            messages: u32 = 128 => [(1), (1 << 20)], "use 128";
            /// Two-sided messages up to this size are one SEND.
            ///
            /// Source: UCX, below whose smallest chunk nothing is gained by splitting.
            single_send: Bytes = Bytes::new(16 << 10)
                => [(0), message_limit], "a SEND is at most `message_limit`";
            /// How larger ones cross.
            two_sided: TwoSided = TwoSided::WriteThenSend;
            /// How often a chunk is tried again, and a failed path probed, before a message fails.
            ///
            /// Source: the retry counter of a queue pair, which has three bits (`retry_cnt` of `ibv_modify_qp`).
            retries: u8 = 7;
            /// Silence after which a path is suspected while nothing is known of it.
            ///
            /// Source: a probe of 512 KB takes 4.2 ms at 1 Gb/s.
            first_timeout: Duration = Duration::from_ms(10)
                => [(1), timeout_most], "a path's round trip is some 10us; retries of a card take milliseconds";
            /// Its lower bound later; at least two of the largest base round trips.
            timeout_least: Duration = Duration::from_us(100)
                => [(1), timeout_most], "a path's round trip is some 10us; retries of a card take milliseconds";
            /// Its upper bound, and that of the pause before a path is probed again.
            timeout_most: Duration = Duration::from_ms(100)
                => [(1), (LONGEST)], "a path's round trip is some 10us; retries of a card take milliseconds";
            /// Bytes of a sample of capacity, and of a probe.
            ///
            /// Source: S3, section 3.5: "at least 512 KB".
            probe: Bytes = Bytes::new(512 << 10)
                => [(1), message_limit], "S3 probes with 512 KB and more";
            /// Paths that balancer `reps` keeps.
            ///
            /// Source: REPS (Bonato et al., 2024), section 3.
            reps_cache: u32 = 8 => [(1), (1 << 10)], "use 8";
        }
    };
}

/// Declares all parameters: those, behind what devices have and what no scenario varies.
macro_rules! with_own {
    ($($stated:tt)*) => {
        settings! {
            /// Payload of a packet: the chunk of balancers that spray.
            mtu: Bytes = Bytes::new(4096)
                => [(1), message_limit], "RoCE packets carry 256 to 4096 bytes";
            /// The rate of the port that all paths leave by; zero if it isn't known.
            line_rate: Rate = Rate::ZERO;
            /// Pieces of memory that one work request may have.
            ///
            /// Source: what ConnectX cards report as `max_sge`.
            segments: usize = 30
                => [(2), (1 << 10)], "30 is what most cards take, and the frame of a SEND is one";
            /// Pieces of memory that one message may have.
            message_segments: usize = 1024 => [(1), (1 << 16)], "use 1024";
            /// Ranges of messages that a receiver keeps apart, over all of them: a sender of streams makes no more holes
            /// than it has chunks in flight.
            holes: usize = 1024 => [(1), (1 << 20)], "use 1024";
            /// How long limiter `adaptive` wants a chunk to occupy its path: 100 KB at 100 Gb/s, so that eight paths complete a
            /// chunk per microsecond.
            chunk_time: Duration = Duration::from_us(8)
                => [(1), (LONGEST)], "a chunk of 100 KB takes 8us at 100 Gb/s";
            /// Chunks that a path must deliver, one at a time, before it is good again.
            probation: u8 = 4 => [(1), (255)], "use 4";
            /// The share of chunks lost, or delivered after retransmissions, above which a path is suspected.
            suspect_loss: u8 = 25 => [(1), (100)], "it is in percent";
            /// Chunks that balancer `reps` sends at random before it recycles.
            ///
            /// Source: REPS, which explores for a bandwidth-delay product: 32 packets of 4 KiB are 10 us at 100 Gb/s.
            reps_explore: u32 = 32;
            /// How long balancer `reps` doesn't explore after a failure.
            reps_freeze: Duration = Duration::from_us(100);
            $($stated)*
        }
    };
}

macro_rules! settings {
    ($(
        $(#[$about:meta])*
        $key:ident: $type:ty = $default:expr $(=> [$low:tt, $high:tt], $hint:literal)?;
    )*) => {
        /// The parameters of connections.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Settings {
            $($(#[$about])* pub $key: $type,)*
        }

        impl Default for Settings {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        impl Settings {
            /// What each parameter may be.
            pub fn ranges(&self) -> impl Iterator<Item = Range> {
                let ranges = [$($(Range {
                    key: stringify!($key),
                    measure: <$type as Figure>::MEASURE,
                    value: self.$key.figure(),
                    bounds: [bound!(self, $low), bound!(self, $high)],
                    hint: $hint,
                },)?)*];
                ranges.into_iter()
            }
        }
    };
}

macro_rules! bound {
    ($settings:ident, ($figure:expr)) => {
        Bound::Figure($figure)
    };
    ($settings:ident, $key:ident) => {
        Bound::Key(stringify!($key), $settings.$key.figure())
    };
}

for_each_parameter!(with_own);

impl Settings {
    /// Checks the parameters for a connection of `paths` paths.
    ///
    /// # Errors
    /// The first mistake.
    pub fn validate(&self, paths: usize) -> Result<(), Mistake> {
        self.validate_paths(paths)?;
        // Those that bound others first.
        let (figures, relative): (Vec<Range>, Vec<Range>) =
            self.ranges().partition(|range| range.is_absolute());
        figures.iter().chain(&relative).try_for_each(Range::check)?;
        self.validate_holes(paths)
    }

    fn validate_paths(&self, paths: usize) -> Result<(), Mistake> {
        let say = |message, hint| Err(Mistake::new("multipath.paths", message, hint));
        match paths {
            0 => say(
                "a connection has no path; at least 1 was expected".into(),
                "name at least one source port or address",
            ),
            1..=MOST_PATHS => Ok(()),
            _ => say(
                format!("a connection has {paths} paths; at most {MOST_PATHS} were expected"),
                "2 to 8 paths are enough for chunks, 256 for packets",
            ),
        }
    }

    /// Chunks, or packets, that may be in flight on each path.
    pub(crate) fn in_flight(&self) -> u32 {
        let in_packets = self.chunk.get().div_ceil(self.mtu.get().max(1)) as u32;
        match self.balancer.unit() {
            Unit::Chunk => self.depth,
            Unit::Packet => self.depth.saturating_mul(in_packets.max(1)),
        }
    }

    fn validate_holes(&self, paths: usize) -> Result<(), Mistake> {
        let most = paths as u64 * u64::from(self.in_flight());
        if self.two_sided == TwoSided::WriteThenSend || most <= self.holes as u64 {
            return Ok(());
        }
        Err(Mistake::new(
            "multipath.holes",
            format!(
                "{paths} paths leave up to {most} holes in a stream, more than {}",
                self.holes
            ),
            "raise `holes` at both ends, or lower `depth` or the number of paths",
        ))
    }
}

/// An hour, in picoseconds: doubling and adding must not leave the clock.
const LONGEST: u64 = 3_600_000_000_000_000;

/// A parameter that is a number.
trait Figure {
    const MEASURE: Measure;

    fn figure(&self) -> u64;
}

impl Figure for Bytes {
    const MEASURE: Measure = Measure::Size;

    fn figure(&self) -> u64 {
        self.get()
    }
}

impl Figure for Duration {
    const MEASURE: Measure = Measure::Time;

    fn figure(&self) -> u64 {
        self.as_ps()
    }
}

impl Figure for u8 {
    const MEASURE: Measure = Measure::Number;

    fn figure(&self) -> u64 {
        u64::from(*self)
    }
}

impl Figure for u32 {
    const MEASURE: Measure = Measure::Number;

    fn figure(&self) -> u64 {
        u64::from(*self)
    }
}

impl Figure for usize {
    const MEASURE: Measure = Measure::Number;

    fn figure(&self) -> u64 {
        *self as u64
    }
}

/// A parameter, and what it may be; displayed as the range alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Its name.
    pub key: &'static str,
    measure: Measure,
    value: u64,
    bounds: [Bound; 2],
    hint: &'static str,
}

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Measure {
    Size,
    Number,
    /// Picoseconds.
    Time,
}

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Figure(u64),
    /// What another parameter is.
    Key(&'static str, u64),
}

impl Range {
    /// Whether no other parameter bounds it.
    const fn is_absolute(&self) -> bool {
        matches!(self.bounds, [Bound::Figure(_), Bound::Figure(_)])
    }

    fn check(&self) -> Result<(), Mistake> {
        let [low, high] = self.bounds.map(Bound::value);
        if (low..=high).contains(&self.value) {
            return Ok(());
        }
        let value = self.measure.text(self.value);
        let [low, high] = self.bounds.map(|bound| match bound {
            Bound::Figure(value) => self.measure.text(value),
            Bound::Key(key, value) => format!("{} (`{key}`)", self.measure.text(value)),
        });
        let what = match self.measure {
            Measure::Size => "size",
            Measure::Number => "number",
            Measure::Time => "time",
        };
        let message = format!("{value} was given; a {what} from {low} to {high} was expected");
        Err(Mistake::new(
            format!("multipath.{}", self.key),
            message,
            self.hint,
        ))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [low, high] = self.bounds.map(|bound| match bound {
            Bound::Figure(value) => self.measure.text(value),
            Bound::Key(key, _) => format!("`{key}`"),
        });
        write!(f, "{low} to {high}")
    }
}

impl Measure {
    fn text(self, value: u64) -> String {
        match self {
            Self::Size => Bytes::new(value).to_string(),
            Self::Number => value.to_string(),
            Self::Time => Duration::from_ps(value).to_string(),
        }
    }
}

impl Bound {
    const fn value(self) -> u64 {
        match self {
            Self::Figure(value) | Self::Key(_, value) => value,
        }
    }
}
