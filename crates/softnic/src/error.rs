//! What goes wrong when a device is asked for something.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

use fairlane_transport::{InvalidTransition, PostError};

/// Why a device didn't do what it was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// UDP port 4791 of the address can't be had.
    Bind(IpAddr, io::Error),
    /// The lab that listens there doesn't give the device a port.
    Attach(PathBuf, io::Error),
    /// The operating system refuses something else.
    System(&'static str, io::Error),
    /// There is no such object, or no longer.
    Unknown(&'static str),
    /// Something still uses the object.
    Busy(&'static str),
    /// The device was opened by the process that this one was forked off from.
    Forked,
    /// A value that isn't allowed: which, and what is expected.
    Invalid(&'static str, &'static str),
    /// There is no such transition from the state of the queue pair.
    Transition(InvalidTransition),
    /// The request can't be posted.
    Post(PostError),
    /// A completion queue has had more completions than room.
    Overrun,
    /// More than a device has ([`Limits`](crate::Limits)).
    Limit {
        /// The kind of resource.
        what: &'static str,
        /// How many.
        wanted: u32,
        /// How many there may be.
        most: u32,
    },
    /// Objects of the kind that are left: none.
    Exhausted(&'static str),
    /// Packets of the path MTU don't fit through the path, whose link carries so many bytes.
    PathMtu {
        /// Payload of a packet.
        wanted: u16,
        /// Bytes behind the IP header that the path carries.
        carries: u32,
    },
}

impl Error {
    /// What may help, if something is known.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Bind(_, error) if error.kind() == io::ErrorKind::AddrInUse => Some(
                "another device has the address: give each process one of its own, such as 127.0.0.2",
            ),
            Self::Bind(_, error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
                Some("use an address of a local interface: `ip -brief address` lists them")
            }
            Self::Attach(..) => {
                Some("`fairlane lab` says where it listens, and which addresses it has")
            }
            Self::Overrun => {
                Some("make the completion queue as long as all queues that complete to it")
            }
            Self::PathMtu { .. } => Some("use a smaller path MTU: 256, 512, 1024, 2048"),
            Self::Limit { .. } => Some("`Limits` tells what a device has: ask for less"),
            Self::Forked => Some("open a device of its own, at another address"),
            Self::Busy(_) => Some("destroy what uses it first"),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(address, error) => write!(f, "UDP port 4791 of {address}: {error}"),
            Self::Attach(path, error) => write!(f, "lab at {}: {error}", path.display()),
            Self::System(what, error) => write!(f, "{what}: {error}"),
            Self::Unknown(what) => write!(f, "there is no such {what}"),
            Self::Forked => f.write_str("the device is that of the parent process"),
            Self::Busy(what) => write!(f, "the {what} is still used"),
            Self::Invalid(what, expected) => write!(f, "{what}: expected {expected}"),
            Self::Transition(error) => error.fmt(f),
            Self::Post(error) => error.fmt(f),
            Self::Overrun => f.write_str("the completion queue had no room for a completion"),
            Self::Limit { what, wanted, most } => {
                write!(f, "{wanted} {what}: expected no more than {most}")
            }
            Self::Exhausted(what) => write!(f, "no {what} is left"),
            Self::PathMtu { wanted, carries } => write!(
                f,
                "packets with {wanted} bytes of payload don't fit through a path that carries {carries} bytes"
            ),
        }?;
        match self.hint() {
            Some(hint) => write!(f, "\nhint: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl From<PostError> for Error {
    fn from(error: PostError) -> Self {
        Self::Post(error)
    }
}

impl From<InvalidTransition> for Error {
    fn from(error: InvalidTransition) -> Self {
        Self::Transition(error)
    }
}
