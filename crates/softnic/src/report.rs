//! What a NIC tells a lab of work requests that have ended.

use fairlane_transport::Status;
use fairlane_units::{Bytes, Time};

use crate::completion::Done;

/// A work request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkReport {
    /// What it was.
    pub done: Done,
    /// How it ended.
    pub end: WorkEnd,
    /// Its payload.
    pub size: Bytes,
    /// When it was posted, by the lab's clock.
    pub posted: Time,
    /// When it ended.
    pub ended: Time,
    /// The path MTU of its queue pair.
    pub mtu: u16,
    /// Whether its end says that it has arrived; that of a datagram doesn't.
    pub is_reliable: bool,
    /// Packets of its queue pair that were sent more than once since the one before it ended.
    pub retransmitted: u32,
}

/// How a work request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkEnd {
    /// As it should.
    Success,
    /// Its queue pair had failed before.
    Flushed,
    /// Its peer didn't answer.
    RetryExceeded,
    /// Otherwise: it, or its peer's memory or receive, wasn't as it must be.
    Failed,
}

/// What there are reports of, by the number that they have in bytes.
const DONE: [Done; 5] = [
    Done::Send,
    Done::Write,
    Done::Read,
    Done::FetchAdd,
    Done::CompareSwap,
];
const ENDS: [WorkEnd; 4] = [
    WorkEnd::Success,
    WorkEnd::Flushed,
    WorkEnd::RetryExceeded,
    WorkEnd::Failed,
];

impl From<Status> for WorkEnd {
    fn from(status: Status) -> Self {
        match status {
            Status::Success => Self::Success,
            Status::Flushed => Self::Flushed,
            Status::RetryExceeded => Self::RetryExceeded,
            _ => Self::Failed,
        }
    }
}

impl WorkReport {
    /// Bytes of a report.
    pub const LENGTH: usize = 33;

    /// Whether peers take part in such a request.
    pub(crate) fn tells_of(done: Done) -> bool {
        DONE.contains(&done)
    }

    /// A report as bytes.
    pub fn emit(&self) -> [u8; Self::LENGTH] {
        let place = |found: Option<usize>| found.map_or(u8::MAX, |at| at as u8);
        let mut bytes = [0; Self::LENGTH];
        bytes[..8].copy_from_slice(&self.size.get().to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.posted.as_ps().to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.ended.as_ps().to_ne_bytes());
        bytes[24..28].copy_from_slice(&self.retransmitted.to_ne_bytes());
        bytes[28] = place(DONE.iter().position(|done| *done == self.done));
        bytes[29] = place(ENDS.iter().position(|end| *end == self.end));
        bytes[30..32].copy_from_slice(&self.mtu.to_ne_bytes());
        bytes[32] = self.is_reliable.into();
        bytes
    }

    /// The report that bytes are; `None` if they are none, or of a request that ended before it was posted.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LENGTH] = bytes.try_into().ok()?;
        let number = |at: usize| {
            let eight = bytes[at..at + 8].first_chunk().copied();
            u64::from_ne_bytes(eight.unwrap_or_default())
        };
        let again = bytes[24..28].first_chunk().copied();
        let report = Self {
            done: *DONE.get(usize::from(bytes[28]))?,
            end: *ENDS.get(usize::from(bytes[29]))?,
            size: Bytes::new(number(0)),
            posted: Time::from_ps(number(8)),
            ended: Time::from_ps(number(16)),
            mtu: u16::from_ne_bytes([bytes[30], bytes[31]]),
            is_reliable: bytes[32] != 0,
            retransmitted: u32::from_ne_bytes(again.unwrap_or_default()),
        };
        (report.posted <= report.ended).then_some(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_as_it_was_written_and_nonsense_is_none() {
        for (done, end) in DONE.into_iter().zip(ENDS.into_iter().cycle()) {
            let report = WorkReport {
                done,
                end,
                size: Bytes::new(4096),
                posted: Time::from_ps(5),
                ended: Time::from_ps(7),
                mtu: 1024,
                is_reliable: true,
                retransmitted: 3,
            };
            let bytes = report.emit();
            assert_eq!(WorkReport::parse(&bytes), Some(report));
            assert_eq!(WorkReport::parse(&bytes[1..]), None);
            for at in [28, 29] {
                let mut wrong = bytes;
                wrong[at] = 200;
                assert_eq!(WorkReport::parse(&wrong), None);
            }
            let backwards = WorkReport {
                ended: Time::ZERO,
                ..report
            };
            assert_eq!(WorkReport::parse(&backwards.emit()), None);
        }
    }
}
