//! Whether others are there: what a kernel knows of its own processes, and says to others about those that aren't.
//!
//! - A device's process is found by the stream socket in the abstract namespace on which it tells its counters: `fairlane/` and
//!   its address, in the same network namespace (`stat.rs` of the software NIC). Its end is seen by a descriptor of the process,
//!   which children that have been forked off don't keep open.
//! - A datagram without bytes to a device's port is no packet, and does nothing. Where nobody has the port, the system says so by
//!   ICMP, which comes as an error of the socket. So do systems elsewhere, unless a firewall keeps it. Devices of a lab have no such
//!   port, so there nobody is asked.

use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

/// The UDP port of RoCEv2 (IBTA A17.3.1).
const PORT: u16 = 4791;

/// The variable that names a lab, which carries packets instead of sockets.
const LAB: &str = "FAIRLANE_LAB";

/// A connection to the process that has a device at an address, if there is one in this network namespace.
pub(crate) fn at(address: IpAddr) -> Option<UnixStream> {
    let name = SocketAddr::from_abstract_name(format!("fairlane/{address}")).ok()?;
    UnixStream::connect_addr(&name).ok()
}

/// Whoever has a device at an address.
#[derive(Debug)]
pub(crate) struct Neighbour {
    /// Connected to the device's port, if there is a way to it.
    probe: Option<UdpSocket>,
    /// Readable when its process has ended, if that is in this network namespace.
    process: Option<OwnedFd>,
}

impl Neighbour {
    /// The one at an address, from the point of view of a device.
    pub(crate) fn new(own: IpAddr, peer: IpAddr) -> Self {
        let probe = || {
            if std::env::var_os(LAB).is_some() {
                return None;
            }
            let socket = UdpSocket::bind((own, 0)).ok()?;
            socket.set_nonblocking(true).ok()?;
            socket.connect((peer, PORT)).ok()?;
            Some(socket)
        };
        Self {
            probe: probe(),
            process: at(peer).and_then(|stream| process_of(&stream)),
        }
    }

    /// Asks whether anybody is there; only the answer that nobody is comes.
    pub(crate) fn ask(&self) {
        if let Some(probe) = &self.probe {
            // An error of before takes the place of a datagram. If there is no way, repetitions find out.
            let _ = probe.send(&[]).or_else(|_| probe.send(&[]));
        }
    }

    /// Descriptors that say something when nobody is there any more.
    pub(crate) fn descriptors(&self) -> impl Iterator<Item = RawFd> + '_ {
        let probe = self.probe.iter().map(AsRawFd::as_raw_fd);
        probe.chain(self.process.iter().map(AsRawFd::as_raw_fd))
    }

    /// Whether nobody is there any more, by what descriptors have just said.
    pub(crate) fn is_gone(&self, woken: impl Fn(RawFd) -> bool) -> bool {
        let has_said = |fd: &dyn AsRawFd| woken(fd.as_raw_fd());
        let refused = self.probe.as_ref().is_some_and(|probe| {
            let is_refused = |error: std::io::Error| error.kind() == ErrorKind::ConnectionRefused;
            has_said(probe) && probe.take_error().ok().flatten().is_some_and(is_refused)
        });
        refused
            || self
                .process
                .as_ref()
                .is_some_and(|process| has_said(process))
    }
}

/// A descriptor of the process that listens at the other end of a stream.
fn process_of(stream: &UnixStream) -> Option<OwnedFd> {
    // Since Linux 6.5, and for processes whose numbers aren't known here, too.
    let direct: Option<RawFd> = option(stream, libc::SO_PEERPIDFD);
    let by_number = || {
        let peer: libc::ucred = option(stream, libc::SO_PEERCRED)?;
        if peer.pid <= 0 {
            return None;
        }
        // SAFETY: it takes numbers.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, peer.pid, 0) };
        RawFd::try_from(fd).ok().filter(|fd| *fd >= 0)
    };
    let fd = direct.or_else(by_number)?;
    // SAFETY: the system has just made it for this library.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// An option of a stream, of plain numbers.
fn option<T: Copy>(stream: &UnixStream, name: i32) -> Option<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut size = size_of::<T>() as libc::socklen_t;
    let fd = stream.as_raw_fd();
    let at = value.as_mut_ptr().cast();
    // SAFETY: there is room for so many bytes.
    let code = unsafe { libc::getsockopt(fd, libc::SOL_SOCKET, name, at, &raw mut size) };
    // SAFETY: it is numbers, of which zero is one, and has been filled in.
    (code == 0 && size as usize == size_of::<T>()).then(|| unsafe { value.assume_init() })
}
