//! How long rates take to become fair after a message joins or leaves.

use std::collections::BTreeMap;

use fairlane_fabric::{MessageRecord, RateRecord, Results};
use fairlane_units::{MessageId, NodeId, Time};

use crate::metric::{Metric, Quantity};

/// A rate is fair if it is this near to the share.
const TOLERANCE: f64 = 0.1;

/// Base round trips from when the last message of the metric's workload begins (or ends) until the rates of all
/// messages under way are within 10 % of their max-min shares of the hosts' links, and stay there until
/// another message begins or ends. Nothing if they don't.
pub(crate) fn round_trips(results: &Results, metric: &Metric) -> Option<f64> {
    let since = event(results, metric)?;
    let until = next_change(results, since);
    let under_way = |message: &&MessageRecord| {
        message.posted
            && message.start <= since
            && message.finish.is_none_or(|finish| finish > since)
    };
    let open: Vec<&MessageRecord> = results.messages.iter().filter(under_way).collect();
    let ends: Vec<_> = open
        .iter()
        .map(|one| (one.source, one.destination))
        .collect();
    let shares = shares(&ends, &link_rates(results));
    let mut senders: BTreeMap<MessageId, Sender> = open
        .iter()
        .zip(shares)
        .map(|(one, share)| (one.id, Sender { share, rate: None }))
        .collect();
    let rows = results.rates.iter().take_while(|row| row.time < until);
    let settled = settled(&mut senders, rows, since)?;
    let rtt = results.totals.base_rtt.as_secs_f64();
    Some((settled - since).as_secs_f64() / rtt)
}

/// A message under way.
struct Sender {
    share: f64,
    rate: Option<f64>,
}

impl Sender {
    fn is_fair(&self) -> bool {
        let near = |rate: f64| (rate - self.share).abs() <= TOLERANCE * self.share;
        self.rate.is_some_and(near)
    }
}

/// When the senders became fair for good.
fn settled<'a>(
    senders: &mut BTreeMap<MessageId, Sender>,
    rows: impl Iterator<Item = &'a RateRecord>,
    since: Time,
) -> Option<Time> {
    let mut unfair = senders.len();
    let mut fair_since = None;
    for row in rows {
        let Some(sender) = senders.get_mut(&row.message) else {
            continue;
        };
        let before = sender.is_fair();
        sender.rate = Some(row.rate.as_f64());
        match (before, sender.is_fair()) {
            (true, false) => unfair += 1,
            (false, true) => unfair -= 1,
            _ => {}
        }
        let at = row.time.max(since);
        fair_since = (unfair == 0).then(|| fair_since.unwrap_or(at));
    }
    fair_since
}

/// When the last message of the metric's workload begins, or ends.
fn event(results: &Results, metric: &Metric) -> Option<Time> {
    let of_workload = |message: &&MessageRecord| {
        let workload = metric.workload;
        workload.is_none_or(|workload| message.workload == workload)
    };
    let mut messages = results.messages.iter().filter(of_workload);
    match metric.of {
        Quantity::Leave => messages.try_fold(Time::ZERO, |last, one| Some(last.max(one.finish?))),
        _ => messages.filter(|one| one.posted).map(|one| one.start).max(),
    }
}

/// When a message begins or ends next.
fn next_change(results: &Results, since: Time) -> Time {
    let starts = results.messages.iter().filter(|one| one.posted);
    let starts = starts.map(|one| one.start);
    let finishes = results.messages.iter().filter_map(|one| one.finish);
    let later = starts.chain(finishes).filter(|time| *time > since);
    later.min().unwrap_or(Time::MAX)
}

/// The rate of each host's link.
fn link_rates(results: &Results) -> BTreeMap<NodeId, f64> {
    let hosts = results.ports.iter().filter(|port| !port.on_switch);
    hosts.map(|port| (port.node, port.rate.as_f64())).collect()
}

/// Max-min shares of flows from host to host where only the hosts' links are narrow: the narrowest link fixes the
/// shares of its flows, and so on with what is left.
fn shares(flows: &[(NodeId, NodeId)], links: &BTreeMap<NodeId, f64>) -> Vec<f64> {
    let mut shares: Vec<Option<f64>> = vec![None; flows.len()];
    // Links to hosts and from hosts.
    let users = |(source, destination): (NodeId, NodeId)| [(false, source), (true, destination)];
    loop {
        // What each link has left, and for how many.
        let mut left: BTreeMap<(bool, NodeId), (f64, u32)> = BTreeMap::new();
        for (flow, share) in flows.iter().zip(&shares) {
            for link in users(*flow) {
                let rate = links.get(&link.1).copied().unwrap_or_default();
                let (rest, waiting) = left.entry(link).or_insert((rate, 0));
                match share {
                    Some(share) => *rest -= share,
                    None => *waiting += 1,
                }
            }
        }
        let level = |(rest, waiting): &(f64, u32)| rest / f64::from(*waiting);
        let narrow = left.iter().filter(|(_, (_, waiting))| *waiting > 0);
        let narrowest = narrow.min_by(|(_, a), (_, b)| level(a).total_cmp(&level(b)));
        let Some((link, level)) = narrowest.map(|(link, one)| (*link, level(one))) else {
            return shares.into_iter().flatten().collect();
        };
        for (flow, share) in flows.iter().zip(&mut shares) {
            if share.is_none() && users(*flow).contains(&link) {
                *share = Some(level);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_units::{Duration, Rate};

    use super::*;

    #[test]
    fn shares_are_max_min() {
        let node = NodeId::new;
        let links = (0..4).map(|host| (node(host), 12.0)).collect();
        // Three flows leave host 0, one of them for host 3, which hears of host 1 as well.
        let flows = [(0, 2), (0, 2), (0, 3), (1, 3)].map(|(a, b)| (node(a), node(b)));
        assert_eq!(shares(&flows, &links), [4.0, 4.0, 4.0, 8.0]);
    }

    #[test]
    fn what_is_left_again_has_not_settled() {
        let row = |us, message, rate| RateRecord {
            time: Time::ZERO + Duration::from_us(us),
            message: MessageId::new(message),
            rate: Rate::from_bps(rate),
        };
        let rows = [
            row(1, 0, 100),
            row(10, 0, 55),
            row(11, 1, 46),
            row(12, 1, 44),
            row(13, 1, 47),
            row(14, 0, 50),
        ];
        let settle = |rows: &[RateRecord], since| {
            let sender = || Sender {
                share: 50.0,
                rate: None,
            };
            let mut senders = BTreeMap::from([0, 1].map(|it| (MessageId::new(it), sender())));
            let since = Time::ZERO + Duration::from_us(since);
            settled(&mut senders, rows.iter(), since).map(|at| at.as_ps() / 1_000_000)
        };
        assert_eq!(settle(&rows, 5), Some(13));
        assert_eq!(settle(&rows[..4], 5), None);
        assert_eq!(settle(&rows[..3], 5), Some(11));
        // Fair already when it happens.
        assert_eq!(settle(&rows, 20), Some(20));
        assert_eq!(settle(&rows[..2], 5), None);
    }
}
