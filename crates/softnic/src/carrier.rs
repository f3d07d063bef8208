//! What carries a device's packets: sockets, or a port of a network that another process has.

use std::io;
use std::os::fd::RawFd;

use fairlane_units::Time;

use crate::attached::Attached;
use crate::batch::Batches;
use crate::clock::Clock;
use crate::queue_pair::Destination;
use crate::report::WorkReport;
use crate::socket::{Datagram, Receiver, Sender};

/// What carries packets.
#[derive(Debug)]
pub(crate) enum Carrier {
    Sockets {
        receiver: Box<Receiver>,
        sender: Sender,
    },
    Port(Attached),
}

impl Carrier {
    /// The clock that packets have.
    pub(crate) fn clock(&self) -> Clock {
        match self {
            Self::Sockets { .. } => Clock::new(),
            Self::Port(port) => {
                let (origin, scale) = port.clock();
                Clock::of(origin, scale)
            }
        }
    }

    /// Source ports of packets.
    pub(crate) fn ports(&self) -> &[u16] {
        match self {
            Self::Sockets { sender, .. } => &sender.ports,
            Self::Port(port) => &port.ports,
        }
    }

    /// What is readable when packets have come.
    pub(crate) fn descriptor(&self) -> RawFd {
        match self {
            Self::Sockets { receiver, .. } => receiver.descriptor(),
            Self::Port(port) => port.descriptor(),
        }
    }

    /// Whether the [descriptor](Self::descriptor) becomes readable when something comes from now on; `false` if something is there.
    pub(crate) fn may_sleep(&mut self) -> bool {
        match self {
            Self::Sockets { .. } => true,
            Self::Port(port) => port.may_sleep(),
        }
    }

    /// Whether nothing is carried any more.
    pub(crate) const fn is_gone(&self) -> bool {
        match self {
            Self::Sockets { .. } => false,
            Self::Port(port) => port.is_gone(),
        }
    }

    /// The largest path MTU, if it isn't the interface that says so.
    pub(crate) fn mtu(&self) -> Option<u16> {
        match self {
            Self::Sockets { .. } => None,
            Self::Port(port) => Some(port.mtu()),
        }
    }

    /// The traffic classes that are paused, if that has changed.
    pub(crate) fn pauses(&mut self) -> Option<u8> {
        match self {
            Self::Sockets { .. } => None,
            Self::Port(port) => port.pauses(),
        }
    }

    /// Takes what has come; returns how many datagrams.
    pub(crate) fn fill(&mut self) -> io::Result<usize> {
        match self {
            Self::Sockets { receiver, .. } => receiver.fill(),
            Self::Port(port) => Ok(port.fill()),
        }
    }

    /// One of those that have been taken.
    pub(crate) fn datagram(&self, at: usize) -> Datagram<'_> {
        match self {
            Self::Sockets { receiver, .. } => receiver.datagram(at),
            Self::Port(port) => port.datagram(at),
        }
    }

    /// Tells who carries packets of requests that have ended.
    pub(crate) fn report(&mut self, reports: &mut Vec<(Destination, WorkReport)>) {
        match self {
            Self::Sockets { .. } => reports.clear(),
            Self::Port(port) => port.report(reports),
        }
    }

    /// Sends some batches from the one at `first` on; returns how many. An error is about the first one.
    pub(crate) fn send(&mut self, now: Time, batches: &Batches, first: usize) -> io::Result<usize> {
        let all = &batches.all()[first..];
        match self {
            Self::Sockets { sender, .. } => sender.send(all, batches.segmentation),
            Self::Port(port) => match all.first() {
                Some(batch) => port.send(now, batch).map(|()| 1),
                None => Ok(0),
            },
        }
    }
}
