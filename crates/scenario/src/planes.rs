//! The ports of hosts, and planes: parts of a fabric that only hosts join, each by a port of its own.

use std::collections::{BTreeMap, BTreeSet};

/// The most planes that a fabric may have.
pub const MOST_PLANES: u32 = 8;

/// The ports of hosts, and the planes that they make: port k of every host is linked to plane k.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Planes {
    /// How many there are; one if hosts have one port each, or ports that make no planes.
    pub count: u8,
    /// The most ports of a host.
    pub ports: u8,
}

/// Why hosts can't have such links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneError {
    /// The link that it is about, counted from 0, if it is about one.
    pub link: Option<usize>,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// Returns what is wrong with a link, or with none of them.
macro_rules! bail {
    ($link:expr, $message:literal $(, $value:expr)*; $hint:literal) => {
        return Err(PlaneError {
            link: $link,
            message: format!($message $(, $value)*),
            hint: $hint,
        })
    };
}

impl Planes {
    /// Finds the planes of a fabric with these links, of whose nodes each is a switch or a host.
    ///
    /// # Errors
    /// If a host has more links than it may, several of which one leads to a host, or none to a switch that is joined with
    /// one of some other host: only switches forward packets.
    pub fn find(switches: &[bool], links: &[(u32, u32)]) -> Result<Self, PlaneError> {
        let ports = ports(switches, links);
        let most = most(&ports)?;
        let mut planes = Self {
            count: 1,
            ports: most.max(1),
        };
        if most < 2 {
            return Ok(planes);
        }
        let between = links.iter().copied();
        let between = between.filter(|&(a, b)| switches[a as usize] && switches[b as usize]);
        let joined = joined(switches.len(), between);
        let roots = roots(&ports, switches, &joined)?;
        reach(&roots)?;
        let first = roots.values().next().map_or(&[][..], Vec::as_slice);
        let distinct: BTreeSet<u32> = first.iter().copied().collect();
        if distinct.len() == first.len() && roots.values().all(|own| own == first) {
            planes.count = most;
        }
        Ok(planes)
    }
}

/// By host that has any, its links and where they lead, in their order.
type Ports = BTreeMap<u32, Vec<(usize, u32)>>;

fn ports(switches: &[bool], links: &[(u32, u32)]) -> Ports {
    let mut ports = Ports::new();
    for (link, &(a, b)) in links.iter().enumerate() {
        for (node, to) in [(a, b), (b, a)] {
            if !switches[node as usize] {
                ports.entry(node).or_default().push((link, to));
            }
        }
    }
    ports
}

/// The most links of a host.
fn most(ports: &Ports) -> Result<u8, PlaneError> {
    let most = ports.iter().max_by_key(|(_, links)| links.len());
    let Some((host, links)) = most else {
        return Ok(0);
    };
    if let Some((link, _)) = links.get(MOST_PLANES as usize) {
        bail!(Some(*link), "host {host} has {} links, expected at most {MOST_PLANES}", links.len();
            "list the node as a switch if it forwards packets, or remove links");
    }
    Ok(links.len() as u8)
}

/// By host, for each of its ports the lowest node of the switches that are joined with the one there.
fn roots(
    ports: &Ports,
    switches: &[bool],
    joined: &[u32],
) -> Result<BTreeMap<u32, Vec<u32>>, PlaneError> {
    let mut roots = BTreeMap::new();
    for (host, own) in ports {
        let to_host = own
            .iter()
            .find(|(_, to)| own.len() > 1 && !switches[*to as usize]);
        if let Some((link, _)) = to_host {
            bail!(Some(*link), "host {host} has several links, expected switches at all of them";
                "list the node as a switch if it forwards packets");
        }
        let own = own.iter().map(|&(_, to)| joined[to as usize]);
        roots.insert(*host, own.collect::<Vec<u32>>());
    }
    Ok(roots)
}

/// Any two hosts must have ports at switches that are joined.
fn reach(roots: &BTreeMap<u32, Vec<u32>>) -> Result<(), PlaneError> {
    // Hosts of a server, or of a rack, have the same.
    let mut kinds: BTreeMap<BTreeSet<u32>, u32> = BTreeMap::new();
    for (host, own) in roots {
        kinds.entry(own.iter().copied().collect()).or_insert(*host);
    }
    let mut common = kinds.keys().next().cloned().unwrap_or_default();
    common.retain(|root| kinds.keys().all(|own| own.contains(root)));
    if !common.is_empty() {
        return Ok(());
    }
    for (at, (one, first)) in kinds.iter().enumerate() {
        for (other, second) in kinds.iter().skip(at + 1) {
            if one.is_disjoint(other) {
                bail!(None, "no path of switches leads from host {first} to host {second}";
                    "link their switches, and list nodes that forward packets as switches");
            }
        }
    }
    Ok(())
}

/// By node, the lowest of those that it is joined with by these links.
pub(crate) fn joined(nodes: usize, links: impl Iterator<Item = (u32, u32)>) -> Vec<u32> {
    let mut above: Vec<u32> = (0u32..).take(nodes).collect();
    for (a, b) in links {
        let (a, b) = (root(&mut above, a), root(&mut above, b));
        above[a.max(b) as usize] = a.min(b);
    }
    let nodes = (0u32..).take(nodes);
    nodes.map(|node| root(&mut above, node)).collect()
}

fn root(above: &mut [u32], mut node: u32) -> u32 {
    while above[node as usize] != node {
        let next = above[above[node as usize] as usize];
        above[node as usize] = next;
        node = next;
    }
    node
}
