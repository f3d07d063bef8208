//! What goes in comes out, when and as it should.

use fairlane_congestion::TelemetryFormat;
use fairlane_network::Delivery;
use fairlane_network::packet::{Kind, Side};
use fairlane_units::{Bytes, PortId, TenantId, Time};
use fairlane_wire::Opcode;
use proptest::prelude::*;

use crate::driver::{self, Driver, Out, data};

const STAR: &str =
    r#"{ kind = "star", hosts = 3, host_link = { rate = "100Gbps", delay = "1us" } }"#;

fn us(span: u64) -> Time {
    Time::from_ns(span * 1000)
}

/// 1048 B take 83.84 ns at 100 Gb/s, 90 B take 7.2 ns; each of two links delays by 1 us.
#[test]
fn a_packet_takes_two_links_there_and_an_answer_two_back() {
    let mut driver = Driver::new(STAR, "", |_| ());
    let flow = driver.open(0, 1).unwrap();
    driver.send(&data(flow), 5).unwrap();
    driver.run(Time::MAX);
    let [
        Out::Packet {
            at,
            port,
            packet,
            attachment,
        },
    ] = driver.out[..]
    else {
        panic!("{:?}", driver.out);
    };
    assert_eq!((at, port), (Time::from_ps(2 * 1_083_840), PortId::new(2)));
    assert_eq!(attachment.map(|it| it.get()), Some(5));
    assert_eq!(
        (packet.hops, packet.psn, packet.marked),
        (1, data(flow).psn, false)
    );
    let answer = fairlane_network::Packet {
        towards: Side::Requester,
        kind: Kind::Ack,
        opcode: Opcode::RcAcknowledge,
        payload: 0,
        wire: 90,
        class: 0,
        marked: true,
        ..packet
    };
    driver.net.inject(&answer, None).unwrap();
    driver.run(Time::MAX);
    let Some(&Out::Packet {
        at,
        port,
        packet,
        attachment,
    }) = driver.out.last()
    else {
        panic!("{:?}", driver.out);
    };
    let back = Time::from_ps(2 * 1_083_840 + 2 * 1_007_200);
    assert_eq!((at, port, attachment), (back, PortId::new(0), None));
    // In a reply the mark is an echo, which switches leave as it is.
    assert!(packet.marked && packet.towards == Side::Requester);
}

#[test]
fn data_collects_telemetry_and_an_answer_does_not() {
    let mut driver = Driver::new(STAR, "", |settings| {
        settings.telemetry_format = Some(TelemetryFormat::EXACT);
    });
    let flow = driver.open(0, 1).unwrap();
    let answer = fairlane_network::Packet {
        kind: Kind::Ack,
        class: 0,
        ..data(flow)
    };
    for packet in [data(flow), answer] {
        driver.net.inject(&packet, None).unwrap();
    }
    let mut switches = Vec::new();
    driver.net.advance(us(10), |delivery| {
        if let Delivery::Packet { telemetry, .. } = delivery {
            switches.push(telemetry.map(|all| all.hops().len()));
        }
    });
    assert_eq!(switches, [Some(1), None]);
}

#[test]
fn a_host_that_is_paused_holds_its_packets_back() {
    let mut driver = Driver::new(STAR, "switch = { buffer = \"300kB\" }", |_| ());
    let flow = driver.open(0, 1).unwrap();
    driver.net.pause(PortId::new(2), 3, true);
    driver.run(us(2));
    for number in 0..300 {
        driver.send(&data(flow), number).unwrap();
    }
    driver.run(us(100));
    let pauses = |driver: &Driver| {
        driver
            .out
            .iter()
            .filter(|out| matches!(out, Out::Pauses(8)))
            .count()
    };
    assert_eq!((pauses(&driver), driver.arrived().len()), (1, 0));
    let waiting = driver.net.waiting(PortId::new(0));
    assert!(waiting > Bytes::new(100 * 1048), "{waiting}");
    driver.net.pause(PortId::new(2), 3, false);
    driver.run(Time::MAX);
    assert_eq!(driver.arrived(), (0..300).collect::<Vec<u32>>());
    assert_eq!(driver.net.waiting(PortId::new(0)), Bytes::ZERO);
    assert_eq!(driver.lost(), Vec::<u32>::new());
}

#[test]
fn a_number_is_given_again_only_when_no_packet_has_it() {
    let mut driver = Driver::new(STAR, "", |_| ());
    let first = driver.open(0, 1).unwrap();
    driver.send(&data(first), 0).unwrap();
    driver.net.close(first).unwrap();
    let second = driver.open(1, 2).unwrap();
    assert_ne!(first, second);
    // What is under way goes on.
    driver.run(Time::MAX);
    assert_eq!(driver.arrived(), [0]);
    let third = driver.open(2, 0).unwrap();
    assert_eq!(third, first);
    driver.send(&data(third), 1).unwrap();
    driver.run(Time::MAX);
    let Some(Out::Packet { port, .. }) = driver.out.last() else {
        panic!("{:?}", driver.out);
    };
    assert_eq!(*port, PortId::new(0));
    driver.net.close(second).unwrap();
    assert!(driver.net.close(second).is_err());
}

#[test]
fn what_can_not_be_is_refused_by_name() {
    let mut driver = Driver::new(STAR, "", |_| ());
    let error =
        |outcome: Result<_, fairlane_scenario::Error>| outcome.err().map(|it| it.to_string());
    let refused =
        [(0, 3), (9, 0), (1, 1)].map(|(from, to)| error(driver.open(from, to).map(drop)).unwrap());
    assert!(
        refused[0].contains("ends at node 3, which is no host"),
        "{refused:?}"
    );
    assert!(
        refused[1].contains("ends at node 9, which is no host"),
        "{refused:?}"
    );
    assert!(
        refused[2].contains("has node 1 at both ends"),
        "{refused:?}"
    );
    let strange = driver
        .net
        .open(driver::tuple(0, 1), [0, 0], 3, TenantId::new(1));
    assert!(
        strange
            .unwrap_err()
            .to_string()
            .contains("belongs to tenant 1")
    );
    let flow = driver.open(0, 1).unwrap();
    let packet = data(flow);
    let mut refusal =
        |packet: fairlane_network::Packet| error(driver.net.inject(&packet, None)).unwrap();
    let other = refusal(fairlane_network::Packet { class: 4, ..packet });
    assert!(
        other.contains("is in class 4, in which hosts don't send"),
        "{other}"
    );
    let large = refusal(fairlane_network::Packet {
        wire: u16::MAX,
        ..packet
    });
    assert!(large.contains("has 65535 B on the wire"), "{large}");
    let pause = refusal(fairlane_network::Packet {
        kind: Kind::Pause,
        ..packet
    });
    assert!(
        pause.contains("is of kind Pause, which only switches send"),
        "{pause}"
    );
    let empty = refusal(fairlane_network::Packet { wire: 0, ..packet });
    assert!(
        empty.contains("has 0 B on the wire, expected 1 to"),
        "{empty}"
    );
    driver.net.close(flow).unwrap();
    let closed = error(driver.net.inject(&packet, None)).unwrap();
    assert!(closed.contains("isn't open"), "{closed}");
}

#[derive(Clone, Debug)]
enum Act {
    Send {
        flow: usize,
        back: bool,
        control: bool,
    },
    Wait(u64),
    Close(usize),
    Open {
        from: u32,
        to: u32,
    },
    /// Of a host, or between switches.
    Link {
        link: u32,
        up: bool,
    },
    Pause {
        host: u32,
        pause: bool,
    },
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => (0usize..8, any::<bool>(), any::<bool>())
            .prop_map(|(flow, back, control)| Act::Send { flow, back, control }),
        4 => (0u64..3_000_000).prop_map(Act::Wait),
        1 => (0usize..8).prop_map(Act::Close),
        2 => (0u32..4, 0u32..4).prop_map(|(from, to)| Act::Open { from, to }),
        1 => (0u32..8, any::<bool>()).prop_map(|(link, up)| Act::Link { link, up }),
        1 => (0u32..4, any::<bool>()).prop_map(|(host, pause)| Act::Pause { host, pause }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    /// Whatever becomes of flows, links and pauses, each packet comes out once, at a host or as lost.
    #[test]
    fn every_packet_comes_out_once(acts in prop::collection::vec(act(), 1..200), forwarding in 0usize..5) {
        let topology = r#"{ kind = "leaf-spine", leaves = 2, spines = 2, hosts_per_leaf = 2,
            host_link = { rate = "100Gbps", delay = "1us" }, fabric_link = { rate = "40Gbps", delay = "1us" } }"#;
        let forwarding = ["ecmp", "spray", "adaptive", "flowlet", "iofd"][forwarding];
        let keys = format!("switch = {{ buffer = \"400kB\", forwarding = \"{forwarding}\" }}\nfaults = {{ loss_rate = 0.02 }}");
        let topology = topology.replace('\n', " ");
        let mut driver = Driver::new(&topology, &keys, |_| ());
        let (mut flows, mut sent, mut now) = (Vec::new(), 0u32, 0);
        for act in acts {
            match act {
                Act::Send { flow, back, control } => {
                    let Some(&flow) = flows.get(flow) else { continue };
                    let mut packet = data(flow);
                    if back {
                        packet.towards = Side::Requester;
                    }
                    if control {
                        (packet.kind, packet.class, packet.wire) = (Kind::Ack, 0, 90);
                    }
                    prop_assert!(driver.send(&packet, sent).is_ok());
                    sent += 1;
                }
                Act::Wait(span) => {
                    now += span;
                    driver.run(Time::from_ps(now));
                }
                Act::Close(at) if at < flows.len() => driver.net.close(flows.remove(at)).unwrap(),
                Act::Close(_) => {}
                Act::Open { from, to } => {
                    if let Ok(flow) = driver.open(from, to) {
                        flows.push(flow);
                    }
                }
                Act::Link { link, up } => {
                    driver.change_link(link, up);
                }
                Act::Pause { host, pause } => driver.net.pause(PortId::new(2 * host), 3, pause),
            }
        }
        // Every pause ends.
        for link in 0..8 {
            driver.change_link(link, true);
        }
        for host in 0..4 {
            driver.net.pause(PortId::new(2 * host), 3, false);
        }
        driver.run(Time::MAX);
        let mut out = [driver.arrived(), driver.lost()].concat();
        out.sort_unstable();
        prop_assert_eq!(out, (0..sent).collect::<Vec<u32>>());
        let counters = driver.net.network().counters();
        prop_assert_eq!(counters.injected.packets, u64::from(sent));
        prop_assert_eq!(counters.delivered.packets as usize, driver.arrived().len());
        prop_assert_eq!(counters.dropped.packets as usize, driver.lost().len());
    }
}
