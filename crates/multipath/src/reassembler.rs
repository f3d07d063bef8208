//! The receiving end of a connection: receives in, frames in, one completion per message out.

use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use fairlane_units::Bytes;

use crate::frame::{Grant, Transfer};
use crate::numbered::Numbered;
use crate::ranges::Ranges;
use crate::{Mistake, Segment, Settings};

/// Where the data of a SEND goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placement {
    /// To this memory.
    Place(Segment),
    /// Nowhere: there is none, or all of it has arrived before.
    Nothing,
}

/// A message that has arrived, and consumes the oldest receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The number of the receive, from 0 in the order of posting.
    pub receive: u64,
    /// What was posted with it.
    pub context: u64,
    /// Bytes of the message.
    pub size: Bytes,
}

#[derive(Clone, Debug)]
struct Receive {
    memory: Segment,
    context: u64,
    /// The size of its message, once a frame has named it.
    total: Option<u64>,
    ranges: Ranges,
    complete: bool,
}

/// The receiving end of one connection.
///
/// WRITEs, READs and atomics pass it by: they happen in memory. SENDs come over any queue pair, in any order,
/// and some twice. They all wait in buffers of the driver, whose bytes are handed to [`Frame::parse`](crate::Frame::parse).
#[derive(Clone, Debug)]
pub struct Reassembler {
    settings: Arc<Settings>,
    receives: Numbered<Receive>,
    /// Ranges of all receives.
    held: usize,
    /// Memory of ranges, to be used again.
    spare: Vec<Ranges>,
}

impl Reassembler {
    /// The receiving end before its first receive.
    pub const fn new(settings: Arc<Settings>) -> Self {
        Self {
            settings,
            receives: Numbered::new(),
            held: 0,
            spare: Vec::new(),
        }
    }

    /// Takes a receive, into one piece of memory. The grant is for [`Connection::offer`](crate::Connection::offer)
    /// of the same host. `None` if as many as may be are posted.
    pub fn post_receive(&mut self, memory: Segment, context: u64) -> Option<Grant> {
        if self.receives.len() >= self.settings.messages as usize {
            return None;
        }
        let id = self.receives.push(Receive {
            memory,
            context,
            total: None,
            ranges: self.spare.pop().unwrap_or_default(),
            complete: false,
        });
        Some(Grant::of(id, &memory))
    }

    /// Hears of a SEND with so many bytes behind its frame, and says where they go.
    ///
    /// # Errors
    /// If it can't be right: nobody has granted it, it doesn't fit, it contradicts an earlier one, or it leaves
    /// more holes than a sender makes. Nothing has changed then.
    pub fn on_transfer(&mut self, transfer: &Transfer, data: u64) -> Result<Placement, Mistake> {
        let refuse = |message, hint| {
            let place = format!("SEND {} at {}", transfer.id, transfer.offset);
            Err(Mistake::new(place, message, hint))
        };
        if transfer.id < self.receives.first() {
            return Ok(Placement::Nothing);
        }
        let holes = self.settings.holes;
        let Some(receive) = self.receives.get_mut(transfer.id) else {
            let message = "no receive with this number is posted".into();
            return refuse(message, "the sender must wait for its grant");
        };
        let room = receive.memory.length;
        if transfer.holds(data).is_err() || transfer.total > room {
            let message = format!(
                "{data} bytes of a message of {} don't fit into a receive of {room}",
                transfer.total
            );
            return refuse(message, "the sender must keep to the grant");
        }
        if let Some(total) = receive.total.filter(|&total| total != transfer.total) {
            let message = format!(
                "the message has {} bytes, and {total} before",
                transfer.total
            );
            return refuse(message, "all frames of a message name one size");
        }
        let (start, end) = (transfer.offset, transfer.offset + data);
        let is_known = receive.complete || receive.ranges.cover(start, end);
        if is_known && !transfer.is_notice(data) {
            receive.total = Some(transfer.total);
            return Ok(Placement::Nothing);
        }
        let before = receive.ranges.count();
        if data > 0 {
            if self.held >= holes {
                let message = format!("the message has more than {holes} holes");
                return refuse(message, "`holes` must be what paths and depth allow for");
            }
            receive.ranges.add(start, end);
        }
        receive.total = Some(transfer.total);
        receive.complete |= transfer.is_notice(data) || receive.ranges.cover(0, transfer.total);
        if receive.complete {
            receive.ranges.clear();
        }
        self.held = self.held + receive.ranges.count() - before;
        if data == 0 {
            return Ok(Placement::Nothing);
        }
        Ok(Placement::Place(Segment {
            address: receive.memory.address + start,
            length: data,
            key: receive.memory.key,
        }))
    }

    /// The next message that has arrived, in the order in which they were sent.
    pub fn poll_arrived(&mut self) -> Option<Arrived> {
        let receive = self.receives.first();
        if !self.receives.get(receive)?.complete {
            return None;
        }
        let done = self.receives.pop()?;
        self.spare.push(done.ranges);
        Some(Arrived {
            receive,
            context: done.context,
            size: Bytes::new(done.total.unwrap_or_default()),
        })
    }

    /// Receives that are posted and not consumed.
    pub fn outstanding(&self) -> usize {
        self.receives.len()
    }

    /// Bytes of memory that it takes, itself included.
    pub fn footprint(&self) -> usize {
        let ranges = self.receives.iter().map(|it| &it.ranges);
        let held: usize = ranges.chain(&self.spare).map(Ranges::heap).sum();
        size_of::<Self>()
            + self.receives.heap()
            + self.spare.capacity() * size_of::<Ranges>()
            + held
    }
}
