//! Packets on their way out: made, and put together so that several leave in one call.
//!
//! All packets of a call go to one address from one port and have one length, but that the last may be shorter. So the
//! first packet of a WRITE, which has a RETH, goes alone, and its middle ones together with the last. The kernel
//! numbers the IP headers of a call from 0 on, which the ICRC covers.

use std::net::IpAddr;

use fairlane_units::QpNumber;
use fairlane_wire::{Error, Headers, Icrc, Traffic, Udp};

use crate::icrc::{Outer, SEGMENTS};

/// Bytes of one call: those of the longest IP packet, with room for headers.
const MOST_BYTES: usize = 65_000;
/// Batches that are open before all of them leave.
pub(crate) const MOST_BATCHES: usize = 4;

/// All headers of a packet.
#[derive(Debug)]
pub(crate) struct AllHeaders<'a> {
    pub(crate) transport: Headers,
    /// As the transport headers announce it.
    pub(crate) traffic: Traffic<'a>,
}

impl AllHeaders<'_> {
    /// Length in bytes.
    pub(crate) const fn length(&self) -> usize {
        self.transport.length() + self.traffic.length()
    }
}

/// Where a packet comes from, and where it goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Way {
    /// The queue pair that it is of.
    pub(crate) pair: QpNumber,
    pub(crate) class: u8,
    /// The number of the socket, and its port.
    pub(crate) socket: usize,
    pub(crate) port: u16,
    pub(crate) peer: IpAddr,
}

/// Packets of one call.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The way of its first packet.
    pub(crate) way: Way,
    /// The headers in front of its packets.
    outer: Outer,
    /// Length of all packets but the last.
    pub(crate) segment: usize,
    pub(crate) count: usize,
    /// Whether a shorter packet has ended it.
    ended: bool,
    /// Room for its packets, which begins with them.
    room: Vec<u8>,
    used: usize,
}

impl Batch {
    fn takes(&self, length: usize, segments: usize) -> bool {
        let room = self.used + length <= MOST_BYTES && self.count < segments;
        room && !self.ended && length <= self.segment
    }

    /// Its packets, one behind the other.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.room[..self.used]
    }
}

/// Packets that wait to leave, in order.
#[derive(Debug)]
pub(crate) struct Batches {
    address: IpAddr,
    open: Vec<Batch>,
    spare: Vec<Vec<u8>>,
    /// Whether packets of a call are numbered.
    pub(crate) segmentation: bool,
    /// How many batches are open before all of them leave.
    most: usize,
}

impl Batches {
    pub(crate) const fn new(address: IpAddr, segmentation: bool) -> Self {
        Self {
            address,
            open: Vec::new(),
            spare: Vec::new(),
            segmentation,
            most: MOST_BATCHES,
        }
    }

    /// For packets that leave one by one.
    pub(crate) const fn single(address: IpAddr) -> Self {
        let mut batches = Self::new(address, false);
        batches.most = 1;
        batches
    }

    /// Whether no packet more should be added before some leave.
    pub(crate) fn is_full(&self) -> bool {
        self.open.len() >= self.most
    }

    /// Adds a packet whose payload of `length` bytes `fill` writes.
    ///
    /// # Errors
    /// If headers contradict each other, or `fill` says `false`: then nothing is added.
    pub(crate) fn push(
        &mut self,
        way: &Way,
        headers: &AllHeaders<'_>,
        length: usize,
        fill: impl FnOnce(&mut [u8]) -> bool,
    ) -> Result<bool, Error> {
        let pad = length.wrapping_neg() % 4;
        let whole = headers.length() + length + pad + Icrc::LENGTH;
        let Some(at) = self.batch(way, whole) else {
            return Ok(false);
        };
        let segmentation = self.segmentation;
        let batch = &mut self.open[at];
        let packet = &mut batch.room[batch.used..batch.used + whole];
        let filled = emit(headers, packet, length, fill);
        if filled != Ok(true) {
            if batch.count == 0 {
                self.open.remove(at);
            }
            return filled;
        }
        let identification = if segmentation { batch.count as u16 } else { 0 };
        let (body, icrc) = packet.split_at_mut(whole - Icrc::LENGTH);
        icrc.copy_from_slice(&batch.outer.icrc(body, identification)?.bytes());
        batch.count += 1;
        batch.used += whole;
        batch.ended = whole < batch.segment;
        Ok(true)
    }

    /// The batch that a packet of `whole` bytes goes to. Packets from one port to one peer stay in order.
    /// `None` if its address is of another version of IP.
    fn batch(&mut self, way: &Way, whole: usize) -> Option<usize> {
        let mine = |batch: &Batch| (batch.way.socket, batch.way.peer) == (way.socket, way.peer);
        let latest = self.open.iter().rposition(mine);
        if let Some(at) = latest.filter(|&at| self.open[at].takes(whole, SEGMENTS)) {
            return Some(at);
        }
        let outer = Outer::new((self.address, way.port), (way.peer, Udp::ROCE_PORT))?;
        self.open.push(Batch {
            way: *way,
            outer,
            segment: whole,
            count: 0,
            ended: false,
            room: (self.spare.pop()).unwrap_or_else(|| vec![0; MOST_BYTES]),
            used: 0,
        });
        Some(self.open.len() - 1)
    }

    /// Forgets batches at the front, which have been sent.
    pub(crate) fn forget(&mut self, count: usize) {
        let rooms = self.open.drain(..count).map(|batch| batch.room);
        self.spare.extend(rooms);
    }

    /// Open batches, in order.
    pub(crate) fn all(&self) -> &[Batch] {
        &self.open
    }
}

/// Writes headers and payload.
fn emit(
    headers: &AllHeaders<'_>,
    packet: &mut [u8],
    length: usize,
    fill: impl FnOnce(&mut [u8]) -> bool,
) -> Result<bool, Error> {
    let rest = headers.traffic.emit(headers.transport.emit(packet)?)?;
    let (payload, pad) = rest.split_at_mut(length);
    pad.fill(0);
    Ok(fill(payload))
}

#[cfg(test)]
mod tests {
    use fairlane_units::Psn;
    use fairlane_wire::{Bth, Extension, Opcode};

    use std::net::Ipv4Addr;

    use super::*;

    fn plain(bth: Bth) -> AllHeaders<'static> {
        let extension = Extension::None;
        AllHeaders {
            transport: Headers { bth, extension },
            traffic: Traffic::None,
        }
    }

    fn way(socket: usize) -> Way {
        Way {
            pair: QpNumber::new(1),
            class: 3,
            socket,
            port: 50_000,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
        }
    }

    fn push(batches: &mut Batches, socket: usize, length: usize) {
        let mut bth = Bth::new(Opcode::RcSendMiddle, QpNumber::new(1), Psn::new(0));
        bth.pad_count = (length.wrapping_neg() % 4) as u8;
        let headers = plain(bth);
        let filled = batches.push(&way(socket), &headers, length, |bytes| {
            bytes.fill(7);
            true
        });
        assert_eq!(filled, Ok(true));
    }

    fn shapes(batches: &Batches) -> Vec<(usize, usize, usize)> {
        let all = batches.all().iter();
        all.map(|batch| (batch.way.socket, batch.count, batch.segment))
            .collect()
    }

    #[test]
    fn packets_of_one_length_leave_together_and_a_shorter_one_ends_it() {
        let mut batches = Batches::new(IpAddr::V4(Ipv4Addr::LOCALHOST), true);
        for length in [1024, 1024, 10, 10, 1024] {
            push(&mut batches, 0, length);
        }
        push(&mut batches, 1, 1024);
        push(&mut batches, 0, 1024);
        let expected = [(0, 3, 1040), (0, 1, 28), (0, 2, 1040), (1, 1, 1040)];
        assert_eq!(shapes(&batches), expected);
        assert_eq!(batches.all()[0].bytes().len(), 2 * 1040 + 28);
        batches.forget(1);
        assert_eq!(shapes(&batches), expected[1..]);
    }

    #[test]
    fn batches_end_at_64_packets_and_at_the_longest_datagram() {
        let mut batches = Batches::new(IpAddr::V4(Ipv4Addr::LOCALHOST), true);
        for _ in 0..65 {
            push(&mut batches, 0, 256);
        }
        for _ in 0..16 {
            push(&mut batches, 1, 4096);
        }
        let expected = [(0, 64, 272), (0, 1, 272), (1, 15, 4112), (1, 1, 4112)];
        assert_eq!(shapes(&batches), expected);
    }

    #[test]
    fn packets_that_cant_be_filled_leave_nothing_behind() {
        let mut batches = Batches::new(IpAddr::V4(Ipv4Addr::LOCALHOST), true);
        let bth = Bth::new(Opcode::RcSendOnly, QpNumber::new(1), Psn::new(0));
        let headers = plain(bth);
        let filled = batches.push(&way(0), &headers, 8, |_| false);
        assert_eq!((filled, batches.all().len()), (Ok(false), 0));
    }
}
