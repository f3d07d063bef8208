//! The bytes of packets: headers written and read, from Ethernet to the last extension header, and the
//! ICRC of headers and payload.

use std::hint::black_box;
use std::net::Ipv4Addr;

use fairlane_units::{Psn, QpNumber};
use fairlane_wire::{
    Bth, Datagram, Ethernet, Extension, Frame, Headers, Icrc, Ipv4, MacAddress, Network, Opcode,
    Packet, Reth, Udp,
};

use crate::micro::{Cost, Effort, title};
use crate::table::{self, row};
use crate::{Outcome, process};

const HEADERS: [(&str, &str); 4] = [
    ("write-middle", "headers of a WRITE Middle written"),
    ("read-middle", "headers of a WRITE Middle read"),
    ("write-first", "headers of a WRITE First written"),
    ("read-first", "headers of a WRITE First read"),
];
const EFFORT: Effort = Effort {
    timed: 20_000_000,
    counted: 100_000,
};
const PAYLOADS: [usize; 3] = [64, 1024, 4096];
const ICRC_EFFORT: Effort = Effort {
    timed: 1_000_000,
    counted: 5_000,
};

/// Measures headers and ICRC and prints a table.
pub(crate) fn table() -> Outcome<()> {
    let counted = process::counts_instructions();
    let mut rows = vec![row(["", "ns", "instructions", "GB/s"])];
    for (name, what) in HEADERS {
        let cost = Cost::of(&format!("wire-{name}"), EFFORT, counted)?;
        rows.push(cost.row(what));
    }
    for payload in PAYLOADS {
        let cost = Cost::of(&format!("wire-icrc-{payload}"), ICRC_EFFORT, counted)?;
        let mut cells = cost.row(&format!("ICRC of a WRITE Middle with {payload} B"));
        cells.push(format!("{:.2}", payload as f64 / cost.ns));
        rows.push(cells);
    }
    table::print(&title("packet's bytes", counted), &rows)
}

/// Repeats one of them and returns the user time in microseconds.
pub(crate) fn run(which: &str, operations: u64) -> Outcome<u64> {
    match which {
        "write-middle" => written(Opcode::RcWriteMiddle, operations),
        "write-first" => written(Opcode::RcWriteFirst, operations),
        "read-middle" => read(Opcode::RcWriteMiddle, operations),
        "read-first" => read(Opcode::RcWriteFirst, operations),
        _ => {
            let payload = which.strip_prefix("icrc-").ok_or("unknown part")?;
            covered(payload.parse()?, operations)
        }
    }
}

fn frame(opcode: Opcode, payload: &[u8]) -> Frame<'_> {
    let bth = Bth::new(opcode, QpNumber::new(0x11), Psn::new(0x1234));
    let extension = if opcode.has_reth() {
        Extension::Rdma(Reth {
            address: 0x7f00_1234_5000,
            key: 0x42,
            length: 1 << 20,
        })
    } else {
        Extension::None
    };
    let network = Ipv4::new(Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    Frame {
        ethernet: Ethernet::ipv4(
            MacAddress([2, 0, 0, 0, 0, 1]),
            MacAddress([2, 0, 0, 0, 0, 2]),
        ),
        datagram: Datagram {
            network: Network::Ipv4(network),
            udp: Udp::new(49_152),
            packet: Packet::new(bth, extension, payload),
        },
    }
}

/// Writes all headers and returns how much room is left.
#[inline(never)]
fn write_headers(frame: &Frame<'_>, buffer: &mut [u8]) -> Result<usize, fairlane_wire::Error> {
    let datagram = &frame.datagram;
    let payload = datagram.packet.length();
    let rest = frame.ethernet.emit(buffer)?;
    let rest = datagram.network.emit(Udp::LENGTH + payload, rest)?;
    let rest = datagram.udp.emit(payload, rest)?;
    Ok(datagram.packet.headers.emit(rest)?.len())
}

fn written(opcode: Opcode, operations: u64) -> Outcome<u64> {
    let payload = [0; 1024];
    let mut frame = frame(opcode, &payload);
    let mut buffer = [0; 128];
    let before = process::user_us()?;
    for number in 0..operations {
        frame.datagram.packet.headers.bth.psn = Psn::new(number as u32);
        black_box(write_headers(black_box(&frame), &mut buffer)?);
    }
    Ok(process::user_us()? - before)
}

/// Reads all headers, and returns those of the transport.
#[inline(never)]
fn read_headers(bytes: &[u8]) -> Result<(Ethernet, Network, Udp, Headers), fairlane_wire::Error> {
    let (ethernet, rest) = Ethernet::parse(bytes)?;
    let (network, rest) = Network::parse(rest)?;
    let (udp, rest) = Udp::parse(rest)?;
    let (headers, _) = Headers::parse(rest)?;
    Ok((ethernet, network, udp, headers))
}

fn read(opcode: Opcode, operations: u64) -> Outcome<u64> {
    let payload = [0; 1024];
    let frame = frame(opcode, &payload);
    let mut bytes = vec![0; frame.length()];
    frame.emit(&mut bytes)?;
    let before = process::user_us()?;
    for _ in 0..operations {
        black_box(read_headers(black_box(&bytes))?);
    }
    Ok(process::user_us()? - before)
}

fn covered(payload: usize, operations: u64) -> Outcome<u64> {
    let payload: Vec<u8> = (0..payload).map(|at| at as u8).collect();
    let frame = frame(Opcode::RcWriteMiddle, &payload);
    let mut bytes = vec![0; frame.datagram.length()];
    frame.datagram.emit(&mut bytes)?;
    let before = process::user_us()?;
    for _ in 0..operations {
        black_box(Icrc::verify(black_box(&bytes)))?;
    }
    Ok(process::user_us()? - before)
}
