//! How messages are divided among paths.

use std::path::PathBuf;

use fairlane_multipath::{
    BalancerKind, LimiterKind, MOST_PATHS, Settings, TwoSided, for_each_parameter,
};
use fairlane_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::section::{section, words};

/// Most paths of a message.
pub(crate) const MOST: u32 = MOST_PATHS as u32;

macro_rules! define {
    ($(
        $(#[$about:meta])*
        $key:ident: $type:ty = $default:expr $(=> [$low:tt, $high:tt], $hint:literal)?;
    )*) => {
        section! {
            /// Several queue pairs for each connection, and who gets what; docs/multipath.md has the mechanisms.
            Multipath {
                /// Queue pairs per connection; 1: ordinary messages. The key `paths` of a workload overrides it.
                paths [1, MOST]: u32 = 8,
                /// Which messages share a connection; left out, what is usual for the kind of workload, whose key
                /// `connections` overrides this. Also holds for messages with one path.
                connections: Option<Connections>,
                // What each may be, `Settings::ranges` says.
                $($(#[$about])* $key: $type = Settings::default().$key,)*
                /// Source ports of paths: `"ports"`: those after the message's own; a list; or a `file`, as in `{ file = "x.cfg" }`, of
                /// lines `srcIP,dstIP=port,port,...`, where host n has address 11.a.b.1 with n = 256 a + b, and 0.0.0.0 is all.
                plan: Plan,
                /// How paths with the same route are found, of which one is used.
                twins: Twins,
                /// Whether the queue pairs of a connection together take one share under scope `qp`.
                coupled: bool = true,
                /// What the software of hosts costs; left out, nothing.
                costs: Option<PathCosts> => table,
            }
        }

        impl Multipath {
            /// The parameters of connections whose packets have payload of `mtu` and whose hosts have ports of `line_rate`.
            pub fn settings(&self, mtu: Bytes, line_rate: Rate) -> Settings {
                Settings {
                    mtu,
                    line_rate,
                    // No sender makes more holes than it has work requests in flight.
                    holes: 1 << 20,
                    $($key: self.$key,)*
                    ..Settings::default()
                }
            }
        }
    };
}

for_each_parameter!(define);

words! {
    /// Which messages share a connection.
    Connections = Message {
        /// Every message has one of its own.
        Message "message",
        /// Messages of a workload with equal source, destination, class, tenant and number of paths share one; of collectives
        /// and programs those of one communicator and channel. A shared connection sends them in the order of posting, stays open and
        /// keeps what congestion control has learnt.
        Pair "pair",
    }
}

words! {
    /// How paths that take the same way are found, of which one is used.
    Twins = Route {
        /// From the simulator.
        Route "route",
        /// Measured before the first message; needs connections that are shared.
        Probe "probe",
        /// They aren't: all are used.
        Keep "keep",
    }
}

/// What tells the paths of a connection apart: their UDP source ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "\"ports\", a list of ports, or a file such as { file = \"ports.cfg\" }"
)]
pub enum Plan {
    /// Those that follow the one of the message.
    Next(NextPorts),
    /// These, for every connection.
    List(Vec<u16>),
    /// Those that a file has for the two hosts.
    File {
        /// The file, relative to the scenario: lines `srcIP,dstIP=port,port,...`.
        file: PathBuf,
    },
}

words! {
    /// The word for consecutive ports.
    NextPorts = Ports {
        /// The next ports.
        Ports "ports",
    }
}

/// The longest that a step of software may take.
const LONGEST_STEP: Duration = Duration::from_ms(1);

section! {
    /// Processor time of the one thread that drives all connections of a host, in both directions.
    #[derive(Copy, Eq)]
    PathCosts {
        /// To post a work request.
        ///
        /// Source: Kalia et al., ATC 2016, section 3: tens of nanoseconds.
        post: Duration = Duration::from_ns(50) => within(Duration::ZERO, LONGEST_STEP),
        /// To poll a completion.
        poll: Duration = Duration::from_ns(50) => within(Duration::ZERO, LONGEST_STEP),
        /// To cut a chunk off its message and choose its path.
        ///
        /// Source: `benches/src/multipath.rs`.
        split: Duration = Duration::from_ns(43) => within(Duration::ZERO, LONGEST_STEP),
        /// To put a chunk into its message where it arrives.
        ///
        /// Source: the same.
        reassemble: Duration = Duration::from_ns(16) => within(Duration::ZERO, LONGEST_STEP),
    }
}

impl Default for Plan {
    fn default() -> Self {
        Self::Next(NextPorts::Ports)
    }
}
