//! Processes of the same network namespace, which have devices at other addresses.
//!
//! Each device listens on a stream socket in the abstract namespace, `fairlane/` and its address, by which others ask it for
//! counters (`stat.rs` of the software NIC).

use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

/// A connection to the process that has a device at an address, if there is one in this network namespace.
pub(crate) fn at(address: IpAddr) -> Option<UnixStream> {
    let name = SocketAddr::from_abstract_name(format!("fairlane/{address}")).ok()?;
    UnixStream::connect_addr(&name).ok()
}
