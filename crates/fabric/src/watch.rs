//! Notices runs that can't end.

use fairlane_units::{Duration, PortId, Time};

use crate::port::CLASSES;
use crate::world::{World, control};
use crate::{Ending, MessageSpec, Stall};

/// Looks from time to time whether anything has progressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) interval: Duration,
    /// Bytes placed at receivers when it last looked.
    placed: u64,
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

    /// Looks at the parts of one fabric. If nothing has moved and nothing will, returns the circle of pauses
    /// that is to blame, an empty one if it is something else.
    pub(crate) fn look(&mut self, parts: &[&World]) -> Option<Vec<PortId>> {
        let now = parts[0].now();
        let placed = parts.iter().map(|world| world.heard().placed).sum();
        if std::mem::replace(&mut self.placed, placed) != placed {
            self.since = now;
            return None;
        }
        let cycle = pause_cycle(parts);
        if !cycle.is_empty() {
            return Some(cycle);
        }
        if parts.iter().any(|world| world.will_act()) {
            self.since = now;
            return None;
        }
        let frees = |world: &&World| world.storms.may_free(self.since, now, self.interval);
        (!parts.iter().any(frees)).then(Vec::new)
    }
}

impl World {
    pub(crate) fn start_watch(&mut self, after: Time) {
        let at = after.saturating_add(self.watch.interval);
        self.schedule_control(at, control::WATCH);
    }

    pub(crate) fn on_watch(&mut self) {
        if self.is_done() {
            return;
        }
        let mut watch = self.watch;
        let stuck = watch.look(&[self]);
        self.watch = watch;
        match stuck {
            Some(cycle) => self.ending = Some(Ending::Stalled(self.stall(cycle))),
            None => self.start_watch(self.now()),
        }
    }

    /// Whether something other than an acknowledgement, or the end of a pause, can still move an unfinished
    /// message.
    fn will_act(&self) -> bool {
        self.schedule.is_pending()
            || self.notices.are_pending()
            || self.faults.is_pending()
            || self.nics.iter().any(|nic| nic.host.will_act())
            || self.endpoints_go_on()
    }

    /// Describes a run that can't end; `cycle` is what [`World::pause_cycle`] found.
    pub(crate) fn stall(&self, cycle: Vec<PortId>) -> Stall {
        let unfinished = (self.owed - self.records.len()) as u32;
        let first = self.connections.posted.keys().next().map(|&message| {
            let MessageSpec {
                source,
                destination,
                ..
            } = self.specs[message as usize];
            format!("message {message} from host {source} to host {destination}")
        });
        let first = first.unwrap_or_else(|| "a message that was never posted".into());
        let reason = if cycle.is_empty() {
            format!(
                "{first} waits for packets or acknowledgements that were lost and are not sent again"
            )
        } else {
            let name = |port: &PortId| {
                let (node, peer) = self.ends(port.get());
                format!("{node}->{peer}")
            };
            let names: Vec<String> = cycle.iter().map(name).collect();
            format!(
                "a cycle of pauses: links {} wait for each other",
                names.join(", ")
            )
        };
        Stall {
            at: self.now(),
            pause_cycle: cycle,
            unfinished,
            reason,
        }
    }

    /// Whether a queue of `egress` has packets that `sender` sent.
    fn holds_from(&self, egress: u32, sender: u32) -> bool {
        let port = &self.ports[egress as usize];
        (1..CLASSES).any(|class| {
            let mut waiting = port.queued(&self.packets, class);
            waiting.any(|packet| packet.sender == sender)
        })
    }
}

/// Ports that wait for each other: each is paused by a switch whose buffer is held by packets that wait at the
/// next one. Empty if there is no such circle. `parts` are those of one fabric.
pub(crate) fn pause_cycle(parts: &[&World]) -> Vec<PortId> {
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
            if owner(edge.port as usize).holds_from(edge.port, port as u32) {
                waits_for[port].push(edge.port);
            }
        }
    }
    find_cycle(&waits_for)
        .into_iter()
        .map(PortId::new)
        .collect()
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
