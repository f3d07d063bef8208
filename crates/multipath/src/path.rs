//! What is known of one path.

use fairlane_units::{Bytes, Duration, Rate, Time};

use crate::limiter::Limiter;
use crate::{Completion, Settings};

/// How a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// The path gets chunks.
    Good,
    /// The path has been silent, or loses much: it gets chunks only if no path is better.
    Suspect,
    /// The path failed: it gets nothing until its pause is over. What it had is given to others.
    Quarantined,
    /// A probe is on its way.
    Probing,
    /// A probe came through: one chunk at a time.
    Back,
    /// The path takes the route that another path takes: it is not used.
    Twin,
}

/// A mean and how far samples lie from it (RFC 6298, section 2), in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Smoothed {
    pub(crate) mean: u64,
    deviation: u64,
}

impl Smoothed {
    pub(crate) fn update(&mut self, sample: Duration) {
        let sample = sample.as_ps().max(1);
        if self.mean == 0 {
            *self = Self {
                mean: sample,
                deviation: sample / 2,
            };
            return;
        }
        let off = self.mean.abs_diff(sample);
        self.deviation = self.deviation - self.deviation / 4 + off / 4;
        self.mean = (self.mean - self.mean / 8 + sample / 8).max(1);
    }

    fn bound(&self) -> u64 {
        self.mean.saturating_add(self.deviation.saturating_mul(4))
    }
}

/// No path.
pub(crate) const NOBODY: u16 = u16::MAX;

/// The state of one path.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) health: Health,
    pub(crate) probe_due: bool,
    /// The driver hasn't heard of its health yet.
    pub(crate) changed: bool,
    /// Probes that failed since one came through.
    pub(crate) failed_probes: u8,
    /// Chunks delivered on probation.
    pub(crate) passed: u8,
    /// The path that takes the same route and is used instead; [`NOBODY`] if there is none.
    pub(crate) twin_of: u16,
    /// The share of chunks lost, in parts of 65536.
    loss: u16,
    pub(crate) in_flight: u32,
    /// Bytes in flight.
    waiting: u64,
    elapsed: Smoothed,
    pub(crate) round_trip: Smoothed,
    /// Picoseconds of a KiB at its capacity; 0 while that isn't known.
    pub(crate) pace: u64,
    /// Since when, and how many, bytes count for the next sample of capacity.
    sample_since: Time,
    sample_bytes: u64,
    /// The last completion.
    last: Time,
    /// When silence is too long, or the pause is over.
    pub(crate) deadline: Time,
    pub(crate) pause: Duration,
    pub(crate) limiter: Limiter,
    pub(crate) route: Option<u64>,
}

const _: () = assert!(size_of::<Path>() <= 192);

impl Path {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            health: Health::Good,
            probe_due: false,
            changed: false,
            failed_probes: 0,
            passed: 0,
            twin_of: NOBODY,
            loss: 0,
            in_flight: 0,
            waiting: 0,
            elapsed: Smoothed::default(),
            round_trip: Smoothed::default(),
            pace: 0,
            sample_since: Time::ZERO,
            sample_bytes: 0,
            last: Time::ZERO,
            deadline: Time::MAX,
            pause: Duration::ZERO,
            limiter: Limiter::new(settings),
            route: None,
        }
    }

    /// What was measured no longer holds: the path has been away. What its limiter found does, since a chunk too large may be
    /// why.
    pub(crate) fn forget(&mut self) {
        self.loss = 0;
        self.elapsed = Smoothed::default();
        self.pace = 0;
        self.sample_bytes = 0;
    }

    /// How long it may be silent while something is in flight.
    pub(crate) fn timeout(&self, settings: &Settings) -> Duration {
        let known = match self.elapsed.mean {
            0 => settings.first_timeout.as_ps(),
            _ => self.elapsed.bound(),
        };
        let time = known.saturating_add(paced(self.waiting, self.pace));
        let (least, most) = (settings.timeout_least, settings.timeout_most);
        Duration::from_ps(time).clamp(least, most)
    }

    /// A work request goes.
    pub(crate) fn on_posted(&mut self, now: Time, bytes: u64, settings: &Settings) {
        let was_idle = self.in_flight == 0;
        self.in_flight += 1;
        self.waiting += bytes;
        if was_idle {
            // A pause is no slowness, and the first byte takes a round trip.
            if now > self.last || self.sample_bytes == 0 {
                let round_trip = Duration::from_ps(self.round_trip.mean);
                self.sample_since = now.saturating_add(round_trip);
                self.sample_bytes = 0;
            }
            self.last = now;
            self.deadline = now.saturating_add(self.timeout(settings));
        }
    }

    /// One of them has ended.
    pub(crate) fn on_ended(&mut self, now: Time, bytes: u64, settings: &Settings) {
        self.in_flight -= 1;
        self.waiting = self.waiting.saturating_sub(bytes);
        if self.health == Health::Quarantined {
            return;
        }
        self.deadline = match self.in_flight {
            0 => Time::MAX,
            _ => now.saturating_add(self.timeout(settings)),
        };
    }

    /// What its delivery says of the path. Probes are shaped by themselves, not by the path's use.
    pub(crate) fn measure(&mut self, now: Time, sample: &Sample<'_>, settings: &Settings) {
        let &Sample {
            bytes,
            posted,
            completion,
            is_probe,
        } = sample;
        let elapsed = now.saturating_since(posted);
        let small = bytes <= settings.mtu.get();
        match completion.round_trip {
            Some(round_trip) => self.round_trip.update(round_trip),
            None if small => self.round_trip.update(elapsed),
            None => {}
        }
        if !is_probe {
            self.elapsed.update(elapsed);
            let after = now.saturating_since(self.last.max(posted));
            self.limiter
                .on_delivered(settings, Bytes::new(bytes), after);
            let explained = self
                .round_trip
                .mean
                .saturating_add(paced(self.waiting, self.pace));
            let is_slower = elapsed.as_ps() > explained.saturating_add(explained / 16);
            self.sample_capacity(now, bytes, is_slower, settings);
        }
        self.last = now;
        self.count_loss(completion.retransmitted);
    }

    /// Rates below the estimate count only if the estimate doesn't explain how long a chunk took: few chunks in
    /// flight don't fill a path.
    fn sample_capacity(&mut self, now: Time, bytes: u64, is_slower: bool, settings: &Settings) {
        self.sample_bytes += bytes;
        if self.sample_bytes < settings.probe.get() {
            return;
        }
        let span = now.saturating_since(self.sample_since);
        if !span.is_zero() {
            let sample = pace_of(self.sample_bytes, span);
            self.pace = match self.pace {
                0 => sample,
                old if sample < old || is_slower => (old - old / 4 + sample / 4).max(1),
                old => old,
            };
        }
        self.sample_since = now;
        self.sample_bytes = 0;
    }

    pub(crate) fn count_loss(&mut self, lost: bool) {
        // A sixteenth: five losses in a row make a quarter.
        let sample = if lost { u16::MAX / 16 } else { 0 };
        self.loss = self.loss - self.loss / 16 + sample;
    }

    /// The share of chunks lost, in percent.
    pub(crate) fn loss(&self) -> u8 {
        (u32::from(self.loss) * 100 / 65536) as u8
    }

    /// Nothing is in flight any more; returns how much was.
    pub(crate) fn clear(&mut self) -> u32 {
        self.waiting = 0;
        self.deadline = Time::MAX;
        core::mem::take(&mut self.in_flight)
    }

    /// The time until so many more bytes are acknowledged.
    pub(crate) fn expected(&self, bytes: u64) -> u64 {
        match self.round_trip.mean {
            // Each chunk in flight takes its turn before this one.
            0 => self.elapsed.mean.saturating_mul(self.in_flight.into()),
            round_trip => round_trip.saturating_add(paced(self.waiting + bytes, self.pace)),
        }
    }

    pub(crate) fn waiting(&self) -> u64 {
        self.waiting
    }

    pub(crate) fn capacity(&self) -> Option<Rate> {
        const PS_BITS_OF_KIB: u64 = 1024 * 8_000_000_000_000;
        (self.pace != 0).then(|| Rate::from_bps(PS_BITS_OF_KIB / self.pace))
    }
}

/// A chunk that was delivered.
pub(crate) struct Sample<'a> {
    pub(crate) bytes: u64,
    pub(crate) posted: Time,
    pub(crate) completion: &'a Completion,
    pub(crate) is_probe: bool,
}

/// Picoseconds of a KiB if so many bytes took that long.
pub(crate) fn pace_of(bytes: u64, span: Duration) -> u64 {
    let pace = u128::from(span.as_ps()) * 1024 / u128::from(bytes.max(1));
    (pace as u64).max(1)
}

/// Picoseconds of so many bytes.
fn paced(bytes: u64, pace: u64) -> u64 {
    bytes.saturating_mul(pace) >> 10
}
