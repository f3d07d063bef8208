//! Captures as files for Wireshark: captured packets as bytes on Ethernet, in pcapng.
//!
//! `frame` makes bytes of a packet, `pcapng` blocks of a file. Nothing here knows where packets come
//! from or where the file goes.

mod frame;
mod pcapng;

#[cfg(test)]
pub(crate) mod tests;

use std::io::{self, Write};

use fairlane_fabric::PortInfo;

use crate::read::CaptureRow;

/// Writes captured packets as a pcapng file.
pub(crate) struct Exporter<'a, W> {
    out: pcapng::Writer<W>,
    ports: &'a [PortInfo],
    /// Number of the interface of each captured port.
    interfaces: Vec<Option<u32>>,
    bytes: Vec<u8>,
}

/// Why a packet can't be written.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The file can't be written.
    Io(io::Error),
    /// The packet has no form on the wire.
    Wire(fairlane_wire::Error),
    /// The packet passed a port that wasn't captured.
    Port,
}

impl<'a, W: Write> Exporter<'a, W> {
    /// Begins a file with an interface for each captured port, in the order of ports.
    pub(crate) fn begin(out: W, ports: &'a [PortInfo], captured: &[bool]) -> io::Result<Self> {
        let mut out = pcapng::Writer::begin(out)?;
        let mut interfaces = Vec::with_capacity(ports.len());
        for (port, captured) in ports.iter().zip(captured) {
            interfaces.push(match captured {
                true => {
                    let (name, description) = words(port, ports);
                    Some(out.interface(&name, &description, port.rate.as_bps())?)
                }
                false => None,
            });
        }
        Ok(Self {
            out,
            ports,
            interfaces,
            bytes: vec![0; frame::LONGEST],
        })
    }

    /// Appends a packet.
    ///
    /// # Errors
    /// If the file can't be written, or the packet has no form on the wire.
    pub(crate) fn packet(&mut self, row: &CaptureRow) -> Result<(), Refusal> {
        let record = &row.record;
        let at = record.port.index();
        let interface = self.interfaces.get(at).copied().flatten();
        let (interface, port) = interface.zip(self.ports.get(at)).ok_or(Refusal::Port)?;
        let peer = self.ports.get(port.peer.index()).ok_or(Refusal::Port)?;
        let (sender, receiver) = match record.outbound {
            true => (port, peer),
            false => (peer, port),
        };
        let length =
            frame::emit(row, [sender, receiver], &mut self.bytes).map_err(Refusal::Wire)?;
        let packet = pcapng::Packet {
            interface,
            time_ns: record.time.as_ns(),
            outbound: record.outbound,
            bytes: &self.bytes[..length],
        };
        self.out.packet(&packet).map_err(Refusal::Io)
    }
}

/// A short name of a port, and what it is.
fn words(port: &PortInfo, ports: &[PortInfo]) -> (String, String) {
    let kind = |port: &PortInfo| if port.on_switch { "switch" } else { "host" };
    let place = |port: &PortInfo| format!("{} {} port {}", kind(port), port.node, port.number);
    let peer = ports.get(port.peer.index());
    let peer = peer.map_or_else(|| "nowhere".into(), place);
    (
        format!("{}{}-port{}", kind(port), port.node, port.number),
        format!("{}, linked to {peer} at {}", place(port), port.rate),
    )
}
