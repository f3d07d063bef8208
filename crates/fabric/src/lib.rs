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
//! Parts: links and switches (the crate `fairlane-network`), NICs (`hosts`, `nic`), applications behind queue pairs that
//! stay open (`endpoint`), connections with several paths (`multipath`), these four and the run as a whole (`world`);
//! messages and the flows that carry them (`traffic`), what an empty fabric does (`baseline`), several threads (`parts`).
#![forbid(unsafe_code)]

mod baseline;
mod build;
mod carriers;
mod check;
mod chosen;
mod collectives;
mod connections;
mod controls;
mod endpoint;
mod events;
mod faults;
mod goal;
mod header;
mod hosts;
mod ideal;
mod live;
pub mod load;
mod mail;
pub mod metrics;
mod multipath;
mod nic;
mod notice;
mod ns3;
mod outside;
mod parts;
mod paths;
mod placed;
mod precedence;
mod queue;
mod rates;
mod records;
mod requests;
mod results;
mod round_trip;
mod rules;
mod run;
mod sampler;
mod schedule;
mod simulation;
mod spec;
mod spread;
mod steps;
mod storm;
mod surroundings;
mod traffic;
mod waits;
pub mod warnings;
mod watch;
pub mod workload;
mod world;

pub use fairlane_network::capture::{
    CaptureRecord, CapturedAccess, CapturedPacket, CapturedTransport,
};
pub use fairlane_network::five_tuple::FiveTuple;
pub use fairlane_network::flow::Flow;
pub use fairlane_network::packet::{Kind, Side};
pub use fairlane_network::path::Path;
pub use fairlane_network::records::{
    ContendedPort, Flux, PauseRecord, PortInfo, TraceEvent, TraceRecord, TracedPacket,
};
pub use fairlane_network::{Attachment, Packet, forwarding, topology};
pub use fairlane_scenario::traffic::MessageSpec;
pub use goal::{Control, Progress};
pub use live::{CarriedFlow, FlowEnd, LiveSimulation};
pub use outside::{CarriedState, Happening};
pub use parts::Threading;
pub use paths::{AnyPath, PathPreview, Paths, PortPaths, paths};
pub use requests::WorkRequest;
pub use results::{
    ApplicationRecord, ChosenPorts, CollectiveRecord, Deflections, Ending, LinkChange,
    MessageRecord, MultipathRecord, NicRecord, Outcome, PathRecord, PortSeries, RateRecord,
    RealTime, Results, Signal, Signals, SignalsByTenant, Stall, TenantRecord, TenantSignals,
    Totals,
};
pub use round_trip::{BaseRoundTrip, base_round_trip};
pub use simulation::{Simulation, messages};
