//! Frames of the loopback interface, as a packet socket sees them.
#![allow(
    unsafe_code,
    reason = "packet sockets, which the standard library doesn't have"
)]

use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A packet socket, and between which addresses packets are of interest.
pub(crate) struct Sniffer {
    socket: OwnedFd,
    addresses: [IpAddr; 2],
}

impl Sniffer {
    /// `None` without the privilege that it takes.
    pub(crate) fn open(addresses: [IpAddr; 2]) -> Option<Self> {
        let protocol = (libc::ETH_P_IP as u16).to_be();
        let kind = libc::SOCK_RAW | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: it has no pointers.
        let socket = unsafe { libc::socket(libc::AF_PACKET, kind, protocol.into()) };
        if socket < 0 {
            return None;
        }
        // SAFETY: the descriptor is new and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let size = 64_i32 << 20;
        // SAFETY: the value lives on the stack and has that length.
        unsafe {
            let value = (&raw const size).cast();
            libc::setsockopt(
                socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVBUFFORCE,
                value,
                4,
            );
        }
        Some(Self { socket, addresses })
    }

    /// The frames that have come so far, each as it arrived.
    pub(crate) fn take(&mut self) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        let mut buffer = vec![0_u8; 1 << 16];
        loop {
            // SAFETY: it is plain numbers, of which zero is a value.
            let mut from: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
            let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
            // SAFETY: buffer, name and its length live longer than the call.
            let count = unsafe {
                libc::recvfrom(
                    self.socket.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    0,
                    (&raw mut from).cast(),
                    &raw mut length,
                )
            };
            let Ok(count) = usize::try_from(count) else {
                return all;
            };
            let frame = &buffer[..count];
            let arrives = from.sll_pkttype == libc::PACKET_HOST;
            if arrives && self.is_ours(frame) {
                all.push(frame.to_vec());
            }
        }
    }

    fn is_ours(&self, frame: &[u8]) -> bool {
        let [source, destination] = [26, 30].map(|at| {
            let octets: Option<[u8; 4]> = frame.get(at..at + 4).and_then(|own| own.try_into().ok());
            octets.map(IpAddr::from)
        });
        let port = frame.get(36..38) == Some(&4791_u16.to_be_bytes()[..]);
        let known =
            |address: Option<IpAddr>| address.is_some_and(|own| self.addresses.contains(&own));
        port && known(source) && known(destination)
    }
}
