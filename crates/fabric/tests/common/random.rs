//! Random scenarios: every kind of fabric, traffic, NIC and fault that can be combined, each small enough to run in
//! some ten milliseconds.

pub mod dividing;
pub mod mixing;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fairlane_congestion::dasr::Mode;
use fairlane_congestion::{Algorithm, Scope};
use fairlane_engine::Stream;

/// Payload of one workload at most, about.
const PAYLOAD: u64 = 1_500_000;

/// Headers, telemetry, time stamp, padding and gap of any packet have fewer bytes.
const OVERHEAD: u64 = 200;

const RESERVE: u64 = 1000;

/// The text of scenario number `seed`, which is always the same. It is valid, and ends by itself.
pub fn scenario(seed: u64) -> String {
    let mut draw = Draw(Stream::new(seed, 0));
    let fabric = Fabric::new(&mut draw);
    let mtu = draw.of(&[1024, 1024, 1024, 256, 4096]);
    let traffic = Traffic::new(&mut draw, &fabric, mtu);
    let pfc = draw.chance(60);
    let faults = faults(&mut draw, &fabric, (&traffic, pfc));
    let mut text = format!("seed = {}\n", draw.below(1 << 32));
    let stop = match traffic.most {
        Some(most) => Some(draw.between(25, 25 + most)),
        None => draw.chance(30).then(|| draw.between(50, 800)),
    };
    if let Some(stop) = stop {
        let _ = writeln!(text, "stop = \"{stop}us\"");
    }
    records(&mut draw, &fabric, &mut text);
    let _ = writeln!(text, "[packet]\nmtu = {mtu}");
    text += &switch(&mut draw, &fabric, (mtu, traffic.classes.len() as u64), pfc);
    text += &traffic.nic;
    transport(&mut draw, &traffic.service, &mut text);
    congestion(&mut draw, (&fabric, &traffic.service), &mut text);
    text + &fabric.text + &faults + &traffic.text
}

/// Scenario number `seed` with so much more traffic that queues grow, where others may add to its traffic.
pub fn busy(seed: u64) -> String {
    let text = scenario(seed);
    // Buffers have room for the classes that are there already.
    let class = text.rsplit_once("\nclass = ").map(|(_, rest)| &rest[..1]);
    let fits = !text.contains("key-value") && !text.contains("[[tenant]]");
    match class.filter(|_| fits) {
        Some(class) => format!(
            "{text}\n[[workload]]\nkind = \"permutation\"\nsize = \"150kB\"\nclass = {class}\n"
        ),
        None => text,
    }
}

/// What has the switches of a scenario move flows in order, as often as they can; also down and up again where it has tiers and
/// classes for that.
pub fn moving(seed: u64, text: &str) -> Vec<String> {
    let mut draw = Draw(Stream::new(seed, 1));
    let trigger = draw.of(&[100, 2000, 4000]);
    let interval = draw.of(&["0ns", "200ns", "2us"]);
    let moved = draw.of(&[0, 0, 2000]);
    let labels = draw.between(1, 4);
    let streams = draw.of(&[2, 16, 4096]);
    let hold = draw.of(&[20_000, 2_000_000]);
    let timeout = draw.of(&["5us", "50us", "1ms"]);
    let tiers = text.contains("\"leaf-spine\"") || text.contains("\"fat-tree\"");
    let valley = tiers && !text.contains("class = 7") && draw.chance(50);
    let mut sets = vec![
        "switch.forwarding=\"iofd\"".into(),
        "switch.arbitration=\"fifo\"".into(),
        format!("switch.iofd.trigger={trigger}"),
        format!("switch.iofd.target={}", trigger / 2),
        format!("switch.iofd.interval=\"{interval}\""),
        format!("switch.iofd.moved={moved}"),
        format!("switch.iofd.labels={labels}"),
        format!("switch.iofd.streams={streams}"),
        format!("switch.iofd.hold={hold}"),
        format!("switch.iofd.hold_timeout=\"{timeout}\""),
        format!("switch.iofd.valley={valley}"),
    ];
    if valley {
        // Each class needs its headroom.
        sets.push("switch.buffer=\"64MB\"".into());
    }
    sets
}

/// What makes receivers of scenario number `seed` apportion their links, by some rule; always the same.
pub fn apportioning(seed: u64) -> Vec<String> {
    let mut draw = Draw(Stream::new(seed, 1));
    let mut sets = Vec::new();
    if !scenario(seed).contains("service = \"rc\"") {
        return sets;
    }
    let mode = draw.of(&Mode::ALL[1..]);
    sets.push(format!("congestion.dasr.mode=\"{mode}\""));
    if !mode.divides() {
        sets.push("congestion.tenant.shares=false".into());
    }
    if draw.chance(30) {
        let rows = draw.of(&[1, 3, 64]);
        sets.push(format!("congestion.dasr.rows={rows}"));
    }
    if draw.chance(30) {
        let first_burst = draw.of(&["0.0", "0.25", "2.0"]);
        sets.push(format!("congestion.dasr.first_burst={first_burst}"));
    }
    if draw.chance(30) {
        sets.push(format!("switch.ecn.host_ports={}", draw.chance(50)));
    }
    sets
}

/// Draws of one scenario.
struct Draw(Stream);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0.below(limit)
    }

    /// Both ends included.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// At least so many of `hosts`, ascending; often all of them.
    fn some(&mut self, hosts: &[u32], least: usize) -> Vec<u32> {
        let mut left = hosts.to_vec();
        let count = match self.chance(40) {
            true => left.len(),
            false => self.between(least as u64, left.len() as u64) as usize,
        };
        while left.len() > count {
            let at = self.below(left.len() as u64) as usize;
            left.remove(at);
        }
        left
    }
}

/// A link with its rate in Gb/s and its delay in ns.
struct Link {
    ends: [u32; 2],
    rate: u64,
    delay: u64,
}

/// A fabric, and its section.
struct Fabric {
    text: String,
    hosts: Vec<u32>,
    nodes: u32,
    host_rate: u64,
    links: Vec<Link>,
}

impl Fabric {
    fn new(draw: &mut Draw) -> Self {
        let rate = draw.of(&[10, 25, 40, 100, 100, 200]);
        let mut spec = |rates: &[u64]| {
            let delay = match draw.chance(50) {
                true => draw.of(&[50, 500, 1000, 2000]),
                false => draw.between(50, 2000),
            };
            (draw.of(rates), delay)
        };
        let (host, trunk) = (spec(&[rate]), spec(&[rate, 25, 100, 400]));
        match draw.below(5) {
            0 => {
                let (left, right) = (draw.between(1, 8) as u32, draw.between(1, 8) as u32);
                let keys = [("left", left), ("right", right)];
                Self::of(
                    ("dumbbell", "core_link"),
                    &keys,
                    &[left, right],
                    (host, trunk),
                )
                .linked(trunk, |hosts| vec![[hosts, hosts + 1]])
            }
            1 => {
                let hosts = draw.between(2, 12) as u32;
                Self::of(("star", ""), &[("hosts", hosts)], &[hosts], (host, trunk))
            }
            2 => {
                let [leaves, spines, each] =
                    [(1, 4), (1, 3), (2, 5)].map(|(low, high)| draw.between(low, high) as u32);
                let keys = [
                    ("leaves", leaves),
                    ("spines", spines),
                    ("hosts_per_leaf", each),
                ];
                let homes = vec![each; leaves as usize];
                let pairs = |leaf: u32| (0..spines).map(move |spine| [leaf, leaves + spine]);
                Self::of(("leaf-spine", "fabric_link"), &keys, &homes, (host, trunk))
                    .linked(trunk, |first| among((0..leaves).flat_map(pairs), first))
            }
            3 => {
                let (switches, each) = (draw.between(2, 5) as u32, draw.between(1, 4) as u32);
                let keys = [("switches", switches), ("hosts_per_switch", each)];
                let homes = vec![each; switches as usize];
                let pairs = |a: u32| (a + 1..switches).map(move |b| [a, b]);
                Self::of(("mesh", "fabric_link"), &keys, &homes, (host, trunk))
                    .linked(trunk, |first| among((0..switches).flat_map(pairs), first))
            }
            _ => Self::fat_tree(draw, (host, trunk)),
        }
    }

    fn fat_tree(draw: &mut Draw, links: ((u64, u64), (u64, u64))) -> Self {
        let [pods, tors, aggregations, group, each] = [(2, 3), (1, 2), (1, 2), (1, 2), (1, 4)]
            .map(|(low, high)| draw.between(low, high) as u32);
        let keys = [
            ("pods", pods),
            ("tors_per_pod", tors),
            ("aggregations_per_pod", aggregations),
            ("cores", aggregations * group),
            ("hosts_per_tor", each),
        ];
        let homes = vec![each; (pods * tors) as usize];
        let first = pods * tors;
        let cores = first + pods * aggregations;
        let up = |tor: u32| {
            let above = first + tor / tors * aggregations;
            (above..above + aggregations).map(move |to| [tor, to])
        };
        let over = |index: u32| {
            let above = cores + index % aggregations * group;
            (above..above + group).map(move |core| [first + index, core])
        };
        let pairs = (0..first)
            .flat_map(up)
            .chain((0..pods * aggregations).flat_map(over));
        Self::of(("fat-tree", "fabric_link"), &keys, &homes, links)
            .linked(links.1, |hosts| among(pairs, hosts))
    }

    /// Switches with so many hosts each.
    fn of(
        (kind, trunk): (&str, &str),
        counts: &[(&str, u32)],
        homes: &[u32],
        (host, other): ((u64, u64), (u64, u64)),
    ) -> Self {
        let link = |(rate, delay)| format!("{{ rate = \"{rate}Gbps\", delay = \"{delay}ns\" }}");
        let mut text = format!(
            "[topology]\nkind = \"{kind}\"\nhost_link = {}\n",
            link(host)
        );
        if !trunk.is_empty() {
            let _ = writeln!(text, "{trunk} = {}", link(other));
        }
        for (key, count) in counts {
            let _ = writeln!(text, "{key} = {count}");
        }
        let hosts: u32 = homes.iter().sum();
        let switches = (hosts..)
            .zip(homes)
            .flat_map(|(at, count)| vec![at; *count as usize]);
        let (rate, delay) = host;
        let links = (0..hosts).zip(switches).map(|(node, switch)| Link {
            ends: [node, switch],
            rate,
            delay,
        });
        Self {
            text,
            hosts: (0..hosts).collect(),
            nodes: hosts + homes.len() as u32,
            host_rate: rate,
            links: links.collect(),
        }
    }

    /// The same with links between switches; `pairs` is told the number of the first switch.
    fn linked(
        mut self,
        (rate, delay): (u64, u64),
        pairs: impl FnOnce(u32) -> Vec<[u32; 2]>,
    ) -> Self {
        for ends in pairs(self.hosts.len() as u32) {
            self.nodes = self.nodes.max(ends[1] + 1);
            self.links.push(Link { ends, rate, delay });
        }
        self
    }
}

/// Pairs of switches, which are counted from `first` on.
fn among(pairs: impl Iterator<Item = [u32; 2]>, first: u32) -> Vec<[u32; 2]> {
    pairs.map(|ends| ends.map(|end| first + end)).collect()
}

fn set(hosts: &[u32]) -> String {
    let names: Vec<String> = hosts.iter().map(u32::to_string).collect();
    format!("\"{}\"", names.join(","))
}

fn records(draw: &mut Draw, fabric: &Fabric, text: &mut String) {
    let mut ports = BTreeSet::new();
    for _ in 0..draw.of(&[0, 0, 1, 3]) {
        let node = draw.below(u64::from(fabric.nodes)) as u32;
        ports.insert(match fabric.hosts.contains(&node) {
            true => format!("\"host:{node}\""),
            false => format!("\"switch:{node}\""),
        });
    }
    let list: Vec<String> = ports.into_iter().collect();
    let _ = writeln!(text, "capture = [{}]", list.join(", "));
    let traced: BTreeSet<u64> = (0..draw.of(&[0, 0, 1, 3]))
        .map(|_| draw.below(fabric.nodes.into()))
        .collect();
    let traced: Vec<u64> = traced.into_iter().collect();
    let interval = draw.of(&["5us", "10us", "50us"]);
    let _ = writeln!(
        text,
        "[output]\ntrace_nodes = {traced:?}\nsample_interval = \"{interval}\""
    );
}

/// Buffers between just enough for headroom and plenty, marks early and late.
fn switch(draw: &mut Draw, fabric: &Fabric, (mtu, classes): (u64, u64), pfc: bool) -> String {
    let hosts = fabric.hosts.len() as u32;
    let here = |switch: u32| {
        let links = fabric.links.iter();
        links.filter(move |link| link.ends.contains(&switch))
    };
    let committed = (hosts..fabric.nodes).map(|switch| {
        let ports = here(switch).map(|link| {
            let on_link = link.rate * link.delay * 2 / 8;
            RESERVE + on_link + 3 * (mtu + OVERHEAD) + 1000
        });
        ports.sum::<u64>() * classes
    });
    let committed = committed.max().unwrap_or(0);
    let ports = (hosts..fabric.nodes).map(|switch| here(switch).count());
    let ports = ports.max().unwrap_or(1) as u64;
    let buffer = committed + draw.of(&[2000, 20_000, 100_000, 10_000_000]) + draw.below(10_000);
    let mut text = format!("[switch]\nbuffer = {buffer}\n");
    let _ = writeln!(
        text,
        "arbitration = \"{}\"",
        draw.of(&["fifo", "fifo", "ingress"])
    );
    if draw.chance(20) {
        let interval = draw.of(&["1us", "12us"]);
        let _ = writeln!(
            text,
            "tenant_feedback = true\nfeedback_interval = \"{interval}\""
        );
    }
    let _ = writeln!(text, "[switch.pfc]\nenabled = {pfc}\nreserve = {RESERVE}");
    match draw.chance(20) {
        true => {
            let xoff = ((buffer - committed) / (ports * classes)).max(1);
            let _ = writeln!(text, "xoff = {xoff}\nresume_offset = {}", xoff / 4);
        }
        false => {
            let _ = writeln!(text, "threshold_shift = {}", draw.below(5));
        }
    }
    if draw.chance(30) {
        let (watchdog, restore) = (draw.between(5, 100), draw.between(5, 200));
        let _ = writeln!(
            text,
            "watchdog = \"{watchdog}us\"\nwatchdog_restore = \"{restore}us\""
        );
    }
    let _ = writeln!(text, "[switch.ecn]\nenabled = {}", draw.chance(85));
    if draw.chance(70) {
        let (low, pmax) = (
            draw.of(&[0, 30, 100, 400]),
            draw.of(&["0.05", "0.2", "1.0"]),
        );
        let high = low + draw.of(&[0, 100, 400]);
        let _ = writeln!(
            text,
            "kmin_per_gbps = {low}\nkmax_per_gbps = {high}\npmax = {pmax}"
        );
    }
    text
}

fn transport(draw: &mut Draw, service: &str, text: &mut String) {
    let _ = writeln!(text, "[transport]\nservice = \"{service}\"");
    let timeout = draw.of(&["20us", "100us", "100us", "1ms"]);
    let _ = writeln!(text, "ack_timeout = \"{timeout}\"");
    let _ = writeln!(text, "retry_limit = {}", draw.of(&[1, 7, 7]));
    let _ = writeln!(text, "nak_interval = \"{}us\"", draw.of(&[10, 50, 500]));
    let _ = writeln!(text, "ack_duplicates = {}", draw.chance(80));
    let _ = writeln!(text, "ack_interval = {}", draw.of(&[1, 1, 2, 8]));
    let _ = writeln!(text, "ack_control_class = {}", draw.chance(30));
    if draw.chance(40) {
        let window = draw.of(&[1, 16, 1024]);
        let _ = writeln!(
            text,
            "recovery = \"selective-repeat\"\nreorder_window = {window}"
        );
    }
    let _ = writeln!(text, "direct_placement = {}", draw.chance(30));
}

fn congestion(draw: &mut Draw, (fabric, service): (&Fabric, &str), text: &mut String) {
    let algorithm = draw.of(&Algorithm::ALL);
    let _ = writeln!(text, "[congestion]\nalgorithm = \"{algorithm}\"");
    let _ = writeln!(text, "scope = \"{}\"", draw.of(&Scope::ALL));
    let windows = match algorithm.needs().window {
        true => &["fixed", "scaled"][..],
        false => &["none", "fixed", "scaled"],
    };
    if draw.chance(50) {
        let _ = writeln!(text, "window = \"{}\"", draw.of(windows));
    }
    let _ = writeln!(text, "base_rtt = \"{}\"", draw.of(&["global", "pair"]));
    let _ = writeln!(text, "paced = {}", draw.chance(85));
    if algorithm.needs().hears_cnps && draw.chance(50) {
        let _ = writeln!(text, "notification = \"cnp\"");
    }
    let _ = writeln!(text, "cnp_interval = \"{}us\"", draw.of(&[1, 4, 50]));
    if draw.chance(50) {
        let rate = draw.between(1, fabric.host_rate);
        let _ = writeln!(text, "[congestion.fixed]\nrate = \"{rate}Gbps\"");
    }
    // Shares come back in acknowledgements.
    let _ = writeln!(text, "[congestion.tenant]\nshares = {}", service == "rc");
    if draw.chance(20) {
        let _ = writeln!(text, "pairs = {}", draw.of(&[1, 2, 8]));
    }
}

fn faults(draw: &mut Draw, fabric: &Fabric, (traffic, pfc): (&Traffic, bool)) -> String {
    let loss = draw.of(&["0.0", "0.0", "0.0", "0.001", "0.02"]);
    let mut text = format!("[faults]\nloss_rate = {loss}\n");
    let mut links = BTreeSet::new();
    for _ in 0..draw.of(&[0, 0, 0, 1, 2]) {
        links.insert(draw.below(fabric.links.len() as u64) as usize);
    }
    for link in links {
        let (ends, down) = (fabric.links[link].ends, draw.below(80));
        let _ = writeln!(
            text,
            "[[faults.link]]\nbetween = {ends:?}\ndown = \"{down}us\""
        );
        if draw.chance(75) {
            let up = down + draw.between(1, 200);
            let _ = writeln!(text, "up = \"{up}us\"");
        }
    }
    for _ in 0..draw.of(&[0, 0, 1, 2]) * u64::from(pfc) {
        let classes: Vec<u64> = traffic.classes.iter().copied().collect();
        let (host, class) = (draw.of(&fabric.hosts), draw.of(&classes));
        let (start, span) = (draw.below(50), draw.between(1, 100));
        let _ = writeln!(
            text,
            "[[faults.pause]]\nhost = {host}\nclass = {class}\nstart = \"{start}us\"\nduration = \"{span}us\""
        );
        if draw.chance(40) {
            let period = span + draw.between(1, 100);
            let _ = writeln!(text, "period = \"{period}us\"");
        }
    }
    text
}

struct Tenant {
    name: String,
    hosts: Vec<u32>,
}

/// Tenants, NICs and workloads.
struct Traffic {
    text: String,
    /// The section of NICs.
    nic: String,
    service: String,
    classes: BTreeSet<u64>,
    /// How many microseconds a workload should have that ends with the run only.
    most: Option<u64>,
}

impl Traffic {
    fn new(draw: &mut Draw, fabric: &Fabric, mtu: u64) -> Self {
        let mut text = String::new();
        let tenants = tenants(draw, fabric, &mut text);
        // Costs, policies and services but the usual are for connections that stay open alone.
        let held = draw.chance(35);
        let service = match held && draw.chance(40) {
            true => draw.of(&["uc", "ud"]),
            false => "rc",
        };
        let nic = nic(draw, (held, service));
        let mut this = Self {
            text,
            nic,
            service: service.into(),
            classes: BTreeSet::new(),
            most: None,
        };
        for _ in 0..draw.between(1, 3) {
            let tenant = match tenants.is_empty() {
                true => None,
                false => Some(&tenants[draw.below(tenants.len() as u64) as usize]),
            };
            let own = tenant.map_or(&fabric.hosts, |tenant| &tenant.hosts);
            let class = draw.of(&[3, 3, 3, 1, 7]);
            this.classes.insert(class);
            let kind = if held { 6 } else { draw.below(7) };
            this.text += "[[workload]]\n";
            match kind {
                0 => this.poisson(draw, fabric, own),
                1 => this.incast(draw, own),
                2 | 3 => this.exchange(draw, own, kind == 3),
                4 => this.ring(draw, own),
                5 => {
                    this.flows(draw, fabric, (own, class));
                    if let Some(tenant) = tenant {
                        let _ = writeln!(this.text, "tenant = \"{}\"", tenant.name);
                    }
                    continue;
                }
                _ => this.key_value(draw, fabric, (own, mtu)),
            }
            let _ = writeln!(this.text, "class = {class}");
            if let Some(tenant) = tenant {
                let _ = writeln!(this.text, "tenant = \"{}\"", tenant.name);
            }
            if draw.chance(40) {
                let _ = writeln!(this.text, "start = \"{}ns\"", draw.below(20_000));
            }
        }
        this
    }

    /// States a verb, and the size that it must have.
    fn verb(&mut self, draw: &mut Draw, verbs: &[&str]) -> Option<u64> {
        let verb = draw.of(verbs);
        let _ = writeln!(self.text, "verb = \"{verb}\"");
        ATOMICS.contains(&verb).then_some(8)
    }

    fn poisson(&mut self, draw: &mut Draw, fabric: &Fabric, own: &[u32]) {
        let sources = draw.some(own, 1);
        let destinations = draw.some(&fabric.hosts, 2);
        let percent = draw.between(10, 90);
        // Gb/s are bits in a nanosecond.
        let bits = PAYLOAD * 8 * 100;
        let span = bits / (sources.len() as u64 * percent * fabric.host_rate);
        let most = draw.of(&[1000, 9000, 60_000]);
        let _ = writeln!(
            self.text,
            "kind = \"poisson\"\nload = {}\nduration = \"{}ns\"\nsources = {}\ndestinations = {}\n\
             sizes = [{{ size = 1, percent = 0 }}, {{ size = {most}, percent = 100 }}]",
            percent as f64 / 100.0,
            span.clamp(1000, 100_000),
            set(&sources),
            set(&destinations)
        );
        self.verb(draw, &PLAIN);
    }

    fn incast(&mut self, draw: &mut Draw, own: &[u32]) {
        let hosts = draw.some(own, 2);
        let degree = draw.between(1, hosts.len() as u64 - 1);
        let rounds = draw.between(1, 3);
        let size = self.verb(draw, &ANY);
        let size = size.unwrap_or_else(|| sized(draw, degree * rounds));
        let _ = writeln!(
            self.text,
            "kind = \"incast\"\nhosts = {}\ndegree = {degree}\nrounds = {rounds}\nsize = {size}\n\
             period = \"{}us\"\njitter = \"{}ns\"",
            set(&hosts),
            draw.between(1, 40),
            draw.of(&[0, 0, 1500])
        );
        if draw.chance(60) {
            let _ = writeln!(self.text, "receiver = {}", draw.of(&hosts));
        }
    }

    fn exchange(&mut self, draw: &mut Draw, own: &[u32], all: bool) {
        let hosts = draw.some(own, 2);
        let count = hosts.len() as u64;
        let (kind, messages) = match all {
            true => ("all-to-all", count * (count - 1)),
            false => ("permutation", count),
        };
        let size = self.verb(draw, &ANY);
        let size = size.unwrap_or_else(|| sized(draw, messages));
        let hosts = set(&hosts);
        let _ = writeln!(
            self.text,
            "kind = \"{kind}\"\nhosts = {hosts}\nsize = {size}"
        );
    }

    fn ring(&mut self, draw: &mut Draw, own: &[u32]) {
        let hosts = draw.some(own, 2);
        let (count, rounds) = (hosts.len() as u64, draw.between(1, 2));
        let size = sized(draw, 2 * (count - 1) * rounds).max(count);
        let _ = writeln!(
            self.text,
            "kind = \"ring-all-reduce\"\nhosts = {}\nsize = {size}\nrounds = {rounds}",
            set(&hosts)
        );
        self.verb(draw, &PLAIN);
    }

    fn flows(&mut self, draw: &mut Draw, fabric: &Fabric, (own, class): (&[u32], u64)) {
        let atomic = self.verb(draw, &ANY);
        self.text += "kind = \"flows\"\nflow = [\n";
        let count = draw.between(1, 10);
        let mut start = 0;
        for _ in 0..count {
            let source = draw.of(own);
            let others: Vec<u32> = fabric
                .hosts
                .iter()
                .copied()
                .filter(|host| *host != source)
                .collect();
            let destination = draw.of(&others);
            let size = atomic.unwrap_or_else(|| sized(draw, count));
            start += draw.of(&[0, 0, 500, 7000]);
            let parts = match atomic {
                Some(_) => 1,
                None => draw.of(&[1, 1, 1, 3]).min(size),
            };
            let _ = writeln!(
                self.text,
                "  {{ source = {source}, destination = {destination}, size = {size}, class = {class}, \
                 start = \"{start}ns\", subflows = {parts} }},"
            );
        }
        self.text += "]\n";
    }

    fn key_value(&mut self, draw: &mut Draw, fabric: &Fabric, (own, mtu): (&[u32], u64)) {
        let clients = match draw.some(own, 1) {
            all if all.len() == fabric.hosts.len() => all[1..].to_vec(),
            some => some,
        };
        let is_other = |host: &u32| !clients.contains(host);
        let others: Vec<u32> = fabric.hosts.iter().copied().filter(is_other).collect();
        let servers = draw.some(&others, 1);
        let [applications, connections, batch] =
            [(1, 2), (1, 3), (1, 4)].map(|(low, high)| draw.between(low, high));
        let size = match self.service.as_str() {
            "ud" => self.verb(draw, &["send"]),
            "uc" => self.verb(draw, &["send", "write"]),
            _ => self.verb(draw, &ANY),
        };
        let all = clients.len() as u64 * applications * connections;
        let most = size.unwrap_or_else(|| match self.service.as_str() {
            "ud" => draw.between(1, mtu),
            _ => sized(draw, all),
        });
        let _ = writeln!(
            self.text,
            "kind = \"key-value\"\nclients = {}\nservers = {}\napplications = {applications}\n\
             connections = {connections}\nbatch = {batch}\npoll_interval = \"{}ns\"\nweight = {}.0",
            set(&clients),
            set(&servers),
            draw.of(&[0, 0, 1000]),
            draw.between(1, 3)
        );
        let _ = match size.is_none() && draw.chance(40) {
            true => {
                let (low, spread) = (draw.between(1, most), draw.of(&["uniform", "log-uniform"]));
                writeln!(
                    self.text,
                    "range = {{ low = {low}, high = {most}, spread = \"{spread}\" }}"
                )
            }
            false => writeln!(self.text, "size = {most}"),
        };
        let count = (PAYLOAD / (all * most)).clamp(1, 30);
        let bits = 4 * PAYLOAD * 8;
        let most_us = (bits / (clients.len() as u64 * fabric.host_rate) / 1000).clamp(5, 60);
        let _ = match draw.below(10) {
            0 => {
                self.most = Some(most_us);
                Ok(())
            }
            1..5 => {
                let span = draw.between(2, most_us);
                writeln!(self.text, "duration = \"{span}us\"")
            }
            _ => writeln!(self.text, "count = {count}"),
        };
    }
}

const ATOMICS: [&str; 2] = ["fetch-add", "compare-swap"];
/// Verbs of messages of any size.
const PLAIN: [&str; 3] = ["write", "send", "read"];
const ANY: [&str; 6] = [
    "write",
    "write",
    "send",
    "read",
    "fetch-add",
    "compare-swap",
];

/// The size of each of so many messages.
fn sized(draw: &mut Draw, messages: u64) -> u64 {
    let size = draw.of(&[1, 8, 1024, 1025, 5000, 30_000, 100_000]);
    size.min(PAYLOAD / messages).max(1)
}

fn tenants(draw: &mut Draw, fabric: &Fabric, text: &mut String) -> Vec<Tenant> {
    let mut tenants = Vec::new();
    for number in 0..draw.of(&[0, 0, 2, 3]) {
        let (name, hosts) = (format!("tenant-{number}"), draw.some(&fabric.hosts, 2));
        let weight = draw.of(&["0.5", "1.0", "3.0"]);
        let _ = writeln!(
            text,
            "[[tenant]]\nname = \"{name}\"\nweight = {weight}\nhosts = {}",
            set(&hosts)
        );
        if draw.chance(20) {
            let _ = writeln!(text, "guarantee = \"200Mbps\"");
        }
        tenants.push(Tenant { name, hosts });
    }
    tenants
}

/// The section of NICs; policies and costs are for connections that stay open.
fn nic(draw: &mut Draw, (held, service): (bool, &str)) -> String {
    let pause = draw.of(&["own-class", "class3", "never"]);
    let mut text = format!("[nic]\nack_pause = \"{pause}\"\n");
    if !held {
        return text;
    }
    let policies = match service {
        // Datagrams can't be split.
        "ud" => &["raw", "share", "drum"][..],
        _ => &["raw", "share", "drum", "justitia"],
    };
    let _ = writeln!(text, "policy = \"{}\"", draw.of(policies));
    let (active, window) = (draw.between(1, 4), draw.between(1, 16));
    let _ = writeln!(
        text,
        "[nic.share]\nratio = {}\n[nic.drum]\nactive = {active}\nwindow = {window}\nepoch = \"{}us\"\n\
         [nic.justitia]\nchunk = {}\ninterval = \"{}us\"",
        draw.between(1, 5),
        draw.between(2, 40),
        draw.of(&[500, 5000]),
        draw.between(5, 100)
    );
    if draw.chance(60) {
        let _ = writeln!(
            text,
            "[nic.costs]\npipeline = {}\ncache_entries = {}\nreceive_buffer = {}\nwqes_per_fetch = {}",
            draw.between(1, 4),
            draw.of(&[1, 2, 20]),
            draw.of(&[1000, 8000, 65_536]),
            draw.of(&[1, 4])
        );
    }
    text
}
