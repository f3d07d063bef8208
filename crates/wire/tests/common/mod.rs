//! Any packet of RoCEv2.

use std::net::{Ipv4Addr, Ipv6Addr};

use fairlane_units::{Psn, QpNumber, TenantId};
use fairlane_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Cnp, Datagram, Deth, Ethernet, Extension, ExtensionKind,
    Frame, Headers, Hop, Ieth, ImmDt, Ipv4, Ipv6, MacAddress, NakCode, Network, NextHeader, Opcode,
    Packet, Reth, RnrTimer, Syndrome, Telemetry, TimeStamp, Traffic, TrafficClass, TrafficKind,
    Udp, VlanTag,
};
use proptest::prelude::*;

/// A header of traffic management that owns its bytes: as others may have written it.
#[derive(Clone, Debug)]
pub(crate) struct WholeTraffic {
    kind: TrafficKind,
    bytes: Vec<u8>,
}

impl WholeTraffic {
    /// The header.
    pub(crate) fn header(&self) -> Traffic<'_> {
        let (header, rest) = Traffic::parse(self.kind, &self.bytes).expect("it is a header");
        assert!(rest.is_empty());
        header
    }
}

/// A frame that owns its payload.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    ethernet: Ethernet,
    network: Network,
    udp: Udp,
    bth: Bth,
    extension: Extension,
    traffic: WholeTraffic,
    payload: Vec<u8>,
}

impl Whole {
    /// The frame.
    pub(crate) fn frame(&self) -> Frame<'_> {
        let packet = Packet::new(self.bth, self.extension, &self.payload);
        let mut packet = packet.with_traffic(self.traffic.header());
        if !self.bth.opcode.has_payload() {
            // Without payload, any pad count means nothing.
            packet.headers.bth.pad_count = self.bth.pad_count;
        }
        let datagram = Datagram {
            network: self.network,
            udp: self.udp,
            packet,
        };
        Frame {
            ethernet: self.ethernet,
            datagram,
        }
    }

    /// Its bytes.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut buffer = vec![0xff; self.frame().length()];
        let length = self.frame().emit(&mut buffer);
        assert_eq!(length, Ok(buffer.len()));
        buffer
    }
}

/// Any frame with up to 80 bytes of payload.
pub(crate) fn whole() -> impl Strategy<Value = Whole> {
    opcode().prop_flat_map(|opcode| {
        let most = if opcode.has_payload() { 80 } else { 0 };
        let payload = proptest::collection::vec(any::<u8>(), 0..=most);
        let extension = (extension(opcode.extension()), traffic_of(opcode));
        let transport = (bth_of(opcode), extension, payload);
        (ethernet(), network(), udp(), transport).prop_map(
            |(mut ethernet, network, udp, (bth, (extension, traffic), payload))| {
                ethernet.ethertype = network.ethertype();
                Whole {
                    ethernet,
                    network,
                    udp,
                    bth,
                    extension,
                    traffic,
                    payload,
                }
            },
        )
    })
}

pub(crate) fn opcode() -> impl Strategy<Value = Opcode> {
    proptest::sample::select(Opcode::ALL)
}

pub(crate) fn bth() -> impl Strategy<Value = Bth> {
    opcode().prop_flat_map(bth_of)
}

fn bth_of(opcode: Opcode) -> impl Strategy<Value = Bth> {
    let numbers = (0_u8..4, any::<u16>(), number24(), number24());
    (any::<[bool; 7]>(), numbers).prop_map(move |(flags, numbers)| {
        let [
            solicited,
            migration,
            fecn,
            becn,
            selective,
            ack_request,
            traffic,
        ] = flags;
        let may_have = opcode.traffic() != TrafficKind::None;
        let (pad_count, partition_key, destination, psn) = numbers;
        Bth {
            traffic: opcode == Opcode::RcReadFeedback || may_have && traffic,
            solicited,
            migration,
            pad_count,
            partition_key: TenantId::new(partition_key.into()),
            fecn,
            becn,
            selective,
            ack_request,
            ..Bth::new(opcode, QpNumber::new(destination), Psn::new(psn))
        }
    })
}

pub(crate) fn headers() -> impl Strategy<Value = Headers> {
    opcode().prop_flat_map(|opcode| {
        let parts = (bth_of(opcode), extension(opcode.extension()));
        parts.prop_map(|(bth, extension)| Headers { bth, extension })
    })
}

fn extension(kind: ExtensionKind) -> BoxedStrategy<Extension> {
    match kind {
        ExtensionKind::None => Just(Extension::None).boxed(),
        ExtensionKind::Immediate => immdt().prop_map(Extension::Immediate).boxed(),
        ExtensionKind::Invalidate => ieth().prop_map(Extension::Invalidate).boxed(),
        ExtensionKind::Rdma => reth().prop_map(Extension::Rdma).boxed(),
        ExtensionKind::RdmaImmediate => (reth(), immdt())
            .prop_map(|(reth, data)| Extension::RdmaImmediate(reth, data))
            .boxed(),
        ExtensionKind::Acknowledge => aeth().prop_map(Extension::Acknowledge).boxed(),
        ExtensionKind::AtomicAcknowledge => (aeth(), atomic_ack_eth())
            .prop_map(|(aeth, atomic)| Extension::AtomicAcknowledge(aeth, atomic))
            .boxed(),
        ExtensionKind::Atomic => atomic_eth().prop_map(Extension::Atomic).boxed(),
        ExtensionKind::Datagram => deth().prop_map(Extension::Datagram).boxed(),
        ExtensionKind::DatagramImmediate => (deth(), immdt())
            .prop_map(|(deth, data)| Extension::DatagramImmediate(deth, data))
            .boxed(),
        ExtensionKind::Cnp => Just(Extension::Cnp(Cnp)).boxed(),
    }
}

/// Any header of traffic management that the opcode may have.
fn traffic_of(opcode: Opcode) -> BoxedStrategy<WholeTraffic> {
    let none = Just(WholeTraffic {
        kind: TrafficKind::None,
        bytes: Vec::new(),
    });
    match opcode.traffic() {
        TrafficKind::None => none.boxed(),
        kind if opcode == Opcode::RcReadFeedback => traffic(kind).boxed(),
        kind => prop_oneof![none, traffic(kind)].boxed(),
    }
}

pub(crate) fn any_traffic() -> impl Strategy<Value = WholeTraffic> {
    let kinds = vec![TrafficKind::None, TrafficKind::Data, TrafficKind::Feedback];
    proptest::sample::select(kinds).prop_flat_map(traffic)
}

fn traffic(kind: TrafficKind) -> impl Strategy<Value = WholeTraffic> {
    let telemetry =
        (0..=Telemetry::MAX_HOPS, any::<[u8; 2]>()).prop_flat_map(|(room, reserved)| {
            let passed = prop_oneof![0..12_u8, any::<u8>()];
            let records = proptest::collection::vec(any::<u8>(), usize::from(room) * Hop::LENGTH);
            (passed, records).prop_map(move |(passed, records)| {
                let [first, second] = reserved;
                [&[room, passed, first, second], &records[..]].concat()
            })
        });
    let words = any::<([u8; 4], [u8; 4], [u8; 4])>();
    (words, telemetry).prop_map(move |((head, time, backlog), telemetry)| {
        let mut bytes = Vec::from(head);
        if head[0] & 0x40 != 0 {
            bytes.extend(time);
        }
        if head[0] & 0x10 != 0 && kind == TrafficKind::Data {
            bytes.extend(backlog);
        }
        if head[0] & 0x20 != 0 {
            bytes.extend(telemetry);
        }
        if kind == TrafficKind::None {
            bytes.clear();
        }
        WholeTraffic { kind, bytes }
    })
}

pub(crate) fn time_stamp() -> impl Strategy<Value = TimeStamp> {
    any::<u32>().prop_map(TimeStamp::new)
}

pub(crate) fn hop() -> impl Strategy<Value = Hop> {
    let numbers = (
        any::<u32>(),
        0..Hop::SENT_WRAP,
        0..=Hop::MAX_RATE,
        any::<u32>(),
    );
    (time_stamp(), numbers).prop_map(|(time, (port, sent, rate, queue))| Hop {
        port,
        time,
        sent,
        rate,
        queue,
    })
}

fn number24() -> impl Strategy<Value = u32> {
    0..1_u32 << 24
}

pub(crate) fn reth() -> impl Strategy<Value = Reth> {
    any::<(u64, u32, u32)>().prop_map(|(address, key, length)| Reth {
        address,
        key,
        length,
    })
}

pub(crate) fn aeth() -> impl Strategy<Value = Aeth> {
    let syndrome = prop_oneof![
        (0_u8..32).prop_map(|credits| Syndrome::Ack { credits }),
        (0_u8..32).prop_map(|code| Syndrome::RnrNak {
            timer: RnrTimer::new(code).expect("5 bits"),
        }),
        proptest::sample::select(&NakCode::ALL[..]).prop_map(Syndrome::Nak),
    ];
    (syndrome, number24()).prop_map(|(syndrome, msn)| Aeth { syndrome, msn })
}

pub(crate) fn atomic_eth() -> impl Strategy<Value = AtomicEth> {
    any::<(u64, u32, u64, u64)>().prop_map(|(address, key, swap_or_add, compare)| AtomicEth {
        address,
        key,
        swap_or_add,
        compare,
    })
}

pub(crate) fn atomic_ack_eth() -> impl Strategy<Value = AtomicAckEth> {
    any::<u64>().prop_map(|original| AtomicAckEth { original })
}

pub(crate) fn immdt() -> impl Strategy<Value = ImmDt> {
    any::<u32>().prop_map(|data| ImmDt { data })
}

pub(crate) fn ieth() -> impl Strategy<Value = Ieth> {
    any::<u32>().prop_map(|key| Ieth { key })
}

pub(crate) fn deth() -> impl Strategy<Value = Deth> {
    (any::<u32>(), number24()).prop_map(|(queue_key, source)| Deth {
        queue_key,
        source: QpNumber::new(source),
    })
}

pub(crate) fn ethernet() -> impl Strategy<Value = Ethernet> {
    let tag =
        (0_u8..8, any::<bool>(), 0_u16..4096).prop_map(|(priority, drop_eligible, vlan)| VlanTag {
            priority,
            drop_eligible,
            vlan,
        });
    let addresses = any::<([u8; 6], [u8; 6])>();
    (addresses, proptest::option::of(tag)).prop_map(|((source, destination), tag)| Ethernet {
        tag,
        ..Ethernet::ipv4(MacAddress(source), MacAddress(destination))
    })
}

pub(crate) fn ipv4() -> impl Strategy<Value = Ipv4> {
    let fields = any::<(u8, u16, bool, u8)>();
    (any::<(Ipv4Addr, Ipv4Addr)>(), fields).prop_map(|((source, destination), fields)| {
        let (traffic_class, identification, dont_fragment, ttl) = fields;
        Ipv4 {
            source,
            destination,
            traffic_class: TrafficClass::from_byte(traffic_class),
            identification,
            dont_fragment,
            ttl,
        }
    })
}

pub(crate) fn ipv6() -> impl Strategy<Value = Ipv6> {
    let fields = (any::<u8>(), 0_u32..1 << 20, any::<u8>());
    (any::<(Ipv6Addr, Ipv6Addr)>(), fields).prop_map(|((source, destination), fields)| {
        let (traffic_class, flow_label, hop_limit) = fields;
        Ipv6 {
            source,
            destination,
            traffic_class: TrafficClass::from_byte(traffic_class),
            flow_label,
            next_header: NextHeader::Udp,
            hop_limit,
        }
    })
}

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        ipv4().prop_map(Network::Ipv4),
        ipv6().prop_map(Network::Ipv6)
    ]
}

pub(crate) fn udp() -> impl Strategy<Value = Udp> {
    any::<(u16, u16)>().prop_map(|(source_port, checksum)| Udp {
        checksum,
        ..Udp::new(source_port)
    })
}
