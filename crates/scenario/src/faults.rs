//! What goes wrong: loss, links that fail, hosts that misuse pauses.

use fairlane_units::{Duration, Rate};

use crate::section::{element, section};

section! {
    /// Loss, and links that go down and come back.
    Faults {
        /// Probability that a link loses a packet, for links that state none themselves.
        loss_rate: f64 => loss,
        /// Links that change at given times.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        link: Vec<LinkFault> => each,
        /// Links that are slower than the topology says.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        slow: Vec<SlowLink> => each,
        /// Hosts that pause what their switch sends to them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pause: Vec<PauseFault> => each,
    }
}

element! {
    /// A host that pauses what its switch sends to it: a broken NIC, or one that somebody misuses.
    #[derive(Eq)]
    PauseFault {
        /// Node number of the host.
        host: u32,
        /// Traffic class that it pauses, 1 to 7.
        #[serde(default = "crate::types::default_class")]
        class: u8 => class,
        /// When it begins.
        #[serde(default)]
        start: Duration => span,
        /// How long one pause lasts; the host repeats its frames so that it doesn't lapse.
        duration: Duration => period,
        /// Time from the beginning of a pause to that of the next; left out, there is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        period: Option<Duration> => span,
    }
}

element! {
    /// A link goes down and maybe comes back.
    LinkFault {
        /// The nodes at its ends.
        between: [u32; 2],
        /// When it goes down; what it carries and what waits for it is lost.
        down: Duration => span,
        /// When it comes back; left out, never.
        #[serde(skip_serializing_if = "Option::is_none")]
        up: Option<Duration> => span,
    }
}

element! {
    /// A link that runs below its rate, each way and all the time, as one does that has lost some of its lanes.
    SlowLink {
        /// The nodes at its ends.
        between: [u32; 2],
        /// What it runs at.
        rate: Rate => rate,
    }
}

impl SlowLink {
    /// Whether it is the link between two nodes.
    pub fn joins(&self, a: u32, b: u32) -> bool {
        self.between == [a, b] || self.between == [b, a]
    }
}

impl Faults {
    /// The rate of the link between two nodes, which is `rate` unless the link is slow.
    pub fn rate_of(&self, (a, b): (u32, u32), rate: Rate) -> Rate {
        let slow = self.slow.iter().find(|slow| slow.joins(a, b));
        slow.map_or(rate, |slow| slow.rate)
    }
}
