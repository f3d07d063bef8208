//! Planes: parts of a fabric that only hosts join, each by a port of its own.

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

/// Why links of hosts make no planes. Links are counted from 0, as are the ports of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaneError {
    /// A host has more links than another one.
    Uneven {
        /// The host.
        host: u32,
        /// Its first link that is one too many.
        link: usize,
        /// How many links the other one has.
        expected: u32,
    },
    /// Hosts have more links than there may be planes.
    TooMany {
        /// A host.
        host: u32,
        /// Its links.
        links: u32,
    },
    /// A host with several links is linked to another host.
    NoSwitch {
        /// The host.
        host: u32,
        /// The link.
        link: usize,
    },
    /// Two links of a host lead to the same plane.
    Joined {
        /// The host.
        host: u32,
        /// The later link.
        link: usize,
        /// The ports of both.
        ports: (u8, u8),
    },
    /// A link of a host leads to another plane than that of its port.
    Elsewhere {
        /// The host.
        host: u32,
        /// The link.
        link: usize,
        /// The port.
        port: u8,
        /// The plane that it leads to.
        plane: u8,
    },
}

impl Planes {
    /// Finds the planes of a fabric with these links, of whose nodes each is a switch or a host. A fabric whose
    /// hosts have at most one link is one plane.
    ///
    /// # Errors
    /// Unless all hosts have as many links, to switches, and the k-th links of all lead to switches that are
    /// linked to no switch of another plane.
    pub fn find(switches: &[bool], links: &[(u32, u32)]) -> Result<Self, PlaneError> {
        let ports = Ports::of(switches, links);
        let count = ports.count()?;
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
        let mut hosts = ports.linked();
        let mut roots: Vec<u32> = Vec::new();
        if let Some((host, first)) = hosts.next() {
            for (port, &(link, to)) in (0u8..).zip(first) {
                check_switch(switches, host, (link, to))?;
                let root = joined[to as usize];
                if let Some(other) = (0u8..).zip(&roots).find(|(_, one)| **one == root) {
                    let ports = (other.0, port);
                    return Err(PlaneError::Joined { host, link, ports });
                }
                roots.push(root);
            }
        }
        for (host, own) in hosts {
            for (port, &(link, to)) in (0u8..).zip(own) {
                check_switch(switches, host, (link, to))?;
                let plane = roots.iter().position(|root| *root == joined[to as usize]);
                match plane.map_or(u8::MAX, |plane| plane as u8) {
                    plane if plane == port => {}
                    plane => {
                        return Err(PlaneError::Elsewhere {
                            host,
                            link,
                            port,
                            plane,
                        });
                    }
                }
            }
        }
        for (plane, root) in planes.of.iter_mut().zip(&joined) {
            let found = roots.iter().position(|one| one == root);
            *plane = found.unwrap_or(0) as u8;
        }
        Ok(planes)
    }
}

fn check_switch(switches: &[bool], host: u32, (link, to): (usize, u32)) -> Result<(), PlaneError> {
    match switches[to as usize] {
        true => Ok(()),
        false => Err(PlaneError::NoSwitch { host, link }),
    }
}

/// By host, its links and where they lead, in their order; empty for switches.
struct Ports(Vec<Vec<(usize, u32)>>);

impl Ports {
    fn of(switches: &[bool], links: &[(u32, u32)]) -> Self {
        let mut ports = vec![Vec::new(); switches.len()];
        for (link, &(a, b)) in links.iter().enumerate() {
            for (node, to) in [(a, b), (b, a)] {
                if !switches[node as usize] {
                    ports[node as usize].push((link, to));
                }
            }
        }
        Self(ports)
    }

    /// Hosts that have links, in ascending order.
    fn linked(&self) -> impl Iterator<Item = (u32, &Vec<(usize, u32)>)> {
        let numbered = (0u32..).zip(&self.0);
        numbered.filter(|(_, links)| !links.is_empty())
    }

    /// How many links every host has.
    fn count(&self) -> Result<u8, PlaneError> {
        let fewest = self.linked().map(|(_, links)| links.len()).min();
        let fewest = fewest.unwrap_or(0);
        let expected = u32::try_from(fewest).unwrap_or(u32::MAX);
        let more = self.linked().filter_map(|(host, links)| {
            let &(link, _) = links.get(fewest)?;
            Some((link, host))
        });
        if let Some((link, host)) = more.min() {
            return Err(PlaneError::Uneven {
                host,
                link,
                expected,
            });
        }
        match self.linked().next() {
            Some((host, _)) if expected > MOST_PLANES => Err(PlaneError::TooMany {
                host,
                links: expected,
            }),
            _ => Ok(expected as u8),
        }
    }
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

impl PlaneError {
    /// The link that it is about, if it is about one.
    pub const fn link(&self) -> Option<usize> {
        match *self {
            Self::TooMany { .. } => None,
            Self::Uneven { link, .. }
            | Self::NoSwitch { link, .. }
            | Self::Joined { link, .. }
            | Self::Elsewhere { link, .. } => Some(link),
        }
    }

    /// What is wrong.
    pub fn message(&self) -> String {
        match *self {
            Self::Uneven { host, expected, .. } => {
                let more = ordinal(expected);
                match expected {
                    1 => format!("host {host} has a second link, expected one"),
                    _ => format!("host {host} has a {more} link, expected {expected}"),
                }
            }
            Self::TooMany { host, links } => {
                format!("host {host} has {links} links, expected at most {MOST_PLANES}")
            }
            Self::NoSwitch { host, .. } => {
                format!("host {host} has several links, expected switches at all of them")
            }
            Self::Joined {
                host,
                ports: (a, b),
                ..
            } => {
                let (a, b) = (ordinal(a.into()), ordinal(b.into()));
                format!(
                    "the {a} and the {b} link of host {host} lead to switches that are linked with each \
                     other, expected a plane for each"
                )
            }
            Self::Elsewhere {
                host, port, plane, ..
            } => {
                let which = ordinal(port.into());
                match plane {
                    u8::MAX => format!(
                        "the {which} link of host {host} leads to no plane of the first host, expected \
                         plane {port}"
                    ),
                    _ => format!(
                        "the {which} link of host {host} leads to plane {plane}, expected plane {port}"
                    ),
                }
            }
        }
    }

    /// What to do about it.
    pub const fn hint(&self) -> &'static str {
        match self {
            Self::Uneven { .. } => {
                "list the node as a switch, remove the link, or give every host as many"
            }
            Self::TooMany { .. } => "build fewer planes",
            Self::NoSwitch { .. } => "list the node as a switch if it forwards packets",
            Self::Joined { .. } => {
                "remove the links between their switches: only hosts join planes"
            }
            Self::Elsewhere { .. } => "list the links of every host in the order of the planes",
        }
    }
}

/// The name of a port counted from 0.
fn ordinal(port: u32) -> &'static str {
    const NAMES: [&str; 9] = [
        "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
    ];
    NAMES.get(port as usize).copied().unwrap_or("further")
}

impl Topology {
    /// How often a generated shape has its switches; 1 for a file, which says so itself.
    pub const fn planes(&self) -> u32 {
        match *self {
            Self::Star { planes, .. }
            | Self::LeafSpine { planes, .. }
            | Self::FatTree { planes, .. } => planes,
            Self::Dumbbell { .. } | Self::Mesh { .. } | Self::File { .. } => 1,
        }
    }
}
