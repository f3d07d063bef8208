//! Packets as they are on the wire: captured from the loopback interface, their ICRCs verified with the IP header that they
//! really have, and read by Wireshark.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;
#[path = "common/sniffer.rs"]
mod sniffer;

use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

use common::{End, Way, connected, end_with, target, whole};
use fairlane_softnic::{
    Adjustment, Connection, IcrcMode, Modify, Operation, QpNumber, QueuePairOptions, Rights,
    SendRequest, Sending, Service, Sge, Status,
};
use fairlane_wire::{Frame, Opcode};
use sniffer::Sniffer;

/// A device whose packets leave one by one, as else the loopback interface shows many as one.
fn plain() -> End {
    end_with(|settings| {
        settings.segmentation = false;
        settings.icrc = IcrcMode::Strict;
    })
}

/// Does what makes every packet of a reliable connection but congestion notifications.
fn reliable(a: &End, b: &End) {
    let way = Way {
        mtu: Some(256),
        ..Way::default()
    };
    let (pair, other) = connected(a, b, way);
    let (from, to) = (a.memory(1001), b.memory(1001));
    let word = b.memory(8);
    let result = a.memory(8);
    let all = vec![whole(&from)];
    let short = vec![Sge::of(&from, 0, 5)];
    let there = target(&to);
    let invalidated = b.memory(8).remote_key;
    let mut requests = Vec::new();
    for pieces in [&all, &short] {
        requests.extend([
            (Operation::Send, pieces.clone()),
            (Operation::SendImmediate(7), pieces.clone()),
            (Operation::Write(there), pieces.clone()),
            (Operation::WriteImmediate(there, 8), pieces.clone()),
            (Operation::Read(there), pieces.clone()),
        ]);
    }
    requests.extend([
        (Operation::FetchAdd(target(&word), 5), vec![whole(&result)]),
        (
            Operation::CompareSwap(target(&word), 5, 6),
            vec![whole(&result)],
        ),
        (Operation::SendInvalidate(invalidated), short.clone()),
        (
            Operation::SendInvalidate(b.memory(8).remote_key),
            all.clone(),
        ),
    ]);
    for (id, (operation, pieces)) in (0..).zip(requests) {
        b.receive(other, id, &b.memory(1001));
        a.post(pair, &SendRequest::new(id, operation, pieces));
        assert_eq!(a.wait().status, Status::Success, "{operation:?}");
    }
    // A request that is refused ends it.
    let mut wrong = there;
    wrong.key ^= 1;
    a.post(pair, &SendRequest::write(99, short, wrong));
    assert_eq!(a.wait().status, Status::RemoteAccess);
    // No receive: an RNR NAK, and the same again until there is one.
    let (pair, other) = connected(a, b, way);
    let rnr_timer = Some(fairlane_units::Duration::from_us(10));
    b.device
        .adjust(
            other,
            &Adjustment {
                rnr_timer,
                ..Adjustment::default()
            },
        )
        .unwrap();
    let before = b.device.counters().send_rnr_err;
    a.post(pair, &SendRequest::send(1, all));
    while b.device.counters().send_rnr_err == before {}
    b.receive(other, 1, &b.memory(1001));
    assert_eq!(a.wait().status, Status::Success);
}

fn unreliable(a: &End, b: &End) {
    let service = Service::UnreliableConnection;
    let of = |end: &End| {
        let mut options = end.options();
        options.service = service;
        end.device.create_queue_pair(&options).unwrap()
    };
    let (pair, other) = (of(a), of(b));
    let way = Way {
        mtu: Some(256),
        ..Way::default()
    };
    common::join((a, pair), (b, other), way);
    let (from, to) = (a.memory(1001), b.memory(1001));
    for length in [5, 1001] {
        for operation in [
            Operation::Send,
            Operation::SendImmediate(7),
            Operation::Write(target(&to)),
            Operation::WriteImmediate(target(&to), 8),
        ] {
            b.receive(other, 1, &b.memory(1001));
            let pieces = vec![Sge::of(&from, 0, length)];
            a.post(pair, &SendRequest::new(1, operation, pieces));
            assert_eq!(a.wait().status, Status::Success);
        }
    }
}

/// A datagram of connection management, whose attribute is REQ, and one of an application with immediate.
fn datagrams(a: &End, b: &End) {
    for end in [a, b] {
        let pair = end.device.create_management_pair(&end.options()).unwrap();
        let nobody = Connection::new(end.device.address(), QpNumber::new(0));
        end.connect(pair, &nobody, &Sending::default());
    }
    let (from, pair) = (a.memory(256), QpNumber::new(1));
    a.device.write(&from, 0, &[1, 7, 2, 3]).unwrap();
    a.device.write(&from, 16, &[0, 0x10]).unwrap();
    for (id, immediate) in [(1, None), (2, Some(9))] {
        b.receive(pair, id, &b.memory(296));
        let operation = Operation::Datagram {
            address: b.device.address(),
            destination: pair,
            queue_key: QueuePairOptions::MANAGEMENT_KEY,
            immediate,
        };
        a.post(pair, &SendRequest::new(id, operation, vec![whole(&from)]));
        assert_eq!(a.wait().status, Status::Success);
        while b.wait().id != id {}
    }
}

/// What was captured of it all.
fn captured() -> Option<Vec<Vec<u8>>> {
    let (a, b) = (plain(), plain());
    let addresses = [a.device.address(), b.device.address()];
    let mut sniffer = Sniffer::open(addresses)?;
    unreliable(&a, &b);
    // What waits there isn't asked for any more.
    let mut left = Vec::new();
    while b.device.poll(b.queue, 100, &mut left).unwrap() > 0 {}
    reliable(&a, &b);
    let reset = b.device.create_queue_pair(&b.options()).unwrap();
    b.device.modify(reset, &Modify::Init(Rights::NONE)).unwrap();
    datagrams(&a, &b);
    for end in [&a, &b] {
        assert_eq!(end.device.counters().rx_icrc_encapsulated, 0);
    }
    Some(sniffer.take())
}

/// What Wireshark says of packets: of each opcode, destination, PSN, and whether it finds something wrong.
fn read_by_wireshark(frames: &[Vec<u8>]) -> Option<Vec<String>> {
    let folder = std::env::temp_dir().join(format!("fairlane-softnic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("packets.pcap");
    let made = Command::new("text2pcap")
        .args(["-q", "-F", "pcap", "-l", "1", "-"])
        .arg(&file)
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut made = made.ok()?;
    let mut input = made.stdin.take().unwrap();
    for frame in frames {
        let hex: Vec<String> = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(input, "000000 {}\n", hex.join(" ")).unwrap();
    }
    drop(input);
    assert!(made.wait().unwrap().success());
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&file)
        .args(["-n", "-T", "fields", "-E", "separator=|"]);
    // It would guess what our payload is.
    command.args(["--disable-protocol", "rpcordma"]);
    command.args(["--disable-heuristic", "eth_over_ib"]);
    for name in [
        "infiniband.bth.opcode",
        "infiniband.bth.destqp",
        "infiniband.bth.psn",
        "_ws.malformed",
        "_ws.expert.severity",
    ] {
        command.args(["-e", name]);
    }
    let done = command.stderr(Stdio::null()).output();
    drop(std::fs::remove_dir_all(&folder));
    let text = String::from_utf8(done.ok()?.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

#[test]
fn packets_are_right_as_they_are_on_the_wire() {
    let Some(bytes) = captured() else {
        eprintln!("skipped: capturing packets takes a privilege (CAP_NET_RAW)");
        return;
    };
    // This looks at the ICRC, with the identification that the IP header has.
    let frames: Vec<Frame<'_>> = bytes
        .iter()
        .map(|frame| Frame::parse(frame).unwrap())
        .collect();
    let opcode = |frame: &Frame<'_>| frame.datagram.packet.bth().opcode;
    let seen: BTreeSet<u8> = frames.iter().map(|frame| opcode(frame).code()).collect();
    let ordinary = |opcode: &&Opcode| !matches!(opcode, Opcode::Cnp | Opcode::RcReadFeedback);
    let missing: Vec<_> = (Opcode::ALL.iter())
        .filter(ordinary)
        .filter(|opcode| !seen.contains(&opcode.code()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} didn't come");
    let Some(lines) = read_by_wireshark(&bytes) else {
        eprintln!("skipped: tshark and text2pcap aren't installed");
        return;
    };
    assert_eq!(lines.len(), frames.len());
    for (line, frame) in lines.iter().zip(&frames) {
        let bth = frame.datagram.packet.bth();
        let cells: Vec<&str> = line.split('|').collect();
        let number = |at: usize| match cells[at].strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).unwrap(),
            None => cells[at].parse().unwrap(),
        };
        assert_eq!(number(0), u32::from(bth.opcode.code()), "{frame}: {line}");
        assert_eq!(number(1), bth.destination.get(), "{frame}: {line}");
        assert_eq!(number(2), bth.psn.get(), "{frame}: {line}");
        assert_eq!(cells[3..], ["", ""], "{frame}: {line}");
    }
}
