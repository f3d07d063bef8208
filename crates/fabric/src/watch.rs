//! Notices runs that can't end.

use fairlane_units::{Duration, PortId, Time};

use crate::network::Network;
use crate::port::CLASSES;

/// Looks from time to time whether anything has progressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) interval: Duration,
    /// Bytes placed at receivers when it last looked.
    pub(crate) placed: u64,
    /// When it last saw that something had moved, or could move by itself.
    pub(crate) since: Time,
}

impl Watch {
    /// Looks every 10 ms, or 20 base round trips on slow fabrics.
    pub(crate) fn new(base_rtt: Duration) -> Self {
        Self {
            interval: Duration::from_ms(10).max(base_rtt.saturating_mul(20)),
            placed: 0,
            since: Time::ZERO,
        }
    }
}

/// Ports that wait for each other: each is paused by a switch whose buffer is held by packets that wait at the
/// next one. Empty if there is no such circle. `parts` are those of one fabric.
pub(crate) fn pause_cycle(parts: &[&Network]) -> Vec<PortId> {
    let any = parts[0];
    let count = any.ports.len();
    let owner = |port: usize| {
        let node = any.ports[port].node as usize;
        parts[usize::from(any.place.part_of[node])]
    };
    let blocked = |port: usize| {
        let state = &owner(port).ports[port];
        state.paused & state.nonempty & !1 != 0
    };
    let mut waits_for = vec![Vec::new(); count];
    for port in (0..count).filter(|&port| blocked(port)) {
        // The pause comes from the switch at the other end, for packets that this port sent.
        let node = any.graph.peer(port as u32) as usize;
        let edges = any.graph.edges[node].iter();
        for edge in edges.filter(|edge| blocked(edge.port as usize)) {
            if holds_from(owner(edge.port as usize), edge.port, port as u32) {
                waits_for[port].push(edge.port);
            }
        }
    }
    find_cycle(&waits_for)
        .into_iter()
        .map(PortId::new)
        .collect()
}

/// Whether a queue of `egress` has packets that `sender` sent.
fn holds_from(net: &Network, egress: u32, sender: u32) -> bool {
    let port = &net.ports[egress as usize];
    (1..CLASSES).any(|class| {
        let mut waiting = port.queued(&net.packets, class);
        waiting.any(|packet| packet.sender == sender)
    })
}

/// Any cycle of a directed graph, in order; empty if there is none.
fn find_cycle(next: &[Vec<u32>]) -> Vec<u32> {
    /// Not visited, on the path that is being followed, finished.
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Closed,
    }
    let mut marks = vec![Mark::New; next.len()];
    for start in 0..next.len() {
        if marks[start] != Mark::New {
            continue;
        }
        let mut path = vec![(start, 0)];
        marks[start] = Mark::Open;
        while let Some((node, tried)) = path.last_mut() {
            let Some(&to) = next[*node].get(*tried) else {
                marks[*node] = Mark::Closed;
                path.pop();
                continue;
            };
            *tried += 1;
            let to = to as usize;
            match marks[to] {
                Mark::Closed => {}
                Mark::New => {
                    marks[to] = Mark::Open;
                    path.push((to, 0));
                }
                Mark::Open => {
                    let from = path.iter().position(|&(node, _)| node == to).unwrap_or(0);
                    return path[from..].iter().map(|&(node, _)| node as u32).collect();
                }
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::find_cycle;

    #[test]
    fn finds_a_cycle_behind_a_tail_and_only_then() {
        let tail_and_cycle = [vec![1], vec![2], vec![3], vec![1], vec![]];
        assert_eq!(find_cycle(&tail_and_cycle), [1, 2, 3]);
        let diamond = [vec![1, 2], vec![3], vec![3], vec![]];
        assert!(find_cycle(&diamond).is_empty());
        assert_eq!(find_cycle(&[vec![0]]), [0]);
    }
}
