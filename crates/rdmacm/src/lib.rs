//! librdmacm: connections by IP addresses, for programs as they are.
//!
//! `make verbs` makes `target/verbs/librdmacm.so.1` of this crate, with the symbols of the library of that name (`symbols.txt`). It
//! calls libibverbs.so.1 as that one does, by exported functions alone, so the two stay apart. [`fairlane_cm`] says what is to be
//! said to whom; here is what carries it and what moves queue pairs accordingly.
//!
//! What this crate refuses: protocol rules (they are in `fairlane-cm`), multicast, sockets over RDMA, to let a panic into a program.
//!
//! # Who calls whom
//! ```text
//!  program ──► rdma_* (entry!) ──► World (one lock): ids, event channels, ports
//!                                    │ calls                      ▲ events
//!                                    ▼                            │
//!                                  Port: Manager of fairlane-cm ──┘ dispatch: queue pairs move, events are queued
//!                                    │ MADs                       ▲
//!                                    ▼                            │
//!                                  Gsi: queue pair 1 of libibverbs, watched by one thread
//! ```
//! The thread is there because a peer's request, its answer or its repetition must be heard while the program sleeps or works on something else; it sleeps in `poll`
//! until a MAD comes or a timer is due.
//!
//! - `layout.rs` has structures of C, `object.rs` the pointers to them, `guard.rs` errors and panics.
//! - `id.rs`, `channel.rs`, `address.rs`, `connect.rs`, `pair.rs`, `endpoint.rs` have the calls by what they are about.
//! - `sockets.rs` has what sockets over RDMA do with ordinary descriptors.
//! - `inbox.rs` has events that wait for the program.
//! - `gsi.rs` and `verbs.rs` are libibverbs; `nearby.rs` says whether others are there, `leave.rs` to them that this one isn't,
//!   `signs.rs` who listens on this host.
//!
//! Sources: the manual pages of librdmacm; IBTA vol. 1 chapter 12 and annex A11.
#![allow(
    unsafe_code,
    reason = "C passes pointers, and libibverbs wants some; each use says why it may"
)]
#![expect(
    unreachable_pub,
    reason = "what an archive exports is what its symbol table says"
)]

mod address;
mod channel;
mod connect;
mod dispatch;
mod endpoint;
mod gsi;
mod guard;
mod held;
mod id;
mod inbox;
mod layout;
mod leave;
mod nearby;
mod object;
mod pair;
mod port;
mod signs;
mod sockets;
mod thread;
mod verbs;
mod words;
mod world;
