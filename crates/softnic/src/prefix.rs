//! Addresses by prefix: every process that shares one takes a free address of its own.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::IntoRawFd as _;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::interface::{Interface, is_free};

/// Addresses of a loopback prefix that are tried before it counts as full.
const TRIES: u32 = 4096;

/// The addresses that begin with the same bits: `127.76.0.0/16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prefix {
    network: IpAddr,
    length: u32,
}

impl Prefix {
    /// Reads `address/length`.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (network, length) = text.split_once('/')?;
        let network: IpAddr = network.parse().ok()?;
        let length = length.parse().ok()?;
        let bits = if network.is_ipv4() { 32 } else { 128 };
        (length <= bits).then_some(Self { network, length })
    }

    /// A free address of this machine, which no other process takes as long as this one runs.
    pub(crate) fn take(self, process: u32) -> Option<IpAddr> {
        let free = |address: &IpAddr| is_free(*address) && claim(*address);
        match self.network {
            IpAddr::V4(network) if network.is_loopback() && self.length >= 8 => {
                self.loopback(network, process).find(free)
            }
            _ => {
                let all = Interface::all().ok()?;
                let usable = all.iter().filter(|own| own.is_up);
                let mut own = usable.map(|own| own.address);
                own.find(|address| self.contains(*address) && free(address))
            }
        }
    }

    /// Addresses of loopback, all of which are local. Processes that start together begin at different ones.
    fn loopback(self, network: Ipv4Addr, process: u32) -> impl Iterator<Item = IpAddr> {
        let hosts = u32::MAX.checked_shr(self.length).unwrap_or(0);
        let number = move |step: u32| {
            let host = process.wrapping_add(step) & hosts;
            IpAddr::from(Ipv4Addr::from_bits(network.to_bits() & !hosts | host))
        };
        // The last number of an address is never 0 or 255, which look like a network's own.
        let plain = |address: &IpAddr| match address {
            IpAddr::V4(own) => !matches!(own.octets()[3], 0 | 255),
            IpAddr::V6(_) => true,
        };
        let all = (0..TRIES.min(hosts.saturating_add(1))).map(number);
        all.filter(move |address| hosts < 255 || plain(address))
    }

    /// An address of it that this machine has: of loopback, all of which are local, that of the network.
    pub(crate) fn first(self) -> IpAddr {
        let all = Interface::all().unwrap_or_default();
        let own = all.iter().map(|own| own.address);
        let found = own.filter(|address| self.contains(*address)).min();
        found.unwrap_or(self.network)
    }

    fn contains(self, address: IpAddr) -> bool {
        match (self.network, address) {
            (IpAddr::V4(network), IpAddr::V4(other)) => {
                let differing = network.to_bits() ^ other.to_bits();
                differing.checked_shr(32 - self.length).unwrap_or(0) == 0
            }
            (IpAddr::V6(network), IpAddr::V6(other)) => {
                let differing = network.to_bits() ^ other.to_bits();
                differing.checked_shr(128 - self.length).unwrap_or(0) == 0
            }
            _ => false,
        }
    }
}

/// Takes the name of an address among the processes of the network namespace, for good: between this and the opening of the
/// device another process could find the address free.
fn claim(address: IpAddr) -> bool {
    let name = format!("fairlane-address/{address}");
    let socket =
        SocketAddr::from_abstract_name(name).and_then(|name| UnixDatagram::bind_addr(&name));
    socket.map(UnixDatagram::into_raw_fd).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        Prefix::read(text).expect("a prefix")
    }

    #[test]
    fn only_prefixes_are_read() {
        for wrong in [
            "127.0.0.1",
            "127.0.0.0/33",
            "fd00::/129",
            "/8",
            "127.0.0.0/",
            "x/8",
            "127.0.0.0/-1",
        ] {
            assert_eq!(Prefix::read(wrong), None, "{wrong}");
        }
        assert!(prefix("10.9.0.0/24").contains([10, 9, 0, 255].into()));
        assert!(!prefix("10.9.0.0/24").contains([10, 9, 1, 0].into()));
        assert!(prefix("0.0.0.0/0").contains([10, 9, 1, 0].into()));
        assert!(!prefix("::/0").contains([10, 9, 1, 0].into()));
        let own = "fd09::2".parse().expect("an address");
        assert!(prefix("fd09::/64").contains(own) && !prefix("fd09:1::/32").contains(own));
    }

    #[test]
    fn an_address_is_taken_once() {
        let narrow = prefix("127.78.90.4/30");
        let taken: Vec<_> = (0..5).map(|process| narrow.take(process)).collect();
        let address = |host: u8| Some(IpAddr::from([127, 78, 90, host]));
        assert_eq!(
            taken,
            [address(4), address(5), address(6), address(7), None]
        );
    }

    #[test]
    fn addresses_that_look_like_networks_are_left_out() {
        let mut all = prefix("127.78.0.0/16").loopback([127, 78, 0, 0].into(), 254);
        let next = all.next().zip(all.next());
        assert_eq!(
            next,
            Some(([127, 78, 0, 254].into(), [127, 78, 1, 1].into()))
        );
    }

    #[test]
    fn other_prefixes_hold_addresses_of_interfaces() {
        assert_eq!(prefix("203.0.113.0/24").take(0), None);
    }
}
