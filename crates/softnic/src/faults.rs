//! Faults on purpose: what networks, ports and peers do to programs at their worst, from a seed.

use std::net::IpAddr;

use fairlane_transport::Status;
use fairlane_units::{Duration, Time};

mod filter;
mod random;
mod timeline;
mod words;

pub(crate) use filter::{Filter, Held};
pub(crate) use timeline::Change;
use timeline::Timeline;

/// What goes wrong at a device. As a text it is a line of words such as `seed=7 packets=loss:0.01,delay:200us port=at:2s`: one for
/// each part, with what is known of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Faults {
    /// Where random numbers begin; each device has a sequence of its own, by its address.
    pub seed: u64,
    /// What happens to packets that come.
    pub packets: PacketFaults,
    /// When the port is down.
    pub ports: Vec<PortFault>,
    /// When the device's GID moves.
    pub gids: Vec<GidFault>,
    /// Which requests fail; of several for one request the first counts.
    pub requests: Vec<RequestFault>,
    /// How little room queues have.
    pub queue: QueueFaults,
    /// How small packets must be.
    pub mtu: MtuFaults,
}

/// How often something happens to a packet that comes, as a part of 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketFaults {
    /// The packet is lost.
    pub loss: f64,
    /// The packet comes twice, the second time later.
    pub duplicate: f64,
    /// The packet comes later, behind others.
    pub reorder: f64,
    /// By so much.
    pub delay: Duration,
    /// One of its bits is turned over.
    pub corrupt: f64,
    /// The network marks it (ECN).
    pub mark: f64,
}

impl Default for PacketFaults {
    fn default() -> Self {
        Self {
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            delay: Duration::from_us(200),
            corrupt: 0.0,
            mark: 0.0,
        }
    }
}

/// A time during which the port is down: nothing is sent, and nothing that comes is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortFault {
    /// From when on, since the device was opened.
    pub at: Time,
    /// For how long; `None` for ever.
    pub down: Option<Duration>,
}

/// A move of the device's GID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GidFault {
    /// When, since the device was opened.
    pub at: Time,
    /// To which index of the table; `None` if it goes.
    pub to: Option<u8>,
}

/// Requests that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestFault {
    /// Which of a queue pair.
    pub which: Which,
    /// How they end.
    pub status: Status,
}

/// Some of the requests that are posted to the send queue of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one with this number; the first has 1.
    Number(u64),
    /// Requests whose number is a multiple.
    Every(u64),
}

/// Room of queues that are made from now on, at most, whatever was granted; `None` for what was granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueFaults {
    /// Requests of a queue pair that are posted and haven't completed.
    pub send: Option<u32>,
    /// Receives of a queue pair, or shared queue, that are posted and haven't been taken.
    pub receive: Option<u32>,
    /// Completions that wait to be polled.
    pub completion: Option<u32>,
}

/// Packets that are too large for a part of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MtuFaults {
    /// The largest path MTU that the port has room for, as it says itself.
    pub active: Option<u16>,
    /// The largest path MTU that the way here has room for, of which nobody knows: larger packets that come are lost.
    pub path: Option<u16>,
}

/// Where the GID of a device's address is in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GidPlace {
    /// Where GIDs of such an address are.
    Usual,
    /// At this index.
    At(u8),
    /// Nowhere.
    Gone,
}

/// What happens to a device's packets, port and GID, as far as it has come.
#[derive(Debug)]
pub(crate) struct Chaos {
    pub(crate) filter: Filter,
    pub(crate) timeline: Timeline,
    pub(crate) gid: GidPlace,
}

impl Chaos {
    pub(crate) fn new(faults: &Faults, device: IpAddr) -> Self {
        Self {
            filter: Filter::new(faults, device),
            timeline: Timeline::new(faults),
            gid: GidPlace::Usual,
        }
    }

    /// When something is to be done.
    pub(crate) fn next_time(&self) -> Option<Time> {
        let both = [self.filter.next_time(), self.timeline.next_time()];
        both.into_iter().flatten().min()
    }
}

impl Faults {
    /// The variable that names them to programs in a line of words, as `fairlane exec --faults FILE` sets it.
    pub const VARIABLE: &str = "FAIRLANE_FAULTS";

    /// What happens to packets alone.
    pub fn of_packets(seed: u64, packets: PacketFaults) -> Self {
        Self {
            seed,
            packets,
            ..Self::default()
        }
    }

    /// How a queue pair's request with this number fails, if it does. The first has number 1.
    pub(crate) fn of_request(&self, number: u64, is_connection: bool) -> Option<Status> {
        let hits = |fault: &&RequestFault| match fault.which {
            Which::Number(own) => own == number,
            Which::Every(period) => number.checked_rem(period) == Some(0),
        };
        let fault = self.requests.iter().find(hits)?;
        // Where nobody answers, only what happens at this end can be told.
        let is_local = matches!(fault.status, Status::LocalLength | Status::LocalProtection);
        (is_connection || is_local).then_some(fault.status)
    }
}
