//! Wireshark reads our packets as we mean them.
//!
//! `tshark` doesn't check the ICRC, it only shows it; `vectors.rs` has ICRCs of NICs.
#![cfg(not(miri))]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use fairlane_units::{Psn, QpNumber, TenantId};
use fairlane_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Cnp, Datagram, Deth, Ethernet, Extension, ExtensionKind,
    Feth, Frame, Ieth, ImmDt, Ipv4, Ipv6, MacAddress, NakCode, Network, Opcode, Packet, Reth,
    RnrTimer, Syndrome, Telemetry, Teth, TimeStamp, Traffic, TrafficClass, TrafficKind, Udp,
    VlanTag,
};

/// A column of numbers: Wireshark's name of the field, and what a frame has there.
type Number = (&'static str, fn(&Frame<'_>) -> Option<u64>);
/// A column of bytes.
type Bytes = (&'static str, fn(&Frame<'_>) -> Option<Vec<u8>>);

const NUMBERS: [Number; 28] = [
    ("vlan.priority", |f| {
        f.ethernet.tag.map(|tag| tag.priority.into())
    }),
    ("vlan.id", |f| f.ethernet.tag.map(|tag| tag.vlan.into())),
    ("ip.dsfield", |f| {
        ipv4(f).map(|header| class(header.traffic_class))
    }),
    // Good.
    ("ip.checksum.status", |f| ipv4(f).map(|_| 1)),
    ("ip.ttl", |f| ipv4(f).map(|header| header.ttl.into())),
    ("ipv6.tclass", |f| {
        ipv6(f).map(|header| class(header.traffic_class))
    }),
    ("ipv6.flow", |f| {
        ipv6(f).map(|header| header.flow_label.into())
    }),
    ("ipv6.hlim", |f| {
        ipv6(f).map(|header| header.hop_limit.into())
    }),
    ("udp.srcport", |f| Some(f.datagram.udp.source_port.into())),
    ("infiniband.bth.opcode", |f| {
        let code = bth(f).opcode.code_with_traffic();
        let code = code.filter(|_| bth(f).traffic);
        Some(code.unwrap_or_else(|| bth(f).opcode.code()).into())
    }),
    ("infiniband.bth.se", |f| Some(bth(f).solicited.into())),
    ("infiniband.bth.m", |f| Some(bth(f).migration.into())),
    ("infiniband.bth.padcnt", |f| Some(bth(f).pad_count.into())),
    ("infiniband.bth.tver", |f| Some(bth(f).version.into())),
    ("infiniband.bth.p_key", |f| {
        Some(bth(f).partition_key.get().into())
    }),
    ("infiniband.bth.destqp", |f| {
        Some(bth(f).destination.get().into())
    }),
    ("infiniband.bth.a", |f| Some(bth(f).ack_request.into())),
    ("infiniband.bth.psn", |f| Some(bth(f).psn.get().into())),
    ("infiniband.reth.va", |f| {
        memory(f).map(|(address, _)| address)
    }),
    ("infiniband.reth.r_key", |f| {
        memory(f).map(|(_, key)| key.into())
    }),
    ("infiniband.reth.dmalen", |f| {
        extension(f).reth().map(|reth| reth.length.into())
    }),
    ("infiniband.aeth.syndrome", |f| {
        extension(f).aeth().map(|aeth| aeth.syndrome.byte().into())
    }),
    ("infiniband.aeth.msn", |f| {
        extension(f).aeth().map(|aeth| aeth.msn.into())
    }),
    ("infiniband.atomiceth.swapdt", |f| {
        extension(f).atomic_eth().map(|atomic| atomic.swap_or_add)
    }),
    ("infiniband.atomiceth.cmpdt", |f| {
        extension(f).atomic_eth().map(|atomic| atomic.compare)
    }),
    ("infiniband.atomicacketh.origremdt", |f| {
        extension(f).atomic_ack_eth().map(|atomic| atomic.original)
    }),
    ("infiniband.deth.q_key", |f| {
        extension(f).deth().map(|deth| deth.queue_key.into())
    }),
    ("infiniband.deth.srcqp", |f| {
        extension(f).deth().map(|deth| deth.source.get().into())
    }),
];

const BYTES: [Bytes; 3] = [
    ("infiniband.immdt", |f| {
        extension(f)
            .immediate()
            .map(|data| data.data.to_be_bytes().into())
    }),
    ("infiniband.ieth", |f| {
        extension(f)
            .ieth()
            .map(|ieth| ieth.key.to_be_bytes().into())
    }),
    ("data.data", |f| {
        // Wireshark doesn't cut pad bytes off.
        let mut payload = f.datagram.packet.payload.to_vec();
        payload.resize(payload.len().next_multiple_of(4), 0);
        (!payload.is_empty()).then_some(payload)
    }),
];

/// What would be an error of the packet.
const NOTHING: [&str; 2] = ["_ws.malformed", "_ws.expert.severity"];

const SKIPPED: &str = "skipped: tshark isn't installed";
const SEPARATOR: char = '|';
const PAYLOAD: [u8; 5] = [0xde, 0xad, 0xbe, 0xef, 0x01];

#[test]
fn wireshark_reads_what_we_write() {
    let frames: Vec<Frame<'_>> = [false, true]
        .into_iter()
        .flat_map(|over_ipv6| ordinary().map(move |opcode| frame(opcode, over_ipv6)))
        .collect();
    if !assert_rows("opcodes", &frames, assert_row) {
        println!("{SKIPPED}");
    }
}

/// It can't know what we make of a manufacturer's opcodes; all that it has to do is to stop there.
#[test]
fn wireshark_reads_the_bth_of_our_own_packets_and_no_further() {
    let frames: Vec<Frame<'_>> = Opcode::ALL
        .iter()
        .filter(|opcode| opcode.code_with_traffic().is_some())
        .map(|opcode| {
            let mut frame = frame(*opcode, false);
            let packet = &mut frame.datagram.packet;
            *packet = packet.with_traffic(traffic(opcode.traffic()));
            frame
        })
        .collect();
    if !assert_rows("traffic", &frames, assert_row_of_bth) {
        println!("{SKIPPED}");
    }
}

/// Opcodes of the specification.
fn ordinary() -> impl Iterator<Item = Opcode> {
    let all = Opcode::ALL.iter().copied();
    all.filter(|opcode| *opcode != Opcode::RcReadFeedback)
}

/// That a check holds for what tshark reads of each frame; `false` where there is none.
#[track_caller]
fn assert_rows(name: &str, frames: &[Frame<'_>], check: fn(&str, &Frame<'_>)) -> bool {
    let folder = Folder::new(name);
    let path = folder.0.join("frames.pcap");
    std::fs::write(&path, pcap(frames)).expect("the capture can be written");
    let Some(table) = tshark(&path) else {
        return false;
    };
    assert_eq!(table.lines().count(), frames.len(), "{table}");
    for (line, frame) in table.lines().zip(frames) {
        check(line, frame);
    }
    true
}

fn assert_row_of_bth(line: &str, frame: &Frame<'_>) {
    let mut cells = line.split(SEPARATOR);
    let mut cell = || cells.next().expect("a column for every field");
    assert!(cell().contains(":udp:infiniband"), "{line}");
    for name in NOTHING {
        assert_eq!(cell(), "", "{name} of {frame}: {line}");
    }
    for (name, value) in NUMBERS {
        let is_below = !name.starts_with("infiniband") || name.starts_with("infiniband.bth");
        let expected = value(frame).filter(|_| is_below);
        assert_eq!(number(cell()), expected, "{name} of {frame}");
    }
}

#[track_caller]
fn assert_row(line: &str, frame: &Frame<'_>) {
    let mut cells = line.split(SEPARATOR);
    let mut cell = || cells.next().expect("a column for every field");
    assert!(cell().contains(":udp:infiniband"), "{line}");
    for name in NOTHING {
        assert_eq!(cell(), "", "{name} of {frame}: {line}");
    }
    for (name, value) in NUMBERS {
        assert_eq!(number(cell()), value(frame), "{name} of {frame}");
    }
    for (name, value) in BYTES {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let expected: String = value(frame).map_or_else(String::new, hex);
        assert_eq!(cell(), expected, "{name} of {frame}");
    }
    // A CNP has no name of its own for its last four bytes.
    let mut bytes = vec![0; frame.length()];
    frame.emit(&mut bytes).expect("it is a frame");
    let icrc = bytes
        .last_chunk()
        .map(|bytes| u32::from_be_bytes(*bytes).into());
    let expected = icrc.filter(|_| bth(frame).opcode != Opcode::Cnp);
    assert_eq!(number(cell()), expected, "ICRC of {frame}");
}

/// A number as one version of Wireshark or another shows it.
fn number(cell: &str) -> Option<u64> {
    match (cell, cell.strip_prefix("0x")) {
        ("True", _) => Some(1),
        ("False", _) => Some(0),
        (_, Some(hex)) => u64::from_str_radix(hex, 16).ok(),
        (decimal, None) => decimal.parse().ok(),
    }
}

/// Runs tshark on a capture; `None` where there is none.
fn tshark(path: &Path) -> Option<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path).args(["-n", "-T", "fields"]);
    command.args([
        "-E",
        &format!("separator={SEPARATOR}"),
        "-E",
        "occurrence=f",
    ]);
    command.args([
        "-o",
        "ip.check_checksum:TRUE",
        "-o",
        "udp.ignore_ipv6_zero_checksum:TRUE",
    ]);
    // It would guess what our payload is.
    command.args(["--disable-protocol", "rpcordma"]);
    command.args(["--disable-heuristic", "eth_over_ib"]);
    let names = NUMBERS.iter().map(|(name, _)| *name);
    let names = names.chain(BYTES.iter().map(|(name, _)| *name));
    let first = ["frame.protocols"].into_iter().chain(NOTHING);
    for name in first.chain(names).chain(["infiniband.invariant.crc"]) {
        command.args(["-e", name]);
    }
    let done = command.output().ok()?;
    let talk = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "tshark: {talk}");
    Some(String::from_utf8_lossy(&done.stdout).into_owned())
}

fn bth<'a>(frame: &'a Frame<'_>) -> &'a Bth {
    frame.datagram.packet.bth()
}

fn extension<'a>(frame: &'a Frame<'_>) -> &'a Extension {
    &frame.datagram.packet.headers.extension
}

/// Address and key of a RETH or AtomicETH: Wireshark has one name for both.
fn memory(frame: &Frame<'_>) -> Option<(u64, u32)> {
    let reth = extension(frame).reth().map(|reth| (reth.address, reth.key));
    let atomic = extension(frame).atomic_eth();
    reth.or_else(|| atomic.map(|atomic| (atomic.address, atomic.key)))
}

fn ipv4(frame: &Frame<'_>) -> Option<Ipv4> {
    match frame.datagram.network {
        Network::Ipv4(header) => Some(header),
        Network::Ipv6(_) => None,
    }
}

fn ipv6(frame: &Frame<'_>) -> Option<Ipv6> {
    match frame.datagram.network {
        Network::Ipv4(_) => None,
        Network::Ipv6(header) => Some(header),
    }
}

fn class(traffic_class: TrafficClass) -> u64 {
    traffic_class.byte().expect("6 bits").into()
}

/// A packet of this opcode, every value of it different.
fn frame(opcode: Opcode, over_ipv6: bool) -> Frame<'static> {
    let code = u32::from(opcode.code());
    let bth = Bth {
        solicited: code % 2 == 0,
        migration: code % 3 == 0,
        partition_key: TenantId::new(0x8000 + code),
        becn: opcode == Opcode::Cnp,
        selective: code % 5 == 0,
        ack_request: code % 7 == 0,
        ..Bth::new(
            opcode,
            QpNumber::new(0xabc000 + code),
            Psn::new(0xfed000 + code),
        )
    };
    let payload = if opcode.has_payload() {
        &PAYLOAD[..]
    } else {
        &[]
    };
    let (source, destination) = if over_ipv6 {
        let address = |last| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last));
        (address(1), address(2))
    } else {
        let address = |last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        (address(1), address(2))
    };
    let mut network = Network::between(source, destination).expect("one version");
    match &mut network {
        Network::Ipv4(header) => header.traffic_class.dscp = 26,
        Network::Ipv6(header) => (header.flow_label, header.hop_limit) = (0x12345, 9),
    }
    let ethernet = Ethernet {
        tag: over_ipv6.then_some(VlanTag {
            priority: 3,
            drop_eligible: false,
            vlan: 77,
        }),
        ethertype: network.ethertype(),
        ..Ethernet::ipv4(
            MacAddress([2, 0, 0, 0, 0, 1]),
            MacAddress([2, 0, 0, 0, 0, 2]),
        )
    };
    let packet = Packet::new(bth, extension_of(opcode), payload);
    Frame {
        ethernet,
        datagram: Datagram {
            network,
            udp: Udp::new(0xc000 + code as u16),
            packet,
        },
    }
}

/// A header of traffic management with everything that fits.
fn traffic(kind: TrafficKind) -> Traffic<'static> {
    let time = Some(TimeStamp::new(0x1020_3040));
    match kind {
        TrafficKind::None => Traffic::None,
        TrafficKind::Data => Traffic::Data(Teth {
            demand: Some(0x7fff),
            ttl: 64,
            time,
            backlog: Some(0x0102_0304),
            telemetry: Telemetry::collecting(9),
        }),
        TrafficKind::Feedback => Traffic::Feedback(Feth {
            share: Some(0x1234),
            switches: 5,
            time,
            telemetry: Telemetry::of(2, &[0xa7; 40]),
        }),
    }
}

/// Its extension headers.
fn extension_of(opcode: Opcode) -> Extension {
    let code = u32::from(opcode.code());
    let immediate = ImmDt {
        data: 0xa0b0_0000 + code,
    };
    let reth = Reth {
        address: 0x1122_3344_5566_0000 + u64::from(code),
        key: 0x77_0000 + code,
        length: 0x99_0000 + code,
    };
    let deth = Deth {
        queue_key: 0x8001_0000 + code,
        source: QpNumber::new(0x12_3400 + code),
    };
    let syndromes = [
        Syndrome::ACK,
        Syndrome::RnrNak {
            timer: RnrTimer::new(14).expect("5 bits"),
        },
        Syndrome::Nak(NakCode::RemoteAccess),
    ];
    let aeth = Aeth {
        syndrome: syndromes[code as usize % 3],
        msn: 0x45_6700 + code,
    };
    match opcode.extension() {
        ExtensionKind::None => Extension::None,
        ExtensionKind::Immediate => Extension::Immediate(immediate),
        ExtensionKind::Invalidate => Extension::Invalidate(Ieth {
            key: 0x5500_0000 + code,
        }),
        ExtensionKind::Rdma => Extension::Rdma(reth),
        ExtensionKind::RdmaImmediate => Extension::RdmaImmediate(reth, immediate),
        ExtensionKind::Acknowledge => Extension::Acknowledge(aeth),
        ExtensionKind::AtomicAcknowledge => Extension::AtomicAcknowledge(
            aeth,
            AtomicAckEth {
                original: 0xfedc_ba98_7654_3210,
            },
        ),
        ExtensionKind::Atomic => Extension::Atomic(AtomicEth {
            address: 0x8877_6655_4433_2200 + u64::from(code),
            key: 0x3300_0000 + code,
            swap_or_add: 0x1212_3434_5656_7878,
            compare: 0x9a9a_bcbc_dede_f0f0,
        }),
        ExtensionKind::Datagram => Extension::Datagram(deth),
        ExtensionKind::DatagramImmediate => Extension::DatagramImmediate(deth, immediate),
        ExtensionKind::Cnp => Extension::Cnp(Cnp),
    }
}

/// A capture in the classic format of libpcap: a header of 24 bytes, then for every frame one of 16.
fn pcap(frames: &[Frame<'_>]) -> Vec<u8> {
    const MAGIC: u32 = 0xa1b2_c3d4;
    const VERSION: u32 = 4 << 16 | 2;
    const LONGEST: u32 = 65_535;
    const ETHERNET: u32 = 1;
    let mut file = Vec::new();
    let mut words = |words: &[u32], bytes: &[u8]| {
        words
            .iter()
            .for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(bytes);
    };
    words(&[MAGIC, VERSION, 0, 0, LONGEST, ETHERNET], &[]);
    for (number, frame) in (0..).zip(frames) {
        let mut bytes = vec![0; frame.length()];
        frame.emit(&mut bytes).expect("it is a frame");
        let length = bytes.len() as u32;
        words(&[0, number, length, length], &bytes);
    }
    file
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("fairlane-wire-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
