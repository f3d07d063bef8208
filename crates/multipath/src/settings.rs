//! What all connections of a host have in common, with defaults and their sources.

use alloc::format;
use alloc::string::{String, ToString};
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

/// The parameters of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Who decides which path a chunk takes.
    pub balancer: BalancerKind,
    /// Who decides how large a chunk may be.
    pub limiter: LimiterKind,
    /// The size of chunks under limiter `fixed`, and the first one under the others.
    pub chunk: Bytes,
    /// The smallest chunk of limiters that change it, and their linear step.
    pub chunk_least: Bytes,
    /// The largest chunk of limiters that change it.
    pub chunk_most: Bytes,
    /// How long limiter `adaptive` wants a chunk to occupy its path.
    pub chunk_time: Duration,
    /// The largest message that a queue pair takes; no chunk exceeds it.
    pub message_limit: Bytes,
    /// Payload of a packet: the chunk of balancers that spray.
    pub mtu: Bytes,
    /// Chunks in flight on each path.
    pub depth: u32,
    /// Pieces of memory that one work request may have.
    pub segments: usize,
    /// Pieces of memory that one message may have.
    pub message_segments: usize,
    /// Ranges of messages that a receiver keeps apart, over all of them: a sender of streams makes no more holes
    /// than it has chunks in flight.
    pub holes: usize,
    /// Messages that are posted and not reported yet, receives that are, and grants on their way.
    pub messages: usize,
    /// Two-sided messages up to this size are one SEND.
    pub single_send: Bytes,
    /// How larger ones cross.
    pub two_sided: TwoSided,
    /// How often a chunk is tried again, and how many probes in a row fail on every path, before a message fails.
    pub retries: u8,
    /// The silence after which a path is suspected while nothing is known of it.
    pub first_timeout: Duration,
    /// Its lower bound later.
    pub timeout_least: Duration,
    /// Its upper bound, and that of the pause before a path is probed again.
    pub timeout_most: Duration,
    /// Chunks that a path must deliver, one at a time, before it is good again.
    pub probation: u8,
    /// The bytes that a sample of capacity needs, and those of a probe.
    pub probe: Bytes,
    /// The share of chunks lost, or delivered after retransmissions, above which a path is suspected.
    pub suspect_loss: u8,
    /// The rate of the port that all paths leave by; zero if it isn't known.
    pub line_rate: Rate,
    /// Entropies that balancer `reps` keeps.
    pub reps_cache: usize,
    /// Chunks that balancer `reps` sends at random before it recycles.
    pub reps_explore: u32,
    /// How long balancer `reps` doesn't explore after a failure.
    pub reps_freeze: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            balancer: BalancerKind::Completion,
            limiter: LimiterKind::Fixed,
            // UCCL's chunk; S1, figure 10: up to 32 KiB costs no time, but it charges nothing per chunk.
            chunk: Bytes::new(64 << 10),
            // The range of the field's defaults: UCX splits from 16 KiB, HCCL from 512 KiB per queue pair.
            chunk_least: Bytes::new(16 << 10),
            chunk_most: Bytes::new(512 << 10),
            // 100 KB at 100 Gb/s: eight paths then complete a chunk per microsecond.
            chunk_time: Duration::from_us(8),
            // IBTA, volume 1, chapter 9: a message has at most 2^31 bytes.
            message_limit: Bytes::new(1 << 31),
            mtu: Bytes::new(4096),
            // S1, section III.B: "equal and small amount" for each queue pair. One on the wire, one waiting.
            depth: 2,
            // What ConnectX cards report as max_sge.
            segments: 30,
            message_segments: 1024,
            holes: 1024,
            messages: 128,
            // Below UCX's smallest chunk nothing is gained by splitting.
            single_send: Bytes::new(16 << 10),
            two_sided: TwoSided::WriteThenSend,
            // The retry counter of a queue pair has three bits (`retry_cnt` of `ibv_modify_qp`).
            retries: 7,
            // A probe of 512 KB takes 4.2 ms at 1 Gb/s.
            first_timeout: Duration::from_ms(10),
            timeout_least: Duration::from_us(100),
            timeout_most: Duration::from_ms(100),
            probation: 4,
            // S3, section 3.5: "at least 512 KB".
            probe: Bytes::new(512 << 10),
            suspect_loss: 25,
            line_rate: Rate::ZERO,
            // REPS (Bonato et al., 2024), section 3: eight entries.
            reps_cache: 8,
            // REPS explores for a bandwidth-delay product: 32 packets of 4 KiB are 10 us at 100 Gb/s.
            reps_explore: 32,
            reps_freeze: Duration::from_us(100),
        }
    }
}

impl Settings {
    /// Checks the parameters for a connection of `paths` paths.
    ///
    /// # Errors
    /// The first mistake.
    pub fn validate(&self, paths: usize) -> Result<(), Mistake> {
        self.validate_paths(paths)?;
        self.ranges().try_for_each(|range| range.check())?;
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

    /// What each parameter may be, in the order in which they are checked.
    pub fn ranges(&self) -> impl Iterator<Item = Range> {
        self.sizes()
            .into_iter()
            .chain(self.counts())
            .chain(self.times())
    }

    fn sizes(&self) -> [Range; 7] {
        let limit = Bound::Key("message_limit", self.message_limit.get());
        let least = Bound::Key("chunk_least", self.chunk_least.get());
        let [none, byte] = [0, 1].map(Bound::Figure);
        let chunks = "chunks are at least 1 byte and at most `message_limit`";
        let between = "it lies between `chunk_least` and `message_limit`";
        let card = "a queue pair takes messages of up to 2 GiB";
        let packet = "RoCE packets carry 256 to 4096 bytes";
        let send = "a SEND is at most `message_limit`";
        let probes = "S3 probes with 512 KB and more";
        let size = |key, value: Bytes, bounds, hint| Range {
            key,
            measure: Measure::Size,
            value: value.get(),
            bounds,
            hint,
        };
        let largest = Bound::Figure(1 << 31);
        [
            size("message_limit", self.message_limit, [byte, largest], card),
            size("chunk", self.chunk, [byte, limit], chunks),
            size("chunk_least", self.chunk_least, [byte, limit], chunks),
            size("chunk_most", self.chunk_most, [least, limit], between),
            size("mtu", self.mtu, [byte, limit], packet),
            size("single_send", self.single_send, [none, limit], send),
            size("probe", self.probe, [byte, limit], probes),
        ]
    }

    fn counts(&self) -> [Range; 8] {
        let queue = "the send queue of a queue pair has room for so many";
        let pieces = "30 is what most cards take, and the frame of a SEND is one";
        let count = |key, value: usize, [low, high]: [u64; 2], hint| Range {
            key,
            measure: Measure::Number,
            value: value as u64,
            bounds: [low, high].map(Bound::Figure),
            hint,
        };
        let [probation, loss] = [self.probation, self.suspect_loss].map(usize::from);
        let segments = self.message_segments;
        [
            count("depth", self.depth as usize, [1, 1 << 14], queue),
            count("segments", self.segments, [2, 1 << 10], pieces),
            count("message_segments", segments, [1, 1 << 16], "use 1024"),
            count("messages", self.messages, [1, 1 << 20], "use 128"),
            count("holes", self.holes, [1, 1 << 20], "use 1024"),
            count("probation", probation, [1, 255], "use 4"),
            count("suspect_loss", loss, [1, 100], "it is in percent"),
            count("reps_cache", self.reps_cache, [1, 1 << 10], "use 8"),
        ]
    }

    fn times(&self) -> [Range; 4] {
        let most = Bound::Key("timeout_most", self.timeout_most.as_ps());
        let time = |key, value: Duration, most| Range {
            key,
            measure: Measure::Time,
            value: value.as_ps(),
            bounds: [Bound::Figure(1), most],
            hint: "a path's round trip is some 10us; retries of a card take milliseconds",
        };
        [
            time("chunk_time", self.chunk_time, LONGEST),
            time("timeout_most", self.timeout_most, LONGEST),
            time("timeout_least", self.timeout_least, most),
            time("first_timeout", self.first_timeout, most),
        ]
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
const LONGEST: Bound = Bound::Figure(3_600_000_000_000_000);

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
