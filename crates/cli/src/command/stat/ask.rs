//! Devices are found by the names of their sockets, and asked.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fairlane_softnic::stat::{DEVICE, PAIRS, PREFIX};
use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect, getsockopt, setsockopt, socket, sockopt,
};
use nix::sys::time::TimeVal;

use super::device::{self, Device};
use crate::failure::Failure;

/// The sockets of the network namespace.
const SOCKETS: &str = "/proc/net/unix";
/// How long nothing may come; devices leave other readers after a second each.
const PATIENCE: Duration = Duration::from_secs(PATIENCE_SECONDS as u64);
const PATIENCE_SECONDS: i64 = 3;
/// How long an answer may take in all.
const WHOLE: Duration = Duration::from_secs(15);
/// Bytes of an answer; a queue pair takes less than 1000.
const MOST: usize = 128 << 20;
/// Devices that are asked at a time.
const AT_A_TIME: usize = 16;

/// Why a device says nothing.
#[derive(Debug)]
pub(super) enum Trouble {
    /// The device has closed meanwhile.
    Gone,
    /// The device is of another user.
    Foreign(String, u32),
    /// The device doesn't answer as it should.
    Silent(String, String),
}

/// Asks all devices, or those at an address.
pub(super) fn all(
    address: Option<IpAddr>,
    with_pairs: bool,
) -> Result<Vec<Result<Device, Trouble>>, Failure> {
    let table = fs::read(SOCKETS).map_err(|error| {
        Failure::new(format!("{SOCKETS}: {error}")).hint("devices are found there: mount /proc")
    })?;
    let names = names(&String::from_utf8_lossy(&table), address);
    let names: Vec<String> = names.into_iter().collect();
    let mut replies = Vec::new();
    for some in names.chunks(AT_A_TIME) {
        std::thread::scope(|scope| {
            let threads: Vec<_> = some
                .iter()
                .map(|name| scope.spawn(|| one(name, with_pairs)))
                .collect();
            replies.extend(threads.into_iter().filter_map(|thread| thread.join().ok()));
        });
    }
    Ok(replies)
}

/// The names of sockets that listen, those of devices.
fn names(table: &str, asked: Option<IpAddr>) -> BTreeSet<String> {
    // `__SO_ACCEPTCON` of Linux.
    const LISTENS: u32 = 1 << 16;
    let name = |line: &str| {
        let mut fields = line.split_ascii_whitespace();
        let flags = u32::from_str_radix(fields.nth(3)?, 16).ok()?;
        let name = fields.nth(3)?.strip_prefix('@')?;
        let address = name.strip_prefix(PREFIX)?.split(['%', '#']).next()?;
        let address: IpAddr = address.parse().ok()?;
        let wanted = flags & LISTENS != 0 && asked.is_none_or(|asked| asked == address);
        wanted.then(|| name.to_owned())
    };
    table.lines().filter_map(name).collect()
}

/// Asks one device.
fn one(name: &str, with_pairs: bool) -> Result<Device, Trouble> {
    let silent = |why: String| Trouble::Silent(format!("@{name}"), why);
    let stream = match open(name) {
        Ok(stream) => stream,
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => return Err(Trouble::Gone),
        Err(error) => return Err(silent(error.to_string())),
    };
    let peer = getsockopt(&stream, sockopt::PeerCredentials);
    let peer = peer.map_err(|error| silent(error.to_string()))?;
    // What somebody else says can't be trusted, but by root, who must look at everything.
    let own = fs::metadata("/proc/self").map_or(u32::MAX, |me| me.uid());
    if own != 0 && peer.uid() != own {
        return Err(Trouble::Foreign(format!("@{name}"), peer.uid()));
    }
    let answer = answer(&stream, with_pairs).map_err(|error| match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => Trouble::Gone,
        ErrorKind::WouldBlock => silent("it doesn't answer".to_owned()),
        _ => silent(error.to_string()),
    })?;
    if answer.is_empty() {
        return Err(Trouble::Gone);
    }
    let process = Some(peer.pid()).filter(|&pid| pid > 0);
    device::read(&answer, process).map_err(silent)
}

/// Connects, without waiting for a device that accepts nobody.
fn open(name: &str) -> io::Result<UnixStream> {
    let socket = socket(
        AddressFamily::Unix,
        SockType::Stream,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    setsockopt(
        &socket,
        sockopt::SendTimeout,
        &TimeVal::new(PATIENCE_SECONDS, 0),
    )?;
    let address = UnixAddr::new_abstract(name.as_bytes())?;
    connect(socket.as_raw_fd(), &address)?;
    let stream = UnixStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn answer(mut stream: &UnixStream, with_pairs: bool) -> io::Result<Vec<u8>> {
    let question = if with_pairs { PAIRS } else { DEVICE };
    stream.write_all(question.as_bytes())?;
    let until = Instant::now() + WHOLE;
    let (mut answer, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match stream.read(&mut part) {
            Ok(0) => return Ok(answer),
            Ok(count) => answer.extend_from_slice(part.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if answer.len() > MOST || Instant::now() > until {
            return Err(io::Error::other("its answer doesn't end"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_found_among_all_sockets() {
        let table = "Num       RefCount Protocol Flags    Type St Inode Path\n\
            0: 00000002 00000000 00010000 0001 01 1 @fairlane/127.76.0.1\n\
            0: 00000003 00000000 00000000 0001 03 2 @fairlane/127.76.0.1\n\
            0: 00000002 00000000 00010000 0001 01 3 @fairlane/127.76.0.2#77\n\
            0: 00000002 00000000 00010000 0001 01 4 @fairlane/fe80::1%2\n\
            0: 00000002 00000000 00010000 0001 01 5 @fairlane/elsewhere\n\
            0: 00000002 00000000 00010000 0001 01 6 /run/fairlane/127.76.0.3\n\
            0: 00000002 00000000 00010000 0001 01 7\n\
            0: 00000003\n";
        let all: Vec<_> = names(table, None).into_iter().collect();
        let expected = [
            "fairlane/127.76.0.1",
            "fairlane/127.76.0.2#77",
            "fairlane/fe80::1%2",
        ];
        assert_eq!(all, expected);
        let one = names(table, Some(IpAddr::from([127, 76, 0, 2])));
        assert_eq!(one.into_iter().collect::<Vec<_>>(), expected[1..2]);
    }
}
