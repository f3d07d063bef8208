//! What captured packets contain.

use std::fmt::Write as _;
use std::net::Ipv4Addr;

use fairlane_fabric::CaptureRecord;
use fairlane_wire::{self as wire, Datagram, Ecn, Ipv4, Network, TrafficClass, Udp};

/// A packet that was captured: its bytes from the base transport header on, where it comes from and goes to, and its source port.
pub(crate) struct Captured<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) way: [Ipv4Addr; 2],
    pub(crate) source_port: u16,
}

impl Captured<'_> {
    /// Its bytes from the IP header on in hexadecimal digits, as it was recorded: with its mark and the switches that it had passed.
    pub(crate) fn digits(&self, record: &CaptureRecord) -> Option<Box<str>> {
        let transport = record.packet.transport()?;
        let (packet, _) = wire::Packet::parse(self.bytes).ok()?;
        let ecn = match transport.marked {
            true => Ecn::Marked,
            false => Ecn::Capable0,
        };
        let [source, destination] = self.way;
        let datagram = Datagram {
            network: Network::Ipv4(Ipv4 {
                traffic_class: TrafficClass::of_priority(record.class, ecn),
                ttl: Ipv4::DEFAULT_TTL.saturating_sub(transport.switches),
                ..Ipv4::new(source, destination)
            }),
            udp: Udp::new(self.source_port),
            packet,
        };
        let mut bytes = vec![0; datagram.length()];
        let length = datagram.emit(&mut bytes).ok()?;
        // Whatever it is, it is shown as it was sent.
        bytes[length - self.bytes.len()..length].copy_from_slice(self.bytes);
        let mut digits = String::with_capacity(2 * length);
        for byte in &bytes[..length] {
            // Writing to a string doesn't fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Some(digits.into())
    }
}
