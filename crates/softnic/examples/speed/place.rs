//! Where the two ends are: on the loopback interface, or in two network namespaces with a pair of veth between them.
#![allow(
    unsafe_code,
    reason = "namespaces, which the standard library doesn't have"
)]

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::process::Command;

use super::Outcome;

const NAMESPACE: &str = "/proc/thread-self/ns/net";

/// Two addresses, each with the network namespace that has it.
#[derive(Debug)]
pub(crate) struct Place {
    addresses: [IpAddr; 2],
    namespaces: Option<[File; 2]>,
}

impl Place {
    /// Two addresses of the loopback interface.
    pub(crate) fn loopback() -> Self {
        let address = |last| Ipv4Addr::new(127, 99, 0, last).into();
        Self {
            addresses: [address(1), address(2)],
            namespaces: None,
        }
    }

    /// The two ends of a pair of veth, with room for a path MTU of 4096, each in a namespace of its own. They vanish with it.
    pub(crate) fn veth() -> Outcome<Self> {
        let address = |last| Ipv4Addr::new(10, 99, 0, last).into();
        let own = File::open(NAMESPACE)?;
        let [one, other] = [new()?, new()?];
        // A process is started in the namespace of the thread that starts it.
        enter(&other)?;
        let mut keeper = Command::new("sleep").arg("60").spawn()?;
        enter(&one)?;
        let number = keeper.id().to_string();
        let made = ip(&[
            "link", "add", "name", "left", "mtu", "9000", "type", "veth", "peer", "name", "right",
            "mtu", "9000", "netns", &number,
        ])
        .and_then(|()| up("left", "10.99.0.1/24"))
        .and_then(|()| enter(&other))
        .and_then(|()| up("right", "10.99.0.2/24"));
        keeper.kill()?;
        keeper.wait()?;
        enter(&own)?;
        made?;
        Ok(Self {
            addresses: [address(1), address(2)],
            namespaces: Some([one, other]),
        })
    }

    /// Makes something where one of the ends is, which gets its address: sockets and threads stay there.
    pub(crate) fn within<T>(
        &self,
        end: usize,
        make: impl FnOnce(IpAddr) -> Outcome<T>,
    ) -> Outcome<T> {
        let Some(namespaces) = &self.namespaces else {
            return make(self.addresses[end]);
        };
        let own = File::open(NAMESPACE)?;
        enter(&namespaces[end])?;
        let made = make(self.addresses[end]);
        enter(&own)?;
        made
    }
}

/// A new network namespace, which lives as long as its file is open or something is in it.
fn new() -> Outcome<File> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| -> std::io::Result<File> {
            // SAFETY: it has no pointers, and concerns this thread alone.
            match unsafe { libc::unshare(libc::CLONE_NEWNET) } {
                0 => File::open(NAMESPACE),
                _ => Err(std::io::Error::last_os_error()),
            }
        });
        let made = thread.join().map_err(|_| "the thread has panicked")?;
        made.map_err(|error| {
            format!("a network namespace can't be made (it takes root): {error}").into()
        })
    })
}

fn enter(namespace: &File) -> Outcome<()> {
    // SAFETY: it has no pointers, and the descriptor is open.
    match unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error().into()),
    }
}

fn up(interface: &str, address: &str) -> Outcome<()> {
    ip(&["address", "add", address, "dev", interface])?;
    ip(&["link", "set", interface, "up"])
}

fn ip(arguments: &[&str]) -> Outcome<()> {
    let status = Command::new("ip").args(arguments).status()?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("ip {} failed", arguments.join(" ")).into()),
    }
}
