//! What goes wrong: loss, links that fail, hosts that misuse pauses.

use std::collections::BTreeMap;

use fairlane_units::{Duration, Rate};

use crate::section::{element, number, section};

section! {
    /// Loss, and links that go down and come back.
    Faults {
        /// Packet loss probability of links that state none.
        loss_rate: f64 => loss,
        /// Links that change.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        link: Vec<LinkFault> => table,
        /// Links slower than in the topology, for example with failed lanes; not under `hpcc-ns3`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        slow: Vec<SlowLink> => table,
        /// Hosts that pause their switch; needs `switch.pfc.enabled`.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pause: Vec<PauseFault> => table,
    }
}

element! {
    /// A host that pauses what its switch sends to it: a broken NIC, or one that somebody misuses.
    #[derive(Eq)]
    PauseFault {
        /// The host.
        host: u32,
        /// Traffic class that it pauses.
        class: u8 = "number::<3, u8>" => class,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Length of a pause, kept up by frames twice as often as IEEE 802.3 requires.
        duration: Duration => period,
        /// Time from the start of a pause to that of the next; left out, there is one.
        period: Option<Duration> => span,
    }
}

element! {
    /// A link goes down and maybe comes back.
    LinkFault {
        /// The nodes at its ends, as in `[0, 16]`.
        between: [u32; 2],
        /// Which of several links between them, from 0 in the order of the topology; left out, all.
        index: Option<u32>,
        /// When it goes down; its packets and pauses are lost.
        down: Duration => span,
        /// When it comes back; left out, never.
        up: Option<Duration> => span,
    }
}

element! {
    /// A link that runs below its rate, each way and all the time, as one does that has lost some of its lanes.
    SlowLink {
        /// The nodes at its ends.
        between: [u32; 2],
        /// Which of several links between them, from 0 in the order of the topology; left out, all.
        index: Option<u32>,
        /// Its rate in both directions, for the whole run.
        rate: Rate => rate,
    }
}

impl Faults {
    /// Gives slow links their rates; `links` are all links of a fabric, in order: their ends and rates.
    pub fn slow_down<'a>(&self, links: impl Iterator<Item = ([u32; 2], &'a mut Rate)>) {
        if self.slow.is_empty() {
            return;
        }
        let mut counts = BTreeMap::new();
        for (ends, rate) in links {
            let count: &mut u32 = counts.entry(unordered(ends)).or_default();
            let mut slow = self.slow.iter();
            let found = slow.find(|slow| is_meant(slow.between, slow.index, ends, *count));
            *count += 1;
            if let Some(slow) = found {
                *rate = slow.rate;
            }
        }
    }
}

impl LinkFault {
    /// The links that it is about, by number among `links`, the ends of all links of a fabric in order.
    pub fn links(&self, links: impl Iterator<Item = [u32; 2]>) -> Vec<u32> {
        let between = (0u32..).zip(links);
        let between = between.filter(|(_, ends)| unordered(*ends) == unordered(self.between));
        let chosen = (0u32..).zip(between);
        let chosen = chosen.filter(|(count, _)| self.index.is_none_or(|index| index == *count));
        chosen.map(|(_, (link, _))| link).collect()
    }
}

/// Whether a fault between two nodes is about the link that so many between its ends come before.
fn is_meant(between: [u32; 2], index: Option<u32>, ends: [u32; 2], before: u32) -> bool {
    unordered(between) == unordered(ends) && index.is_none_or(|index| index == before)
}

/// The ends of a link, lowest first.
pub(crate) fn unordered([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}
