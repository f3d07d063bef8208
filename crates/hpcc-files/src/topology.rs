//! Topologies as text, in the format of HPCC's simulator.
//!
//! Line 1: nodes, switches, links. Line 2: the numbers of the switches. Then a line per link: two
//! node numbers, rate, delay, loss probability. Every node that isn't listed as a switch is a host.
//!
//! Line 1 of SimAI's topologies has six fields: nodes, GPUs per server, NVSwitches, switches, links, GPU type. The
//! NVSwitches are listed ahead of the other switches; both are switches here, and GPUs are hosts.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use fairlane_units::{Duration, Mistake, NodeId, Rate};

use crate::Times;
use crate::lines::{Line, lines, shorten};
use crate::numbers;

/// Nodes and links.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopologyText {
    /// Number of nodes; they are numbered from 0.
    pub nodes: u32,
    /// The nodes that are switches, in the order of the file.
    pub switches: Vec<u32>,
    /// Links, in the order of the file; ports are numbered in this order.
    pub links: Vec<LinkText>,
}

/// One link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkText {
    /// One end.
    pub a: u32,
    /// The other end.
    pub b: u32,
    /// Bits per second, each way.
    pub rate: Rate,
    /// Propagation delay, each way.
    pub delay: Duration,
    /// Probability that a packet is lost; 0 leaves it to `faults.loss_rate`.
    pub loss: f64,
}

/// One byte takes a picosecond at this rate, the finest that is represented.
pub const FASTEST: Rate = Rate::from_gbps(8000);
/// Slower packets would take so long that sums of times could overflow.
pub const SLOWEST: Rate = Rate::from_mbps(1);
/// The most nodes of a topology.
pub const MOST_NODES: u64 = 1_000_000;
/// The most links of a topology.
pub const MOST_LINKS: u64 = 4_000_000;
/// The longest propagation delay: light goes 300,000 km.
pub const LONGEST_DELAY: Duration = Duration::from_ms(1000);

const SIMAI_FIELDS: &str = "NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE";
const LINK_FIELDS: &str = "NODE NODE RATE DELAY LOSS";

impl TopologyText {
    /// Reads a topology; messages call the text `file`. Under [`Times::Ns3`] delays are
    /// truncated to nanoseconds as ns-3 does; otherwise they are exact.
    ///
    /// # Errors
    /// A malformed line, a count that disagrees with the lines, a link to an unknown node, to
    /// itself, a zero rate: each with its line. Lines with the same ends are links side by side.
    pub fn parse(text: &str, file: &str, times: Times) -> Result<Self, Mistake> {
        let mut rest = lines(text, file).peekable();
        let missing =
            |what: &str| Mistake::new(file, format!("ends before {what}"), "is the file complete?");
        let first = rest
            .next()
            .ok_or_else(|| missing("the line `NODES SWITCHES LINKS`"))?;
        let (nodes, switch_count, link_count) = counts(&first)?;
        let mut switches = Switches {
            nodes,
            count: switch_count,
            found: Vec::new(),
            seen: BTreeSet::new(),
        };
        while switches.found.len() < switch_count {
            let line = rest
                .next()
                .ok_or_else(|| missing("all switches are listed"))?;
            switches.add(&line)?;
        }
        let mut reader = Links {
            nodes,
            times,
            found: Vec::new(),
        };
        for line in rest {
            if reader.found.len() == link_count {
                return Err(overlong(&first, &line, link_count));
            }
            reader.add(&line)?;
        }
        if reader.found.len() != link_count {
            let found = reader.found.len();
            let message = format!("the count is {link_count} links, but {found} follow");
            return Err(first.error(message, "correct the count, or is the file truncated?"));
        }
        Ok(Self {
            nodes,
            switches: switches.found,
            links: reader.found,
        })
    }

    /// The number of the first line behind the links that line 1 counts, where those simulators stop reading; `None` if
    /// there is none, or line 1 isn't one.
    pub fn behind(text: &str) -> Option<usize> {
        let mut rest = lines(text, "");
        let (_, switches, links) = counts(&rest.next()?).ok()?;
        let mut listed = 0;
        while listed < switches {
            listed += rest.next()?.text.split_ascii_whitespace().count();
        }
        Some(rest.nth(links)?.number)
    }

    /// This topology as text; reading it again gives an equal value in either profile, as long
    /// as delays are whole nanoseconds under [`Times::Ns3`].
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{} {} {}\n",
            self.nodes,
            self.switches.len(),
            self.links.len()
        );
        let switches: Vec<String> = self.switches.iter().map(u32::to_string).collect();
        text.push_str(&switches.join(" "));
        text.push('\n');
        for link in &self.links {
            let (rate, delay) = (rate_text(link.rate), delay_text(link.delay));
            // Writing to a string can't fail.
            let _ = writeln!(text, "{} {} {rate} {delay} {}", link.a, link.b, link.loss);
        }
        text
    }

    /// The nodes that aren't switches, in ascending order.
    pub fn hosts(&self) -> Vec<NodeId> {
        let switches: BTreeSet<u32> = self.switches.iter().copied().collect();
        (0..self.nodes)
            .filter(|node| !switches.contains(node))
            .map(NodeId::new)
            .collect()
    }
}

fn counts(line: &Line<'_>) -> Result<(u32, usize, usize), Mistake> {
    let whole = "a whole number";
    let (nodes, nvswitches, switches, links) = match line.text.split_ascii_whitespace().count() {
        6 => {
            let [nodes, _, nvswitches, switches, links, _] = line.fields(SIMAI_FIELDS)?;
            (nodes, nvswitches, switches, links)
        }
        _ => {
            let [nodes, switches, links] = line.fields("NODES SWITCHES LINKS")?;
            (nodes, "0", switches, links)
        }
    };
    let nvswitches: u64 = line.whole(nvswitches, "the number of NVSwitches", whole)?;
    let nodes: u64 = line.whole(nodes, "the number of nodes", whole)?;
    let switches: u64 = line.whole(switches, "the number of switches", whole)?;
    let switches = switches.saturating_add(nvswitches);
    let links: u64 = line.whole(links, "the number of links", whole)?;
    if nodes == 0 || nodes > MOST_NODES {
        let message = format!("{nodes} nodes, expected 1 to {MOST_NODES}");
        return Err(line.error(message, "the first line is `NODES SWITCHES LINKS`"));
    }
    if switches > nodes {
        let message = format!("{switches} switches, expected at most the {nodes} nodes");
        return Err(line.error(message, "the first line is `NODES SWITCHES LINKS`"));
    }
    if links == 0 || links > MOST_LINKS {
        let message = format!("{links} links, expected 1 to {MOST_LINKS}");
        return Err(line.error(message, "the first line is `NODES SWITCHES LINKS`"));
    }
    let fits = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    Ok((
        u32::try_from(nodes).unwrap_or(u32::MAX),
        fits(switches),
        fits(links),
    ))
}

fn overlong(first: &Line<'_>, line: &Line<'_>, count: usize) -> Mistake {
    let message = format!(
        "the count in line {} is {count} links, but more follow",
        first.number
    );
    line.error(message, "correct the count, or remove the lines")
}

fn node(line: &Line<'_>, field: &str, nodes: u32) -> Result<u32, Mistake> {
    let node: u32 = line.whole(field, "a node", "a node number")?;
    if node >= nodes {
        let message = format!("node {node} doesn't exist, expected 0 to {}", nodes - 1);
        return Err(line.error(message, "nodes are numbered from 0"));
    }
    Ok(node)
}

struct Switches {
    nodes: u32,
    count: usize,
    found: Vec<u32>,
    seen: BTreeSet<u32>,
}

impl Switches {
    fn add(&mut self, line: &Line<'_>) -> Result<(), Mistake> {
        for field in line.text.split_ascii_whitespace() {
            let switch = node(line, field, self.nodes)?;
            if !self.seen.insert(switch) {
                let message = format!("switch {switch} is listed twice");
                return Err(line.error(message, "list every switch once"));
            }
            self.found.push(switch);
        }
        if self.found.len() > self.count {
            let (found, count) = (self.found.len(), self.count);
            let message = format!("{found} switches, expected {count} as line 1 says");
            return Err(line.error(message, "the first line is `NODES SWITCHES LINKS`"));
        }
        Ok(())
    }
}

struct Links {
    nodes: u32,
    times: Times,
    found: Vec<LinkText>,
}

impl Links {
    fn add(&mut self, line: &Line<'_>) -> Result<(), Mistake> {
        let [a, b, rate, delay, loss] = line.fields(LINK_FIELDS)?;
        let (a, b) = (node(line, a, self.nodes)?, node(line, b, self.nodes)?);
        if a == b {
            let message = format!("a link from node {a} to itself, expected two nodes");
            return Err(line.error(message, "remove the line, or correct a node"));
        }
        let rate = read_rate(line, rate, self.times)?;
        let delay = read_delay(line, delay, self.times)?;
        let loss = read_loss(line, loss)?;
        self.found.push(LinkText {
            a,
            b,
            rate,
            delay,
            loss,
        });
        Ok(())
    }
}

fn read_rate(line: &Line<'_>, field: &str, times: Times) -> Result<Rate, Mistake> {
    let rate = numbers::rate(field, times).ok_or_else(|| {
        let message = format!(
            "\"{}\" is no rate, expected one such as 100Gbps",
            shorten(field)
        );
        line.error(message, "units are bps, kbps, Mbps, Gbps and Tbps")
    })?;
    if !(SLOWEST..=FASTEST).contains(&rate) {
        let message = format!("the rate is {rate}, expected {SLOWEST} to {FASTEST}");
        return Err(line.error(message, "write a rate such as 100Gbps"));
    }
    Ok(rate)
}

fn read_delay(line: &Line<'_>, field: &str, times: Times) -> Result<Duration, Mistake> {
    let delay = numbers::time(field, times).ok_or_else(|| {
        let message = format!(
            "\"{}\" is no delay, expected one such as 1000ns",
            shorten(field)
        );
        line.error(message, "units are ns, us, ms and s")
    })?;
    if delay > LONGEST_DELAY || delay < times.shortest_delay() {
        let shortest = times.shortest_delay();
        let message = format!("the delay is {delay}, expected {shortest} to {LONGEST_DELAY}");
        return Err(line.error(message, "write a delay such as 1000ns"));
    }
    Ok(delay)
}

fn read_loss(line: &Line<'_>, field: &str) -> Result<f64, Mistake> {
    let expected = "a probability from 0 to below 1";
    let loss = line.number(field, "the loss", expected)?;
    if (0.0..1.0).contains(&loss) {
        return Ok(loss);
    }
    Err(line.error(
        format!("the loss is {loss}, expected {expected}"),
        "write 0 for no loss",
    ))
}

fn rate_text(rate: Rate) -> String {
    let units = [
        (1_000_000_000, "Gbps"),
        (1_000_000, "Mbps"),
        (1_000, "Kbps"),
    ];
    let bps = rate.as_bps();
    match units
        .into_iter()
        .find(|(factor, _)| bps.is_multiple_of(*factor))
    {
        Some((factor, unit)) => format!("{}{unit}", bps / factor),
        None => format!("{bps}bps"),
    }
}

fn delay_text(delay: Duration) -> String {
    let ps = delay.as_ps();
    if ps.is_multiple_of(1000) {
        format!("{}ns", ps / 1000)
    } else {
        format!("{ps}ps")
    }
}
