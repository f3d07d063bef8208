//! Packets that nobody of good will sends: whatever comes from a raw socket, only what is permitted is touched.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use common::{End, address, end_with};
use fairlane_softnic::{
    Connection, IcrcMode, Modify, Psn, QpNumber, Region, Rights, Sandbox, Sending, State,
};
use fairlane_wire::{
    Aeth, AtomicEth, Bth, Datagram, Extension, ExtensionKind, Ieth, ImmDt, Ipv4, Network, Opcode,
    Packet, Reth, Syndrome, Udp,
};
use proptest::prelude::*;

const PORT: u16 = 50_123;
const LENGTH: usize = 512;
/// The middle of memory, around which nothing may change.
const OPEN: std::ops::Range<usize> = 128..256;

/// A device under attack, an attacker's socket, and regions: one of which the middle is open for writing, and others.
struct Scene {
    end: End,
    pair: QpNumber,
    open: Region,
    closed: [Region; 3],
    socket: UdpSocket,
}

fn scene(icrc: IcrcMode) -> Scene {
    let end = end_with(|settings| settings.icrc = icrc);
    let attacker = address();
    let socket = UdpSocket::bind((attacker, 4791)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    let (device, domain) = (&end.device, end.domain);
    let pair = end.pair();
    let connection = Connection::new(attacker, QpNumber::new(0x77));
    device
        .modify(
            pair,
            &Modify::Init(Rights::REMOTE_WRITE | Rights::REMOTE_READ),
        )
        .unwrap();
    device
        .modify(pair, &Modify::ReadyToReceive(connection))
        .unwrap();
    device
        .modify(pair, &Modify::ReadyToSend(Sending::default()))
        .unwrap();
    let whole = device
        .allocate(domain, LENGTH, Rights::LOCAL_WRITE)
        .unwrap();
    let place = whole.address as *mut u8;
    // SAFETY: both regions live as long as the device, and nothing else touches their bytes.
    #[expect(unsafe_code, reason = "a region inside of another one")]
    let open = unsafe {
        let start = place.add(OPEN.start);
        let address = start.addr() as u64;
        let rights = Rights::LOCAL_WRITE | Rights::REMOTE_WRITE;
        device.register(domain, (start, OPEN.len()), address, rights)
    };
    let other = device.allocate_domain();
    let closed = [
        whole,
        device
            .allocate(domain, LENGTH, Rights::LOCAL_WRITE | Rights::REMOTE_READ)
            .unwrap(),
        device.allocate(other, LENGTH, Rights::ALL).unwrap(),
    ];
    Scene {
        open: open.unwrap(),
        end,
        pair,
        closed,
        socket,
    }
}

/// A packet, and whether its ICRC is right.
#[derive(Clone, Debug)]
struct Attack {
    opcode: Opcode,
    psn: u32,
    region: usize,
    offset: i64,
    length: u32,
    key: u32,
    payload: Vec<u8>,
}

fn attack() -> impl Strategy<Value = Attack> {
    let opcodes = Opcode::ALL.to_vec();
    let requests: Vec<Opcode> = opcodes
        .iter()
        .copied()
        .filter(|code| code.has_reth())
        .collect();
    let opcode = prop_oneof![
        prop::sample::select(requests),
        prop::sample::select(opcodes)
    ];
    let offset = prop_oneof![-300_i64..300, Just(i64::MIN), Just(i64::MAX)];
    let length = prop_oneof![0_u32..300, Just(u32::MAX), Just(1 << 31)];
    let key = prop_oneof![4 => Just(0_u32), 1 => any::<u32>()];
    let payload = prop::collection::vec(any::<u8>(), 0..400);
    let psn = prop_oneof![4 => Just(0_u32), 1 => 0_u32..3, 1 => any::<u32>()];
    (opcode, psn, 0_usize..4, offset, length, (key, payload)).prop_map(
        |(opcode, psn, region, offset, length, (key, payload))| Attack {
            opcode,
            psn,
            region,
            offset,
            length,
            key,
            payload,
        },
    )
}

impl Attack {
    fn extension(&self, scene: &Scene) -> Extension {
        let regions = [
            &scene.open,
            &scene.closed[0],
            &scene.closed[1],
            &scene.closed[2],
        ];
        let region = regions[self.region];
        let (address, key) = (
            region.address.wrapping_add_signed(self.offset),
            region.remote_key ^ self.key,
        );
        let reth = Reth {
            address,
            key,
            length: self.length,
        };
        let atomic = AtomicEth {
            address,
            key,
            swap_or_add: u64::MAX,
            compare: 0,
        };
        let aeth = Aeth {
            syndrome: Syndrome::ACK,
            msn: 1,
        };
        match self.opcode.extension() {
            ExtensionKind::None => Extension::None,
            ExtensionKind::Immediate => Extension::Immediate(ImmDt { data: 1 }),
            ExtensionKind::Invalidate => Extension::Invalidate(Ieth { key }),
            ExtensionKind::Rdma => Extension::Rdma(reth),
            ExtensionKind::RdmaImmediate => Extension::RdmaImmediate(reth, ImmDt { data: 1 }),
            ExtensionKind::Acknowledge => Extension::Acknowledge(aeth),
            ExtensionKind::AtomicAcknowledge => {
                Extension::AtomicAcknowledge(aeth, Default::default())
            }
            ExtensionKind::Atomic => Extension::Atomic(atomic),
            ExtensionKind::Datagram => Extension::Datagram(Default::default()),
            ExtensionKind::DatagramImmediate => {
                Extension::DatagramImmediate(Default::default(), ImmDt { data: 1 })
            }
            ExtensionKind::Cnp => Extension::Cnp(fairlane_wire::Cnp),
        }
    }

    /// The payload of the UDP datagram.
    fn bytes(&self, scene: &Scene) -> Option<Vec<u8>> {
        let bth = Bth {
            ack_request: true,
            ..Bth::new(self.opcode, scene.pair, Psn::new(self.psn))
        };
        let payload: &[u8] = if self.opcode.has_payload() {
            &self.payload
        } else {
            &[]
        };
        bytes(scene, &Packet::new(bth, self.extension(scene), payload))
    }
}

fn attacker(scene: &Scene) -> Ipv4Addr {
    match scene.socket.local_addr().unwrap().ip() {
        std::net::IpAddr::V4(address) => address,
        std::net::IpAddr::V6(_) => unreachable!("it is bound to IPv4"),
    }
}

fn bytes(scene: &Scene, packet: &Packet<'_>) -> Option<Vec<u8>> {
    let mut udp = Udp::new(PORT);
    udp.source_port = 4791;
    let datagram = Datagram {
        network: Network::Ipv4(Ipv4::new(attacker(scene), scene.end.device.address())),
        udp,
        packet: *packet,
    };
    let mut buffer = vec![0; 2048];
    let length = datagram.emit(&mut buffer).ok()?;
    Some(buffer[28..length].to_vec())
}

fn send(scene: &Scene, bytes: &[u8]) {
    let to = (scene.end.device.address(), 4791);
    scene.socket.send_to(bytes, to).unwrap();
}

/// Waits until the device has looked at so many packets.
fn settle(scene: &Scene, packets: u64) {
    for _ in 0..20_000 {
        let counters = scene.end.device.counters();
        let seen = counters.rcvd_pkts + counters.rx_dropped + counters.rx_icrc_encapsulated;
        if seen >= packets {
            return;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
    panic!("the device has stopped looking");
}

/// Nothing changed but the open middle.
fn assert_untouched(scene: &Scene) {
    for (at, region) in scene.closed.iter().enumerate() {
        let bytes = scene.end.bytes(region);
        let changed = bytes.iter().enumerate().filter(|(_, byte)| **byte != 0);
        let outside: Vec<_> = changed
            .filter(|(place, _)| at != 0 || !OPEN.contains(place))
            .collect();
        assert!(outside.is_empty(), "region {at}: {outside:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn only_what_is_permitted_is_touched(attacks in prop::collection::vec(attack(), 1..12)) {
        let scene = scene(IcrcMode::Strict);
        let mut sent = 0;
        for attack in &attacks {
            if let Some(bytes) = attack.bytes(&scene) {
                send(&scene, &bytes);
                sent += 1;
            }
        }
        settle(&scene, sent);
        prop_assert_eq!(scene.end.device.counters().rx_icrc_encapsulated, 0);
        assert_untouched(&scene);
    }

    #[test]
    fn bytes_that_are_no_packet_do_nothing(
        packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..200), 1..20),
    ) {
        // Every packet is looked at, whatever its ICRC.
        let scene = scene(IcrcMode::Ignore);
        for bytes in &packets {
            send(&scene, bytes);
        }
        settle(&scene, packets.len() as u64);
        assert_untouched(&scene);
    }
}

/// What the device answers to a request that it refuses.
fn answer(request: impl FnOnce(&Scene) -> (Opcode, Extension, Vec<u8>)) -> (Syndrome, State) {
    let scene = scene(IcrcMode::Strict);
    let (opcode, extension, payload) = request(&scene);
    let bth = Bth {
        ack_request: true,
        ..Bth::new(opcode, scene.pair, Psn::new(0))
    };
    let packet = bytes(&scene, &Packet::new(bth, extension, &payload)).unwrap();
    send(&scene, &packet);
    let mut buffer = [0; 2048];
    let (length, _) = scene.socket.recv_from(&mut buffer).unwrap();
    let (packet, _) = Packet::parse(&buffer[..length]).unwrap();
    let aeth = packet.headers.extension.aeth().unwrap();
    assert_untouched(&scene);
    (aeth.syndrome, scene.end.device.state(scene.pair).unwrap())
}

fn write(region: fn(&Scene) -> &Region, moved: u64, length: usize) -> Syndrome {
    let (syndrome, state) = answer(|scene| {
        let region = region(scene);
        let reth = Reth {
            address: region.address.wrapping_add(moved),
            key: region.remote_key,
            length: length as u32,
        };
        (
            Opcode::RcWriteOnly,
            Extension::Rdma(reth),
            vec![0xee; length],
        )
    });
    let good = matches!(syndrome, Syndrome::Ack { .. });
    assert_eq!(state == State::ReadyToSend, good);
    syndrome
}

#[test]
fn refusals_have_the_right_code() {
    use fairlane_wire::NakCode::{InvalidRequest, RemoteAccess};
    let length = OPEN.len();
    assert!(matches!(
        write(|scene| &scene.open, 0, length),
        Syndrome::Ack { .. }
    ));
    let denied = Syndrome::Nak(RemoteAccess);
    assert_eq!(write(|scene| &scene.open, 1, length), denied);
    assert_eq!(write(|scene| &scene.open, u64::MAX, 1), denied);
    assert_eq!(write(|scene| &scene.closed[0], 0, 1), denied);
    assert_eq!(write(|scene| &scene.closed[1], 0, 1), denied);
    assert_eq!(write(|scene| &scene.closed[2], 0, 1), denied);
    let odd = answer(|scene| {
        let reth = Reth {
            address: scene.open.address,
            key: scene.open.remote_key,
            length: 64,
        };
        (Opcode::RcWriteOnly, Extension::Rdma(reth), vec![0xee; 63])
    });
    assert_eq!(odd, (Syndrome::Nak(InvalidRequest), State::Error));
    let (rnr, state) = answer(|_| (Opcode::RcSendOnly, Extension::None, vec![1; 8]));
    assert!(matches!(rnr, Syndrome::RnrNak { .. }));
    assert_eq!(state, State::ReadyToSend);
}

#[test]
fn packets_of_others_are_dropped() {
    let scene = scene(IcrcMode::Strict);
    let stranger = UdpSocket::bind((address(), 4791)).unwrap();
    let bth = Bth::new(Opcode::RcSendOnly, scene.pair, Psn::new(0));
    let packet = bytes(&scene, &Packet::new(bth, Extension::None, &[])).unwrap();
    // Its ICRC has the address of the attacker.
    stranger
        .send_to(&packet, (scene.end.device.address(), 4791))
        .unwrap();
    settle(&scene, 1);
    assert_eq!(scene.end.device.counters().rx_icrc_encapsulated, 1);
    let foreign = Bth {
        partition_key: fairlane_units::TenantId::new(0x8001),
        ..bth
    };
    let packet = bytes(&scene, &Packet::new(foreign, Extension::None, &[])).unwrap();
    send(&scene, &packet);
    settle(&scene, 2);
    assert_eq!(scene.end.device.counters().rx_dropped, 1);
}

/// What the fuzz target does with its seeds, whole and altered.
#[test]
fn seeds_of_the_fuzz_target_touch_nothing_closed() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/softnic");
    let mut seeds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        seeds += 1;
        for altered in 0..bytes.len().min(80) {
            let mut bytes = bytes.clone();
            bytes[altered] ^= 0x11;
            let (mut sandbox, mut rest) = (Sandbox::new(), &bytes[..]);
            while let Some((length, behind)) = rest.split_first_chunk() {
                let length = usize::from(u16::from_be_bytes(*length)).min(behind.len());
                sandbox.take(&behind[..length]);
                rest = &behind[length..];
            }
            assert!(sandbox.is_untouched());
        }
    }
    assert!(seeds > 10, "{seeds}");
}
