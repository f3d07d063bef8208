//! Any packet of RoCEv2.

use std::net::{Ipv4Addr, Ipv6Addr};

use fairlane_units::{Psn, QpNumber, TenantId};
use fairlane_wire::{
    Aeth, AtomicAckEth, AtomicEth, Bth, Cnp, Datagram, Deth, Ethernet, Extension, ExtensionKind,
    Frame, Headers, Ieth, ImmDt, Ipv4, Ipv6, MacAddress, NakCode, Network, NextHeader, Opcode,
    Packet, Reth, RnrTimer, Syndrome, TrafficClass, Udp, VlanTag,
};
use proptest::prelude::*;

/// A frame that owns its payload.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    ethernet: Ethernet,
    network: Network,
    udp: Udp,
    bth: Bth,
    extension: Extension,
    payload: Vec<u8>,
}

impl Whole {
    /// The frame.
    pub(crate) fn frame(&self) -> Frame<'_> {
        let mut packet = Packet::new(self.bth, self.extension, &self.payload);
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
        let transport = (bth_of(opcode), extension(opcode.extension()), payload);
        (ethernet(), network(), udp(), transport).prop_map(
            |(mut ethernet, network, udp, (bth, extension, payload))| {
                ethernet.ethertype = network.ethertype();
                Whole {
                    ethernet,
                    network,
                    udp,
                    bth,
                    extension,
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
    (any::<[bool; 6]>(), numbers).prop_map(move |(flags, numbers)| {
        let [solicited, migration, fecn, becn, selective, ack_request] = flags;
        let (pad_count, partition_key, destination, psn) = numbers;
        Bth {
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
