//! Direct apportioning of sending rates: each receiver divides its link among those that send to it, and tells them.
//!
//! A [`Receiver`] has a row for each sender. When one joins or leaves, or can use more or less, it divides its link anew, and every
//! acknowledgement says what its sender may send. A [`Sender`] follows within a round trip: nobody has to find out by
//! marks, delays or losses what the last hop can take. It stands beside whatever controller a queue pair has, for what happens in the
//! core; the lower rate wins. [`Params`] has the [modes](Mode) and numbers.
//!
//! # Which call belongs where
//! At the host that data comes to:
//!
//! | where | call |
//! |---|---|
//! | data arrives: a request with payload, or the response to a READ | [`Receiver::on_data`]; what it returns goes into the FETH of the acknowledgement or READ feedback. Of packets that the transport didn't take the part is [`Part::Other`] and the demand isn't passed on |
//! | an acknowledgement leaves later than that | [`Receiver::share`] |
//! | the last queue pair of a peer is closed | [`Receiver::close`] |
//! | the host's deadline is asked for | [`Receiver::deadline`] is one of its deadlines |
//! | the deadline has come | [`Receiver::on_deadline`] |
//! | after any of these, until it returns nothing | [`Receiver::poll_push`]; a repeated acknowledgement on the queue pair [`Push::via`] |
//!
//! At the host that sends data (the requester of a WRITE, SEND or atomic, the responder of a READ):
//!
//! | where | call |
//! |---|---|
//! | a queue pair is to send data for the first time; it is closed | [`Sender::open`]; [`Sender::close`] |
//! | work is posted; a READ request has come | [`Sender::on_posted`] |
//! | a queue pair is offered to the transmitter | [`Sender::available`], the later of it and the queue pair's own pacer; `None` withdraws all queue pairs of this destination until it is heard |
//! | a packet leaves | [`Sender::on_sent`], then [`Sender::declare`] for its TETH |
//! | a reply has come | [`Sender::on_acknowledged`], or [`Sender::on_rewound`] if it sends back, then [`Sender::on_share`]; if that returns `true`, queue pairs of the destination are offered again |
//! | a controller's rate has changed | [`Sender::set_limit`] with what the destination's queue pairs may send together |
//!
//! A driver that knows what each queue pair has in flight and has yet to send, but not by what that came about, calls
//! [`Sender::on_load`] in place of `on_posted` and `on_acknowledged`, and beside `on_rewound` of no bytes.
//!
//! Rates count bytes on the wire with what links carry between packets (so sizes "on the wire" are to have it), what is in flight and what is to come counts payload.
//!
//! # Cost
//! A packet takes constant time on both sides, whatever the number of rows. A division takes time in proportion to the rows
//! ([`Mode::ShortestFirst`] sorts them) and happens only when somebody joins, leaves or changes demand. Memory grows when a sender joins,
//! up to [`Params::rows`] rows; beyond that a sender has no row, is told the least share, and waits
//! until one is free.
//!
//! Source: Xue et al., "Fast Congestion Control in RDMA-based Datacenter Networks" (poster) for `count`; `docs/dasr.md` says what is ours.
//!
//! ```
//! use fairlane_congestion::Environment;
//! use fairlane_congestion::dasr::{Data, Mode, Params, Part, Peer, Receiver, Sender};
//! use fairlane_congestion::scope::Grant;
//! use fairlane_units::{Bytes, Duration, HostId, Rate, TenantId, Time};
//!
//! let environment = Environment {
//!     line_rate: Rate::from_gbps(56),
//!     base_rtt: Duration::from_ns(4300),
//!     bdp: Bytes::new(30_100),
//!     mtu: Bytes::new(1000),
//! };
//! let (now, tenant) = (Time::from_ns(1000), TenantId::new(0));
//! let params = Params::of(Mode::DemandAware);
//! let mut receiver = Receiver::new(&params, &environment, &[(tenant, 1.0)]);
//! let mut senders = [1, 2].map(|_| Sender::new(&params, &environment));
//! for (host, sender) in (1..).zip(&mut senders) {
//!     let to = sender.open(now, tenant, HostId::new(0), &environment);
//!     sender.on_posted(to, Bytes::new(1_000_000));
//!     // Nothing is known: half a bandwidth-delay product may leave at line rate.
//!     assert_eq!(sender.rate(to), environment.line_rate);
//!     sender.on_sent(now, to, (Bytes::new(1048), Bytes::new(1000)));
//!     let declared = sender.declare(to);
//!     let peer = Peer { tenant, host: HostId::new(host), line_rate: environment.line_rate };
//!     let share = receiver.on_data(now, peer, Data {
//!         via: 7,
//!         wire: Bytes::new(1048),
//!         part: Part::First,
//!         demand: Some(declared.demand),
//!         backlog: Some(declared.backlog),
//!     });
//!     sender.on_share(now, to, Grant::Share(share));
//! }
//! let to = senders[1].open(now, tenant, HostId::new(0), &environment);
//! // Half of what is divided, of which a part is left to drain the first burst.
//! assert_eq!(senders[1].rate(to).as_bps() / 10_000_000, 2743);
//! ```

mod carried;
mod fill;
mod index;
mod params;
mod receiver;
mod rows;
mod sender;
mod uplink;

pub(crate) use params::sizes;
pub use params::{Mode, Params};
pub use receiver::{Data, Part, Push, Receiver};
pub use rows::Peer;
pub use sender::{Declared, DestinationId, Load, Sender};
