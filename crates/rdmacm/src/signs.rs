//! Signs: who listens to which services on this host, for those who ask for localhost.
//!
//! Linux looks for the listener among all processes of a network namespace, as they share the host's devices; here each has
//! devices of its own. So whoever listens hangs out a sign, a socket in the abstract namespace whose name says it: `fairlane-cm/`,
//! the service, [`ANY`] or [`ONE`] address, and the device's. `/proc/net/unix` has those of the network namespace, and signs go
//! away with their process. Nothing is ever sent to them.

use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use fairlane_cm::ServiceId;

/// What the names of all signs begin with.
const PREFIX: &str = "fairlane-cm/";
/// A listener at every device.
const ANY: &str = "any";
/// A listener at one device.
const ONE: &str = "one";
/// Where the system lists sockets and their names, in which `@` stands for the byte of the abstract namespace.
const TABLE: &str = "/proc/net/unix";

/// What a sign says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Words {
    pub(crate) service: ServiceId,
    /// Whether it is listened to at every device.
    pub(crate) is_any: bool,
    /// The device's address.
    pub(crate) address: IpAddr,
}

impl Words {
    fn name(&self) -> String {
        let Self {
            service, address, ..
        } = self;
        let extent = if self.is_any { ANY } else { ONE };
        format!("{PREFIX}{:x}/{extent}/{address}", service.0)
    }

    /// The words of a line of the table, if it is one of a sign.
    fn of_line(line: &str) -> Option<Self> {
        let (_, name) = line.split_once(" @")?;
        let mut words = name.strip_prefix(PREFIX)?.split('/');
        let service = u64::from_str_radix(words.next()?, 16).ok()?;
        let is_any = match words.next()? {
            ANY => true,
            ONE => false,
            _ => return None,
        };
        let address = words.next()?.parse().ok()?;
        let service = ServiceId(service);
        words.next().is_none().then_some(Self {
            service,
            is_any,
            address,
        })
    }
}

/// A sign that hangs out.
#[derive(Debug)]
pub(crate) struct Sign {
    _named: UnixDatagram,
}

impl Sign {
    /// Hangs it out. `None` if a child of a former process has the name, which then says the same, or the system no descriptor.
    pub(crate) fn hang(words: Words) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(words.name()).ok()?;
        let _named = UnixDatagram::bind_addr(&name).ok()?;
        Some(Self { _named })
    }
}

/// Where on this host a service is listened to, for an id at a device.
pub(crate) fn find(service: ServiceId, own: IpAddr) -> Option<IpAddr> {
    // Names of others may be any bytes.
    let table = std::fs::read(TABLE).ok()?;
    choose(&String::from_utf8_lossy(&table), service, own)
}

/// The address of the sign that says most: one of the own device, then of a listener at every device, then the lowest address.
fn choose(table: &str, service: ServiceId, own: IpAddr) -> Option<IpAddr> {
    let signs = table.lines().filter_map(Words::of_line);
    let signs =
        signs.filter(|words| words.service == service && words.address.is_ipv4() == own.is_ipv4());
    let best = signs.min_by_key(|words| (words.address != own, !words.is_any, words.address));
    best.map(|words| words.address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_cm::PortSpace;

    const PORT: u16 = 18515;

    fn words(space: PortSpace, is_any: bool, address: &str) -> Words {
        Words {
            service: ServiceId::of_port(space, PORT),
            is_any,
            address: address.parse().expect("it is an address"),
        }
    }

    fn line(words: &Words) -> String {
        let name = words.name();
        format!("0000000000000000: 00000002 00000000 00000000 0002 01 21876 @{name}\n")
    }

    #[track_caller]
    fn assert_chosen(signs: &[Words], own: &str, expected: Option<&str>) {
        let own = own.parse().expect("it is an address");
        let service = ServiceId::of_port(PortSpace::TCP, PORT);
        let expected = expected.map(|address| address.parse().expect("it is an address"));
        let forwards: String = signs.iter().map(line).collect();
        let backwards: String = signs.iter().rev().map(line).collect();
        for table in [forwards, backwards] {
            assert_eq!(choose(&table, service, own), expected);
        }
    }

    #[test]
    fn the_sign_that_says_most_is_chosen() {
        let one = words(PortSpace::TCP, false, "127.76.0.1");
        let any = words(PortSpace::TCP, true, "127.76.0.2");
        let later = words(PortSpace::TCP, true, "127.76.0.3");
        let datagrams = words(PortSpace::UDP, true, "127.76.0.0");
        let six = words(PortSpace::TCP, true, "fd09::1");
        let all = [datagrams, one, any, later, six];
        assert_chosen(&all, "127.76.0.9", Some("127.76.0.2"));
        assert_chosen(&all, "127.76.0.1", Some("127.76.0.1"));
        assert_chosen(&all, "fd09::2", Some("fd09::1"));
        assert_chosen(&[datagrams, one, six], "127.76.0.9", Some("127.76.0.1"));
        assert_chosen(&[datagrams, six], "127.76.0.9", None);
        assert_chosen(&[], "127.76.0.9", None);
    }

    #[test]
    fn names_of_others_are_no_signs() {
        let names = [
            "",
            "@",
            "@fairlane/127.76.0.1",
            "@fairlane-cm/",
            "@fairlane-cm/1064853/any",
            "@fairlane-cm/1064853/any/127.76.0.1/",
            "@fairlane-cm/1064853/all/127.76.0.1",
            "@fairlane-cm/x/any/127.76.0.1",
            "@fairlane-cm/10648531064853106485/any/127.76.0.1",
            "/fairlane-cm/1064853/any/127.76.0.1",
        ];
        for name in names {
            let line = format!("0000000000000000: 00000002 00000000 00000000 0002 01 21876 {name}");
            assert_eq!(Words::of_line(&line), None, "{name}");
        }
        // RDMA_PS_TCP is 0x0106, and 18515 is 0x4853.
        let line = "0000000000000000: 2 0 0 0002 01 1 @fairlane-cm/1064853/any/127.76.0.1";
        let expected = words(PortSpace::TCP, true, "127.76.0.1");
        assert_eq!(Words::of_line(line), Some(expected));
    }
}
