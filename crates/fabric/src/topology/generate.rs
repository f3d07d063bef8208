//! The shapes that a scenario can name. Hosts are numbered first, then switches from the bottom up.

use fairlane_scenario::{LinkSpec, Topology as Shape};
use fairlane_units::NodeId;

use super::{Link, NodeKind, Topology, TopologyError, check};

/// Builds a shape other than `file`.
pub(super) fn generate(shape: &Shape) -> Result<Topology, TopologyError> {
    let builder = match *shape {
        Shape::Dumbbell {
            left,
            right,
            host_link,
            core_link,
        } => dumbbell([left, right], host_link, core_link)?,
        Shape::Star { hosts, host_link } => Builder::new(&[(1, hosts)], host_link)?,
        Shape::LeafSpine {
            leaves,
            spines,
            hosts_per_leaf,
            host_link,
            fabric_link,
        } => leaf_spine([leaves, spines, hosts_per_leaf], host_link, fabric_link)?,
        Shape::Mesh {
            switches,
            hosts_per_switch,
            host_link,
            fabric_link,
        } => mesh([switches, hosts_per_switch], host_link, fabric_link)?,
        Shape::FatTree {
            pods,
            tors_per_pod,
            aggregations_per_pod,
            cores,
            hosts_per_tor,
            host_link,
            fabric_link,
        } => {
            let counts = FatTree {
                pods,
                tors_per_pod,
                aggregations_per_pod,
                cores,
                hosts_per_tor,
            };
            counts.build(host_link, fabric_link)?
        }
        Shape::File { ref path } => {
            return Err(TopologyError::NotLoaded { path: path.clone() });
        }
    };
    builder.finish()
}

fn dumbbell(
    hosts: [u32; 2],
    host_link: LinkSpec,
    core_link: LinkSpec,
) -> Result<Builder, TopologyError> {
    let mut builder = Builder::new(&[(1, hosts[0]), (1, hosts[1])], host_link)?;
    let left = builder.first_switch();
    builder.join(left, left + 1, core_link);
    Ok(builder)
}

fn leaf_spine(
    [leaves, spines, hosts_per_leaf]: [u32; 3],
    host_link: LinkSpec,
    fabric_link: LinkSpec,
) -> Result<Builder, TopologyError> {
    let [l, s, h] = [leaves, spines, hosts_per_leaf].map(u128::from);
    check::size(l + s + l * h, l * (s + h))?;
    let mut builder = Builder::new(&[(leaves, hosts_per_leaf)], host_link)?;
    let first = builder.first_switch();
    let spine = builder.switches(2, spines);
    for leaf in first..first + leaves {
        for spine in spine..spine + spines {
            builder.join(leaf, spine, fabric_link);
        }
    }
    Ok(builder)
}

fn mesh(
    [switches, hosts_per_switch]: [u32; 2],
    host_link: LinkSpec,
    fabric_link: LinkSpec,
) -> Result<Builder, TopologyError> {
    let [s, h] = [switches, hosts_per_switch].map(u128::from);
    check::size(s + s * h, s * s.saturating_sub(1) / 2 + s * h)?;
    let mut builder = Builder::new(&[(switches, hosts_per_switch)], host_link)?;
    let first = builder.first_switch();
    for a in first..first + switches {
        for b in a + 1..first + switches {
            builder.join(a, b, fabric_link);
        }
    }
    Ok(builder)
}

struct FatTree {
    pods: u32,
    tors_per_pod: u32,
    aggregations_per_pod: u32,
    cores: u32,
    hosts_per_tor: u32,
}

impl FatTree {
    fn build(&self, host_link: LinkSpec, fabric_link: LinkSpec) -> Result<Builder, TopologyError> {
        self.check()?;
        let mut builder = Builder::new(&[(self.tors(), self.hosts_per_tor)], host_link)?;
        let tor = builder.first_switch();
        let aggregation = builder.switches(2, self.pods * self.aggregations_per_pod);
        let core = builder.switches(3, self.cores);
        for index in 0..self.tors() {
            let pod = index / self.tors_per_pod;
            for a in 0..self.aggregations_per_pod {
                let to = aggregation + pod * self.aggregations_per_pod + a;
                builder.join(tor + index, to, fabric_link);
            }
        }
        let group = self
            .cores
            .checked_div(self.aggregations_per_pod)
            .unwrap_or(0);
        for index in 0..self.pods * self.aggregations_per_pod {
            let a = index % self.aggregations_per_pod;
            for c in a * group..(a + 1) * group {
                builder.join(aggregation + index, core + c, fabric_link);
            }
        }
        Ok(builder)
    }

    fn tors(&self) -> u32 {
        self.pods * self.tors_per_pod
    }

    /// Refuses counts whose products could overflow, and cores that can't be shared out.
    fn check(&self) -> Result<(), TopologyError> {
        let [pods, tors, aggregations, cores, hosts] = [
            self.pods,
            self.tors_per_pod,
            self.aggregations_per_pod,
            self.cores,
            self.hosts_per_tor,
        ]
        .map(u128::from);
        let nodes = pods * tors * (hosts + 1) + pods * aggregations + cores;
        let links = pods * tors * (hosts + aggregations) + pods * cores;
        check::size(nodes, links)?;
        let even = self.cores.checked_rem(self.aggregations_per_pod) == Some(0);
        if !even && (self.cores != 0 || self.aggregations_per_pod != 0) {
            return Err(TopologyError::UnevenCores {
                cores: self.cores,
                aggregations: self.aggregations_per_pod,
            });
        }
        Ok(())
    }
}

/// A topology that grows from the hosts upwards.
struct Builder {
    tiers: Vec<u8>,
    links: Vec<Link>,
    hosts: u32,
}

impl Builder {
    /// Hosts and the switches that they hang on: groups of (switches, hosts on each).
    fn new(groups: &[(u32, u32)], link: LinkSpec) -> Result<Self, TopologyError> {
        let product = |&(switches, each): &(u32, u32)| u128::from(switches) * u128::from(each);
        let hosts: u128 = groups.iter().map(product).sum();
        let switches: u128 = groups.iter().map(|group| u128::from(group.0)).sum();
        check::size(hosts + switches, hosts)?;
        let hosts = u32::try_from(hosts).unwrap_or(u32::MAX);
        let mut builder = Self {
            tiers: vec![0; hosts as usize],
            links: Vec::new(),
            hosts,
        };
        let mut host = 0;
        for &(switches, each) in groups {
            let first = builder.switches(1, switches);
            for switch in first..first + switches {
                for _ in 0..each {
                    builder.join(host, switch, link);
                    host += 1;
                }
            }
        }
        Ok(builder)
    }

    fn first_switch(&self) -> u32 {
        self.hosts
    }

    /// Adds switches and returns the number of the first.
    fn switches(&mut self, tier: u8, count: u32) -> u32 {
        let first = self.tiers.len();
        self.tiers.resize(first + count as usize, tier);
        u32::try_from(first).unwrap_or(u32::MAX)
    }

    fn join(&mut self, a: u32, b: u32, spec: LinkSpec) {
        let (a, b) = (NodeId::new(a), NodeId::new(b));
        self.links.push(Link {
            a,
            b,
            rate: spec.rate,
            delay: spec.delay,
            loss: 0.0,
        });
    }

    fn finish(self) -> Result<Topology, TopologyError> {
        let kind = |tier: &u8| {
            if *tier == 0 {
                NodeKind::Host
            } else {
                NodeKind::Switch
            }
        };
        let nodes = self.tiers.iter().map(kind).collect();
        let topology = Topology {
            nodes,
            tiers: self.tiers,
            links: self.links,
        };
        check::all(&topology)?;
        Ok(topology)
    }
}
