//! What goes wrong: loss, links that fail, hosts that misuse pauses.

use fairlane_units::{Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::section::section;

section! {
    /// Loss, and links that go down and come back.
    Faults {
        /// Probability that a link loses a packet, for links that state none themselves.
        loss_rate: f64 => loss,
        /// Links that change at given times.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        link: Vec<LinkFault>,
        /// Links that are slower than the topology says.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        slow: Vec<SlowLink>,
        /// Hosts that pause what their switch sends to them.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pause: Vec<PauseFault>,
    }
}

/// A host that pauses what its switch sends to it: a broken NIC, or one that somebody misuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PauseFault {
    /// Node number of the host.
    pub host: u32,
    /// Traffic class that it pauses, 1 to 7.
    #[serde(default = "crate::types::default_class")]
    pub class: u8,
    /// When it begins.
    #[serde(default)]
    pub start: Duration,
    /// How long one pause lasts; the host repeats its frames so that it doesn't lapse.
    pub duration: Duration,
    /// Time from the beginning of a pause to that of the next; left out, there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period: Option<Duration>,
}

/// A link goes down and maybe comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkFault {
    /// The nodes at its ends.
    pub between: [u32; 2],
    /// When it goes down; what it carries and what waits for it is lost.
    pub down: Duration,
    /// When it comes back; left out, never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Duration>,
}

/// A link that runs below its rate, each way and all the time, as one does that has lost some of its lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlowLink {
    /// The nodes at its ends.
    pub between: [u32; 2],
    /// What it runs at.
    pub rate: Rate,
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
