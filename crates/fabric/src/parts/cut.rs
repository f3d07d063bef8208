//! Where a fabric is cut into parts: by the work that its traffic makes, not by the number of nodes.

use std::sync::Arc;

use fairlane_network::Network;
use fairlane_network::deflection;
use fairlane_units::{Duration, MessageId};

use crate::faults::Faults;
use crate::traffic::Traffic;

/// The most messages that are sampled to find how the work is distributed.
const SAMPLED: usize = 1 << 15;
/// Links between switches that are so much faster than the slowest are no place to cut: windows would be short.
const SHORT: u64 = 4;

/// A fabric cut into parts.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    /// By node.
    pub(crate) part_of: Arc<[u16]>,
    /// How many there are.
    pub(crate) parts: usize,
    /// What happens in one part is heard of in another no earlier than after this time.
    pub(crate) lookahead: Duration,
}

impl Cut {
    /// Cuts a fabric into `wanted` parts at most, as equal as may be.
    pub(crate) fn new(net: &Network, traffic: &Traffic, faults: &Faults, wanted: usize) -> Self {
        let survey = Survey {
            net,
            traffic,
            faults,
        };
        let groups = survey.groups();
        let weights = survey.weights();
        let edges = net.graph().edges.iter();
        let neighbours: Vec<Vec<u32>> = edges
            .map(|edges| edges.iter().map(|edge| edge.to).collect())
            .collect();
        let (part_of, parts) = divide(&groups, (&weights, &neighbours), wanted);
        let lookahead = survey.lookahead(&part_of);
        Self {
            part_of: part_of.into(),
            parts,
            lookahead,
        }
    }
}

/// Looks at a fabric that is to be cut.
struct Survey<'a> {
    net: &'a Network,
    traffic: &'a Traffic,
    faults: &'a Faults,
}

impl Survey<'_> {
    /// Time from the sending of the smallest packet at a port to its arrival.
    fn latency(&self, port: u32) -> Duration {
        let smallest = self.traffic.rules.smallest();
        let smallest = match self.net.plan().forks {
            true => smallest.min(deflection::CONTROL),
            false => smallest,
        };
        let link = port as usize / 2;
        let time = self
            .net
            .settings()
            .serialization(smallest.into(), self.net.graph().rates[link]);
        Duration::from_ps(self.net.graph().delays[link]) + time
    }

    fn lookahead(&self, part_of: &[u16]) -> Duration {
        let ports = 0..self.net.graph().owners.len() as u32;
        let crosses = |port: &u32| {
            let (here, there) = self.net.graph().ends(*port);
            part_of[here as usize] != part_of[there as usize]
        };
        let cut = ports.clone().filter(crosses).map(|port| self.latency(port));
        // No message ends sooner than a round trip over the links of two hosts after it has begun.
        let of_host = |port: &u32| {
            !self.net.graph().is_switch[self.net.graph().owners[*port as usize] as usize]
        };
        let hosts = ports.filter(of_host).map(|port| self.latency(port) * 2);
        cut.chain(hosts).min().unwrap_or(Duration::ZERO)
    }

    /// For each node the first one that it must not be parted from: hosts stay with the switch of their first
    /// port, and switches with those that are near, or whose link comes back, where both ends agree on pauses
    /// at once.
    fn groups(&self) -> Vec<u32> {
        let switch_link = |port: u32| {
            let (here, there) = self.net.graph().ends(port);
            self.net.graph().is_switch[here as usize] && self.net.graph().is_switch[there as usize]
        };
        let ports = || (0..self.net.graph().owners.len() as u32).step_by(2);
        let longest = ports()
            .filter(|&port| switch_link(port))
            .map(|port| self.latency(port))
            .max();
        let limit = longest.map_or(0, |longest| longest.as_ps() / SHORT);
        let mut groups: Vec<u32> = (0..self.net.graph().edges.len() as u32).collect();
        for port in ports() {
            let agrees = self.net.settings().pfc && self.faults.comes_back(port / 2);
            let far = switch_link(port) && self.latency(port).as_ps() >= limit;
            let (here, there) = self.net.graph().ends(port);
            if (far || self.is_further_port(port)) && !agrees {
                continue;
            }
            let roots = [here, there].map(|node| root(&mut groups, node));
            let first = roots[0].min(roots[1]);
            for one in roots {
                groups[one as usize] = first;
            }
        }
        (0..groups.len() as u32)
            .map(|node| root(&mut groups, node))
            .collect()
    }

    /// Whether a link is one of a host, and not its first.
    fn is_further_port(&self, port: u32) -> bool {
        let graph = self.net.graph();
        [port, port ^ 1].into_iter().any(|port| {
            let node = graph.owners[port as usize] as usize;
            !graph.is_switch[node] && graph.edges[node][0].port != port
        })
    }

    /// How much each node has to do: packets that it sends, as far as the messages say beforehand.
    fn weights(&self) -> Vec<u64> {
        let mut weights = vec![1; self.net.graph().edges.len()];
        let messages = self.traffic.messages();
        let step = messages.len().div_ceil(SAMPLED).max(1);
        let mtu = u64::from(self.net.settings().mtu);
        for (number, message) in (0..).zip(messages).step_by(step) {
            let flow = self.traffic.flow_of(MessageId::new(number));
            let flow = self.net.flow(flow);
            let tuple = flow.tuple;
            let packets = message.size.get().div_ceil(mtu);
            for end in [tuple.source, tuple.destination] {
                weights[end.index()] += packets;
            }
            let net = self.net;
            let way = flow.leg(false, net.settings().quirks.five_tuples);
            let path = net
                .plan()
                .foreseen
                .then(|| net.plan().fixed_path(net.graph(), net.routes(), &way));
            for port in path.flatten().into_iter().flatten() {
                // There as data, back as an acknowledgement.
                weights[self.net.graph().owners[port as usize] as usize] += 2 * packets;
            }
        }
        weights
    }
}

fn root(groups: &mut [u32], mut node: u32) -> u32 {
    while groups[node as usize] != node {
        let above = groups[groups[node as usize] as usize];
        groups[node as usize] = above;
        node = above;
    }
    node
}

/// So much more than its share of the work a part may have before it gets no further switch: 9/8.
const SLACK: (u64, u64) = (9, 8);

/// Gives groups to parts: those with hosts in the order of their nodes, which keeps neighbours together, then
/// lone switches to where most of their neighbours are.
fn divide(
    groups: &[u32],
    (weights, neighbours): (&[u64], &[Vec<u32>]),
    wanted: usize,
) -> (Vec<u16>, usize) {
    let mut work = vec![0; groups.len()];
    let mut members = vec![0; groups.len()];
    for (&group, weight) in groups.iter().zip(weights) {
        work[group as usize] += weight;
        members[group as usize] += 1;
    }
    let all: u64 = work.iter().sum();
    let roots = || (0..groups.len()).filter(|&node| members[node] > 0);
    let parts = wanted
        .min(roots().filter(|&root| members[root] > 1).count())
        .max(1);
    let mut part_of_group = vec![0u16; groups.len()];
    let mut done = vec![0u64; parts];
    let large: u64 = roots()
        .filter(|&root| members[root] > 1)
        .map(|root| work[root])
        .sum();
    let mut before = 0;
    for group in roots().filter(|&root| members[root] > 1) {
        // The part in which the middle of the group falls.
        let middle = (before + work[group] / 2) as u128 * parts as u128 / u128::from(large.max(1));
        let part = (middle as usize).min(parts - 1);
        (part_of_group[group], before) = (part as u16, before + work[group]);
        done[part] += work[group];
    }
    let mut placed: Vec<bool> = groups
        .iter()
        .map(|&group| members[group as usize] > 1)
        .collect();
    for lone in roots().filter(|&root| members[root] == 1) {
        let mut links = vec![0usize; parts];
        for &other in neighbours[lone]
            .iter()
            .filter(|&&other| placed[other as usize])
        {
            links[usize::from(part_of_group[groups[other as usize] as usize])] += 1;
        }
        // With most of its neighbours, unless there is too much to do already.
        let full = |part: usize| (done[part] + work[lone]) * parts as u64 * SLACK.1 > all * SLACK.0;
        let best = |&part: &usize| (full(part), std::cmp::Reverse(links[part]), done[part], part);
        let part = (0..parts).min_by_key(best).unwrap_or(0);
        part_of_group[lone] = part as u16;
        placed[lone] = true;
        done[part] += work[lone];
    }
    debug_assert_eq!(done.iter().sum::<u64>(), all);
    let part_of = groups.iter().map(|&group| part_of_group[group as usize]);
    (part_of.collect(), parts)
}

#[cfg(test)]
mod tests {
    use super::divide;

    #[test]
    fn parts_have_equal_work_and_no_group_is_parted() {
        // Four groups of two with unequal work, and two nodes on their own.
        let groups = [0, 0, 2, 2, 4, 4, 6, 6, 8, 9];
        let weights = [5, 5, 10, 10, 10, 10, 5, 5, 7, 8];
        let neighbours = vec![Vec::new(); 10];
        let (part_of, parts) = divide(&groups, (&weights, &neighbours), 2);
        assert_eq!(parts, 2);
        assert!(
            groups
                .iter()
                .zip(&part_of)
                .all(|(&group, part)| part_of[group as usize] == *part)
        );
        let work = |part| -> u64 {
            let own = part_of
                .iter()
                .zip(&weights)
                .filter(|(one, _)| **one == part);
            own.map(|(_, weight)| weight).sum()
        };
        assert!(work(0).abs_diff(work(1)) <= 5, "{} {}", work(0), work(1));
    }

    #[test]
    fn there_are_no_more_parts_than_groups_with_hosts() {
        let neighbours = vec![Vec::new(); 3];
        assert_eq!(divide(&[0, 0, 2], (&[1, 1, 1], &neighbours), 8).1, 1);
    }
}
