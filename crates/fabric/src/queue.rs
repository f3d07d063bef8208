//! Messages of a connection in the order of posting, as one of its ends knows them.

use std::collections::VecDeque;

use fairlane_units::{MessageId, Psn};

/// Messages that were posted on a connection whose packets are counted from 0.
///
/// Each end has one. That of the responder learns the order out of band when a message is posted, which is what the headers
/// of a communication library would say in the first bytes of a message; no packet can be there before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Queue {
    /// Messages that haven't passed, oldest first, each with the number behind its last packet.
    messages: VecDeque<(MessageId, u64)>,
    /// The number behind the last packet of all that were posted.
    posted: u64,
    /// The number of packets that have passed, in order.
    passed: u64,
}

impl Queue {
    /// A message of so many packets is posted.
    pub(crate) fn push(&mut self, message: MessageId, packets: u64) {
        self.posted += packets;
        self.messages.push_back((message, self.posted));
    }

    /// The oldest message that hasn't passed.
    pub(crate) fn first(&self) -> Option<MessageId> {
        self.messages.front().map(|&(message, _)| message)
    }

    /// The oldest message has passed.
    pub(crate) fn pop(&mut self) {
        if let Some((_, end)) = self.messages.pop_front() {
            self.passed = end;
        }
    }

    /// Removes and returns the oldest message if all of its packets precede `expected`, the next PSN that the responder
    /// accepts; one call removes one message.
    pub(crate) fn next_before(&mut self, expected: Psn) -> Option<MessageId> {
        let &(message, end) = self.messages.front()?;
        self.passed = self.near(self.passed, expected);
        if end > self.passed {
            return None;
        }
        self.messages.pop_front();
        Some(message)
    }

    /// The message of a packet under way that the requester has sent.
    pub(crate) fn of_request(&self, psn: Psn) -> Option<MessageId> {
        self.of(self.near(self.passed, psn))
    }

    /// The message of a packet that the responder has sent. Responses don't pass here, so the last one that was posted says
    /// where on the circle of numbers they are.
    pub(crate) fn of_response(&self, psn: Psn) -> Option<MessageId> {
        self.of(self.near(self.posted, psn))
    }

    fn of(&self, number: u64) -> Option<MessageId> {
        let at = self.messages.partition_point(|&(_, end)| end <= number);
        self.messages.get(at).map(|&(message, _)| message)
    }

    /// The packet number with this PSN that is nearest to another.
    fn near(&self, other: u64, psn: Psn) -> u64 {
        let ahead = psn.distance(Psn::new(other as u32));
        other.saturating_add_signed(i64::from(ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packet numbers go round the circle of PSNs many times in a run.
    #[test]
    fn numbers_are_told_apart_beyond_the_circle() {
        let mut queue = Queue::default();
        let packets = 3 << 21;
        for message in (0..8).map(MessageId::new) {
            queue.push(message, packets);
        }
        for message in (0..8).map(MessageId::new) {
            let end = packets * u64::from(message.get() + 1);
            assert_eq!(queue.next_before(Psn::new((end - 1) as u32)), None);
            assert_eq!(queue.of_request(Psn::new((end - 1) as u32)), Some(message));
            assert_eq!(queue.next_before(Psn::new(end as u32)), Some(message));
        }
        assert_eq!(queue.first(), None);
    }

    #[test]
    fn a_look_may_find_several_messages() {
        let mut queue = Queue::default();
        let messages = [0, 1, 2].map(MessageId::new);
        messages.iter().for_each(|&message| queue.push(message, 2));
        assert_eq!(queue.next_before(Psn::new(4)), Some(messages[0]));
        assert_eq!(queue.next_before(Psn::new(4)), Some(messages[1]));
        assert_eq!(queue.next_before(Psn::new(4)), None);
        assert_eq!(queue.of_response(Psn::new(5)), Some(messages[2]));
    }
}
