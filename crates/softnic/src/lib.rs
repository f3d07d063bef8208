//! A NIC in software: queue pairs of RDMA whose packets are RoCEv2 over UDP sockets.
//!
//! A [`Device`] has one IP address. It owns memory regions with keys, queue pairs, completion queues and
//! queues of receives, and drives a [`Nic`](fairlane_nic::Nic), the very one that the simulator drives, with
//! packets of real sockets and real time. It needs no privilege, no kernel module and no RDMA hardware.
//!
//! What this crate refuses: protocol rules (they are in `fairlane-transport` and `fairlane-nic`), to touch memory
//! that isn't registered for it, types of libibverbs, to trust a packet.
//!
//! # Who calls whom
//! ```text
//!  application                 progress thread
//!      │ post, poll, modify        │ when nobody polls
//!      ▼                           ▼
//!  ┌ Device: one mutex ──────────────────────────────────────────────────────────┐
//!  │ Engine                                                                      │
//!  │   queue pairs, works, queues of receives, completion queues, Keys (memory)  │
//!  │   Nic: packets and time in; packets, events, one deadline out              │
//!  │ Receiver: UDP 4791, GRO ──► IcrcMode ──► (faults) ──► Engine::on_packet     │
//!  │ Sender: one socket a source port ◄── Batches (GSO, ICRC) ◄── Engine         │
//!  └─────────────────────────────────────────────────────────────────────────────┘
//! ```
//! - `clock.rs` is the one place that reads time. `socket.rs`, `signal.rs`, `interface.rs`, `memory.rs`,
//!   `device/memory.rs`, `stat/user.rs` and `fork.rs` are the only ones with `unsafe`.
//! - `engine.rs` holds the state; `engine/arrive.rs` takes packets in, `engine/depart.rs` gives them out,
//!   `engine/post.rs` takes requests and ends them, `engine/modify.rs` changes states.
//! - `detached.rs` is the engine for drivers that have packets and time of their own: neither sockets nor threads.
//! - `keys.rs` checks every access to memory: region, bounds, rights, protection domain.
//! - `faults.rs` describes faults on purpose, `faults/` reads them and does them to packets and the port; requests and queues meet
//!   theirs in `engine/post.rs` and `engine.rs`.
//! - `counters.rs` lists what is counted; `stat.rs` tells other processes.
//!
//! **Lock order.** There is one lock, around all of a device; whoever holds it takes no other. Two devices of a
//! process never call each other. An [`AtomicU64`](std::sync::atomic::AtomicU64) says when an application polled last,
//! so that the progress thread leaves the socket to it.
//!
//! # One WRITE from post to completion
//! Between process A and process B, which have exchanged addresses, numbers of queue pairs and first PSNs:
//! 1. A calls [`Device::post_send`]. `post.rs` checks state and room, stores the request as a work, and hands it to
//!    `Nic::post`. The same call goes on as the doorbell: `depart.rs` asks `Nic::poll_transmit` for packets.
//! 2. For each packet the payload is gathered through the local keys into a batch, the ICRC is added with the place in
//!    the batch as IP identification, and the batch leaves by the socket of the queue pair's source port.
//! 3. B's thread wakes up, or B polls. Each datagram's ICRC is checked, its headers are read, its destination, peer,
//!    service and partition looked up, and `Nic::on_packet` gets it with the keys of the queue pair's protection domain.
//!    It asks [`permits`](fairlane_transport::Memory::permits) with the first packet, and says where the payload goes;
//!    the payload is copied there, bounds checked again. The acknowledgement goes out before the lock is let go.
//! 4. A hears the acknowledgement. The NIC's event becomes a [`Completion`], which [`Device::poll`] returns.
//!
//! **A lost packet.** B's NIC sees the gap and answers with a NAK of sequence error; A's NIC goes back and asks for its
//! turn again. If the last packet is lost, A's deadline comes up in `progress`: `Nic::on_deadline` goes back. Nothing in
//! this crate knows of either.
//!
//! **A wrong key.** B's keys don't permit the first packet: the NIC answers with a NAK of remote access error, nothing is
//! placed, its queue pair fails, receives are flushed. A's request ends with [`Status::RemoteAccess`], later ones as flushed.
//!
//! # A device that talks to itself
//! ```
//! use fairlane_softnic::{
//!     Connection, Device, Modify, QueuePairOptions, Rights, Sending, SendRequest, Settings, Sge, Target,
//! };
//!
//! let device = Device::open(Settings::new("127.71.0.1".parse().expect("an address")))?;
//! let domain = device.allocate_domain()?;
//! let from = device.allocate(domain, 4096, Rights::LOCAL_WRITE)?;
//! let to = device.allocate(domain, 4096, Rights::LOCAL_WRITE | Rights::REMOTE_WRITE)?;
//! let queue = device.create_completion_queue(16)?;
//! let pair = device.create_queue_pair(&QueuePairOptions::new(domain, queue))?;
//! device.modify(pair, &Modify::Init(Rights::REMOTE_WRITE))?;
//! device.modify(pair, &Modify::ReadyToReceive(Connection::new(device.address(), pair)))?;
//! device.modify(pair, &Modify::ReadyToSend(Sending::default()))?;
//!
//! device.write(&from, 0, b"hello")?;
//! let target = Target { address: to.address, key: to.remote_key };
//! device.post_send(pair, SendRequest::write(7, vec![Sge::of(&from, 0, 5)], target))?;
//! let completion = device.wait(queue, std::time::Duration::from_secs(5))?.expect("it completes");
//! assert_eq!(completion.id, 7);
//! let mut bytes = [0; 5];
//! device.read(&to, 0, &mut bytes)?;
//! assert_eq!(&bytes, b"hello");
//! # Ok::<(), fairlane_softnic::Error>(())
//! ```
#![deny(unsafe_code)]

pub mod address;
mod attached;
mod batch;
mod carrier;
mod clock;
mod completion;
mod counters;
mod detached;
mod device;
mod engine;
mod error;
mod event;
mod faults;
mod fork;
pub mod gid;
mod icrc;
mod interface;
mod keys;
mod limits;
mod memory;
mod number;
mod port;
mod port_speed;
mod prefix;
mod progress;
mod queue_pair;
mod receives;
mod report;
mod rights;
mod round_trips;
#[cfg(feature = "testing")]
mod sandbox;
mod settings;
mod signal;
mod slots;
mod socket;
pub mod stat;
pub mod sysfs;
mod tenants;
mod work;

pub use completion::{Completion, CompletionQueue, Done};
pub use counters::{Counter, Counters, Scope};
pub use detached::{DetachedDevice, Outgoing};
pub use device::Device;
pub use error::Error;
pub use event::{Arm, AsyncEvent, Channel};
pub use fairlane_transport::{PostError, Service, State, Status};
pub use fairlane_units::{Psn, QpNumber, TenantId};
pub use faults::{
    Faults, GidFault, GidPlace, MtuFaults, PacketFaults, PortFault, QueueFaults, RequestFault,
    Which,
};
pub use icrc::IcrcMode;
pub use interface::{Interface, is_free};
pub use keys::{Binding, Domain, Region, Window, WindowType};
pub use limits::Limits;
pub use port_speed::PortSpeed;
pub use queue_pair::{Adjustment, Attributes, Connection, Modify, QueuePairOptions, Sending};
pub use receives::{SharedAttributes, SharedQueue};
pub use report::{WorkEnd, WorkReport};
pub use rights::Rights;
#[cfg(feature = "testing")]
pub use sandbox::Sandbox;
pub use settings::Settings;
pub use tenants::Tenant;
pub use work::{Operation, READ_PART, ReceiveRequest, SendRequest, Sge, Target};
