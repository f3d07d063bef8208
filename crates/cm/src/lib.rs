//! Connection management of RDMA (IBTA chapter 12), and its IP service (annex A11): how two queue pairs come to know of each
//! other, and how their connection ends.
//!
//! [`Manager`] is one port's communication manager as a value: MADs with the address of their sender, the application's
//! calls and `now` go in; MADs to be sent, events and one deadline come out. It repeats messages, answers repeated ones, gives
//! up, refuses, and waits until late packets are gone. [`Message`] is what MADs say, with a file for each kind.
//!
//! What this crate refuses: to read a clock, to do IO, to know queue pairs of any device, and to move connections to alternate
//! paths (LAP and APR).
//!
//! ```
//! use core::net::{IpAddr, Ipv4Addr};
//!
//! use fairlane_cm::{EventKind, Manager, Peer, PortSpace, Rep, Req, Rtu, ServiceId, Settings};
//! use fairlane_units::{Psn, QpNumber, Time};
//!
//! let address = |last| Peer::at(IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
//! let (mut client, mut server) = (Manager::new(Settings::new(1)), Manager::new(Settings::new(2)));
//! let now = Time::from_ns(0);
//! let service = ServiceId::of_port(PortSpace::TCP, 7174);
//! server.listen(service, 8)?;
//! let req = Req { queue_pair: QpNumber::new(17), starting_psn: Psn::new(5), ..Req::to(service) };
//! let opened = client.connect(address(2), req, now)?;
//!
//! let request = client.poll_transmit().expect("REQ");
//! server.on_mad(address(1), &request.mad, now)?;
//! let event = server.poll_event().expect("a request");
//! let EventKind::Requested(_, req) = event.kind else { panic!("{event:?}") };
//! assert_eq!(req.starting_psn, Psn::new(5));
//! let rep = Rep { queue_pair: QpNumber::new(18), starting_psn: Psn::new(9), ..Rep::to(&req) };
//! server.accept(event.connection, rep, now)?;
//!
//! let reply = server.poll_transmit().expect("REP");
//! client.on_mad(address(2), &reply.mad, now)?;
//! let event = client.poll_event().expect("a reply");
//! assert!(matches!(event.kind, EventKind::Replied(rep) if rep.queue_pair == QpNumber::new(18)));
//! client.confirm(opened, [0; Rtu::PRIVATE_DATA])?;
//! # Ok::<(), Box<dyn core::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod connection;
mod error;
mod event;
mod format;
mod manager;
mod settings;
mod table;

pub use connection::State;
pub use error::Error;
pub use event::{ConnectionId, Event, EventKind, Peer, Transmit};
pub use format::{
    Answered, Drep, Dreq, Gid, IpHeader, MAD_LENGTH, Mad, Malformed, Message, Mra, Path, PortSpace,
    Reason, Rej, Rep, Req, Rtu, Service, ServiceId, SidrRep, SidrReq, SidrStatus, Wait, address_of,
    gid_of,
};
pub use manager::Manager;
pub use settings::Settings;
