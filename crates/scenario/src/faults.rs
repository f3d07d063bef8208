//! What goes wrong: loss, links that fail, hosts that misuse pauses.

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
        /// Its rate in both directions, for the whole run.
        rate: Rate => rate,
    }
}

impl Faults {
    /// The rate of the link between two nodes, which is `rate` unless the link is slow.
    pub fn rate_of(&self, (a, b): (u32, u32), rate: Rate) -> Rate {
        let mut slow = self.slow.iter();
        let found = slow.find(|slow| [[a, b], [b, a]].contains(&slow.between));
        found.map_or(rate, |slow| slow.rate)
    }
}
