//! A port of a network that another process carries packets in, in place of sockets.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::RawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use fairlane_rings::{Frame, MOST_BYTES, Port, Refused};
use fairlane_units::{Rate, Time};

use crate::batch::Batch;
use crate::error::Error;
use crate::queue_pair::Destination;
use crate::report::WorkReport;
use crate::socket::{DATAGRAMS, Datagram, Sender};

/// A device's end of a port.
#[derive(Debug)]
pub(crate) struct Attached {
    port: Port,
    /// Source ports, which the network hashes.
    pub(crate) ports: Vec<u16>,
    rooms: Vec<[u8; MOST_BYTES]>,
    told: Vec<(Frame, usize)>,
    /// Classes that were paused when it was looked at last.
    paused: u8,
    /// Whether the network has gone.
    gone: bool,
}

impl Attached {
    /// Asks whoever listens at `path` for the port of an address.
    ///
    /// # Errors
    /// If nobody does, or refuses.
    pub(crate) fn open(path: &Path, address: IpAddr, ports: u16) -> Result<Self, Error> {
        use std::io::Write as _;
        let failed = |error| Error::Attach(path.to_owned(), error);
        let mut socket = UnixStream::connect(path).map_err(failed)?;
        writeln!(socket, "{address}").map_err(failed)?;
        let port = fairlane_rings::take(socket).map_err(failed)?;
        Ok(Self::of(port, ports))
    }

    fn of(port: Port, ports: u16) -> Self {
        let first = Sender::FIRST_PORT;
        Self {
            port,
            ports: (first..first.saturating_add(ports.max(1))).collect(),
            rooms: vec![[0; MOST_BYTES]; DATAGRAMS],
            told: Vec::with_capacity(DATAGRAMS),
            paused: 0,
            gone: false,
        }
    }

    /// The clock of the network: when it was zero, in nanoseconds of `CLOCK_MONOTONIC`, and how much slower than that it goes, in
    /// thousandths.
    pub(crate) fn clock(&self) -> (u64, u64) {
        self.port.shared.clock()
    }

    /// The rate of the port's link, if the network has said so.
    pub(crate) fn rate(&self) -> Option<Rate> {
        let rate = Rate::from_bps(self.port.shared.rate());
        Some(rate).filter(|rate| !rate.is_zero())
    }

    /// Settings that the network has for its NICs, as [words](crate::Settings::set).
    pub(crate) fn text(&self) -> String {
        self.port.shared.text()
    }

    /// The largest path MTU that the network carries.
    pub(crate) fn mtu(&self) -> u16 {
        self.port.shared.mtu()
    }

    /// What is readable when something has come; none, as -1, once the network has gone.
    pub(crate) fn descriptor(&self) -> RawFd {
        match self.gone {
            true => -1,
            false => self.port.receiver.descriptor(),
        }
    }

    /// Whether nothing has come, so that who wants to may wait for the descriptor.
    pub(crate) fn may_sleep(&mut self) -> bool {
        match self.port.receiver.sleep() {
            Ok(may) => may,
            Err(_) => {
                self.gone = true;
                true
            }
        }
    }

    /// Whether the network has gone: what is sent is lost then.
    pub(crate) const fn is_gone(&self) -> bool {
        self.gone
    }

    /// The classes that are paused, if that has changed.
    pub(crate) fn pauses(&mut self) -> Option<u8> {
        let paused = self.port.shared.paused();
        (std::mem::replace(&mut self.paused, paused) != paused).then_some(paused)
    }

    /// Takes what has come; returns how many packets.
    pub(crate) fn fill(&mut self) -> usize {
        self.told.clear();
        for room in &mut self.rooms {
            match self.port.receiver.receive(room) {
                Ok(Some(told)) => self.told.push(told),
                Ok(None) => break,
                Err(_) => {
                    self.gone = true;
                    break;
                }
            }
        }
        self.told.len()
    }

    /// One of those that have been taken.
    pub(crate) fn datagram(&self, at: usize) -> Datagram<'_> {
        let (frame, length) = self.told[at];
        Datagram {
            source: SocketAddr::new(Ipv4Addr::from(frame.peer).into(), frame.source_port),
            bytes: &self.rooms[at][..length],
            segment: length.max(1),
            marked: frame.marked,
        }
    }

    /// Tells of requests that have ended, as far as there is room.
    pub(crate) fn report(&mut self, reports: &mut Vec<(Destination, WorkReport)>) {
        let mut told = 0;
        for (destination, report) in reports.iter() {
            let frame = Frame {
                time: report.ended.as_ps(),
                peer: destination.peer.octets(),
                source_port: self.ports[destination.socket],
                class: destination.class,
                is_report: true,
                ..Frame::default()
            };
            match self.port.sender.send(&frame, &report.emit()) {
                Err(Refused::Full) => break,
                Ok(()) | Err(_) => told += 1,
            }
        }
        reports.drain(..told);
    }

    /// Hands the packets of a batch over, one by one.
    ///
    /// # Errors
    /// If there is no room for the first one. What has no room behind it is lost, as in a full buffer.
    pub(crate) fn send(&mut self, now: Time, batch: &Batch) -> io::Result<()> {
        let IpAddr::V4(peer) = batch.way.peer else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let frame = Frame {
            time: now.as_ps(),
            peer: peer.octets(),
            source_port: batch.way.port,
            class: batch.way.class,
            ..Frame::default()
        };
        for (at, bytes) in batch.bytes().chunks(batch.segment).enumerate() {
            match self.port.sender.send(&frame, bytes) {
                Ok(()) => {}
                Err(Refused::Full) if at == 0 => return Err(io::ErrorKind::WouldBlock.into()),
                Err(_) if at > 0 => break,
                Err(refused) => return Err(io::Error::other(refused)),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor that stays readable would keep whoever waits for it awake.
    #[test]
    fn nobody_waits_for_a_network_that_has_gone() {
        let (owner, other) = Port::pair().unwrap();
        let mut attached = Attached::of(other, 4);
        assert_eq!(attached.ports, [0xc000, 0xc001, 0xc002, 0xc003]);
        assert!(attached.may_sleep() && !attached.is_gone() && attached.descriptor() >= 0);
        drop(owner);
        assert!(attached.may_sleep() && attached.is_gone());
        assert_eq!(attached.descriptor(), -1);
    }
}
