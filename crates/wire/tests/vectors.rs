//! Packets of other implementations, NICs among them, byte by byte.

use std::net::{Ipv4Addr, Ipv6Addr};

use fairlane_units::{Psn, QpNumber};
use fairlane_wire::{
    Aeth, Bth, Cnp, Datagram, Deth, Ecn, Ethernet, Extension, Field, Frame, Icrc, Ipv4, Ipv6,
    MacAddress, NakCode, Network, NextHeader, Opcode, Packet, Reason, Reth, RnrTimer, Syndrome,
    TrafficClass, Udp, VlanTag,
};

/// Bytes from hexadecimal digits; white space is ignored.
fn bytes(hex: &str) -> Vec<u8> {
    let digits = |c: char| c.to_digit(16).expect("a hexadecimal digit") as u8;
    let digits: Vec<u8> = hex
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(digits)
        .collect();
    digits
        .chunks_exact(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

/// That a frame is read as expected, and that what is expected is written with the same bytes.
#[track_caller]
fn assert_frame(frame: &[u8], expected: &Frame<'_>) {
    assert_eq!(Frame::parse(frame).as_ref(), Ok(expected));
    let mut buffer = vec![0xff; frame.len()];
    assert_eq!(expected.emit(&mut buffer), Ok(frame.len()));
    assert_eq!(buffer, frame);
    let length = expected.datagram.packet.length();
    assert_eq!(expected.datagram.emit_payload(&mut buffer), Ok(length));
    assert_eq!(buffer[..length], frame[frame.len() - length..]);
}

/// A header as NICs send it: migrated.
fn migrated(opcode: Opcode, destination: u32, psn: u32) -> Bth {
    Bth {
        migration: true,
        ..Bth::new(opcode, QpNumber::new(destination), Psn::new(psn))
    }
}

/// A frame of the ConnectX in the simulation of RoCEv2 of LiteEth (github.com/enjoy-digital/liteeth),
/// on VLAN 1.
fn connectx(identification: u16, packet: Packet<'_>) -> Frame<'_> {
    let source = MacAddress([0xb8, 0x59, 0x9f, 0x07, 0x7e, 0x2a]);
    let destination = MacAddress([0x10, 0xe2, 0xd5, 0x00, 0x00, 0x00]);
    let (from, to) = (
        Ipv4Addr::new(192, 170, 1, 2),
        Ipv4Addr::new(192, 170, 1, 50),
    );
    Frame {
        ethernet: Ethernet {
            tag: Some(VlanTag {
                vlan: 1,
                ..VlanTag::default()
            }),
            ..Ethernet::ipv4(source, destination)
        },
        datagram: Datagram {
            network: Network::Ipv4(Ipv4 {
                identification,
                ..Ipv4::new(from, to)
            }),
            udp: Udp::new(64_079),
            packet,
        },
    }
}

#[test]
fn acknowledgement_of_a_connectx() {
    let frame = bytes(
        "10e2d5000000 b8599f077e2a 8100 0001 0800
         450200309d4e4000401119e4c0aa0102c0aa0132 fa4f12b7001c0000
         1140ffff00deaded00cf7bf7 00000002 59caeaf7",
    );
    let bth = migrated(Opcode::RcAcknowledge, 0xde_aded, 0xcf_7bf7);
    let aeth = Aeth {
        syndrome: Syndrome::Ack { credits: 0 },
        msn: 2,
    };
    let packet = Packet::new(bth, Extension::Acknowledge(aeth), &[]);
    assert_frame(&frame, &connectx(0x9d4e, packet));
}

#[test]
fn send_of_a_connectx() {
    let frame = bytes(
        "10e2d5000000b8599f077e2a810000010800450200ec9d4d400040111929c0aa0102c0aa0132fa4f12b700d8
         00000440ffff00deaded80fedfed001eeac8000055f5d63c3020001eecca000055f5d63c3820001eeecc0000
         55f5d63c4020001ef0ce000055f5d63c4820001ef2d0000055f5d63c5020001ef4d2000055f5d63c5820001e
         f6d4000055f5d63c6020001ef8d6000055f5d63c6820001efad8000055f5d63c7030001efcda000055f5d63c
         7830001efedc000055f5d63c8030001f00de000055f5d63c8830001f02e0000055f5d63c9030001f04e20000
         55f5d63c9830001f06e4000055f5d63ca030001f08e6000055f5d63ca8301e083ed6",
    );
    let bth = Bth {
        ack_request: true,
        ..migrated(Opcode::RcSendOnly, 0xde_aded, 0xfe_dfed)
    };
    let packet = Packet::new(bth, Extension::None, &frame[58..250]);
    assert_frame(&frame, &connectx(0x9d4d, packet));
}

/// A message of the connection manager.
#[test]
fn datagram_of_a_connectx() {
    let frame = bytes(
        "10e2d5000000b8599f077e2a810000010800450201349d404000401118eec0aa0102c0aa0132fa4f12b70120
         00006440ffff00000001000001cc800100000000000101070203000000000000000357feb735001000000000
         000035b7fe57000015b30000000001066b13b8599f0300077e2a000000000000000000014410000000100000
         00b0cf7bf6b7ffff37f0ffffffff00000000000000000000ffffc0aa010200000000000000000000ffffc0aa
         01325ba590000040009000000000000000000000000000000000000000000000000000000000000000000000
         000000000000000000000040affa000000000000000000000000c0aa0102000000000000000000000000c0aa
         0132000000000000000000000000000000000000000000000000000000000000000000000000000000000000
         00000000000000000000000000002fcc9e99",
    );
    let bth = migrated(Opcode::UdSendOnly, 1, 0x1cc);
    let deth = Deth {
        queue_key: 0x8001_0000,
        source: QpNumber::new(1),
    };
    let packet = Packet::new(bth, Extension::Datagram(deth), &frame[66..322]);
    assert_frame(&frame, &connectx(0x9d40, packet));
}

/// Congestion notification of a ConnectX-4 Lx (Scapy, test/contrib/roce.uts).
#[test]
fn notification_of_a_connectx() {
    let frame = bytes(
        "e41d2dab2bc2 7cfe90643b32 0800 45c2003c718c4000401191610a0011010a001201
         000012b700280000 8100ffff4000011800000000 00000000000000000000000000000000 82fd002a",
    );
    let source = MacAddress([0x7c, 0xfe, 0x90, 0x64, 0x3b, 0x32]);
    let destination = MacAddress([0xe4, 0x1d, 0x2d, 0xab, 0x2b, 0xc2]);
    let network = Ipv4 {
        traffic_class: TrafficClass {
            dscp: 48,
            ecn: Ecn::Capable0,
        },
        identification: 0x718c,
        ..Ipv4::new(Ipv4Addr::new(10, 0, 17, 1), Ipv4Addr::new(10, 0, 18, 1))
    };
    let bth = Cnp::bth(QpNumber::new(0x118), Bth::DEFAULT_PARTITION);
    let expected = Frame {
        ethernet: Ethernet::ipv4(source, destination),
        datagram: Datagram {
            network: Network::Ipv4(network),
            udp: Udp::new(0),
            packet: Packet::new(bth, Extension::Cnp(Cnp), &[]),
        },
    };
    assert_frame(&frame, &expected);
}

/// A SEND with two pad bytes and a UDP checksum (Scapy, test/contrib/roce.uts).
#[test]
fn unreliable_send() {
    let frame = bytes(
        "248a07a8fa22 248a07a8fa22 0800 45010040047840004011b4d5c0a80007c0a80007 c00012b7002caca2
         2460ffff000000d300cf1710 4630818be28935d90e9a95505401be885e500000 78f353f3",
    );
    let host = MacAddress([0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22]);
    let address = Ipv4Addr::new(192, 168, 0, 7);
    let network = Ipv4 {
        traffic_class: TrafficClass {
            dscp: 0,
            ecn: Ecn::Capable1,
        },
        identification: 1144,
        ..Ipv4::new(address, address)
    };
    let bth = migrated(Opcode::UcSendOnly, 211, 13_571_856);
    let expected = Frame {
        ethernet: Ethernet::ipv4(host, host),
        datagram: Datagram {
            network: Network::Ipv4(network),
            udp: Udp {
                checksum: 0xaca2,
                ..Udp::new(49_152)
            },
            packet: Packet::new(bth, Extension::None, &frame[54..72]),
        },
    };
    assert_frame(&frame, &expected);
}

/// A WRITE and a READ request of the driver of an FPGA, whose own tests have these bytes: between
/// 192.168.2.1 and 192.168.2.2, fragments allowed, with a UDP checksum.
#[test]
fn write_and_read_request_of_a_driver() {
    let frame = |checksum, opcode, payload| {
        let bth = Bth::new(opcode, QpNumber::new(2), Psn::new(0));
        let reth = Reth {
            address: 0x1230,
            key: 0,
            length: 16,
        };
        let network = Ipv4 {
            traffic_class: TrafficClass::default(),
            identification: 1,
            dont_fragment: false,
            ..Ipv4::new(Ipv4Addr::new(192, 168, 2, 1), Ipv4Addr::new(192, 168, 2, 2))
        };
        Frame {
            ethernet: Ethernet::ipv4(
                MacAddress([0x7c, 0xb2, 0x7d, 0x62, 0xc1, 0xef]),
                MacAddress([0x12, 0x34, 0x56, 0x78, 0x9a, 0xbc]),
            ),
            datagram: Datagram {
                network: Network::Ipv4(network),
                udp: Udp {
                    checksum,
                    ..Udp::new(500)
                },
                packet: Packet::new(bth, Extension::Rdma(reth), payload),
            },
        }
    };
    let write = bytes(
        "123456789abc 7cb27d62c1ef 0800 4500004c000100004011f54cc0a80201c0a80202 01f412b70038ffa6
         0a00ffff0000000200000000 00000000000012300000000000000010
         000102030405060708090a0b0c0d0e0f ca47470e",
    );
    assert_frame(&write, &frame(0xffa6, Opcode::RcWriteOnly, &write[70..86]));
    let read = bytes(
        "123456789abc 7cb27d62c1ef 0800 4500003c000100004011f55cc0a80201c0a80202 01f412b700286763
         0c00ffff0000000200000000 00000000000012300000000000000010 6e0f71ea",
    );
    assert_frame(&read, &frame(0x6763, Opcode::RcReadRequest, &[]));
}

/// Between two hosts of 2001:db8::/32 (the tests of RoCEv2 in github.com/minhuw/gem5-cachelens).
fn over_ipv6(hosts: [u8; 2], udp: Udp, packet: Packet<'_>) -> Frame<'_> {
    let [source, destination] = hosts.map(|host| MacAddress([2, 0, 0, 0, 0, host]));
    let [from, to] = hosts.map(|host| Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()));
    Frame {
        ethernet: Ethernet::ipv6(source, destination),
        datagram: Datagram {
            network: Network::Ipv6(Ipv6 {
                traffic_class: TrafficClass::from_byte(0x2a),
                flow_label: 0x3_4567,
                ..Ipv6::new(from, to)
            }),
            udp,
            packet,
        },
    }
}

#[test]
fn send_over_ipv6() {
    let frame = bytes(
        "020000000002 020000000001 86dd 62a34567001c1140
         20010db8000000000000000000000001 20010db8000000000000000000000002
         c56a12b7001c7f22 0410ffff0001020380112230 deadbe00 9a3d6dbb",
    );
    let bth = Bth {
        ack_request: true,
        ..Bth::new(
            Opcode::RcSendOnly,
            QpNumber::new(0x01_0203),
            Psn::new(0x11_2230),
        )
    };
    let udp = Udp {
        checksum: 0x7f22,
        ..Udp::new(0xc56a)
    };
    let packet = Packet::new(bth, Extension::None, &[0xde, 0xad, 0xbe]);
    assert_frame(&frame, &over_ipv6([1, 2], udp, packet));
}

#[test]
fn acknowledgements_over_ipv6() {
    let timer = RnrTimer::new(25).expect("5 bits");
    for (tail, psn, syndrome) in [
        ("1f4455665fa51a5f", 0x11_2235, Syndrome::ACK),
        ("394455661da00355", 0x11_2233, Syndrome::RnrNak { timer }),
        (
            "60445566253c2651",
            0x11_2234,
            Syndrome::Nak(NakCode::SequenceError),
        ),
        (
            "61445566f072fad4",
            0x11_2235,
            Syndrome::Nak(NakCode::InvalidRequest),
        ),
        (
            "624455661edd4fc6",
            0x11_2235,
            Syndrome::Nak(NakCode::RemoteAccess),
        ),
        (
            "634455667bbaf37e",
            0x11_2235,
            Syndrome::Nak(NakCode::RemoteOperational),
        ),
    ] {
        let frame = bytes(&format!(
            "020000000001 020000000002 86dd 62a34567001c1140
             20010db8000000000000000000000002 20010db8000000000000000000000001
             c56a12b7001c0000 1100ffff000a0b0c 00{psn:06x} {tail}"
        ));
        let bth = Bth::new(
            Opcode::RcAcknowledge,
            QpNumber::new(0x0a_0b0c),
            Psn::new(psn),
        );
        let aeth = Aeth {
            syndrome,
            msn: 0x44_5566,
        };
        let packet = Packet::new(bth, Extension::Acknowledge(aeth), &[]);
        assert_frame(&frame, &over_ipv6([2, 1], Udp::new(0xc56a), packet));
    }
}

/// Captures of the first RoCE, where the BTH follows a GRH at once (Scapy, test/contrib/roce.uts): what
/// the ICRC leaves out of a GRH it leaves out of an IPv6 header.
#[test]
fn write_and_acknowledgement_behind_a_global_route_header() {
    let write = bytes(
        "6020000000281b40 00000000000000000000ffff0f000002 00000000000000000000ffff0f000002
         0a70ffff0000010a80a788bc 000055d4c0726000000047b300000005 0000000001 000000 e3d856bb",
    );
    let reth = Reth {
        address: 0x55d4_c072_6000,
        key: 0x47b3,
        length: 5,
    };
    let bth = Bth {
        ack_request: true,
        ..migrated(Opcode::RcWriteOnly, 0x10a, 0xa7_88bc)
    };
    let extension = Extension::Rdma(reth);
    assert_behind_grh(&write, Packet::new(bth, extension, &[0, 0, 0, 0, 1]));

    let acknowledgement = bytes(
        "6020000000141b40 00000000000000000000ffff0f000002 00000000000000000000ffff0f000002
         1140ffff0000010900a788c0 00000005 25f0c038",
    );
    let aeth = Aeth {
        syndrome: Syndrome::Ack { credits: 0 },
        msn: 5,
    };
    let bth = migrated(Opcode::RcAcknowledge, 0x109, 0xa7_88c0);
    let extension = Extension::Acknowledge(aeth);
    assert_behind_grh(&acknowledgement, Packet::new(bth, extension, &[]));
}

#[track_caller]
fn assert_behind_grh(bytes: &[u8], expected: Packet<'_>) {
    let (header, rest) = Ipv6::parse(bytes).expect("a GRH");
    assert_eq!(header.next_header, NextHeader::InfiniBand);
    let (packet, icrc) = Packet::parse(rest).expect("a packet");
    assert_eq!(packet, expected);
    assert_eq!(Icrc::verify(bytes), Ok(()));
    assert_eq!(Icrc::compute(&bytes[..bytes.len() - 4]), Ok(icrc));
    // It isn't RoCEv2.
    let error = Datagram::parse(bytes).expect_err("no UDP");
    assert_eq!(
        (error.field, error.reason),
        (Field::Protocol, Reason::Unsupported)
    );
}

/// The first 40 bytes of a UD receive, as Linux's Soft-RoCE fills them.
#[test]
fn headers_that_a_datagram_receive_holds() {
    let ipv4 = Ipv4::new(Ipv4Addr::new(192, 168, 0, 1), Ipv4Addr::new(192, 168, 0, 2));
    let mut grh = [0xff; Network::GRH_LENGTH];
    let rest = Network::Ipv4(ipv4).emit_grh(32, &mut grh);
    assert_eq!(rest.map(|rest| rest.len()), Ok(0));
    assert_eq!(grh[..20], [0; 20]);
    assert_eq!(
        Ipv4::parse(&[&grh[20..], &[0; 32]].concat()),
        Ok((ipv4, &[0; 32][..]))
    );

    let ipv6 = Ipv6::new(Ipv6Addr::LOCALHOST, Ipv6Addr::LOCALHOST);
    let rest = Network::Ipv6(ipv6).emit_grh(32, &mut grh);
    assert_eq!(rest.map(|rest| rest.len()), Ok(0));
    assert_eq!(
        Ipv6::parse(&[&grh[..], &[0; 32]].concat()),
        Ok((ipv6, &[0; 32][..]))
    );
}
