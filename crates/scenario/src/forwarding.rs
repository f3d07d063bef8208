//! How switches choose among equally short paths: the list of policies, and the section of switches.

use fairlane_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::section::section;
use crate::types::{Arbitration, Ecn, Pfc};
use crate::validate::limits::{BYTE, LARGEST};

/// Hands the list of forwarding policies to a macro: `Type(module)` for each, with its documentation and
/// `with` the type of its parameters if it has any.
///
/// This is the only list of them. A policy is a file of `fairlane-fabric`, in whose module `module` the
/// type implements `Forwarding`; the module's name is the name in scenarios.
#[macro_export]
macro_rules! for_each_forwarding {
    ($then:ident) => {
        $then! {
            /// One port for all packets of a five-tuple, by a hash.
            Ecmp(ecmp);
            /// One port for packets of a five-tuple that follow each other closely, a random one after a gap.
            Flowlet(flowlet) with FlowletParameters;
            /// A random port for every packet.
            Spray(spray);
            /// The port with the shortest queue for every packet.
            Adaptive(adaptive);
            /// Begins as `ecmp`, and moves flows from long queues to short ones so that their packets stay in order.
            Iofd(iofd) with IofdParameters;
        }
    };
}

macro_rules! define {
    ($($(#[$doc:meta])* $variant:ident($module:ident) $(with $parameters:ident)?;)*) => {
        /// How switches choose among equally short paths.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "lowercase")]
        pub enum Forwarding {
            #[default]
            $($(#[$doc])* $variant,)*
        }

        impl Forwarding {
            /// Every policy.
            pub const ALL: [Self; [$(stringify!($module)),*].len()] = [$(Self::$variant),*];

            /// The name used in scenarios.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => stringify!($module),)*
                }
            }
        }

        section! {
            /// Buffers, pauses and marks of switches, and where packets go.
            Switch {
                /// Shared packet buffer of one switch.
                // HPCC, section 5.1: 32 MB of buffer.
                buffer: Bytes = Bytes::new(32 << 20) => within(BYTE, LARGEST),
                /// Priority flow control.
                pfc: Pfc => table,
                /// Marking.
                ecn: Ecn => table,
                /// In which order the packets of an egress queue leave.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                arbitration: Arbitration,
                /// Whether ports tell tenants of their load (marks and telemetry) by what each uses of its
                /// part: a tenant below it hears less. Needs switches that count by port and tenant.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                tenant_feedback: bool,
                /// How often those ports look who uses what.
                #[serde(skip_serializing_if = "is_feedback_interval")]
                feedback_interval: Duration = FEEDBACK_INTERVAL => within(Duration::from_ns(1), LONGEST_GAP),
                /// How a switch chooses among equally short paths.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                forwarding: Forwarding,
                $($(
                    #[doc = concat!("Parameters of forwarding `", stringify!($module), "`.")]
                    #[serde(skip_serializing_if = "crate::nic::is_default")]
                    $module: $parameters => table,
                )?)*
            }
        }
    };
}

for_each_forwarding!(define);

impl std::fmt::Display for Forwarding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A round trip of a three-tier fabric with links of 1 us.
const FEEDBACK_INTERVAL: Duration = Duration::from_us(12);

fn is_feedback_interval(interval: &Duration) -> bool {
    *interval == FEEDBACK_INTERVAL
}

/// Flows that have been silent for longer have ended.
const LONGEST_GAP: Duration = Duration::from_ms(1000);

section! {
    /// Parameters of forwarding `flowlet`.
    #[derive(Eq)]
    FlowletParameters {
        /// A flow that has been silent at a switch for longer than this may take another port.
        // ConWeave (SIGCOMM 2023), artefact: 100 us for LetFlow and CONGA with RDMA.
        gap: Duration = Duration::from_us(100) => within(Duration::from_ns(1), LONGEST_GAP),
        /// Entries of a switch's table; flows with the same entry count as one.
        // CONGA (SIGCOMM 2014), section 3.4: 64K entries. At most 16 MiB of table in each switch.
        entries [1, 1 << 20]: u32 = 1 << 16,
    }
}

section! {
    /// Parameters of forwarding `iofd`, in-order flow deflection.
    // Shares and times are those of docs/iofd.md, "Parameters", which says how they were found.
    #[derive(Eq)]
    IofdParameters {
        /// A flow moves if more bytes than this wait at its port.
        trigger: Bytes = Bytes::new(50_000) => within(BYTE, LARGEST),
        /// It moves to a port at which fewer bytes than this wait.
        target: Bytes = Bytes::new(25_000) => within(BYTE, LARGEST),
        /// Flows leave a port no sooner after each other.
        interval: Duration = Duration::from_us(2) => span,
        /// A flow moves at a switch once more bytes than this have passed there since it did so last.
        moved: Bytes = Bytes::new(10_000) => within(Bytes::ZERO, LARGEST),
        /// Labels that a packet may carry: switches on its way that have moved its flow.
        // As many as a packet has room for.
        labels [1, 4]: u32 = 2,
        /// Whether flows may also go down to another switch and up again.
        valley: bool,
        /// Flows that a switch can keep track of; others don't move.
        // As many as labels can tell apart.
        streams [1, 1 << 16]: u32 = 4096,
        /// Room for packets that the last switch before their host holds until those before them have passed.
        hold: Bytes = Bytes::new(4_000_000) => within(BYTE, LARGEST),
        /// A packet that is held for longer is lost, with everything else that is held of its flow.
        hold_timeout: Duration = Duration::from_ms(1) => period,
    }
}
