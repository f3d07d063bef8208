//! The simulated fabric: links, switches, NICs, topologies, workloads, metrics.
//!
//! [`Simulation::new`] builds the fabric and the traffic of a [scenario](fairlane_scenario);
//! [`Simulation::run`] runs it packet by packet and returns [`Results`]; [`metrics`] turns those into
//! figures. Hosts drive the queue pairs of `fairlane-transport` and the controllers of
//! `fairlane-congestion`; this crate contains no rule of either.
//!
//! What this crate refuses: to contain a protocol rule, to read a real clock, to allocate, hash or
//! dispatch dynamically on the way of a packet, to hold state outside of [`Simulation`].
//!
//! Parts: links and switches (`network`), NICs (`hosts`, `nic`), applications behind queue pairs that stay
//! open (`endpoint`), these three and the run as a whole (`world`); shortest paths (`routing`), what an empty
//! fabric does (`baseline`), several threads (`parts`).
#![forbid(unsafe_code)]

mod baseline;
mod buffer;
mod build;
mod capture;
mod carriers;
mod chosen;
mod collectives;
mod connections;
mod controls;
mod counters;
mod endpoint;
mod faults;
mod five_tuple;
mod flow;
mod fork;
pub mod forwarding;
mod goal;
mod header;
mod hosts;
mod ideal;
mod ledger;
pub mod load;
mod log;
pub mod metrics;
mod multipath;
mod network;
mod nic;
mod notice;
mod ns3;
mod ns3_random;
mod packet;
mod parts;
mod path;
mod paths;
mod place;
mod placed;
mod port;
mod precedence;
mod queue;
mod rates;
mod reach;
mod records;
mod results;
mod round_trip;
mod routing;
mod rules;
mod run;
mod sampler;
mod schedule;
mod simulation;
mod spec;
mod spread;
mod steps;
mod storm;
pub mod topology;
mod trace;
mod traffic;
mod valley;
mod waits;
mod waking;
pub mod warnings;
mod watch;
mod watchdog;
pub mod workload;
mod world;

pub use capture::{CaptureRecord, CapturedAccess, CapturedPacket, CapturedTransport};
pub use goal::{Control, Progress};
pub use parts::Threading;
pub use path::Path;
pub use paths::{AnyPath, PathPreview, Paths, Ways, paths};
pub use results::{
    ApplicationRecord, ChosenPorts, CollectiveRecord, ContendedPort, Deflections, Ending, Flux,
    LinkChange, MessageRecord, MultipathRecord, NicRecord, Outcome, PathRecord, PauseRecord,
    PortInfo, PortSeries, RateRecord, Results, Signal, Signals, SignalsByTenant, Stall,
    TenantRecord, TenantSignals, Totals, TraceEvent, TraceRecord, TracedPacket,
};
pub use round_trip::{BaseRoundTrip, base_round_trip};
pub use simulation::{Simulation, messages};
pub use spec::MessageSpec;
