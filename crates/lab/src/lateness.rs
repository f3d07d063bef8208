//! How late events of a fabric in real time are handled.

use fairlane_fabric::RealTime;
use fairlane_units::Duration;

use crate::scale::TOLERATED;

/// Buckets for each power of two: a quantile is at most an eighth too large.
const PARTS: u32 = 8;
/// Powers of two of picoseconds that there are.
const POWERS: usize = 64;

/// How late events were, as a histogram.
#[derive(Clone, Debug)]
pub(crate) struct Lateness {
    counts: Vec<u64>,
    worst: Duration,
}

impl Default for Lateness {
    fn default() -> Self {
        Self {
            counts: vec![0; POWERS * PARTS as usize],
            worst: Duration::ZERO,
        }
    }
}

impl Lateness {
    /// Notes an event that was so late.
    pub(crate) fn note(&mut self, late: Duration) {
        self.worst = self.worst.max(late);
        self.counts[bucket(late.as_ps())] += 1;
    }

    /// What results say of it, of a run so many times slower than real time with this base round trip.
    pub(crate) fn summary(&self, scale: f64, base_rtt: Duration) -> RealTime {
        let nanoseconds = |late: Duration| late.as_secs_f64() * 1e9;
        let most = self.quantile(0.99);
        let over = most.as_secs_f64() / base_rtt.as_secs_f64() / TOLERATED;
        RealTime {
            scale,
            late_p50_ns: nanoseconds(self.quantile(0.5)),
            late_p99_ns: nanoseconds(most),
            late_max_ns: nanoseconds(self.worst),
            // What makes events late takes real time.
            enough: (over > 1.0).then(|| (scale * over).ceil()),
        }
    }

    /// How many events were noted.
    fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// What so large a part of the events wasn't later than, rounded up by at most an eighth; zero if there were none.
    fn quantile(&self, part: f64) -> Duration {
        let wanted = (part * self.count() as f64).ceil() as u64;
        let mut seen = 0;
        let found = self.counts.iter().position(|count| {
            seen += count;
            seen >= wanted.max(1)
        });
        let bound = found.map_or(0, bound);
        Duration::from_ps(bound).min(self.worst)
    }
}

/// The bucket of a number.
fn bucket(number: u64) -> usize {
    if number < u64::from(PARTS) {
        return number as usize;
    }
    let power = number.ilog2();
    let part = (number >> (power - PARTS.ilog2())) as u32 - PARTS;
    ((power - PARTS.ilog2() + 1) * PARTS + part) as usize
}

/// The largest number in a bucket.
fn bound(bucket: usize) -> u64 {
    let (power, part) = (bucket as u32 / PARTS, bucket as u32 % PARTS);
    match power {
        0 => part.into(),
        _ => {
            let shift = power - 1;
            (u64::from(PARTS + part + 1) << shift).wrapping_sub(1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_in_a_bucket_that_ends_behind_it() {
        for number in (0..5000).chain((12..64).flat_map(|power| {
            let power = 1_u64 << power;
            [power - 1, power, power + power / 3]
        })) {
            let own = bucket(number);
            assert!(bound(own) >= number, "{number}");
            assert!(bound(own) - number <= number / 8, "{number}");
            assert!(own == 0 || bound(own - 1) < number, "{number}");
        }
    }

    #[test]
    fn quantiles_are_those_of_what_was_noted() {
        let mut lateness = Lateness::default();
        assert_eq!(lateness.quantile(0.99), Duration::ZERO);
        (1..=1000).for_each(|us| lateness.note(Duration::from_us(us)));
        let within = |part: f64, exact: u64| {
            let found = lateness.quantile(part).as_ps();
            let exact = Duration::from_us(exact).as_ps();
            assert!((exact..=exact + exact / 8).contains(&found), "{found}");
        };
        within(0.5, 500);
        within(0.99, 990);
        assert_eq!(lateness.quantile(1.0), Duration::from_us(1000));
        assert_eq!(lateness.worst, Duration::from_us(1000));
        assert_eq!(lateness.count(), 1000);
    }
}
