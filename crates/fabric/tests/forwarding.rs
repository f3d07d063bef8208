//! How switches choose among equally short paths.

use fairlane_fabric::{AnyPath, Paths, PortPaths, Results, paths};
use fairlane_scenario::{Forwarding, Verb};
use fairlane_units::NodeId;
use proptest::prelude::*;

use crate::common::{complete, flows, links, loaded, loaded_with, run, taken};

const FIXED: &str = "congestion.algorithm=\"fixed\"";
const SELECTIVE: &str = "transport.recovery=\"selective-repeat\"";
const SOON: &str = "transport.ack_timeout=\"200us\"";

/// Hosts 0 to 7, leaves 8 and 9, spines 10 to 13.
const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 2
spines = 4
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

fn forwarding(policy: Forwarding) -> String {
    format!("switch.forwarding=\"{policy}\"")
}

/// Bytes that the ports from `node` to each of `peers` sent.
fn sent(results: &Results, node: u32, peers: std::ops::Range<u32>) -> Vec<u64> {
    let port = |peer: u32| {
        let mut ports = results.ports.iter();
        let ends = |ends: (u32, u32)| ends == (node, peer);
        let at = ports.position(|p| ends((p.node.get(), p.peer_node.get())));
        let rows = results.series.sent.chunks(results.series.ports);
        rows.map(|row| row[at.unwrap()]).sum()
    };
    peers.map(port).collect()
}

#[test]
fn every_policy_delivers_everything_and_repeats_itself() {
    let all: Vec<_> = (0..4)
        .map(|host| (host, 4 + host, 200_000, "0ns"))
        .collect();
    let text = format!("{LEAF_SPINE}{}", flows(&all));
    for policy in Forwarding::ALL {
        for recovery in ["transport.recovery=\"go-back-n\"", SELECTIVE] {
            let loaded = loaded(&text, &[&forwarding(policy), recovery, SOON]);
            let (first, again) = (complete(&loaded), complete(&loaded));
            assert_eq!(first.messages, again.messages, "{policy}");
            assert_eq!(first.totals.events, again.totals.events, "{policy}");
        }
    }
}

#[test]
fn spraying_uses_all_ports_about_equally() {
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 4_000_000, "0ns")]));
    let sets = [&*forwarding(Forwarding::Spray), FIXED, SELECTIVE];
    let sent = sent(&complete(&loaded(&text, &sets)), 8, 10..14);
    let mean = sent.iter().sum::<u64>() / 4;
    // A thousand packets each: five standard deviations are 14 %.
    for bytes in &sent {
        assert!(bytes.abs_diff(mean) < mean / 7, "{sent:?}");
    }
}

#[test]
fn another_seed_sprays_otherwise() {
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 400_000, "0ns")]));
    let bytes = |seed: &str| {
        let sets = [&*forwarding(Forwarding::Spray), FIXED, SELECTIVE, seed];
        sent(&complete(&loaded(&text, &sets)), 8, 10..14)
    };
    assert_eq!(bytes("seed=1"), bytes("seed=1"));
    assert_ne!(bytes("seed=1"), bytes("seed=2"));
}

#[test]
fn packets_that_follow_each_other_stay_in_one_flowlet() {
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 4_000_000, "0ns")]));
    let sets = [&*forwarding(Forwarding::Flowlet), FIXED];
    let results = complete(&loaded(&text, &sets));
    let ports = sent(&results, 8, 10..14);
    assert_eq!(
        ports.iter().filter(|bytes| **bytes > 0).count(),
        1,
        "{ports:?}"
    );
    assert_eq!(results.signals.retransmissions.count, 0);
}

#[test]
fn a_gap_lets_a_flow_take_another_port() {
    // At 1 Gb/s packets are 9 us apart, at 100 Gb/s 90 ns.
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 400_000, "0ns")]));
    let rate = "congestion.fixed.rate=\"1Gbps\"";
    let ports = |gap: &str| {
        let gap = format!("switch.flowlet.gap=\"{gap}\"");
        let sets = [&*forwarding(Forwarding::Flowlet), FIXED, rate, &gap];
        sent(&complete(&loaded(&text, &sets)), 8, 10..14)
    };
    let used = |ports: &[u64]| ports.iter().filter(|bytes| **bytes > 0).count();
    assert_eq!(used(&ports("20us")), 1);
    assert_eq!(used(&ports("5us")), 4);
}

#[test]
fn adaptive_switches_avoid_a_long_queue() {
    // Spine 10 has a tenth of the rate, so that a queue stands before it.
    let mut list: Vec<_> = (0..8)
        .map(|host| (host, 8 + host / 4, "100Gbps", "1us"))
        .collect();
    for spine in 10..14 {
        let rate = if spine == 10 { "10Gbps" } else { "100Gbps" };
        list.extend([(8, spine, rate, "1us"), (9, spine, rate, "1us")]);
    }
    let fabric = links(8, &list);
    let traffic = flows(&[(0, 4, 2_000_000, "0ns"), (1, 5, 2_000_000, "0ns")]);
    let bytes = |policy| {
        let sets = [&*forwarding(policy), FIXED, SELECTIVE, SOON];
        let loaded = loaded_with("adaptive", &fabric, &traffic, &sets);
        let results = complete(&loaded);
        let slow = sent(&results, 8, 10..11)[0];
        let all: u64 = sent(&results, 8, 10..14).iter().sum();
        (slow as f64 / all as f64, taken(&results, 0))
    };
    let (adaptive, sprayed) = (bytes(Forwarding::Adaptive), bytes(Forwarding::Spray));
    assert!(adaptive.0 < 0.1, "{adaptive:?}");
    assert!(sprayed.0 > 0.2, "{sprayed:?}");
    assert!(adaptive.1 < sprayed.1, "{adaptive:?} {sprayed:?}");
}

#[test]
fn equal_queues_are_taken_in_turn() {
    // Packets of one host never wait at the leaf: all queues are empty all the time.
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 4_096_000, "0ns")]));
    let sets = [&*forwarding(Forwarding::Adaptive), FIXED, SELECTIVE];
    let results = complete(&loaded(&text, &sets));
    let ports = sent(&results, 8, 10..14);
    let (least, most) = (ports.iter().min().unwrap(), ports.iter().max().unwrap());
    assert!(most - least < 5000, "{ports:?}");
}

#[test]
fn packets_that_overtake_each_other_are_tolerated() {
    // Queues differ between spines, so packets pass each other.
    let all: Vec<_> = (0..4)
        .map(|host| (host, 4 + host, 1_000_000, "0ns"))
        .collect();
    let text = format!("{LEAF_SPINE}{}", flows(&all));
    let repeated = |sets: &[&str]| {
        let policy = forwarding(Forwarding::Spray);
        let mut all = vec![&*policy, FIXED, SOON, "transport.nak_interval=\"10us\""];
        all.extend(sets);
        complete(&loaded(&text, &all)).signals.retransmissions.count
    };
    assert_eq!(repeated(&[SELECTIVE]), 0);
    assert!(repeated(&[SELECTIVE, "transport.reorder_tolerance=0"]) > 0);
    assert!(repeated(&[]) > 0);
}

#[test]
fn packets_on_several_paths_beat_the_best_one() {
    // Hosts are four times as fast as links between switches.
    let text = LEAF_SPINE.replacen("100Gbps", "400Gbps", 1);
    let text = format!("{text}{}", flows(&[(0, 4, 4_000_000, "0ns")]));
    let time = |policy| {
        let sets = [&*forwarding(policy), FIXED, SELECTIVE];
        let results = complete(&loaded(&text, &sets));
        (taken(&results, 0), results.messages[0].ideal.as_ps())
    };
    let (ecmp, adaptive) = (time(Forwarding::Ecmp), time(Forwarding::Adaptive));
    assert!(adaptive.0 < ecmp.1 / 3, "{ecmp:?} {adaptive:?}");
    assert!(adaptive.1 <= adaptive.0);
}

#[test]
fn where_there_is_one_path_the_bound_is_the_ideal_time() {
    let line = links(
        2,
        &[
            (0, 2, "100Gbps", "1us"),
            (2, 3, "100Gbps", "2us"),
            (3, 1, "100Gbps", "1us"),
        ],
    );
    // Whole packets: a short last one could overtake on several paths.
    for size in [1024, 10_240, 1_024_000] {
        let traffic = flows(&[(0, 1, size, "0ns")]);
        let ideal = |policy| {
            let sets = [&*forwarding(policy), FIXED];
            let results = complete(&loaded_with("line", &line, &traffic, &sets));
            results.messages[0].ideal
        };
        let (one, several) = (ideal(Forwarding::Ecmp), ideal(Forwarding::Spray));
        assert!(several <= one, "{several} {one}");
        // The first packet is longer by its RETH.
        assert!(one.as_ps() - several.as_ps() < 20_000, "{several} {one}");
    }
}

#[test]
fn only_hosts_have_ways() {
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 1, "0ns")]));
    let ways = PortPaths::new(&loaded(&text, &[&forwarding(Forwarding::Ecmp)])).unwrap();
    let nodes = |source, destination| {
        let ends = (NodeId::new(source), NodeId::new(destination));
        ways.of(ends, (10_000, 100)).map(|path| path.nodes.len())
    };
    assert_eq!(nodes(0, 4), Some(5));
    // Leaf 8, and numbers that no node has.
    for other in [8, 14, u32::MAX] {
        assert_eq!(nodes(0, other), None, "{other}");
        assert_eq!(nodes(other, 4), None, "{other}");
    }
}

#[test]
fn paths_are_listed_when_no_source_port_decides() {
    let text = format!("{LEAF_SPINE}{}", flows(&[(0, 4, 1, "0ns")]));
    let found = |policy| {
        let loaded = loaded(&text, &[&forwarding(policy)]);
        paths(&loaded, (NodeId::new(0), NodeId::new(4)), 0..=9, 0).unwrap()
    };
    let Paths::ByPort(ports) = found(Forwarding::Ecmp) else {
        panic!("a source port decides");
    };
    assert_eq!(ports.len(), 10);
    let Paths::Any(AnyPath {
        forward,
        reverse,
        more,
    }) = found(Forwarding::Adaptive)
    else {
        panic!("no source port decides");
    };
    assert_eq!((forward.len(), reverse.len(), more), (4, 4, false));
    assert!(ports.iter().all(|port| forward.contains(&port.forward)));
    assert!(ports.iter().all(|port| reverse.contains(&port.reverse)));
}

/// A fabric of two to four leaves and spines, with links of different rates and delays.
fn uneven(leaves: u32, spines: u32, rates: &[usize], delays: &[usize]) -> String {
    const RATES: [&str; 4] = ["25Gbps", "40Gbps", "100Gbps", "400Gbps"];
    const DELAYS: [&str; 3] = ["100ns", "1us", "3us"];
    let hosts = 2 * leaves;
    let mut list = Vec::new();
    let mut add = |a, b| {
        let at = list.len();
        let rate = RATES[rates[at % rates.len()]];
        list.push((a, b, rate, DELAYS[delays[at % delays.len()]]));
    };
    for host in 0..hosts {
        add(host, hosts + host / 2);
    }
    for leaf in hosts..hosts + leaves {
        for spine in 0..spines {
            add(leaf, hosts + leaves + spine);
        }
    }
    links(hosts, &list)
}

/// Messages over an uneven fabric, perhaps with a link that fails under way.
struct Uneven<'a> {
    shape: (u32, u32),
    rates: &'a [usize],
    delays: &'a [usize],
    sizes: &'a [u64],
    verb: Verb,
    selective: bool,
    loss: bool,
    cut: bool,
    mtu: u32,
}

/// Runs messages under every policy; `run` holds every result against `metrics::check`: conservation, and no
/// message faster than its ideal time.
fn under_every_policy(case: &Uneven<'_>) {
    let &Uneven {
        shape: (leaves, spines),
        rates,
        delays,
        sizes,
        verb,
        selective,
        loss,
        cut,
        mtu,
    } = case;
    let fabric = uneven(leaves, spines, rates, delays);
    let hosts = 2 * leaves;
    let name = match verb {
        Verb::Write => "write",
        Verb::Send => "send",
        Verb::Read => "read",
        _ => "fetch-add",
    };
    let mut text = format!("[[workload]]\nkind = \"flows\"\nverb = \"{name}\"\nflow = [\n");
    for (at, size) in (0u32..).zip(sizes) {
        let (source, destination) = (at % hosts, (at + 2) % hosts);
        let size = if verb == Verb::FetchAdd { 8 } else { *size };
        let ends = format!("source = {source}, destination = {destination}");
        text += &format!("{{ {ends}, size = {size}, start = \"{at}us\" }},\n");
    }
    text += "]\n";
    if cut {
        let (leaf, spine) = (hosts, hosts + leaves);
        text += &format!(
            "[[faults.link]]\nbetween = [{leaf}, {spine}]\ndown = \"5us\"\nup = \"300us\"\n"
        );
    }
    let mtu = format!("packet.mtu={mtu}");
    for policy in Forwarding::ALL {
        let policy = forwarding(policy);
        let mut sets = vec![&*policy, &*mtu, FIXED, "stop=\"20ms\"", SOON];
        if selective {
            sets.push(SELECTIVE);
        }
        if loss {
            sets.push("faults.loss_rate=0.01");
        }
        run(&loaded_with("uneven", &fabric, &text, &sets));
    }
}

#[test]
fn packets_on_old_and_new_paths_beat_no_ideal_time() {
    under_every_policy(&Uneven {
        shape: (2, 4),
        rates: &[3, 0, 1, 1, 0, 2, 1],
        delays: &[2, 2, 0, 0, 2],
        sizes: &[1, 1, 7037],
        verb: Verb::Write,
        selective: false,
        loss: false,
        cut: true,
        mtu: 64,
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn no_policy_loses_packets_or_beats_the_ideal_time(
        shape in (2u32..4, 1u32..5),
        rates in proptest::collection::vec(0usize..4, 7),
        delays in proptest::collection::vec(0usize..3, 5),
        sizes in proptest::collection::vec(1u64..60_000, 1..6),
        verb in prop::sample::select(vec![Verb::Write, Verb::Send, Verb::Read, Verb::FetchAdd]),
        (selective, loss, cut) in (any::<bool>(), any::<bool>(), any::<bool>()),
        mtu in prop::sample::select(vec![64, 1024, 4096]),
    ) {
        under_every_policy(&Uneven {
            shape,
            rates: &rates,
            delays: &delays,
            sizes: &sizes,
            verb,
            selective,
            loss,
            cut,
            mtu,
        });
    }
}
