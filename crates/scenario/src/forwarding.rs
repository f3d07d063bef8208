//! How switches choose among equally short paths: the list of policies, and the section of switches.

use fairlane_units::{Bytes, Duration};

use crate::rules::{BYTE, LARGEST};
use crate::section::{section, words};
use crate::types::{Arbitration, ClassSchedule, Ecn, Pfc};

/// Hands the list of forwarding policies to a macro: `Type(module)` and name of each, with its documentation and
/// `with` the type of its parameters if it has any.
///
/// This is the only list of them. A policy is a file of `fairlane-fabric`, in whose module `module` the
/// type implements `Forwarding`; the table of its parameters is called like the module.
#[macro_export]
macro_rules! for_each_forwarding {
    ($then:ident) => {
        $then! {
            /// A hash of the five-tuple.
            Ecmp(ecmp) "ecmp";
            /// A random port after each gap in a flow (LetFlow).
            Flowlet(flowlet) "flowlet" with FlowletParameters;
            /// A random port for every packet, if possible an unpaused one.
            Spray(spray) "spray";
            /// For every packet the port with the fewest bytes queued, if possible an unpaused one.
            Adaptive(adaptive) "adaptive";
            /// As `ecmp`, with flows moved from long to short queues in order.
            Iofd(iofd) "iofd" with IofdParameters;
        }
    };
}

macro_rules! define {
    ($(
        $(#[$doc:meta])* $variant:ident($module:ident) $name:literal $(with $parameters:ident)?;
    )*) => {
        words! {
            /// How switches choose among equally short paths.
            #[derive(Hash)]
            Forwarding = Ecmp { $($(#[$doc])* $variant $name,)* }
        }

        section! {
            /// Buffers, pauses and marks of switches, and where packets go.
            Switch {
                /// Shared packet buffer of a switch.
                ///
                /// Source: HPCC, section 5.1.
                buffer: Bytes = Bytes::new(32 << 20) => within(BYTE, LARGEST),
                /// Priority flow control.
                pfc: Pfc => table,
                /// Marking.
                ecn: Ecn => table,
                /// Order of the packets of an egress queue.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                arbitration: Arbitration,
                /// When each traffic class sends at a port; left out, classes take turns, packet by packet.
                #[serde(skip_serializing_if = "Vec::is_empty")]
                class: Vec<ClassSchedule> => table,
                /// Whether ports give each tenant feedback (marks, telemetry) by its own use of its share.
                #[serde(skip_serializing_if = "crate::nic::is_default")]
                tenant_feedback: bool,
                /// Measurement interval of these ports.
                ///
                /// Source: a round trip of a three-tier fabric with links of 1 us.
                #[serde(skip_serializing_if = "is_feedback_interval")]
                feedback_interval: Duration = FEEDBACK_INTERVAL => within(Duration::from_ns(1), LONGEST_GAP),
                /// Choice among equally short paths; under `hpcc-ns3` only `"ecmp"`.
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
        /// A flow that was idle at a switch for longer may take another port.
        ///
        /// Source: ConWeave (SIGCOMM 2023), artefact.
        gap: Duration = Duration::from_us(100) => within(Duration::from_ns(1), LONGEST_GAP),
        /// Size of a switch's flow table; flows with the same entry count as one.
        ///
        /// Source: CONGA (SIGCOMM 2014), section 3.4.
        entries [1, 1 << 20]: u32 = 1 << 16,
    }
}

section! {
    /// Parameters of forwarding `iofd`, in-order flow deflection.
    // Shares and times are those of docs/iofd.md, "Parameters", which says how they were found.
    #[derive(Eq)]
    IofdParameters {
        /// A flow moves if more bytes than this are queued at its port.
        trigger: Bytes = Bytes::new(50_000) => within(BYTE, LARGEST),
        /// It moves to an unpaused port with fewer bytes queued than this; at most half of `trigger`.
        target: Bytes = Bytes::new(25_000) => within(BYTE, LARGEST),
        /// Least time between two moves away from a port.
        interval: Duration = Duration::from_us(2) => span,
        /// Bytes of a flow that must pass a switch between two moves there.
        moved: Bytes = Bytes::new(10_000) => within(Bytes::ZERO, LARGEST),
        /// How many switches may move the flow of a packet: labels that the packet carries.
        labels [1, 4]: u32 = 2,
        /// Whether flows may also go down to another switch and up again. Each label then takes a traffic class above the
        /// flow's, up to 7; the fabric must have tiers.
        valley: bool,
        /// Flows that a switch can track; others don't move there.
        streams [1, 1 << 16]: u32 = 4096,
        /// Buffer of the last switch before the host for packets that must wait for earlier ones; packets that don't fit
        /// are lost.
        hold: Bytes = Bytes::new(4_000_000) => within(BYTE, LARGEST),
        /// A packet held for longer is lost, with all held packets of its flow.
        hold_timeout: Duration = Duration::from_ms(1) => period,
    }
}
