//! Who waits for whom: pauses, and packets that the last switch before a host holds.
//!
//! A paused port goes on when packets that it sent leave the next switch, any of them that is charged to it. A packet that
//! is held goes on when the tails of all forks whose labels it carries have come. What can't go on
//! because of others that can't is *stuck*; where there is such, some of it waits in a circle. A dynamic threshold may still
//! rise and end that, so a circle is a deadlock only if it stands ([`crate::watch`]).

use std::collections::BTreeMap;

use fairlane_network::Network;
use fairlane_network::fork::Fork;
use fairlane_network::packet::{Kind, PacketRecord};
use fairlane_network::port::CLASSES;
use fairlane_units::{FlowId, PortId};

/// Something that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// A class of a port that is paused, with its first packet and the bytes behind it.
    Paused {
        port: u32,
        class: u8,
        first: (FlowId, u32),
        bytes: u32,
    },
    /// A packet of a flow that a switch holds, by its place.
    Held { switch: u32, flow: FlowId, at: u32 },
}

/// Waiters, each of which waits for the next one, and the last one for the first.
pub(crate) type Circle = Vec<Waiter>;

/// Who waits for whom in one instant.
#[derive(Default)]
struct Waits {
    waiters: Vec<Waiter>,
    /// By waiter, those that it waits for.
    on: Vec<Vec<u32>>,
    /// By waiter, whether it waits for something that doesn't wait.
    free: Vec<bool>,
    /// By port and class, the waiter.
    paused: Vec<Option<u32>>,
    /// By fork, whether its tail waits, and for whom.
    tails: BTreeMap<Fork, Option<u32>>,
}

/// A circle of waiters that can't go on by themselves, if there is one. `parts` are those of one fabric.
pub(crate) fn circle(parts: &[&Network]) -> Circle {
    let mut waits = Waits::of_pauses(parts);
    waits.add_queues(parts);
    waits.add_holds(parts);
    let stuck = waits.stuck();
    let numbered = (0..).zip(&waits.on);
    let next: Vec<Vec<u32>> = numbered
        .map(|(waiter, on): (usize, &Vec<u32>)| {
            let on = on.iter().copied();
            on.filter(|&to| stuck[waiter] && stuck[to as usize])
                .collect()
        })
        .collect();
    let circle = find_cycle(&next).into_iter();
    circle
        .map(|waiter| waits.waiters[waiter as usize])
        .collect()
}

/// The ports of a circle.
pub(crate) fn ports(circle: &[Waiter]) -> Vec<PortId> {
    let port = |waiter: &Waiter| match waiter {
        Waiter::Paused { port, .. } => Some(PortId::new(*port)),
        Waiter::Held { .. } => None,
    };
    circle.iter().filter_map(port).collect()
}

/// A circle in words.
pub(crate) fn describe(net: &Network, circle: &[Waiter]) -> String {
    let link = |port: u32| {
        let (node, peer) = net.graph().ends(port);
        format!("{node}->{peer}")
    };
    let holds = |waiter: &Waiter| matches!(waiter, Waiter::Held { .. });
    if !circle.iter().any(holds) {
        let links = ports(circle).into_iter().map(|port| link(port.get()));
        let links: Vec<String> = links.collect();
        return format!(
            "a cycle of pauses: links {} wait for each other",
            links.join(", ")
        );
    }
    let each = (0..circle.len()).map(|at| match circle[at] {
        Waiter::Paused { port, .. } => {
            let (_, peer) = net.graph().ends(port);
            format!("link {} is paused by {peer}", link(port))
        }
        Waiter::Held { switch, flow, .. } => {
            let mut switches = (0..).zip(&net.graph().is_switch).filter(|(_, is)| **is);
            let node: u32 = switches.nth(switch as usize).map_or(0, |(node, _)| node);
            let tail = match circle[(at + 1) % circle.len()] {
                Waiter::Paused { port, .. } => format!("on link {}", link(port)),
                Waiter::Held { .. } => "that is held".into(),
            };
            format!("what {node} holds of message {flow} waits for a tail {tail}")
        }
    });
    let each: Vec<String> = each.collect();
    format!("a cycle of pauses and holds: {}", each.join("; "))
}

impl Waits {
    /// Ports that have been paused and have something to send.
    fn of_pauses(parts: &[&Network]) -> Self {
        let mut waits = Self::default();
        let any = parts[0];
        for number in 0..any.ports().len() as u32 {
            let own = part_of(parts, any.graph().owners[number as usize]);
            let port = &own.ports()[number as usize];
            for class in 0..CLASSES as u8 {
                let bit = 1 << class & !1;
                let first = port.queued(&own.packets, class.into()).next();
                let blocked = port.paused & port.nonempty & bit != 0;
                let waiter = first.filter(|_| blocked).map(|first| Waiter::Paused {
                    port: number,
                    class,
                    first: (first.flow, first.psn),
                    bytes: port.queues[usize::from(class)].bytes,
                });
                let added = waiter.map(|waiter| waits.add(waiter));
                waits.paused.push(added);
            }
        }
        waits
    }

    fn add(&mut self, waiter: Waiter) -> u32 {
        self.waiters.push(waiter);
        self.on.push(Vec::new());
        self.free.push(false);
        self.waiters.len() as u32 - 1
    }

    /// Which paused port waits for the leaving of each packet in a queue.
    fn add_queues(&mut self, parts: &[&Network]) {
        let any = parts[0];
        for number in 0..any.ports().len() {
            let own = part_of(parts, any.graph().owners[number]);
            for class in 1..CLASSES {
                let here = self.paused[number * CLASSES + class];
                for packet in own.ports()[number].queued(&own.packets, class) {
                    if packet.kind == Kind::Tail {
                        self.tails.insert(packet.fork().plain(), here);
                    }
                    if own.ports()[number].on_switch && !packet.has(PacketRecord::UNCHARGED) {
                        self.wait(parts, (packet.sender, packet.charged), here);
                    }
                }
            }
        }
    }

    /// A packet that `sender` sent waits for `on`, or will go on by itself.
    fn wait(&mut self, parts: &[&Network], (sender, class): (u32, u8), on: Option<u32>) {
        let Some(waiter) = self.paused[sender as usize * CLASSES + usize::from(class)] else {
            return;
        };
        // As the switch sees it that pauses; its word may be on its way.
        let there = part_of(parts, parts[0].graph().peer(sender));
        let pauses = there.ports()[sender as usize].pausing & 1 << class != 0;
        let known = &mut self.on[waiter as usize];
        match on.filter(|_| pauses) {
            Some(on) if !known.contains(&on) => known.push(on),
            Some(_) => {}
            None => self.free[waiter as usize] = true,
        }
    }

    /// What is held, and for which tails.
    fn add_holds(&mut self, parts: &[&Network]) {
        let mut labels = Vec::new();
        for net in parts {
            let Some(deflection) = net.deflection() else {
                continue;
            };
            for (switch, hold) in (0..).zip(&deflection.holds) {
                for item in hold.held() {
                    let packet = net.packets.get(item.at);
                    let waiter = self.add(Waiter::Held {
                        switch,
                        flow: packet.flow,
                        at: item.at,
                    });
                    if item.tail.is_some() {
                        self.tails.insert(item.tail.plain(), Some(waiter));
                    }
                    if !packet.has(PacketRecord::UNCHARGED) {
                        self.wait(parts, (packet.sender, packet.charged), Some(waiter));
                    }
                    labels.push((waiter, hold.waits_for(item).collect::<Vec<Fork>>()));
                }
            }
        }
        for (waiter, forks) in labels {
            let tails = forks.iter().filter_map(|fork| self.tails.get(fork));
            self.on[waiter as usize].extend(tails.flatten());
        }
    }

    /// By waiter, whether it can't go on: a paused port if none of what it waits for can, a packet that is held if one
    /// of them can't.
    fn stuck(&self) -> Vec<bool> {
        let waiters = self.free.iter().zip(&self.on);
        let mut stuck: Vec<bool> = waiters.map(|(free, on)| !free && !on.is_empty()).collect();
        loop {
            let goes_on = |waiter: usize| {
                let mut on = self.on[waiter].iter().map(|&on| stuck[on as usize]);
                match self.waiters[waiter] {
                    Waiter::Paused { .. } => !on.all(|stuck| stuck),
                    Waiter::Held { .. } => !on.any(|stuck| stuck),
                }
            };
            let freed = (0..stuck.len()).find(|&waiter| stuck[waiter] && goes_on(waiter));
            let Some(freed) = freed else {
                return stuck;
            };
            stuck[freed] = false;
        }
    }
}

fn part_of<'a>(parts: &[&'a Network], node: u32) -> &'a Network {
    parts[usize::from(parts[0].place().part_of[node as usize])]
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
    use fairlane_units::FlowId;

    use super::{Waiter, Waits, find_cycle};

    /// Waiters, of which the first `ports` are paused ports and the others packets that are held.
    fn waits(ports: u32, on: &[&[u32]], free: &[u32]) -> Vec<bool> {
        let mut waits = Waits::default();
        for (number, on) in (0..).zip(on) {
            let paused = Waiter::Paused {
                port: number,
                class: 3,
                first: (FlowId::new(0), 0),
                bytes: 0,
            };
            let held = Waiter::Held {
                switch: 0,
                flow: FlowId::new(0),
                at: number,
            };
            let waiter = waits.add(if number < ports { paused } else { held });
            waits.on[waiter as usize].extend_from_slice(on);
        }
        free.iter()
            .for_each(|&waiter| waits.free[waiter as usize] = true);
        waits.stuck()
    }

    #[test]
    fn a_paused_port_goes_on_with_any_of_what_it_sent() {
        let circle: &[&[u32]] = &[&[1], &[2], &[0, 3], &[0]];
        assert_eq!(waits(4, circle, &[]), [true; 4]);
        // Something of what port 3 sent leaves, then something of what port 2 sent, and so on.
        assert_eq!(waits(4, circle, &[3]), [false; 4]);
        let behind: &[&[u32]] = &[&[1], &[0], &[0]];
        assert_eq!(waits(3, behind, &[2]), [true, true, false]);
        assert_eq!(waits(1, &[&[]], &[]), [false]);
    }

    #[test]
    fn a_packet_that_is_held_needs_all_its_tails() {
        // Packet 2 waits for tails on ports 0 and 1, port 1 for packet 2, and port 0 goes on.
        let on: &[&[u32]] = &[&[1], &[2], &[0, 1]];
        assert_eq!(waits(2, on, &[0]), [false, true, true]);
        assert_eq!(waits(2, on, &[0, 1]), [false; 3]);
        assert_eq!(waits(3, on, &[0]), [false; 3]);
    }

    #[test]
    fn finds_a_cycle_behind_a_tail_and_only_then() {
        let tail_and_cycle = [vec![1], vec![2], vec![3], vec![1], vec![]];
        assert_eq!(find_cycle(&tail_and_cycle), [1, 2, 3]);
        let diamond = [vec![1, 2], vec![3], vec![3], vec![]];
        assert!(find_cycle(&diamond).is_empty());
        assert_eq!(find_cycle(&[vec![0]]), [0]);
    }
}
