//! Planes: parts of a fabric that only hosts join, each by a port of its own.

use std::collections::BTreeMap;

use crate::types::Topology;

/// The most planes that a fabric may have.
pub const MOST_PLANES: u32 = 8;

/// The planes of a fabric: port k of every host is linked to plane k.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planes {
    /// How many there are, which is how many ports each host has.
    pub count: u8,
    /// By node the plane of a switch; of hosts without meaning.
    pub of: Vec<u8>,
}

/// Why links of hosts make no planes.
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
    /// Finds the planes of a fabric with these links, of whose nodes each is a switch or a host. A fabric whose
    /// hosts have at most one link is one plane.
    ///
    /// # Errors
    /// Unless all hosts have as many links, to switches, and the k-th links of all lead to switches that are
    /// linked to no switch of another plane.
    pub fn find(switches: &[bool], links: &[(u32, u32)]) -> Result<Self, PlaneError> {
        let ports = ports(switches, links);
        let count = count(&ports)?;
        let mut planes = Self {
            count: count.max(1),
            of: vec![0; switches.len()],
        };
        if count < 2 {
            return Ok(planes);
        }
        let between = links.iter().copied();
        let between = between.filter(|&(a, b)| switches[a as usize] && switches[b as usize]);
        let joined = joined(switches.len(), between);
        let roots = roots(&ports, switches, &joined)?;
        for (plane, root) in planes.of.iter_mut().zip(&joined) {
            let found = roots.iter().position(|one| one == root);
            *plane = found.unwrap_or(0) as u8;
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

/// How many links every host has.
fn count(ports: &Ports) -> Result<u8, PlaneError> {
    let fewest = ports.values().map(Vec::len).min().unwrap_or(0);
    let more = ports.iter().filter_map(|(host, links)| {
        let (link, _) = links.get(fewest)?;
        Some((*link, host))
    });
    if let Some((link, host)) = more.min() {
        let which = ordinal(fewest);
        bail!(Some(link), "host {host} has a {which} link, expected {fewest}";
            "list the node as a switch, remove the link, or give every host as many");
    }
    match ports.keys().next() {
        Some(host) if fewest > MOST_PLANES as usize => bail!(None,
            "host {host} has {fewest} links, expected at most {MOST_PLANES}";
            "build fewer planes"),
        _ => Ok(fewest as u8),
    }
}

/// By plane, the lowest node of its switches: the first host says which is which, all others must say the same.
fn roots(ports: &Ports, switches: &[bool], joined: &[u32]) -> Result<Vec<u32>, PlaneError> {
    let mut roots: Vec<u32> = Vec::new();
    for (host, own) in ports {
        for (port, &(link, to)) in own.iter().enumerate() {
            if !switches[to as usize] {
                bail!(Some(link),
                    "host {host} has several links, expected switches at all of them";
                    "list the node as a switch if it forwards packets");
            }
            let (which, root) = (ordinal(port), joined[to as usize]);
            let is_first = roots.len() == port;
            match roots.iter().position(|one| *one == root) {
                Some(plane) if plane == port => {}
                None if is_first => roots.push(root),
                Some(other) if is_first => bail!(Some(link),
                    "the {} and the {which} link of host {host} lead to switches that are \
                    linked with each other, expected a plane for each", ordinal(other);
                    "remove the links between their switches: only hosts join planes"),
                plane => {
                    let to = plane.map(|plane| format!("plane {plane}"));
                    let to = to.as_deref().unwrap_or("no plane of the first host");
                    bail!(Some(link),
                        "the {which} link of host {host} leads to {to}, expected plane {port}";
                        "list the links of every host in the order of the planes")
                }
            }
        }
    }
    Ok(roots)
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

/// The name of a port counted from 0.
fn ordinal(port: usize) -> &'static str {
    const NAMES: [&str; 9] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
    ];
    NAMES.get(port).copied().unwrap_or("further")
}

impl Topology {
    /// How often a generated shape has its switches; 1 for a file, which says so itself.
    pub const fn planes(&self) -> u32 {
        match self {
            Self::Star(it) => it.planes,
            Self::LeafSpine(it) => it.planes,
            Self::FatTree(it) => it.planes,
            Self::Dumbbell(_) | Self::Mesh(_) | Self::File(_) => 1,
        }
    }
}
