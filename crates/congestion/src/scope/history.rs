//! What ports did lately, for controllers that share telemetry.

use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use fairlane_units::Duration;

use crate::{Hop, Reading, Telemetry, TelemetryFormat};

/// The telemetry of every port that packets of a host have passed.
///
/// A queue pair's own memory of the packet before is a way out of control: the first acknowledgement
/// of each new one tells nothing. Here it is compared with what other packets saw at the same ports,
/// half a round trip to a round trip earlier where there was traffic.
#[derive(Clone, Debug, Default)]
pub struct History {
    ports: Ports,
    /// Half a round trip.
    span: Duration,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    before: Hop,
    last: Hop,
}

impl History {
    /// Nothing seen, on a fabric with this round-trip time.
    pub const fn new(base_rtt: Duration) -> Self {
        Self {
            ports: Ports::EMPTY,
            span: Duration::from_ps(base_rtt.as_ps() / 2),
        }
    }

    /// Adds a packet's record; returns what was seen earlier at its ports, nothing if they are all new.
    /// A port that is new has the record's own state there, so that no time lies between.
    pub fn follow(&mut self, reading: Reading<'_>) -> Option<Telemetry> {
        let record = reading.record;
        let mut earlier = Telemetry::EMPTY;
        let mut known = false;
        for (&port, hop) in record.ports().iter().zip(record.hops()) {
            let fresh = Seen {
                before: *hop,
                last: *hop,
            };
            let seen = self.ports.entry(port, fresh);
            let age = age(reading.format, &seen.last, hop);
            let restarted = age.is_some() && !reading.format.follows(&seen.before, hop);
            if restarted || age.is_some_and(|age| age > self.span.saturating_mul(4)) {
                // A counter that went back says nothing, averages over a long time little about now.
                *seen = fresh;
            } else if age.is_some_and(|age| age >= self.span) {
                seen.before = seen.last;
                seen.last = *hop;
            }
            let comparable = self::age(reading.format, &seen.before, hop).is_some();
            known |= comparable && seen.before != *hop;
            earlier.push(port, if comparable { seen.before } else { *hop });
        }
        known.then_some(earlier)
    }

    /// Ports remembered.
    pub const fn len(&self) -> usize {
        self.ports.seen.len()
    }

    /// Whether no port is remembered.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What was seen by port. A tree would take a cache miss for every level; here the index is small, and
/// ports that were new together lie together.
#[derive(Clone, Debug, Default)]
struct Ports {
    /// A port lies at its hash or behind it, with its place among `seen`.
    index: Vec<Option<(u32, NonZeroU32)>>,
    seen: Vec<Seen>,
}

impl Ports {
    const EMPTY: Self = Self {
        index: Vec::new(),
        seen: Vec::new(),
    };

    /// What was seen at a port; `fresh` if nothing was.
    #[inline]
    fn entry(&mut self, port: u32, fresh: Seen) -> &mut Seen {
        if self.seen.len() * 2 >= self.index.len() {
            self.grow();
        }
        let at = self.find(port);
        let number = match self.index[at] {
            Some((_, number)) => number,
            None => {
                self.seen.push(fresh);
                let number = count(&self.seen);
                self.index[at] = Some((port, number));
                number
            }
        };
        &mut self.seen[number.get() as usize - 1]
    }

    /// Where a port lies in the index, or would.
    #[inline]
    fn find(&self, port: u32) -> usize {
        let mask = self.index.len() - 1;
        // 2^32 over the golden ratio: neighbours come to lie apart.
        let mut at = (port.wrapping_mul(0x9e37_79b9) >> 8) as usize & mask;
        while self.index[at].is_some_and(|(other, _)| other != port) {
            at = (at + 1) & mask;
        }
        at
    }

    /// Makes the index twice as large, of which at most half is used.
    #[cold]
    fn grow(&mut self) {
        let size = (self.index.len() * 2).max(16);
        let old = core::mem::replace(&mut self.index, vec![None; size]);
        for entry in old.into_iter().flatten() {
            let at = self.find(entry.0);
            self.index[at] = Some(entry);
        }
    }
}

/// How many there are, at least one.
fn count(seen: &[Seen]) -> NonZeroU32 {
    let count = u32::try_from(seen.len()).ok().and_then(NonZeroU32::new);
    count.expect("ports have 32 bits")
}

/// How much later than `earlier` a hop was seen; nothing if it was before.
fn age(format: &TelemetryFormat, earlier: &Hop, hop: &Hop) -> Option<Duration> {
    let ahead = hop.time.wrapping_sub(earlier.time) & format.time_mask;
    (ahead <= format.time_mask / 2).then(|| format.time_between(earlier, hop))
}
