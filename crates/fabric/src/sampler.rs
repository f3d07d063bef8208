//! The time series of the ports.

use fairlane_network::port::Port;
use fairlane_units::{Duration, Time};

use crate::PortSeries;

/// The first interval where the scenario states none.
const INTERVAL: Duration = Duration::from_us(50);
/// Rows after which two become one and the interval doubles, where the scenario states none.
const ROWS_MAX: usize = 1024;
/// Most samples, of one port in one interval each, of a stated interval: 640 MiB.
const SAMPLES_MAX: usize = 1 << 24;

/// Collects a row of samples at regular intervals.
#[derive(Clone, Debug)]
pub(crate) struct Sampler {
    pub(crate) series: PortSeries,
    /// Counters of each port at the end of the previous row.
    before: Vec<Before>,
    rows: usize,
    /// Rows after which two become one, so that memory stays bounded.
    rows_max: usize,
    pub(crate) next: Time,
    /// The ports that are sampled, if not all.
    own: Option<Vec<u32>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Before {
    sent: u64,
    marked: u64,
    paused: Duration,
}

impl Sampler {
    /// A series of all ports from `start`, at the interval that the scenario states, if it does.
    pub(crate) fn new(ports: usize, start: Time, stated: Option<Duration>) -> Self {
        let interval = stated.unwrap_or(INTERVAL);
        let rows_max = match stated {
            Some(_) => Self::rows_max(ports),
            None => ROWS_MAX,
        };
        let series = PortSeries {
            ports,
            start,
            interval,
            ..PortSeries::default()
        };
        Self {
            series,
            before: vec![Before::default(); ports],
            rows: 0,
            rows_max,
            next: start + interval,
            own: None,
        }
    }

    /// The most rows of so many ports at a stated interval; even, as two become one.
    pub(crate) fn rows_max(ports: usize) -> usize {
        (SAMPLES_MAX / ports.max(1)).max(2) & !1
    }

    /// Samples only these ports.
    pub(crate) fn keep(&mut self, own: Vec<u32>) {
        self.series.ports = own.len();
        self.before.truncate(own.len());
        self.own = Some(own);
    }

    /// Takes the series out.
    pub(crate) fn take(&mut self) -> PortSeries {
        std::mem::take(&mut self.series)
    }

    /// Keeps the series of a run that has ended.
    pub(crate) fn set(&mut self, series: PortSeries) {
        self.series = series;
    }

    /// Takes in the series of other ports of the same run.
    pub(crate) fn absorb(&mut self, other: &Self) {
        let (Some(own), Some(others)) = (&self.own, &other.own) else {
            return;
        };
        let (ours, series) = ((own.as_slice(), others.as_slice()), &mut self.series);
        // A part without any of these ports has no rows that could become half as many.
        series.interval = series.interval.max(other.series.interval);
        interleave(ours, &mut series.sent, &other.series.sent);
        interleave(ours, &mut series.queue, &other.series.queue);
        interleave(ours, &mut series.queue_max, &other.series.queue_max);
        interleave(ours, &mut series.marked, &other.series.marked);
        interleave(ours, &mut series.paused_ns, &other.series.paused_ns);
        series.ports += other.series.ports;
        let mut all = [own.as_slice(), others].concat();
        all.sort_unstable();
        self.own = Some(all);
    }

    /// Returns whether two rows have become one.
    pub(crate) fn add_row(&mut self, ports: &mut [Port], now: Time) -> bool {
        let series = &mut self.series;
        let own = self.own.as_deref();
        for (at, before) in self.before.iter_mut().enumerate() {
            let port = &mut ports[own.map_or(at, |own| own[at] as usize)];
            let paused = port.paused_until(now);
            series.sent.push(port.sent_bytes - before.sent);
            series.queue.push(port.waiting);
            series.queue_max.push(port.waiting_max);
            series.marked.push(port.marked - before.marked);
            series.paused_ns.push((paused - before.paused).as_ns());
            *before = Before {
                sent: port.sent_bytes,
                marked: port.marked,
                paused,
            };
            port.deepest = port.deepest.max(port.waiting_max);
            port.waiting_max = port.waiting;
        }
        self.rows += 1;
        let full = self.rows == self.rows_max;
        if full {
            self.halve();
        }
        full
    }

    /// Makes one row of every two.
    fn halve(&mut self) {
        let (ports, series) = (self.series.ports, &mut self.series);
        fold_pairs(&mut series.sent, ports, |a, b| a + b);
        fold_pairs(&mut series.queue, ports, |_, b| b);
        fold_pairs(&mut series.queue_max, ports, u64::max);
        fold_pairs(&mut series.marked, ports, |a, b| a + b);
        fold_pairs(&mut series.paused_ns, ports, |a, b| a + b);
        series.interval = series.interval * 2;
        self.rows /= 2;
    }
}

/// Merges rows of values of two sets of ports into rows in the order of all ports.
fn interleave((own, others): (&[u32], &[u32]), values: &mut Vec<u64>, more: &[u64]) {
    let rows = values.len() / own.len().max(1);
    let mut all = Vec::with_capacity(values.len() + more.len());
    for row in 0..rows.max(more.len() / others.len().max(1)) {
        let (mut a, mut b) = (0, 0);
        while a < own.len() || b < others.len() {
            if b == others.len() || (a < own.len() && own[a] < others[b]) {
                all.push(values[row * own.len() + a]);
                a += 1;
            } else {
                all.push(more[row * others.len() + b]);
                b += 1;
            }
        }
    }
    *values = all;
}

/// Replaces rows `2i` and `2i + 1` of `row` values each by one.
pub(crate) fn fold_pairs<T: Copy>(values: &mut Vec<T>, row: usize, fold: impl Fn(T, T) -> T) {
    let rows = values.len() / row / 2;
    for at in 0..rows * row {
        let (pair, column) = (at / row, at % row);
        let first = pair * 2 * row + column;
        values[at] = fold(values[first], values[first + row]);
    }
    values.truncate(rows * row);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_keeps_sums_and_maxima() {
        let mut sums = vec![1, 10, 2, 20, 3, 30, 4, 40];
        let mut maxima = sums.clone();
        fold_pairs(&mut sums, 2, |a, b| a + b);
        fold_pairs(&mut maxima, 2, u64::max);
        assert_eq!(sums, [3, 30, 7, 70]);
        assert_eq!(maxima, [2, 20, 4, 40]);
    }

    #[test]
    fn an_interval_may_have_more_than_32_bits_hold() {
        // 400 Gb/s for 80 ms are 4 GB, twice that is more than 2^32 - 1 bytes.
        let each = 4_000_000_000;
        let mut sampler = Sampler::new(1, Time::ZERO, None);
        let series = &mut sampler.series;
        (series.sent, series.paused_ns) = (vec![each; 2], vec![each; 2]);
        (series.queue, series.queue_max, series.marked) = (vec![0; 2], vec![0; 2], vec![0; 2]);
        sampler.halve();
        let series = sampler.take();
        assert_eq!(
            (series.sent, series.paused_ns),
            (vec![2 * each], vec![2 * each])
        );
    }
}
