//! Verbs of libibverbs on the software NIC: programs that know nothing of it run as they are.
//!
//! `make verbs` makes `target/verbs/libibverbs.so.1` of this crate, which stands in for the library of that name: with the
//! same symbols (`symbols.txt`), layouts ([`abi`]) and meaning. [`fairlane_softnic`] does the work; here is what translates.
//!
//! What this crate refuses: protocol rules, memory accesses and sockets (they are in `fairlane-softnic`), to let a panic
//! into a program, to accept what it doesn't carry out. Not there are XRC, raw packets, device memory, flow
//! steering, memory that is paged in on demand and tag matching: `EOPNOTSUPP` says so.
//!
//! # Who calls whom
//! ```text
//!  program ──► ibv_* (entry!)      exported, by symbols.txt
//!         └──► ops of a context    callback!, reached through pointers by inline functions of the program's headers
//!                  │ guard: no panic gets out; errors become errno
//!                  ▼
//!   args: pointers become references, once ──► object: Context, Pd, Mr, Cq, Srq, Qp, Ah ... ──► Nic: one softnic device
//! ```
//! - `fairlane-verbs-abi` has layouts; here `args.rs` and `object.rs` have the pointers (and most `unsafe` code), `guard.rs`
//!   errors and panics.
//! - `device.rs` lists devices and opens them, `nic.rs` keeps one software NIC for each address and process.
//! - `post.rs` and `pair_ex.rs` take requests, the older and the newer way; `complete.rs` and `queue_ex.rs` return completions.
//!
//! Sources: the manual pages of rdma-core (what a verb does, its errors), IBTA vol. 1 chapter 11 (what verbs are).
//!
//! # How the layout of an object is used
//! ```
//! use fairlane_verbs::abi::{IbvQp, IbvQpEx};
//!
//! // What a program knows as either is one object.
//! assert_eq!(std::mem::offset_of!(IbvQpEx, base), 0);
//! assert_eq!(std::mem::offset_of!(IbvQp, qp_num), 52);
//! ```
pub use fairlane_verbs_abi as abi;

mod args;
mod channel;
mod complete;
mod context;
mod device;
mod domain;
mod events;
mod gid;
mod gids;
mod guard;
mod handle;
mod known;
mod memory;
mod named;
mod nic;
mod object;
mod owed;
mod pair;
mod pair_attributes;
mod pair_ex;
mod post;
mod query;
mod queue;
mod queue_ex;
mod refused;
mod shared_queue;
mod turn;
mod uses;
mod window;
mod words;
