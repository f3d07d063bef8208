//! Another ring for every piece: no pair of hosts is used long enough for any feedback to matter.
//!
//! S2, section III.C: an all-reduce over a ring may as well use another one in each step. Exploits every
//! scope that ends at source and destination: each new pair begins at line rate.

use fairlane_fabric::MessageSpec;
use fairlane_scenario::Error;
use fairlane_units::{MessageId, NodeId};

use crate::plan::Draft;
use crate::rings::Rings;
use crate::rotation::{Chain, Rotation, shuffle};
use crate::scene::{SHARED, Scene, Window, error_at};
use crate::split::{Cut, replace_long};

/// Pieces under way on each ring: one arrives while the next is sent.
const OUTSTANDING: u32 = 2;

/// Traffic of its own: every host sends a piece to its successor on one ring after the other. On several
/// rings at a time, they take turns: ring r, then ring r + `rings` and so on.
pub(crate) fn add(scene: &Scene<'_>, window: Window, draft: &mut Draft) -> Result<(), Error> {
    let (rings, lanes) = rings_of(scene)?;
    let mut order: Vec<usize> = (0..rings.len()).collect();
    shuffle(&mut order, &mut scene.stream(SHARED));
    if scene.attack.honest {
        let successor = |(index, host): (usize, &NodeId)| {
            let next = scene.own[rings.successor(order[0], index)];
            (*host, next)
        };
        let partners: Vec<_> = scene.own.iter().enumerate().map(successor).collect();
        draft.add_bulk(scene, window, &partners);
        return Ok(());
    }
    let outstanding = scene.attack.outstanding.unwrap_or(OUTSTANDING);
    let steps = scene.pieces(window, scene.piece(), outstanding)? as usize;
    scene.check_count("rings", (steps as u64).saturating_mul(lanes as u64))?;
    for (index, host) in scene.own.iter().enumerate() {
        let mut chains = vec![Chain::new(outstanding); lanes];
        for step in 0..steps {
            for (lane, chain) in chains.iter_mut().enumerate() {
                let ring = order[(step * lanes + lane) % order.len()];
                let message = MessageSpec {
                    source: *host,
                    destination: scene.own[rings.successor(ring, index)],
                    ..scene.template(window.start)
                };
                chain.push(draft, message);
            }
        }
    }
    Ok(())
}

/// The rings over the attacker's hosts, and how many are in use at a time.
fn rings_of(scene: &Scene<'_>) -> Result<(Rings, usize), Error> {
    let rings = Rings::over(scene.own.len());
    if rings.len() < 2 {
        let message = format!(
            "tenant \"{}\" has {} hosts, expected at least 3 for more than one ring",
            scene.name,
            scene.own.len()
        );
        return Err(error_at("tenant", message, "give it more hosts"));
    }
    let lanes = scene.attack.rings.unwrap_or(1) as usize;
    if lanes > rings.len() {
        let message = format!(
            "is {lanes}, but there are {} rings over the {} hosts of tenant \"{}\"",
            rings.len(),
            scene.own.len(),
            scene.name
        );
        return Err(error_at("rings", message, "lower it"));
    }
    Ok((rings, lanes))
}

/// Cuts long messages: pieces go to one destination after the other, the first to the message's own. All bytes
/// are sent, but not to where they were meant to go: peers would have to forward them.
pub(crate) fn cut(scene: &Scene<'_>, draft: &mut Draft) -> Result<(), Error> {
    let how = Cut::Pieces(scene.piece());
    let outstanding = scene.attack.outstanding.unwrap_or(OUTSTANDING);
    let lanes = scene.attack.rings.unwrap_or(1);
    let reachable = reachable(scene);
    replace_long(scene, draft, how, |job, message, sizes| {
        let others = reachable
            .iter()
            .copied()
            .filter(|host| *host != message.destination);
        let others: Vec<NodeId> = others.collect();
        let rotation = Rotation::new(&others, Some(message.source), scene.stream(job.get()));
        let destinations = Destinations {
            own: message.destination,
            others: rotation,
            at: 0,
        };
        let mut chain = Chain::new(outstanding.saturating_mul(lanes));
        let pieces = (0..).map(MessageId::new).zip(sizes).zip(destinations);
        pieces
            .map(|((number, size), destination)| {
                let after = chain.predecessor();
                chain.note(number);
                MessageSpec {
                    size,
                    destination,
                    after,
                    ..*message
                }
            })
            .collect()
    })
}

/// Whom the attacker's messages go to, which is whom it may reach.
fn reachable(scene: &Scene<'_>) -> Vec<NodeId> {
    let own = scene
        .honest
        .iter()
        .filter(|message| message.tenant == scene.tenant);
    let mut hosts: Vec<NodeId> = own.map(|message| message.destination).collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts
}

/// A message's own destination, then all others in random order, and again.
struct Destinations {
    own: NodeId,
    others: Option<Rotation>,
    at: usize,
}

impl Iterator for Destinations {
    type Item = NodeId;

    fn next(&mut self) -> Option<NodeId> {
        let circle = self.others.as_ref().map_or(1, |others| others.len() + 1);
        let at = self.at;
        self.at = (at + 1) % circle;
        match &mut self.others {
            Some(others) if at > 0 => Some(others.next()),
            _ => Some(self.own),
        }
    }
}
