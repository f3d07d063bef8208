//! One host's NIC as a value, without IO.
//!
//! A [`Nic`] owns what lies between the verbs and the wire: queue pairs (both roles of
//! `fairlane-transport`), controllers with their scope, pacers and windows, whose turn it is, CNPs owed, the
//! data of READs, the receiver's shares, posted work and completions.
//!
//! In go work requests ([`Nic::post`]), packets with what the network says of them ([`Arrival`]), pauses of
//! a class, the state of the link, and `now`. Out come the next packet of a port when asked ([`Nic::poll_transmit`]),
//! [`Event`]s and one deadline. It never schedules: it is asked for a packet when a transmitter is free.
//! Nothing in it depends on who drives it, a simulator in virtual time or a thread with sockets, and it
//! knows nothing that no packet carried but what both ends of a connection agree on before the first one
//! ([`Opening`]).
//!
//! What this crate refuses: IO, clocks, to know paths, queues or drivers, dynamic dispatch.
//!
//! Sources: InfiniBand Architecture Specification vol. 1, chapters 9 and 10; RoCEv2 (annex A17); DCQCN
//! (SIGCOMM 2015) for what receivers notify.
//!
//! # Driving it
//! Two hosts and a wire that takes no time:
//! ```
//! use std::sync::Arc;
//! use fairlane_congestion::{Algorithm, Environment};
//! use fairlane_nic::{Arrival, Event, Extensions, Measured, Nic, Opening, Settings, Tenants};
//! use fairlane_transport::{Operation, Remote, Unchecked, WorkRequest};
//! use fairlane_units::{Bytes, Duration, FlowId, HostId, Rate, TenantId, Time};
//!
//! let algorithm: Algorithm = "dcqcn".parse().expect("it is in the list");
//! let settings = Arc::new(Settings::new(algorithm));
//! let environment = Environment {
//!     line_rate: Rate::from_gbps(100),
//!     base_rtt: Duration::from_us(8),
//!     bdp: Bytes::new(100_000),
//!     mtu: settings.transport.mtu,
//! };
//! let mut hosts = [0, 1].map(|_| Nic::new(settings.clone(), &[environment], &Tenants::default()));
//! let opening = |peer| Opening {
//!     flow: FlowId::new(7),
//!     port: 0,
//!     class: 3,
//!     tenant: TenantId::new(0),
//!     peer: HostId::new(peer),
//!     extensions: Extensions::with(environment.line_rate),
//!     environment,
//!     group: None,
//! };
//! let mut now = Time::ZERO;
//! let pairs = [hosts[0].open(now, &opening(1)), hosts[1].open(now, &opening(0))];
//! let write = Operation::Write(Remote::default());
//! hosts[0].post(now, pairs[0], WorkRequest::new(1, write, Bytes::new(5000)));
//! let completed = loop {
//!     for sender in [0, 1] {
//!         while let Some(departure) = hosts[sender].poll_transmit(now, 0) {
//!             let receiver = 1 - sender;
//!             let arrival = Arrival::from_departure(&departure, Measured::default());
//!             let (memory, receives) = (&mut Unchecked, &mut Unchecked);
//!             hosts[receiver].on_packet(now, pairs[receiver], &arrival, memory, receives);
//!         }
//!     }
//!     if let Some(event) = hosts[0].poll_event() {
//!         break event;
//!     }
//!     now = hosts[0].sends_at(0).expect("its pacer says when");
//! };
//! assert!(matches!(completed, Event::Completed { id: 1, .. }));
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod admission;
mod apportion;
mod arrive;
mod begin;
mod counters;
mod deadlines;
mod ending;
mod feedback;
mod nic;
mod packet;
mod pair;
mod port;
mod replies;
mod rounds;
mod scoped;
mod service;
mod settings;
mod subflows;
mod transmit;
mod turns;

pub use admission::{Admission, InTurn};
pub use counters::{Counters, Ledger, Tally};
pub use nic::Nic;
pub use packet::{
    Arrival, Departure, Event, Extensions, Measured, Meta, NO_ECHO, Opening, PairId, Reception,
    Role, Start,
};
pub use pair::Pair;
pub use port::Port;
pub use scoped::Tenants;
pub use settings::{AckPause, Control, Leaving, Quantum, Settings, Sizes, Timers};
