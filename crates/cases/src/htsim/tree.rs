//! Fat trees of two or three tiers, as htsim builds them.
//!
//! A head (`Nodes`, `Tiers`, `Podsize`), then a block for each tier: 0 ToRs, 1 aggregation switches, 2 cores. Uplinks follow from
//! speeds and `Oversubscribed`, numbers of switches from uplinks and `Radix_Down` of the tier above. Names are read in upper and lower case.

use std::collections::BTreeMap;

use fairlane_hpcc_files::lines::{Line, lines, shorten};
use fairlane_hpcc_files::{FASTEST, LinkText, MOST_LINKS, MOST_NODES, SLOWEST};
use fairlane_scenario::{Error, TopologyText, nearest};
use fairlane_units::{Decimal, Duration, Rate};

/// What is stated of a tier.
#[derive(Clone, Default)]
struct Tier {
    stated: BTreeMap<&'static str, u64>,
    speed: Rate,
}

/// What can be stated of a tier, and the value if it isn't.
const KEYS: [(&str, Option<u64>); 7] = [
    ("downlink_speed_gbps", None),
    ("radix_down", None),
    ("radix_up", None),
    ("downlink_latency_ns", None),
    ("switch_latency_ns", Some(0)),
    ("oversubscribed", Some(1)),
    ("bundle", Some(1)),
];

impl Tier {
    fn get(&self, key: &str) -> u64 {
        let default = KEYS.iter().find(|(name, _)| *name == key);
        let default = default.and_then(|(_, default)| *default).unwrap_or(0);
        self.stated.get(key).copied().unwrap_or(default)
    }
}

/// A description of a fat tree.
pub(super) struct Tree {
    file: String,
    nodes: u64,
    podsize: u64,
    tiers: Vec<Tier>,
}

impl Tree {
    /// The tree that htsim builds for so many nodes if no file describes one: three tiers of k-port switches, k^3 / 4 nodes, links of
    /// 100 Gb/s and 1 us.
    pub(super) fn usual(nodes: u32) -> Result<Self, Error> {
        let nodes = u64::from(nodes);
        let k = (2..=1 << 11).step_by(2).find(|k| k * k * k / 4 >= nodes);
        let k: u64 = k.filter(|k| k * k * k / 4 == nodes).ok_or_else(|| {
            let message =
                format!("{nodes} nodes make no fat tree of three tiers: those have k^3 / 4");
            Error::new(
                "--topology",
                message,
                "give the topology: --topology FILE.topo",
            )
        })?;
        let tier = |down: u64| Tier {
            stated: [
                ("radix_down", down),
                ("radix_up", k / 2),
                ("downlink_latency_ns", 1000),
            ]
            .into(),
            speed: Rate::from_gbps(100),
        };
        Ok(Self {
            file: "the usual fat tree".into(),
            nodes,
            podsize: k * k / 4,
            tiers: vec![tier(k / 2), tier(k / 2), tier(k)],
        })
    }

    /// Reads `text`, which messages call `file`.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let (mut head, mut tiers) = (BTreeMap::new(), BTreeMap::<u64, Tier>::new());
        let mut at = None;
        for line in lines(text, file).filter(|line| !line.text.starts_with('#')) {
            let [key, value] = line.fields("NAME VALUE")?;
            let name = key.to_ascii_lowercase();
            match (name.as_str(), at) {
                ("nodes" | "tiers" | "podsize", _) => {
                    let value = line.whole::<u64>(value, key, "a whole number")?;
                    if head.insert(name, value).is_some() {
                        return Err(twice(&line, key));
                    }
                }
                ("tier", _) => {
                    let number = line.whole::<u64>(value, key, "0, 1 or 2")?;
                    if number > 2 || tiers.insert(number, Tier::default()).is_some() {
                        let message = format!("tier {number}, expected 0, 1 and 2 once each");
                        return Err(
                            line.error(message, "0 are ToRs, 1 aggregation switches, 2 cores")
                        );
                    }
                    at = Some(number);
                }
                (_, Some(number)) => state(&line, key, value, tiers.entry(number).or_default())?,
                (_, None) => return Err(unknown(&line, key)),
            }
        }
        let stated = |name: &str| {
            let value = head.get(name).copied().filter(|value| *value > 0);
            value.ok_or_else(|| {
                Error::new(
                    file,
                    format!("no `{name}`, expected it at the head"),
                    "write `Nodes N`, `Tiers N` and `Podsize N`",
                )
            })
        };
        let (nodes, count, podsize) = (stated("nodes")?, stated("tiers")?, stated("podsize")?);
        if nodes > MOST_NODES {
            let message = format!("{nodes} nodes, expected at most {MOST_NODES}");
            return Err(Error::new(file, message, "describe a smaller tree"));
        }
        if !(2..=3).contains(&count) {
            let message = format!("{count} tiers, expected 2 or 3");
            return Err(Error::new(file, message, "write `Tiers 3`"));
        }
        let tiers = (0..count).map(|number| {
            let tier = tiers.remove(&number);
            tier.ok_or_else(|| {
                let message = format!("no `Tier {number}`, expected {count} of them");
                Error::new(file, message, "describe each tier, counted from 0")
            })
        });
        let tree = Self {
            file: file.into(),
            nodes,
            podsize,
            tiers: tiers.collect::<Result<_, _>>()?,
        };
        tree.complete()?;
        Ok(tree)
    }

    /// Checks that each tier says what it must.
    fn complete(&self) -> Result<(), Error> {
        for (number, tier) in self.tiers.iter().enumerate() {
            let top = number + 1 == self.tiers.len();
            let missing = KEYS.iter().find(|(key, default)| {
                let needed = default.is_none() && !(top && *key == "radix_up");
                needed && !tier.stated.contains_key(key)
            });
            if let Some((key, _)) = missing {
                let message = format!("no `{key}` of tier {number}, expected it");
                return Err(self.error(
                    message,
                    "each tier has speed, radix and latency of its downlinks",
                ));
            }
        }
        if self.tiers[0].get("bundle") != 1 {
            return Err(self.error(
                "tier 0 has bundles, expected one link for each host",
                "leave `Bundle` out of tier 0",
            ));
        }
        Ok(())
    }

    fn error(&self, message: impl Into<String>, hint: &str) -> Error {
        Error::new(self.file.as_str(), message, hint)
    }

    /// How many nodes are hosts.
    pub(super) fn hosts(&self) -> u64 {
        self.nodes
    }

    /// Whether switches take time.
    pub(super) fn has_latency(&self) -> bool {
        self.tiers
            .iter()
            .any(|tier| tier.get("switch_latency_ns") > 0)
    }

    /// Numbers of switches in each tier, and of ToRs and aggregation switches in a pod.
    fn shape(&self) -> Result<Shape, Error> {
        let whole = |value: u128, by: u128, what: &str| {
            let count = value
                .checked_div(by)
                .filter(|count| *count > 0 && value.is_multiple_of(by));
            count
                .and_then(|count| u64::try_from(count).ok())
                .ok_or_else(|| {
                    let message = format!("{what}: {value} / {by} isn't a whole number above 0");
                    self.error(
                        message,
                        "correct a radix, a speed, `Oversubscribed` or `Podsize`",
                    )
                })
        };
        let tier = |number: usize| &self.tiers[number];
        let (nodes, pod) = (u128::from(self.nodes), u128::from(self.podsize));
        let speed = |number: usize| u128::from(tier(number).speed.as_bps());
        let radix = |number: usize| u128::from(tier(number).get("radix_down"));
        let over = |number: usize| u128::from(tier(number).get("oversubscribed"));
        let pods = whole(nodes, pod, "pods: Nodes by Podsize")?;
        let tors = whole(
            pod,
            radix(0),
            "ToRs of a pod: Podsize by Radix_Down of tier 0",
        )?;
        let uplinks = whole(
            nodes * speed(0),
            speed(1) * over(0),
            "uplinks of ToRs: speed of all hosts by that of an uplink and Oversubscribed",
        )?;
        let aggregations = whole(
            u128::from(uplinks),
            u128::from(pods) * radix(1),
            "aggregation switches of a pod: uplinks of its ToRs by Radix_Down of tier 1",
        )?;
        let cores = match self.tiers.len() {
            3 => {
                let up = whole(
                    u128::from(uplinks) * speed(1),
                    speed(2) * over(1),
                    "uplinks of aggregation switches: speed of their downlinks by that of an uplink and Oversubscribed",
                )?;
                whole(
                    u128::from(up),
                    radix(2),
                    "cores: uplinks by Radix_Down of tier 2",
                )?
            }
            _ => 0,
        };
        let shape = Shape {
            pods,
            tors,
            aggregations,
            cores,
        };
        self.check(&shape)?;
        Ok(shape)
    }

    /// Whether the uplinks that are stated lead to all cores, and not too many of anything are there.
    fn check(&self, shape: &Shape) -> Result<(), Error> {
        if self.tiers.len() == 3 {
            let (up, bundle) = (self.tiers[1].get("radix_up"), self.tiers[2].get("bundle"));
            let wanted = u128::from(shape.cores) * u128::from(bundle);
            let all = u128::from(up) * u128::from(shape.aggregations);
            if all != wanted || up % bundle != 0 {
                let message = format!(
                    "tier 1 has Radix_Up {up}, which for {} aggregation switches of a pod makes no {} cores in bundles of {bundle}",
                    shape.aggregations, shape.cores
                );
                return Err(self.error(message, "correct Radix_Up of tier 1, or Bundle of tier 2"));
            }
        }
        let in_pods =
            (u128::from(shape.tors) + u128::from(shape.aggregations)) * u128::from(shape.pods);
        let nodes = u128::from(self.nodes) + in_pods + u128::from(shape.cores);
        let too_many = |count: u128, what: &str, most: u64| {
            let message = format!("{count} {what}, expected at most {most}");
            Err(self.error(message, "describe a smaller tree"))
        };
        if nodes > u128::from(MOST_NODES) {
            return too_many(nodes, "nodes", MOST_NODES);
        }
        match self.links(shape) {
            links if links > u128::from(MOST_LINKS) => too_many(links, "links", MOST_LINKS),
            _ => Ok(()),
        }
    }

    /// Where what is stated of radixes isn't what htsim builds.
    pub(super) fn notes(&self) -> Result<Vec<String>, Error> {
        let shape = self.shape()?;
        let (three, bundle) = (self.tiers.len() == 3, self.tiers[1].get("bundle"));
        let times = if three { 1 } else { shape.pods };
        let mut notes = Vec::new();
        for (tier, key, built) in [
            (0, "radix_up", shape.aggregations * times * bundle),
            (1, "radix_down", shape.tors * times * bundle),
        ] {
            let stated = self.tiers[tier].get(key);
            if stated != built {
                notes.push(format!("tier {tier} states {key} {stated}, but speeds and pods make it {built}, as htsim builds it"));
            }
        }
        Ok(notes)
    }

    fn links(&self, shape: &Shape) -> u128 {
        let bundle = |tier: usize| {
            self.tiers
                .get(tier)
                .map_or(0, |tier| u128::from(tier.get("bundle")))
        };
        let [pods, tors, aggregations, cores] =
            [shape.pods, shape.tors, shape.aggregations, shape.cores].map(u128::from);
        let above = if self.tiers.len() == 3 {
            aggregations
        } else {
            aggregations * pods
        };
        let lower = tors * pods * above * bundle(1);
        let upper = if aggregations == 0 {
            0
        } else {
            pods * cores * bundle(2)
        };
        u128::from(self.nodes) + lower + upper
    }

    /// The tree as a topology: hosts, then ToRs and aggregation switches pod by pod, each all, then cores.
    pub(super) fn topology(&self) -> Result<TopologyText, Error> {
        let shape = self.shape()?;
        // All counts are below 2^32, as `check` says.
        let count = |count: u64| count as u32;
        let (hosts, tors) = (count(self.nodes), count(shape.tors * shape.pods));
        let (aggregations, cores) = (count(shape.aggregations * shape.pods), count(shape.cores));
        let (first_tor, first_aggregation) = (hosts, hosts + tors);
        let first_core = first_aggregation + aggregations;
        let mut links = Vec::new();
        let radix = count(self.tiers[0].get("radix_down"));
        for host in 0..hosts {
            self.join(0, first_tor + host / radix, host, &mut links);
        }
        let in_pod = count(shape.aggregations);
        for tor in 0..tors {
            let above = match self.tiers.len() {
                3 => {
                    let first = tor / count(shape.tors) * in_pod;
                    first..first + in_pod
                }
                _ => 0..aggregations,
            };
            for aggregation in above {
                self.join(
                    1,
                    first_aggregation + aggregation,
                    first_tor + tor,
                    &mut links,
                );
            }
        }
        for aggregation in (0..aggregations).filter(|_| cores > 0) {
            for core in (aggregation % in_pod..cores).step_by(in_pod as usize) {
                self.join(
                    2,
                    first_core + core,
                    first_aggregation + aggregation,
                    &mut links,
                );
            }
        }
        Ok(TopologyText {
            nodes: first_core + cores,
            switches: (first_tor..first_core + cores).collect(),
            links,
        })
    }

    /// Adds the links of a tier's switch to a node below it. A packet crosses a switch between two links, so that each has half of
    /// the time that the switches at its ends take.
    fn join(&self, tier: usize, above: u32, below: u32, links: &mut Vec<LinkText>) {
        let own = &self.tiers[tier];
        let latency = |tier: usize| self.tiers[tier].get("switch_latency_ns");
        let crossed = latency(tier) + tier.checked_sub(1).map_or(0, latency);
        let delay =
            Duration::from_ns(own.get("downlink_latency_ns")) + Duration::from_ns(crossed) / 2;
        for _ in 0..own.get("bundle") {
            links.push(LinkText {
                a: below,
                b: above,
                rate: own.speed,
                delay,
                loss: 0.0,
            });
        }
    }
}

struct Shape {
    pods: u64,
    /// Top-of-rack switches of a pod.
    tors: u64,
    /// Aggregation switches of a pod.
    aggregations: u64,
    cores: u64,
}

/// Takes a line of a tier's block.
fn state(line: &Line<'_>, key: &str, value: &str, tier: &mut Tier) -> Result<(), Error> {
    /// No latency or count is larger: sums of times and products of counts stay in bounds.
    const MOST: u64 = 1_000_000_000;
    let name = key.to_ascii_lowercase();
    let Some((name, default)) = KEYS.into_iter().find(|(known, _)| *known == name) else {
        return Err(unknown(line, key));
    };
    let wrong = |expected: String| {
        let message = format!("{key} is \"{}\", expected {expected}", shorten(value));
        line.error(message, format!("write {expected}"))
    };
    let number = if name == "downlink_speed_gbps" {
        let speed = Decimal::read(value).and_then(|number| number.rounded(1_000_000_000));
        let speed = speed
            .map(Rate::from_bps)
            .filter(|it| (SLOWEST..=FASTEST).contains(it));
        tier.speed = speed.ok_or_else(|| wrong("a speed of 0.001 to 8000 Gb/s".into()))?;
        tier.speed.as_bps()
    } else {
        let least = u64::from(default != Some(0));
        let number = line.whole(value, key, "a whole number")?;
        if !(least..=MOST).contains(&number) {
            return Err(wrong(format!("{least} to {MOST}")));
        }
        number
    };
    match tier.stated.insert(name, number) {
        None => Ok(()),
        Some(_) => Err(twice(line, key)),
    }
}

fn twice(line: &Line<'_>, key: &str) -> Error {
    line.error(
        format!("{key} a second time"),
        "remove one of the two lines",
    )
}

fn unknown(line: &Line<'_>, key: &str) -> Error {
    let known = KEYS
        .iter()
        .map(|(key, _)| *key)
        .chain(["nodes", "tiers", "podsize", "tier"]);
    let hint = match nearest(&key.to_ascii_lowercase(), known) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "remove the line".into(),
    };
    line.error(
        format!("unknown key {}, expected one of htsim's", shorten(key)),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_are_links_side_by_side() {
        // Two pods of two ToRs and two aggregation switches, each of which has its one core by two links.
        let text = "Nodes 8\nTiers 3\nPodsize 4\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\n\
            Downlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1\n\
            Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\nBundle 2\nDownlink_Latency_ns 1\n";
        let Ok(built) = Tree::parse(text, "t").and_then(|tree| tree.topology()) else {
            panic!("it is a tree");
        };
        assert_eq!((built.nodes, built.links.len()), (8 + 4 + 4 + 2, 8 + 8 + 8));
        let upper: Vec<[u32; 2]> = built.links[16..]
            .iter()
            .map(|link| [link.a, link.b])
            .collect();
        let expected = [
            [12, 16],
            [12, 16],
            [13, 17],
            [13, 17],
            [14, 16],
            [14, 16],
            [15, 17],
            [15, 17],
        ];
        assert_eq!(upper, expected);
    }
}
