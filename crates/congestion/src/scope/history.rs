//! What ports did lately, for controllers that share telemetry.

use alloc::collections::BTreeMap;

use fairlane_units::Duration;

use crate::{Hop, Reading, Telemetry, TelemetryFormat};

/// The telemetry of every port that packets of a host have passed.
///
/// A queue pair's own memory of the packet before is a way out of control: the first acknowledgement
/// of each new one tells nothing. Here it is compared with what other packets saw at the same ports,
/// half a round trip to a round trip earlier where there was traffic.
#[derive(Clone, Debug, Default)]
pub struct History {
    ports: BTreeMap<u32, Seen>,
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
            ports: BTreeMap::new(),
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
            let seen = self.ports.entry(port).or_insert(fresh);
            let age = age(reading.format, &seen.last, hop);
            if age.is_some_and(|age| age > self.span.saturating_mul(4)) {
                // Averages over a long time say little about now.
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
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether no port is remembered.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }
}

/// How much later than `earlier` a hop was seen; nothing if it was before.
fn age(format: &TelemetryFormat, earlier: &Hop, hop: &Hop) -> Option<Duration> {
    let ahead = hop.time.wrapping_sub(earlier.time) & format.time_mask;
    (ahead <= format.time_mask / 2).then(|| format.time_between(earlier, hop))
}
