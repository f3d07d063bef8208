//! Wireshark reads our messages as we mean them. Version 4.0 knows REQ, REJ, REP, RTU, DREQ and DREP; it looks for the packet
//! rate of a path elsewhere than Linux and the specification have it, so that isn't asked for.
#![cfg(not(miri))]
#![allow(clippy::print_stdout, reason = "what is skipped is said")]

mod common;

use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;

use common::{SERVICE, rep, req};
use fairlane_cm::{
    Answered, Drep, Dreq, IpHeader, Message, Path, Reason, Rej, Req, Rtu, Wait, gid_of,
};
use fairlane_units::{Psn, QpNumber};
use fairlane_wire::{Bth, Datagram, Deth, Extension, Ipv4, Network, Opcode, Packet, Udp};

const HERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const THERE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
const TRANSACTION: u64 = 0x0102_0304_0506_0708;

/// The datagram that carries a message to queue pair 1 (IBTA 13.5.1: its queue key is known to everybody).
fn datagram(message: &Message) -> Vec<u8> {
    let mad = message.emit(TRANSACTION).expect("it fits");
    let gsi = QpNumber::new(1);
    let deth = Deth {
        queue_key: 0x8001_0000,
        source: gsi,
    };
    let bth = Bth::new(Opcode::UdSendOnly, gsi, Psn::new(0));
    let datagram = Datagram {
        network: Network::Ipv4(Ipv4::new(HERE, THERE)),
        udp: Udp::new(49_152),
        packet: Packet::new(bth, Extension::Datagram(deth), &mad),
    };
    let mut bytes = vec![0; 512];
    let length = datagram.emit(&mut bytes).expect("there is room");
    bytes.truncate(length);
    bytes
}

/// What tshark says of some fields of a message; `None` where there is no tshark.
fn decoded(message: &Message, fields: &[&str]) -> Option<Vec<String>> {
    const RAW_IP: u32 = 101;
    let bytes = datagram(message);
    let length = bytes.len() as u32;
    let words = [
        0xa1b2_c3d4,
        4 << 16 | 2,
        0,
        0,
        65_535,
        RAW_IP,
        0,
        0,
        length,
        length,
    ];
    let mut capture: Vec<u8> = words
        .iter()
        .flat_map(|word: &u32| word.to_le_bytes())
        .collect();
    capture.extend(bytes);
    let name = format!("fairlane-cm-{}-{}.pcap", std::process::id(), fields[0]);
    let path = std::env::temp_dir().join(name);
    std::fs::write(&path, capture).expect("the capture can be written");
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(&path)
        .args(["-n", "-T", "fields", "-E", "separator=|"]);
    for field in ["_ws.malformed", "_ws.expert.severity"]
        .iter()
        .chain(fields)
    {
        command.args(["-e", field]);
    }
    let done = command.output();
    std::fs::remove_file(&path).expect("it has been written");
    let done = done.ok()?;
    let talk = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "tshark: {talk}");
    let line = String::from_utf8(done.stdout).expect("text");
    let mut cells = line.trim_end_matches('\n').split('|').map(str::to_owned);
    let wrong = [cells.next(), cells.next()].map(Option::unwrap_or_default);
    assert_eq!(wrong, ["", ""], "malformed: {line}");
    Some(cells.collect())
}

#[track_caller]
fn assert_decoded(message: &Message, expected: &[(&str, u64)]) {
    let fields: Vec<&str> = expected.iter().map(|(field, _)| *field).collect();
    let Some(cells) = decoded(message, &fields) else {
        return println!("skipped: tshark isn't installed");
    };
    for (cell, (field, value)) in cells.iter().zip(expected) {
        let number = match cell.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None => cell.parse().ok(),
        };
        assert_eq!(number, Some(*value), "{field}: {cell:?}");
    }
}

fn request() -> Req {
    let ip = IpHeader {
        source_port: 0xabcd,
        source: IpAddr::V4(HERE),
        destination: IpAddr::V4(THERE),
    };
    let wait = |exponent| Wait::new(exponent).expect("below 32");
    Req {
        local_id: 0xa1a2_a3a4,
        guid: 0xc1c2_c3c4_c5c6_c7c8,
        remote_timeout: wait(20),
        local_timeout: wait(19),
        cm_retries: 15,
        shared_queue: true,
        path: Path {
            local_gid: gid_of(ip.source),
            remote_gid: gid_of(ip.destination),
            hop_limit: 64,
            traffic_class: 0x68,
            packet_rate: 9,
            ack_timeout: wait(14),
            ..Path::default()
        },
        private_data: ip.before(b"hello").expect("there is room"),
        ..req(0x12_3456)
    }
}

#[test]
fn wireshark_reads_requests() {
    let message = Message::Req(request());
    assert_decoded(
        &message,
        &[
            ("infiniband.cm.req", 0xa1a2_a3a4),
            ("infiniband.mad.mgmtclass", 7),
            ("infiniband.mad.classversion", 2),
            ("infiniband.mad.method", 3),
            ("infiniband.mad.transactionid", TRANSACTION),
            ("infiniband.mad.attributeid", 0x10),
            ("infiniband.cm.req.serviceid.protocol", 0x06),
            ("infiniband.cm.req.serviceid.dport", 7174),
            ("infiniband.cm.req.localcaguid", 0xc1c2_c3c4_c5c6_c7c8),
            ("infiniband.cm.req.localqpn", 0x12_3456),
            ("infiniband.cm.req.responderres", 3),
            ("infiniband.cm.req.initdepth", 4),
            ("infiniband.cm.req.remoteresptout", 20),
            ("infiniband.cm.req.transpsvctype", 0),
            ("infiniband.cm.req.startpsn", 100 + 0x12_3456),
            ("infiniband.cm.req.localresptout", 19),
            ("infiniband.cm.req.retrcount", 7),
            ("infiniband.cm.req.pkey", 0xffff),
            ("infiniband.cm.req.pppmtu", 3),
            ("infiniband.cm.req.rnrretrcount", 6),
            ("infiniband.cm.req.maxcmretr", 15),
            ("infiniband.cm.req.srq", 1),
            ("infiniband.cm.req.prim_hoplim", 64),
            ("infiniband.cm.req.prim_tfcclass", 0x68),
            ("infiniband.cm.req.prim_localacktout", 14),
            ("infiniband.cm.req.ip_cm.majv", 0),
            ("infiniband.cm.req.ip_cm.ipv", 4),
            ("infiniband.cm.req.ip_cm.sport", 0xabcd),
        ],
    );
    let addresses = [
        "infiniband.cm.req.ip_cm.sip4",
        "infiniband.cm.req.ip_cm.dip4",
    ];
    if let Some(cells) = decoded(&message, &addresses) {
        assert_eq!(cells, [HERE.to_string(), THERE.to_string()]);
    }
    assert_eq!(SERVICE, request().service_id);
}

#[test]
fn wireshark_reads_replies() {
    let mut rep = rep(&request(), 0x65_4321);
    (rep.local_id, rep.guid) = (0xb1b2_b3b4, 0xd1d2_d3d4_d5d6_d7d8);
    rep.ack_delay = Wait::new(11).expect("below 32");
    assert_decoded(
        &Message::Rep(rep),
        &[
            ("infiniband.cm.rep", 0xb1b2_b3b4),
            ("infiniband.cm.rep.remotecommid", 0xa1a2_a3a4),
            ("infiniband.cm.rep.localqpn", 0x65_4321),
            ("infiniband.cm.rep.startpsn", 200 + 0x65_4321),
            ("infiniband.cm.rep.respres", 4),
            ("infiniband.cm.rep.initdepth", 3),
            ("infiniband.cm.rep.tgtackdelay", 11),
            ("infiniband.cm.rep.failoveracc", 1),
            ("infiniband.cm.rep.rnrretrcount", 6),
            ("infiniband.cm.rep.localcaguid", 0xd1d2_d3d4_d5d6_d7d8),
        ],
    );
}

#[test]
fn wireshark_reads_the_rest() {
    let (local_id, remote_id) = (0xa1a2_a3a4, 0xb1b2_b3b4);
    let rej = Rej::new(
        (local_id, remote_id),
        Answered::Rep,
        Reason::STALE_CONNECTION,
    );
    assert_decoded(
        &Message::Rej(rej.with_guid(7)),
        &[
            ("infiniband.cm.rej.localcommid", 0xa1a2_a3a4),
            ("infiniband.cm.rej.remotecommid", 0xb1b2_b3b4),
            ("infiniband.cm.rej.msgrej", 1),
            ("infiniband.cm.rej.rejinfolen", 8),
            ("infiniband.cm.rej.reason", 10),
        ],
    );
    let rtu = Rtu {
        local_id,
        remote_id,
        private_data: [0; 224],
    };
    assert_decoded(
        &Message::Rtu(rtu),
        &[
            ("infiniband.cm.rtu.localcommid", 0xa1a2_a3a4),
            ("infiniband.cm.rtu.remotecommid", 0xb1b2_b3b4),
        ],
    );
    let remote_pair = QpNumber::new(0xc1_c2c3);
    let dreq = Dreq {
        local_id,
        remote_id,
        remote_pair,
        private_data: [0; 220],
    };
    assert_decoded(
        &Message::Dreq(dreq),
        &[
            ("infiniband.cm.dreq.localcommid", 0xa1a2_a3a4),
            ("infiniband.cm.dreq.remotecommid", 0xb1b2_b3b4),
            ("infiniband.cm.req.remoteqpneecn", 0xc1_c2c3),
        ],
    );
    let drep = Drep {
        local_id,
        remote_id,
        private_data: [0; 224],
    };
    assert_decoded(
        &Message::Drep(drep),
        &[
            ("infiniband.cm.drsp.localcommid", 0xa1a2_a3a4),
            ("infiniband.cm.drsp.remotecommid", 0xb1b2_b3b4),
        ],
    );
}
