//! Links and switches between hosts, as a value: no IO, no clock but its own, no protocol.
//!
//! A [`Network`] knows of a packet what switches read of its headers, and of a flow what its packets have in common. It calls
//! nobody: what comes to a host is returned. The simulator, whose hosts have events of their own in the same calendar, handles
//! events with [`Network::on_arrival`] and sends with [`Network::transmit`]. Others drive a [`LiveNetwork`].
//!
//! What this crate refuses: to know a message, a queue pair or a congestion control; to allocate, hash or dispatch dynamically on
//! the way of a packet, but for policies that say so.
//!
//! Two hosts at a switch; the receiver pauses the switch for 20 us, which pauses the sender and then marks packets:
//!
//! ```
//! use std::path::Path;
//!
//! use fairlane_network::five_tuple::FiveTuple;
//! use fairlane_network::packet::{Kind, Side};
//! use fairlane_network::settings::Settings;
//! use fairlane_network::topology::Topology;
//! use fairlane_network::{Attachment, Delivery, LiveNetwork, Network, Packet};
//! use fairlane_units::{NodeId, PortId, Psn, TenantId, Time};
//! use fairlane_wire::Opcode;
//!
//! let text = r#"
//!     topology = { kind = "star", hosts = 2, host_link = { rate = "100Gbps", delay = "1us" } }
//!     switch = { buffer = "300kB", ecn = { kmin_per_gbps = "100B", kmax_per_gbps = "200B" } }
//!     workload = [{ kind = "flows", flow = [{ source = 0, destination = 1, size = "1kB" }] }]
//! "#;
//! let scenario = fairlane_scenario::parse(text, "two.toml", Path::new("."), &[], None)?.scenario;
//! let topology = Topology::build(&scenario.topology, None, 0.0).expect("it was checked");
//! // Hosts send in class 3.
//! let net = Network::new(&scenario, &topology, Settings::new(&scenario), 1 << 3)?;
//! let mut net = LiveNetwork::new(net);
//! let tuple = FiveTuple {
//!     source: NodeId::new(0),
//!     destination: NodeId::new(1),
//!     source_port: 0xc000,
//!     destination_port: 4791,
//! };
//! let flow = net.open(tuple, [0, 0], 3, TenantId::new(0))?;
//! // Ports are numbered by links: host 0 has port 0, host 1 port 2.
//! net.pause(PortId::new(2), 3, true);
//! net.advance(Time::from_ns(2_000), |_| ());
//! for number in 0..300 {
//!     let packet = Packet {
//!         flow,
//!         towards: Side::Responder,
//!         kind: Kind::Data,
//!         opcode: Opcode::RcWriteMiddle,
//!         psn: Psn::new(number),
//!         payload: 1000,
//!         wire: 1048,
//!         class: 3,
//!         marked: false,
//!         hops: 0,
//!     };
//!     net.inject(&packet, Some(Attachment::new(number)))?;
//! }
//! let (mut arrived, mut marked, mut pauses) = (Vec::new(), 0, 0);
//! let mut hear = |delivery: Delivery<'_>| match delivery {
//!     Delivery::Packet { packet, attachment, .. } => {
//!         marked += u32::from(packet.marked);
//!         arrived.extend(attachment.map(Attachment::get));
//!     }
//!     Delivery::Pauses { paused, .. } => pauses += u32::from(paused != 0),
//!     Delivery::Lost(lost) => panic!("{lost:?}"),
//! };
//! net.advance(Time::from_ns(20_000), &mut hear);
//! net.pause(PortId::new(2), 3, false);
//! while let Some(next) = net.next_time() {
//!     net.advance(next, &mut hear);
//! }
//! assert!(arrived.is_sorted() && arrived.len() == 300);
//! assert!((20..60).contains(&marked) && pauses == 1);
//! net.close(flow)?;
//! # Ok::<(), fairlane_scenario::Error>(())
//! ```
#![forbid(unsafe_code)]

pub mod buffer;
pub mod capture;
pub mod counters;
mod edge;
pub mod five_tuple;
pub mod flow;
pub mod fork;
pub mod forwarding;
pub mod ledger;
mod live;
pub mod log;
mod network;
pub mod ns3_random;
pub mod packet;
pub mod path;
pub mod place;
pub mod port;
pub mod reach;
mod recorder;
pub mod records;
pub mod routing;
pub mod settings;
pub mod topology;
pub mod trace;
pub mod valley;
pub mod waking;
pub mod watchdog;

pub use edge::{Attachment, Attachments, Delivery, Edge, Lost, Packet};
pub use live::LiveNetwork;
pub use network::build::check_classes;
pub use network::fault::Again;
pub use network::link::AtHost;
pub use network::{Network, deflection};
pub use recorder::{Recorded, Recorder};
