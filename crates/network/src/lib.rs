//! Links and switches between hosts, as a value: no IO, no clock but its own, no protocol.
//!
//! A [`Network`] knows of a packet what switches read of its headers, and of a flow what its packets have in common. It calls
//! nobody: what comes to a host is returned to the driver, which asks the host what to send.
#![forbid(unsafe_code)]

pub mod buffer;
pub mod capture;
pub mod counters;
pub mod five_tuple;
pub mod flow;
pub mod fork;
pub mod forwarding;
pub mod ledger;
pub mod log;
mod network;
pub mod ns3_random;
pub mod packet;
pub mod path;
pub mod place;
pub mod port;
pub mod reach;
pub mod records;
pub mod routing;
pub mod settings;
pub mod topology;
pub mod trace;
pub mod valley;
pub mod waking;
pub mod watchdog;

pub use network::build::check_classes;
pub use network::fault::Again;
pub use network::link::AtHost;
pub use network::{Network, deflection};
