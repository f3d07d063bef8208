//! The queue pair for management datagrams, and devices of IPv6.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::net::{IpAddr, Ipv6Addr};

use common::{End, Way, connected, end, end_at, target, whole};
use fairlane_softnic::{
    AsyncEvent, Connection, Error, IcrcMode, Interface, Operation, QpNumber, QueuePairOptions,
    Rights, SendRequest, Sending, Service, Status,
};

const MANAGEMENT: QpNumber = QpNumber::new(1);
/// Bytes of a management datagram.
const LENGTH: usize = 256;

/// The queue pair for management at an end, ready.
fn manager(end: &End) -> QpNumber {
    let pair = end.device.create_management_pair(&end.options()).unwrap();
    let nobody = Connection::new(end.device.address(), QpNumber::new(0));
    end.connect(pair, &nobody, &Sending::default());
    pair
}

fn datagram(to: &End, key: u32) -> Operation {
    Operation::Datagram {
        address: to.device.address(),
        destination: MANAGEMENT,
        queue_key: key,
        immediate: None,
    }
}

/// A management datagram from one end to another arrives with the header of its IP packet in front.
fn managers_talk(a: &End, b: &End) {
    assert_eq!([manager(a), manager(b)], [MANAGEMENT; 2]);
    let (from, to) = (a.memory(LENGTH), b.memory(40 + LENGTH));
    let bytes = a.fill(&from, 1);
    b.receive(MANAGEMENT, 7, &to);
    let operation = datagram(b, QueuePairOptions::MANAGEMENT_KEY);
    a.post(
        MANAGEMENT,
        &SendRequest::new(1, operation, vec![whole(&from)]),
    );
    assert_eq!(a.wait().status, Status::Success);
    let received = b.wait();
    assert_eq!((received.id, received.pair), (7, MANAGEMENT));
    assert_eq!(received.length as usize, 40 + LENGTH);
    assert_eq!(received.source, Some((a.device.address(), MANAGEMENT)));
    let arrived = b.bytes(&to);
    assert_eq!(arrived[40..], bytes);
    header(&arrived[..40], (a.device.address(), b.device.address()));
}

/// The first 40 bytes of a receive (A17.4.5.1): the header of IPv6, or 20 bytes that mean nothing and that of IPv4.
fn header(bytes: &[u8], addresses: (IpAddr, IpAddr)) {
    let payload = (8 + 12 + 8 + LENGTH + 4) as u16;
    match addresses {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let own = &bytes[20..];
            assert_eq!(
                (bytes[..20].iter().max(), own[0], own[9]),
                (Some(&0), 0x45, 17)
            );
            assert_eq!(own[2..4], (20 + payload).to_be_bytes());
            assert_eq!(
                (&own[12..16], &own[16..]),
                (&from.octets()[..], &to.octets()[..])
            );
            let words = own
                .chunks(2)
                .map(|word| u32::from(word[0]) << 8 | u32::from(word[1]));
            let sum: u32 = words.sum();
            assert_eq!(
                (sum & 0xffff) + (sum >> 16),
                0xffff,
                "the checksum is right"
            );
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            assert_eq!((bytes[0] >> 4, bytes[6]), (6, 17));
            assert_eq!(bytes[4..6], payload.to_be_bytes());
            assert_eq!(
                (&bytes[8..24], &bytes[24..]),
                (&from.octets()[..], &to.octets()[..])
            );
        }
        _ => unreachable!("both are of one version"),
    }
}

#[test]
fn management_datagrams_come_to_queue_pair_one() {
    managers_talk(&end(), &end());
}

#[test]
fn a_device_has_one_queue_pair_for_management() {
    let a = end();
    manager(&a);
    let again = a.device.create_management_pair(&a.options());
    assert!(matches!(again, Err(Error::Busy(_))));
    let own = a.device.query(MANAGEMENT).unwrap().options;
    assert_eq!(own.queue_key, QueuePairOptions::MANAGEMENT_KEY);
    assert_eq!(own.service, Service::UnreliableDatagram);
    a.device.destroy_queue_pair(MANAGEMENT).unwrap();
    assert!(a.device.state(MANAGEMENT).is_err());
    manager(&a);
}

#[test]
fn an_ordinary_queue_pair_cannot_pretend_to_manage() {
    let (a, b) = (end(), end());
    manager(&b);
    let mut options = a.options();
    (options.service, options.queue_key) = (Service::UnreliableDatagram, 5);
    let pair = a.device.create_queue_pair(&options).unwrap();
    let nobody = Connection::new(a.device.address(), QpNumber::new(0));
    a.connect(pair, &nobody, &Sending::default());
    b.receive(MANAGEMENT, 1, &b.memory(40 + LENGTH));
    let key = QueuePairOptions::MANAGEMENT_KEY;
    a.post(pair, &SendRequest::new(1, datagram(&b, key), Vec::new()));
    assert_eq!(a.wait().status, Status::Success);
    // It was sent with the key of its queue pair.
    while b.device.counters().rx_dropped == 0 {}
    assert_eq!(b.device.counters().rdma_recvs, 0);
}

/// Two devices at addresses of IPv6 of this machine, of one kind; the loopback interface has one, so they take turns.
fn version_6(address: Ipv6Addr) -> End {
    end_at(address.into(), |settings| settings.icrc = IcrcMode::Strict)
}

/// What one queue pair does to itself over an address.
fn works(end: &End) {
    let pair = end.pair();
    let connection = Connection::new(end.device.address(), pair);
    end.connect(pair, &connection, &Sending::default());
    let (from, to) = (end.memory(300_000), end.memory(300_000));
    let bytes = end.fill(&from, 3);
    end.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], target(&to)),
    );
    assert_eq!(end.wait().status, Status::Success);
    assert!(end.bytes(&to) == bytes);
    let back = end.memory(300_000);
    end.post(pair, &SendRequest::read(2, vec![whole(&back)], target(&to)));
    assert_eq!(end.wait().status, Status::Success);
    assert!(end.bytes(&back) == bytes);
    let counters = end.device.counters();
    assert_eq!((counters.rx_icrc_encapsulated, counters.rx_dropped), (0, 0));
    assert_eq!(end.device.take_async_event(), None::<AsyncEvent>);
    end.device.destroy_queue_pair(pair).unwrap();
}

/// The tests of IPv6 share the addresses of the machine.
fn alone() -> std::sync::MutexGuard<'static, ()> {
    static ONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    ONE.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Addresses of IPv6 of this machine that a device can have now.
fn addresses_6() -> Vec<Ipv6Addr> {
    let all = Interface::all().unwrap().into_iter();
    let all = all
        .filter(|one| one.is_up)
        .filter_map(|one| match one.address {
            IpAddr::V6(address) => Some(address),
            IpAddr::V4(_) => None,
        });
    all.collect()
}

#[test]
fn devices_of_ipv6_talk_link_local_ones_too() {
    let _alone = alone();
    let addresses = addresses_6();
    if addresses.is_empty() {
        eprintln!("skipped: no interface has an address of IPv6");
        return;
    }
    for &address in &addresses {
        let end = version_6(address);
        works(&end);
        assert_eq!(end.device.addresses()[0], IpAddr::from(address));
    }
    if let [first, second, ..] = addresses[..] {
        let (a, b) = (version_6(first), version_6(second));
        managers_talk(&a, &b);
        let (pair, _) = connected(&a, &b, Way::default());
        let (from, to) = (a.memory(100_000), b.memory(100_000));
        let bytes = a.fill(&from, 9);
        a.post(
            pair,
            &SendRequest::write(1, vec![whole(&from)], target(&to)),
        );
        assert_eq!(a.wait().status, Status::Success);
        assert!(b.bytes(&to) == bytes);
    }
}

#[test]
fn versions_of_ip_do_not_mix() {
    let a = end();
    let pair = a.pair();
    let there = Connection::new(Ipv6Addr::LOCALHOST.into(), QpNumber::new(9));
    let init = fairlane_softnic::Modify::Init(Rights::NONE);
    a.device.modify(pair, &init).unwrap();
    let connect = fairlane_softnic::Modify::ReadyToReceive(there);
    let refused = a.device.modify(pair, &connect).unwrap_err();
    assert!(matches!(refused, Error::Invalid(..)), "{refused}");
    let manager = manager(&a);
    let mut operation = datagram(&a, 1);
    if let Operation::Datagram { address, .. } = &mut operation {
        *address = Ipv6Addr::LOCALHOST.into();
    }
    let send = SendRequest::new(1, operation, Vec::new());
    assert!(a.device.post_send(manager, send).is_err());
}

#[test]
fn a_device_knows_its_interface() {
    let a = end();
    let addresses = a.device.addresses();
    assert_eq!(addresses[0], a.device.address());
    assert!(addresses.contains(&IpAddr::from([127, 0, 0, 1])));
    assert_eq!(a.device.largest_mtu(), Some(4096));
}
