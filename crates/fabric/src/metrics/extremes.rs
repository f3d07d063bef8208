//! What stands out: the slowest messages, the hottest ports.

use fairlane_units::PortId;

use super::series::{interval_utilisation, intervals, row, utilisation};
use crate::{MessageRecord, Results};

/// One of the slowest messages.
#[derive(Clone, Copy, Debug)]
pub struct SlowMessage<'a> {
    /// The message.
    pub message: &'a MessageRecord,
    /// Its completion time over the ideal one; of a message that didn't complete, the time until the end of the run
    /// over the ideal one.
    pub slowdown: f64,
}

/// The `most` posted messages with the largest slowdown, in descending order.
pub fn slowest(results: &Results, most: usize) -> Vec<SlowMessage<'_>> {
    let posted = results.messages.iter().filter(|message| message.posted);
    let mut all: Vec<_> = posted
        .map(|message| {
            let end = message.finish.unwrap_or(results.totals.end);
            let span = end.saturating_since(message.start);
            let slowdown = span.as_secs_f64() / message.ideal.as_secs_f64();
            SlowMessage { message, slowdown }
        })
        .collect();
    first_of(&mut all, most, |a, b| {
        let slower = b.slowdown.total_cmp(&a.slowdown);
        slower.then(a.message.id.cmp(&b.message.id))
    });
    all
}

/// One of the hottest ports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotPort {
    /// The port.
    pub port: PortId,
    /// Use of its rate over the whole run, 0 to about 1.
    pub utilisation: f64,
    /// Use of its rate in its busiest interval.
    pub busiest: f64,
    /// Most bytes that waited at any time.
    pub queue_max: u64,
    /// Packets marked.
    pub marked: u64,
    /// Nanoseconds that it was paused.
    pub paused_ns: u64,
}

/// The `most` switch ports that used most of their rate, in descending order; of equal use, those with the deepest queue.
/// None without samples.
pub fn hottest(results: &Results, most: usize) -> Vec<HotPort> {
    let series = &results.series;
    if intervals(series) == 0 {
        return Vec::new();
    }
    let mut ports: Vec<HotPort> = (0..)
        .zip(utilisation(results))
        .map(|(number, utilisation)| HotPort {
            port: PortId::new(number),
            utilisation,
            busiest: 0.0,
            queue_max: 0,
            marked: 0,
            paused_ns: 0,
        })
        .collect();
    for interval in 0..intervals(series) {
        let values = |of| row(series, of, interval).iter().copied();
        let columns = values(&series.queue_max)
            .zip(values(&series.marked))
            .zip(values(&series.paused_ns));
        let used = interval_utilisation(results, interval);
        for ((port, used), ((queue, marked), paused)) in ports.iter_mut().zip(used).zip(columns) {
            port.busiest = port.busiest.max(used);
            port.queue_max = port.queue_max.max(queue);
            port.marked += marked;
            port.paused_ns += paused;
        }
    }
    ports.retain(|hot| {
        let port = results.ports.get(hot.port.index());
        port.is_some_and(|port| port.on_switch)
    });
    first_of(&mut ports, most, |a, b| {
        let hotter = b.utilisation.total_cmp(&a.utilisation);
        let deeper = b.queue_max.cmp(&a.queue_max);
        hotter.then(deeper).then(a.port.cmp(&b.port))
    });
    ports
}

/// Keeps the first `most` in an order, sorted.
fn first_of<T>(all: &mut Vec<T>, most: usize, order: impl Fn(&T, &T) -> std::cmp::Ordering) {
    if all.len() > most {
        all.select_nth_unstable_by(most, &order);
        all.truncate(most);
    }
    all.sort_by(order);
}
