//! One message over several paths of a fabric, as sans-IO state machines.
//!
//! A connection has several queue pairs, each with a source port or address of its own, so that the fabric
//! sends each another way. A [`Connection`] is its sending end: it splits messages into chunks, says which
//! queue pair takes which, and makes one completion of theirs. A [`Reassembler`] is its receiving end: it says
//! where the data of SENDs goes and when a receive is consumed. They read no clock and do no IO: messages,
//! completions, grants and `now` go in; work requests, events and one deadline come out. Who drives them (a
//! simulated NIC, a library above verbs) owns queue pairs and bytes.
//!
//! # One message, one chunk, one completion, one failure
//!
//! 1. **Opening.** A [`PathPlan`] gives a [`Selector`] for each queue pair; all are opened with the
//!    [`Coupling`] of the connection, so that they take one share. Perhaps [`Connection::probe`]
//!    measures the paths and drops twins.
//! 2. **A message.** [`Connection::post`] takes a WRITE of 1 MiB: it looks which unfinished messages this one
//!    must wait for (a fence, the same bytes), keeps the pieces of memory, and sends nothing.
//! 3. **A chunk.** [`Connection::poll_chunk`] asks the balancer for a path, cuts what the path's limiter, the
//!    balancer and the pieces of memory allow, notes it in a slot, and returns a [`Chunk`]: the driver posts it
//!    to that path's queue pair, with [`Connection::segments`] as memory. It asks again until there is none.
//! 4. **A completion.** The driver polls its completion queue and calls [`Connection::on_completion`] with the
//!    chunk's tag. The slot is free again, the path's round trip, capacity and loss are updated, limiter and
//!    balancer hear of it. Then the driver asks for chunks again: the completion has made room.
//! 5. **The message's completion.** When the last chunk of the oldest message has ended,
//!    [`Connection::poll_event`] returns [`Event::Completed`]. The other end hears nothing of a WRITE or READ.
//! 6. **A SEND** waits for a receive: the other end's [`Reassembler::post_receive`] makes a [`Grant`], which its
//!    own connection carries here ([`Connection::offer`], [`Connection::on_grant`]). A small one is one SEND on
//!    any path; a large one is WRITEs to where the grant says, and when they and all earlier WRITEs have
//!    completed, a SEND without data. Both begin with a [`Transfer`] header, by which
//!    [`Reassembler::on_transfer`] places them; [`Reassembler::poll_arrived`] consumes receives in order.
//! 7. **A failure.** A path dies. Nothing completes on it, and [`Connection::deadline`] passes: the path is
//!    [`Health::Suspect`] and gets no more chunks; a timeout later it is [`Health::Quarantined`], its slots are
//!    emptied, and their chunks wait to be posted again before anything new. The driver hears
//!    [`Event::Path`] and tears the queue pair down; a completion that still comes finds another tag in
//!    its slot and is ignored. [`Connection::poll_chunk`] gives the chunks to other paths. Later it gives an
//!    empty WRITE for the dead path, as a probe: if that completes, the path is [`Health::Back`], gets one chunk
//!    at a time, and after a few is [`Health::Good`]. If no path is left and none answers its probes, the oldest
//!    message ends with one [`Event::Failed`], those behind it are flushed, and the connection takes no more.
//!
//! A driver polls events before chunks, so that a queue pair is torn down before its chunks go elsewhere.
//!
//! # Where a newcomer adds something
//!
//! A balancer is one file of [`balancer`] and one line of [`for_each_balancer`]: `docs/adding-a-balancer.md`
//! builds one. A limiter is one file of [`limiter`] and one line of [`for_each_limiter`]. `docs/multipath.md`
//! has mechanisms, parameters with their sources, and what isn't handled.
//!
//! # What this crate refuses
//!
//! To open a connection, to copy payload, to allocate for a chunk once its queues have grown, to execute an
//! atomic twice, to complete a message twice or never.
//!
//! Sources: S1 (Wang, "RDMA Load Balancing via Data Partition") for chunks, completions and the transfer header;
//! S3 (Tian et al., "A Novel Software-based Multi-path RDMA Solution for Data Center Networks", Virtuoso) for
//! large SENDs, proportional shares and chunks that grow; REPS (Bonato et al., arXiv 2407.21625); IBTA volume 1,
//! chapters 9 and 10 for what verbs promise. Each file cites what it implements and says where it deviates.
//!
//! ```
//! use std::sync::Arc;
//!
//! use fairlane_multipath::{
//!     Completion, Connection, Event, Opening, Operation, Remote, Request, Segment, Settings,
//! };
//! use fairlane_units::{Bytes, Duration, Time};
//!
//! let opening = Opening { paths: 4, ..Opening::default() };
//! let mut connection = Connection::new(Arc::new(Settings::default()), &opening)?;
//! let memory = [Segment { address: 0x1000, length: 1 << 20, key: 1 }];
//! let there = Remote { address: 0x9000, key: 2 };
//! let mut now = Time::ZERO;
//! connection.post(now, &Request::new(Operation::Write(there), &memory))?;
//!
//! let (mut chunks, mut bytes) = (Vec::new(), Bytes::ZERO);
//! while connection.outstanding() > 0 {
//!     while let Some(chunk) = connection.poll_chunk(now) {
//!         bytes += chunk.length;
//!         chunks.push(chunk); // post it to the queue pair of `chunk.path`
//!     }
//!     now += Duration::from_us(5); // poll the completion queue
//!     let done = chunks.remove(0);
//!     connection.on_completion(now, done.tag, &Completion::DELIVERED);
//!     while let Some(event) = connection.poll_event() {
//!         let size = Bytes::new(1 << 20);
//!         assert_eq!(event, Event::Completed { message: 0, context: 0, size });
//!     }
//! }
//! assert_eq!(bytes, Bytes::new(1 << 20));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod balancer;
mod connection;
mod frame;
pub mod limiter;
mod message;
mod names;
mod numbered;
mod path;
mod paths;
mod plan;
mod random;
mod ranges;
mod reassembler;
mod settings;

pub use balancer::{Balance, BalancerKind, Choice, Report, Unit};
pub use connection::{Connection, Coupling, Event, Opening, Refusal};
pub use fairlane_units::Mistake;
pub use frame::{Frame, FrameError, Grant, Transfer};
pub use limiter::{Limit, LimiterKind};
pub use message::{
    Atomic, Cause, Chunk, Completion, Failure, Operation, Outcome, Remote, Request, Segment, Tag,
    Work,
};
pub use path::Health;
pub use paths::Paths;
pub use plan::{PathPlan, PortFile, Selector};
pub use random::Random;
pub use reassembler::{Arrived, Placement, Reassembler};
pub use settings::{MOST_PATHS, Range, Settings, TwoSided};
