//! Packets that nobody of good will sends: whatever comes from a raw socket, only what is permitted is touched.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::net::{IpAddr, UdpSocket};
use std::time::{Duration, Instant};

use common::{End, address, end_with};
use fairlane_softnic::{
    Connection, IcrcMode, Modify, Psn, QpNumber, Region, Rights, Sandbox, Sending, State,
};
use fairlane_wire::{
    Aeth, AtomicEth, Bth, Datagram, Extension, ExtensionKind, Ieth, ImmDt, Network, Opcode, Packet,
    Reth, Syndrome, Udp,
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
    let other = device.allocate_domain().unwrap();
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

fn attacker(scene: &Scene) -> IpAddr {
    scene.socket.local_addr().unwrap().ip()
}

fn bytes(scene: &Scene, packet: &Packet<'_>) -> Option<Vec<u8>> {
    let mut udp = Udp::new(PORT);
    udp.source_port = 4791;
    let datagram = Datagram {
        network: Network::between(attacker(scene), scene.end.device.address()).unwrap(),
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
    let until = Instant::now() + common::LONG;
    while Instant::now() < until {
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
            let mut sandbox = Sandbox::new();
            sandbox.take_all(&bytes);
            assert!(sandbox.is_untouched());
        }
    }
    assert!(seeds > 10, "{seeds}");
}

/// What a packet of the peer carries, for a sandbox.
fn carried(bth: Bth, extension: Extension, payload: &[u8]) -> Option<Vec<u8>> {
    let mut bth = bth;
    bth.pad_count = (payload.len().wrapping_neg() % 4) as u8;
    let address = |last| IpAddr::from([10, 0, 0, last]);
    let datagram = Datagram {
        network: Network::between(address(2), address(1))?,
        udp: Udp::new(PORT),
        packet: Packet::new(bth, extension, payload),
    };
    let mut buffer = vec![0; 9000];
    let length = datagram.emit(&mut buffer).ok()?;
    Some(buffer[28..length].to_vec())
}

const fn reth(key: u32, address: u64, length: u32) -> Extension {
    Extension::Rdma(Reth {
        address,
        key,
        length,
    })
}

/// The window of a sandbox.
const WINDOW: (u32, u64) = (0x305, 0x3400);

#[test]
fn a_window_lets_in_what_is_inside_of_it() {
    for (offset, inside) in [(0, true), (1016, true), (1017, false), (u64::MAX, false)] {
        let mut sandbox = Sandbox::new();
        let bth = Bth::new(Opcode::RcWriteOnly, QpNumber::new(2), Psn::new(0));
        let place = reth(WINDOW.0, WINDOW.1.wrapping_add(offset), 8);
        sandbox.take(&carried(bth, place, &[7; 8]).unwrap());
        let written = sandbox.window().iter().filter(|byte| **byte == 7).count();
        assert_eq!(written, if inside { 8 } else { 0 }, "from {offset} on");
        assert!(sandbox.is_untouched());
    }
    // The key that it was made with, before it was bound, and that of its region.
    for key in [WINDOW.0 - 1, 0x203] {
        let mut sandbox = Sandbox::new();
        let bth = Bth::new(Opcode::RcWriteOnly, QpNumber::new(2), Psn::new(0));
        sandbox.take(&carried(bth, reth(key, WINDOW.1, 8), &[7; 8]).unwrap());
        assert!(sandbox.is_untouched() && sandbox.window().iter().all(|byte| *byte == 0));
    }
}

/// A packet for any of a sandbox's queue pairs, that names any of its keys.
fn visit() -> impl Strategy<Value = Vec<u8>> {
    let opcode = prop::sample::select(Opcode::ALL.to_vec());
    let keys = [1, 0x102, 0x203, 0x304, 0x305, 0x306];
    let key = prop::sample::select(keys.to_vec());
    let address = prop_oneof![
        (0_u64..0x1000).prop_map(|offset| 0x3000 + offset),
        (0_u64..0x1000).prop_map(|offset| 0x1000 + offset),
        any::<u64>(),
    ];
    let place = (key, address, prop_oneof![0_u32..2048, Just(u32::MAX)]);
    let queue_key = prop_oneof![Just(0_u32), Just(0x8001_0000)];
    let payload = prop::collection::vec(any::<u8>(), 0..1024);
    let head = (opcode, 1_u32..8, 0_u32..6);
    (head, place, queue_key, payload).prop_filter_map(
        "headers contradict each other",
        |((opcode, number, psn), (key, address, length), queue_key, payload)| {
            let bth = Bth::new(opcode, QpNumber::new(number), Psn::new(psn));
            let extension = extension_for(opcode, (key, address, length), queue_key)?;
            let payload = if opcode.has_payload() {
                &payload[..]
            } else {
                &[]
            };
            carried(bth, extension, payload)
        },
    )
}

/// The extension headers of an opcode.
fn extension_for(
    opcode: Opcode,
    (key, address, length): (u32, u64, u32),
    queue_key: u32,
) -> Option<Extension> {
    let (data, reth) = (
        ImmDt { data: key },
        Reth {
            address,
            key,
            length,
        },
    );
    let deth = fairlane_wire::Deth {
        queue_key,
        source: QpNumber::new(key & 0xff),
    };
    let aeth = Aeth {
        syndrome: Syndrome::ACK,
        msn: length & 0xff,
    };
    Some(match opcode.extension() {
        ExtensionKind::None => Extension::None,
        ExtensionKind::Immediate => Extension::Immediate(data),
        ExtensionKind::Invalidate => Extension::Invalidate(Ieth { key }),
        ExtensionKind::Rdma => Extension::Rdma(reth),
        ExtensionKind::RdmaImmediate => Extension::RdmaImmediate(reth, data),
        ExtensionKind::Acknowledge => Extension::Acknowledge(aeth),
        ExtensionKind::Datagram => Extension::Datagram(deth),
        ExtensionKind::DatagramImmediate => Extension::DatagramImmediate(deth, data),
        ExtensionKind::Atomic => Extension::Atomic(AtomicEth {
            address: address & !7,
            key,
            swap_or_add: u64::MAX,
            compare: 0,
        }),
        ExtensionKind::AtomicAcknowledge | ExtensionKind::Cnp => return None,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Whatever comes to queue pairs with shared queues and windows, or to the one for management.
    #[test]
    fn visitors_of_every_queue_pair_stay_where_they_may_be(
        visits in prop::collection::vec(visit(), 1..40)
    ) {
        let mut sandbox = Sandbox::new();
        for bytes in &visits {
            sandbox.take(bytes);
        }
        prop_assert!(sandbox.is_untouched());
    }
}
