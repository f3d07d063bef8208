//! Work requests under way, in the order of posting.

use alloc::collections::VecDeque;

use crate::work::WorkRequest;

/// A work request and the packets that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    /// Number of its first packet, counted from the first packet of the queue pair. A READ takes as
    /// many numbers as its response has packets.
    pub(crate) first: u64,
    pub(crate) packets: u64,
    /// Stream position of its first byte; only bytes that the requester sends count.
    pub(crate) start: u64,
    pub(crate) request: WorkRequest,
}

impl Message {
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.first + self.packets
    }

    /// Bytes of this message before packet `number`.
    #[inline]
    pub(crate) fn offset(&self, number: u64, mtu: u64) -> u64 {
        ((number - self.first) * mtu).min(self.request.length.get())
    }

    /// Stream position before packet `number`.
    #[inline]
    pub(crate) fn position(&self, number: u64, mtu: u64) -> u64 {
        if self.request.operation.carries_payload() {
            self.start + self.offset(number, mtu)
        } else {
            self.start
        }
    }
}

/// Messages in order. The first is inline: most queue pairs have one, and then a packet costs no
/// visit to the heap.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    first: Option<Message>,
    rest: VecDeque<Message>,
}

impl Messages {
    pub(crate) const fn new() -> Self {
        Self {
            first: None,
            rest: VecDeque::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        usize::from(self.first.is_some()) + self.rest.len()
    }

    pub(crate) fn push_back(&mut self, message: Message) {
        if self.first.is_none() {
            self.first = Some(message);
        } else {
            self.rest.push_back(message);
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<Message> {
        let first = self.first.take()?;
        self.first = self.rest.pop_front();
        Some(first)
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> Option<&Message> {
        match index.checked_sub(1) {
            None => self.first.as_ref(),
            Some(behind) => self.rest.get(behind),
        }
    }

    /// First number of the packet that takes `number`: a READ request takes those of its whole response.
    pub(crate) fn packet_start(&self, number: u64) -> u64 {
        match self.get(self.locate(number)) {
            Some(message) if message.request.operation.awaits_response() => message.first,
            _ => number,
        }
    }

    /// Index of the message that packet `number` belongs to, or the count if it isn't posted yet.
    pub(crate) fn locate(&self, number: u64) -> usize {
        match &self.first {
            Some(first) if first.end() <= number => {
                1 + self.rest.partition_point(|message| message.end() <= number)
            }
            _ => 0,
        }
    }
}
