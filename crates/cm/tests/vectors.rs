//! Every field of every message stands where the specification's tables have it.
//!
//! Bytes are written down from IBTA chapter 12 and annex A11, field by field; nothing here uses the crate to make them.

use std::net::{IpAddr, Ipv4Addr};

use fairlane_cm::{
    Answered, Drep, Dreq, IpHeader, Mad, Malformed, Message, Mra, Path, PortSpace, Reason, Rej,
    Rep, Req, Rtu, Service, ServiceId, SidrRep, SidrReq, SidrStatus, Wait, address_of, gid_of,
};
use fairlane_units::{Psn, QpNumber};

/// Where the body of a MAD begins.
const BODY: usize = 24;
const TRANSACTION: u64 = 0x0102_0304_0506_0708;

/// A MAD of an attribute whose body is zero but for these fields, and the last one's bytes repeated to the end.
fn mad(attribute: u8, fields: &[(usize, &[u8])], (from, private): (usize, u8)) -> Mad {
    let mut mad = [0; 256];
    mad[..4].copy_from_slice(&[1, 7, 2, 3]);
    mad[8..16].copy_from_slice(&[1, 2, 3, 4, 5, 6, 7, 8]);
    mad[17] = attribute;
    for (at, bytes) in fields {
        mad[BODY + at..BODY + at + bytes.len()].copy_from_slice(bytes);
    }
    mad[BODY + from..].fill(private);
    mad
}

#[track_caller]
fn assert_is(message: &Message, bytes: &Mad) {
    assert_eq!(&message.emit(TRANSACTION).expect("it fits"), bytes);
    let (transaction, parsed) = Message::parse(bytes).expect("a message");
    assert_eq!((transaction, &parsed), (TRANSACTION, message));
}

fn wait(exponent: u8) -> Wait {
    Wait::new(exponent).expect("below 32")
}

fn path(seed: u8) -> Path {
    Path {
        local_lid: 0x1100 + u16::from(seed),
        remote_lid: 0x2200 + u16::from(seed),
        local_gid: [0x30 + seed; 16],
        remote_gid: [0x40 + seed; 16],
        flow_label: 0x54321,
        packet_rate: 0x2a,
        traffic_class: 0x66,
        hop_limit: 0x77,
        service_level: 0x9,
        subnet_local: true,
        ack_timeout: wait(19),
    }
}

#[test]
fn a_request() {
    let req = Req {
        local_id: 0xa1a2_a3a4,
        service_id: ServiceId(0xb1b2_b3b4_b5b6_b7b8),
        guid: 0xc1c2_c3c4_c5c6_c7c8,
        queue_key: 0xd1d2_d3d4,
        queue_pair: QpNumber::new(0xe1_e2e3),
        responder_resources: 0x11,
        initiator_depth: 0x22,
        remote_timeout: wait(0b10100),
        service: Service::Unreliable,
        flow_control: true,
        starting_psn: Psn::new(0xf1_f2f3),
        local_timeout: wait(0b10010),
        retries: 5,
        partition_key: 0x9876,
        mtu: 4,
        rnr_retries: 6,
        cm_retries: 15,
        shared_queue: true,
        path: path(1),
        alternate: path(2),
        private_data: [0xee; 92],
    };
    let bytes = mad(
        0x10,
        &[
            (0, &[0xa1, 0xa2, 0xa3, 0xa4]),
            (8, &[0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8]),
            (16, &[0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8]),
            (28, &[0xd1, 0xd2, 0xd3, 0xd4]),
            (32, &[0xe1, 0xe2, 0xe3, 0x11]),
            (39, &[0x22]),
            // Remote timeout 10100, service 01, flow control 1.
            (43, &[0b1010_0011]),
            (44, &[0xf1, 0xf2, 0xf3]),
            // Local timeout 10010, retries 101.
            (47, &[0b1001_0101]),
            (48, &[0x98, 0x76]),
            // Path MTU 0100, no RDC, RNR retries 110.
            (50, &[0b0100_0110]),
            // CM retries 1111, shared queue 1, no extended service.
            (51, &[0b1111_1000]),
            (52, &[0x11, 0x01, 0x22, 0x01]),
            (56, &[0x31; 16]),
            (72, &[0x41; 16]),
            (
                88,
                &[0x54, 0x32, 0x10, 0x2a, 0x66, 0x77, 0b1001_1000, 19 << 3],
            ),
            (96, &[0x11, 0x02, 0x22, 0x02]),
            (100, &[0x32; 16]),
            (116, &[0x42; 16]),
            (
                132,
                &[0x54, 0x32, 0x10, 0x2a, 0x66, 0x77, 0b1001_1000, 19 << 3],
            ),
        ],
        (140, 0xee),
    );
    assert_is(&Message::Req(req), &bytes);
}

#[test]
fn a_reply() {
    let rep = Rep {
        local_id: 0xa1a2_a3a4,
        remote_id: 0xb1b2_b3b4,
        queue_key: 0xc1c2_c3c4,
        queue_pair: QpNumber::new(0xd1_d2d3),
        starting_psn: Psn::new(0xe1_e2e3),
        responder_resources: 0x11,
        initiator_depth: 0x22,
        ack_delay: wait(0b10011),
        failover: 2,
        flow_control: true,
        rnr_retries: 5,
        shared_queue: true,
        guid: 0xf1f2_f3f4_f5f6_f7f8,
        private_data: [0xee; 196],
    };
    let bytes = mad(
        0x13,
        &[
            (0, &[0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4]),
            (8, &[0xc1, 0xc2, 0xc3, 0xc4, 0xd1, 0xd2, 0xd3]),
            (20, &[0xe1, 0xe2, 0xe3]),
            (24, &[0x11, 0x22]),
            // Delay 10011, failover 10, flow control 1; RNR retries 101, shared queue 1.
            (26, &[0b1001_1101, 0b1011_0000]),
            (28, &[0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8]),
        ],
        (36, 0xee),
    );
    assert_is(&Message::Rep(rep), &bytes);
}

#[test]
fn messages_with_little_more_than_names() {
    let (local_id, remote_id) = (0xa1a2_a3a4, 0xb1b2_b3b4);
    let names: (usize, &[u8]) = (0, &[0xa1, 0xa2, 0xa3, 0xa4, 0xb1, 0xb2, 0xb3, 0xb4]);
    let mra = Mra {
        local_id,
        remote_id,
        message: Answered::Rep,
        timeout: wait(0b10101),
        private_data: [0xee; 222],
    };
    let fields = [names, (8, &[0b0100_0000, 0b1010_1000])];
    assert_is(&Message::Mra(mra), &mad(0x11, &fields, (10, 0xee)));
    let rej = Rej {
        local_id,
        remote_id,
        message: Answered::Other,
        information_length: 72,
        reason: Reason::CONSUMER,
        information: [0xdd; 72],
        private_data: [0xee; 148],
    };
    let fields = [
        names,
        (8, &[0b1000_0000, 72 << 1, 0, 28]),
        (12, &[0xdd; 72]),
    ];
    assert_is(&Message::Rej(rej), &mad(0x12, &fields, (84, 0xee)));
    let rtu = Rtu {
        local_id,
        remote_id,
        private_data: [0xee; 224],
    };
    assert_is(&Message::Rtu(rtu), &mad(0x14, &[names], (8, 0xee)));
    let dreq = Dreq {
        local_id,
        remote_id,
        remote_pair: QpNumber::new(0xc1_c2c3),
        private_data: [0xee; 220],
    };
    let fields = [names, (8, &[0xc1, 0xc2, 0xc3])];
    assert_is(&Message::Dreq(dreq), &mad(0x15, &fields, (12, 0xee)));
    let drep = Drep {
        local_id,
        remote_id,
        private_data: [0xee; 224],
    };
    assert_is(&Message::Drep(drep), &mad(0x16, &[names], (8, 0xee)));
}

#[test]
fn a_question_and_its_answer() {
    let service_id = ServiceId(0xb1b2_b3b4_b5b6_b7b8);
    let question = SidrReq {
        request_id: 0xa1a2_a3a4,
        partition_key: 0x9876,
        service_id,
        private_data: [0xee; 216],
    };
    let fields: [(usize, &[u8]); 2] = [
        (0, &[0xa1, 0xa2, 0xa3, 0xa4, 0x98, 0x76]),
        (8, &[0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8]),
    ];
    assert_is(&Message::SidrReq(question), &mad(0x17, &fields, (16, 0xee)));
    let answer = SidrRep {
        request_id: 0xa1a2_a3a4,
        status: SidrStatus::REJECTED,
        queue_pair: QpNumber::new(0xc1_c2c3),
        service_id,
        queue_key: 0x0123_4567,
        private_data: [0xee; 136],
    };
    let fields: [(usize, &[u8]); 4] = [
        (0, &[0xa1, 0xa2, 0xa3, 0xa4, 2]),
        (8, &[0xc1, 0xc2, 0xc3]),
        (12, &[0xb1, 0xb2, 0xb3, 0xb4, 0xb5, 0xb6, 0xb7, 0xb8]),
        (20, &[0x01, 0x23, 0x45, 0x67]),
    ];
    assert_is(&Message::SidrRep(answer), &mad(0x18, &fields, (96, 0xee)));
}

#[test]
fn the_header_of_the_ip_service() {
    let header = IpHeader {
        source_port: 0xabcd,
        source: IpAddr::V4(Ipv4Addr::new(10, 1, 2, 3)),
        destination: IpAddr::V4(Ipv4Addr::new(10, 4, 5, 6)),
    };
    let mut bytes = [0; 36];
    bytes[1..4].copy_from_slice(&[0x40, 0xab, 0xcd]);
    bytes[16..20].copy_from_slice(&[10, 1, 2, 3]);
    bytes[32..36].copy_from_slice(&[10, 4, 5, 6]);
    assert_eq!(header.emit(), Ok(bytes));
    assert_eq!(IpHeader::parse(&bytes), Ok((header, &[][..])));
    let whole: [u8; 92] = header.before(b"said").expect("there is room");
    assert_eq!((&whole[..36], &whole[36..40]), (&bytes[..], &b"said"[..]));
    assert!(header.before::<92>(&[1; 57]).is_err());

    let six = IpHeader {
        source: "2001:db8::1".parse().expect("an address"),
        destination: "fe80::2".parse().expect("an address"),
        ..header
    };
    let mut bytes = [0; 36];
    bytes[1..8].copy_from_slice(&[0x60, 0xab, 0xcd, 0x20, 0x01, 0x0d, 0xb8]);
    (bytes[19], bytes[20], bytes[21], bytes[35]) = (1, 0xfe, 0x80, 2);
    assert_eq!(six.emit(), Ok(bytes));
    assert_eq!(IpHeader::parse(&bytes), Ok((six, &[][..])));
    let mixed = IpHeader {
        source: header.source,
        ..six
    };
    assert!(mixed.emit().is_err());
    for (at, value) in [(0, 0x01), (1, 0x50)] {
        let mut other = bytes;
        other[at] = value;
        assert!(matches!(IpHeader::parse(&other), Err(Malformed::Field(..))));
    }
}

#[test]
fn services_are_port_spaces_and_ports() {
    let service = ServiceId::of_port(PortSpace::TCP, 7174);
    assert_eq!(service, ServiceId(0x0106_1c06));
    assert_eq!(service.port(), Some((PortSpace::TCP, 7174)));
    assert_eq!(ServiceId(1 << 32).port(), None);
}

#[test]
fn gids_are_addresses() {
    let four = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 9));
    let mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 192, 0, 2, 9];
    assert_eq!(gid_of(four), mapped);
    for address in [four, "fe80::1".parse().expect("an address")] {
        assert_eq!(address_of(gid_of(address)), address);
    }
}

#[test]
fn times_double() {
    let ns = |exponent| wait(exponent).duration().as_ns();
    assert_eq!((ns(0), ns(1), ns(20)), (4_096, 8_192, 4_294_967_296));
    assert_eq!(Wait::new(32), None);
}

#[test]
fn what_is_something_else_is_refused() {
    let right = mad(0x14, &[], (8, 0));
    assert!(Message::parse(&right).is_ok());
    assert_eq!(Message::parse(&right[..255]), Err(Malformed::Length(255)));
    // Base version, class, class version, methods (one unknown, one that only asks), LAP and APR.
    for (at, value) in [
        (0, 2),
        (1, 4),
        (2, 1),
        (3, 2),
        (3, 1),
        (17, 0x19),
        (17, 0x1a),
    ] {
        let mut other = right;
        other[at] = value;
        let parsed = Message::parse(&other);
        assert!(matches!(parsed, Err(Malformed::Header(..))), "{parsed:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let req = Req::to(ServiceId(1));
    let wide = QpNumber::new(1 << 24);
    let too_much = [
        Req {
            queue_pair: wide,
            ..req.clone()
        },
        Req {
            retries: 8,
            ..req.clone()
        },
        Req {
            mtu: 16,
            ..req.clone()
        },
        Req {
            cm_retries: 16,
            ..req.clone()
        },
        Req {
            rnr_retries: 8,
            ..req.clone()
        },
        Req {
            path: Path {
                flow_label: 1 << 20,
                ..Path::default()
            },
            ..req
        },
    ];
    for req in too_much {
        let emitted = Message::Req(req).emit(0);
        assert!(matches!(emitted, Err(Malformed::Field(..))));
    }
}
