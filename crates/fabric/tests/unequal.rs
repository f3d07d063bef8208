//! Hosts with several ports that make no planes: unequal ones, or a different number of them.

use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Paths, Results, Simulation, base_round_trip, paths};
use fairlane_scenario::Loaded;
use fairlane_units::{Bytes, Duration, NodeId, Time};

use crate::common::{complete, flows, links, loaded, loaded_with};

/// Two servers of four GPUs: hosts 0 to 3 at NVSwitch 8, 4 to 7 at NVSwitch 9, with 2400 Gb/s; even hosts at rail switch 10,
/// odd ones at 11, with 400 Gb/s, and switch 12 above the rails.
fn servers() -> String {
    let fast = (0..8).map(|host| (host, 8 + host / 4, "2400Gbps", "25ns"));
    let rails = (0..8).map(|host| (host, 10 + host % 2, "400Gbps", "500ns"));
    let above = [(10, 12, "400Gbps", "500ns"), (11, 12, "400Gbps", "500ns")];
    links(8, &fast.chain(rails).chain(above).collect::<Vec<_>>())
}

const FIXED: &str = "congestion.algorithm = \"fixed\"\n";

fn on_servers(text: &str, sets: &[&str]) -> Loaded {
    loaded_with("unequal", &servers(), &(FIXED.to_owned() + text), sets)
}

/// The nodes that packets between two hosts pass there and back, by source port.
fn ways(case: &Loaded, source: u32, destination: u32) -> Vec<[Vec<u32>; 2]> {
    let ends = (NodeId::new(source), NodeId::new(destination));
    let Paths::ByPort(found) = paths(case, ends, 0xc000..0xc020, 100).unwrap() else {
        panic!("source ports decide");
    };
    let nodes = |path: &fairlane_fabric::Path| path.nodes.iter().map(|node| node.get()).collect();
    let both = |one: &fairlane_fabric::PathPreview| [nodes(&one.forward), nodes(&one.reverse)];
    found.iter().map(both).collect()
}

#[test]
fn the_widest_path_decides_and_of_equal_ones_the_shortest() {
    let case = on_servers(&flows(&[(0, 1, 1, "0us")]), &[]);
    let expected: [&[u32]; 5] = [
        &[0, 8, 1],
        // The rail would be as short, but is slower.
        &[0, 8, 2],
        &[0, 10, 4],
        &[3, 11, 12, 10, 4],
        &[7, 9, 5],
    ];
    for way in expected {
        let back: Vec<u32> = way.iter().rev().copied().collect();
        for found in ways(&case, way[0], way[way.len() - 1]) {
            assert_eq!(found, [way.to_vec(), back.clone()]);
        }
    }
}

/// Bytes that each port of a node sent.
fn sent(results: &Results, node: u32) -> Vec<u64> {
    let ports = results.ports.len();
    let of_node = (0..ports).filter(|&port| results.ports[port].node.get() == node);
    let sum = |port: usize| {
        let own = results.series.sent.iter().skip(port).step_by(ports);
        own.sum()
    };
    of_node.map(sum).collect()
}

/// What one packet of 1000 bytes and its acknowledgement take over so many links: headers of 62 bytes, RETH of 16,
/// acknowledgement of 66.
fn there_and_back(links: u64, gbps: u64, delay_ns: u64) -> Duration {
    let bits = (1000 + 62 + 16 + 66) * 8;
    Duration::from_ps(links * (bits * 1000 / gbps + 2 * delay_ns * 1000))
}

#[test]
fn answers_return_by_the_ports_that_data_took() {
    for verb in ["write", "send", "read"] {
        for (ends, port, time) in [
            ((0, 2), 0, there_and_back(2, 2400, 25)),
            ((0, 4), 1, there_and_back(2, 400, 500)),
            ((0, 5), 1, there_and_back(4, 400, 500)),
        ] {
            let message = flows(&[(ends.0, ends.1, 1000, "0us")]);
            let text = message + &format!("verb = \"{verb}\"\n");
            let results = complete(&on_servers(&text, &[]));
            for node in [ends.0, ends.1] {
                let bytes = sent(&results, node);
                assert!(
                    bytes[port] > 0 && bytes[1 - port] == 0,
                    "{verb} {ends:?} {bytes:?}"
                );
            }
            let message = &results.messages[0];
            let taken = message.finish.unwrap() - message.start;
            assert_eq!(taken, message.ideal);
            // Only a WRITE has a RETH. Serialization is rounded to picoseconds.
            if verb == "write" {
                assert!(
                    taken.as_ps().abs_diff(time.as_ps()) <= 8,
                    "{ends:?} {taken} {time}"
                );
            }
        }
    }
}

#[test]
fn the_base_round_trip_is_the_largest_of_ports_in_use() {
    let trip = base_round_trip(&on_servers(&flows(&[(0, 1, 1, "0us")]), &[])).unwrap();
    // A full packet and its acknowledgement between the rails: four links.
    let bits = (1024 + 62 + 16 + 66) * 8;
    let time = Duration::from_ps(4 * (bits * 1000 / 400 + 1_000_000));
    assert_eq!(trip.time, time);
    // At 50 bytes per nanosecond; 300 on NVLink for a fortieth of the time are less.
    assert_eq!(trip.bdp, Bytes::new(time.as_ps() * 50 / 1000));
}

#[test]
fn a_ring_is_bound_by_the_link_that_two_of_its_messages_share() {
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"64MB\"\n";
    let results = complete(&on_servers(ring, &[]));
    // 14 steps of 8 MB each. From 3 to 4 and from 7 to 0 both go from rail 11 to 12 and on to 10, at 400 Gb/s; packets of
    // 1 KiB have 82 bytes of headers and gaps.
    let step = 2 * (8_000_000 + 7813 * 82) * 8 / 400;
    let bound = Duration::from_ns(14 * step);
    let taken = results.totals.end - Time::ZERO;
    assert!(
        taken > bound && taken < bound + bound / 20,
        "{taken} {bound}"
    );
    let slow = results
        .messages
        .iter()
        .filter(|message| message.source.get() % 4 == 3);
    assert_eq!(slow.count(), 2 * 14);
}

/// Hosts 0 and 1 have a port at each of two ToRs, 4 and 5, hosts 2 and 3 at 6 and 7; switch 8 joins the ToRs.
fn dual_tor() -> String {
    let ports = (0..4)
        .flat_map(|host| [0, 1].map(|port| (host, 4 + host / 2 * 2 + port, "100Gbps", "1us")));
    let above = (4..8).map(|tor| (tor, 8, "400Gbps", "1us"));
    links(4, &ports.chain(above).collect::<Vec<_>>())
}

#[test]
fn equal_ports_are_shared_by_the_hash() {
    let text = FIXED.to_owned() + &flows(&vec![(0, 2, 100_000, "0us"); 64]);
    let case = loaded_with("dual-tor", &dual_tor(), &text, &[]);
    // In a rack a message stays at the ToR that it leaves by.
    let near = ways(&case, 0, 1);
    assert!(
        near.iter()
            .all(|[there, _]| there.len() == 3 && (there[1] == 4 || there[1] == 5))
    );
    let through = |tor| near.iter().filter(|[there, _]| there[1] == tor).count();
    assert!(through(4) > 5 && through(5) > 5, "{near:?}");
    // To the other rack it takes any of four pairs of ports.
    let far = ways(&case, 0, 2);
    for pair in [[4, 6], [4, 7], [5, 6], [5, 7]] {
        let taken = far.iter().filter(|[there, _]| [there[1], there[3]] == pair);
        assert!(taken.count() > 0, "{pair:?}");
    }
    // 6.4 MB over two ports of 100 Gb/s take at least 256 us, and less than the 512 us of one.
    let time = complete(&case).totals.end - Time::ZERO;
    assert!(
        (Duration::from_us(256)..Duration::from_us(440)).contains(&time),
        "{time}"
    );
}

#[test]
fn a_host_may_have_more_ports_than_another() {
    // Host 0 has two links to the switch, hosts 1 and 2 have one each.
    let link = |host| (host, 3, "100Gbps", "1us");
    let fabric = links(3, &[link(0), link(0), link(1), link(2)]);
    let many: Vec<_> = (0..32).map(|at| (1 + at % 2, 0, 100_000, "0us")).collect();
    let case = loaded_with("bond", &fabric, &(FIXED.to_owned() + &flows(&many)), &[]);
    let results = complete(&case);
    let bytes = sent(&results, 3);
    assert_eq!(bytes.len(), 4);
    // 32 messages of 100 kB with headers: each link of host 0 has some of them.
    let both = bytes[0] + bytes[1];
    assert!(
        both > 3_200_000 && bytes[0] > 600_000 && bytes[1] > 600_000,
        "{bytes:?}"
    );
}

#[test]
fn paths_use_all_planes_before_any_comes_again() {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let star =
        format!("topology = {{ kind = \"star\", hosts = 2, host_link = {link}, planes = 8 }}\n");
    for paths in [2, 8, 12] {
        let text =
            format!("{star}{FIXED}[multipath]\npaths = {paths}\nbalancer = \"static-even\"\n");
        let case = loaded(&(text + &flows(&[(0, 1, 12_000_000, "0us")])), &[]);
        let bytes = sent(&complete(&case), 0);
        let planes = bytes.iter().filter(|sent| **sent > 500_000).count();
        assert_eq!(planes, paths.min(8), "{paths} paths: {bytes:?}");
        let (most, least) = (bytes.iter().max().unwrap(), bytes.iter().min().unwrap());
        if paths == 8 {
            assert!(most - least < most / 20, "{bytes:?}");
        }
    }
}

#[test]
fn paths_use_different_ports_of_both_hosts() {
    let text = format!("{FIXED}[multipath]\npaths = 2\nbalancer = \"static-even\"\n");
    let case = text + &flows(&[(0, 2, 8_000_000, "0us")]);
    let case = loaded_with("dual-tor", &dual_tor(), &case, &[]);
    let results = complete(&case);
    let sides = [sent(&results, 0), sent(&results, 2)];
    assert!(sides[0].iter().all(|sent| *sent > 3_900_000), "{sides:?}");
    // Acknowledgements of 66 bytes for packets of 1 KiB.
    assert!(sides[1].iter().all(|sent| *sent > 200_000), "{sides:?}");
}

#[test]
fn results_are_the_same_on_several_threads() {
    let fault = "[[faults.link]]\nbetween = [0, 10]\ndown = \"20us\"\n";
    let pause = "[[faults.pause]]\nhost = 6\nstart = \"5us\"\nduration = \"20us\"\n";
    let traffic = "[[workload]]\nkind = \"poisson\"\nsizes = \"rpc\"\nload = 0.1\nduration = \"40us\"\n\
                   [[workload]]\nkind = \"all-to-all\"\nsize = \"40kB\"\n\
                   [[workload]]\nkind = \"incast\"\ndegree = 7\nsize = \"20kB\"\nverb = \"read\"\n";
    let timeout = "transport.ack_timeout=\"100us\"";
    let repeat = "transport.recovery=\"selective-repeat\"";
    for sets in [
        &[timeout][..],
        &["congestion.scope=\"tenant\"", timeout],
        &["congestion.algorithm=\"hpcc\"", timeout],
        &["congestion.dasr.mode=\"demand-aware\"", timeout],
        &["switch.forwarding=\"spray\"", repeat, timeout],
        &["switch.forwarding=\"iofd\"", timeout],
    ] {
        for text in [servers(), dual_tor()] {
            let more = if text == servers() {
                format!("{fault}{pause}")
            } else {
                String::new()
            };
            let traffic = if text == servers() {
                traffic.to_owned()
            } else {
                traffic.replace("degree = 7", "degree = 3")
            };
            let case = loaded_with("unequal-threads", &text, &(traffic + &more), sets);
            let on = |threads| {
                let simulation = Simulation::new(&case).unwrap();
                let (results, threading) = simulation.run_on(threads, &mut |_| Control::Continue);
                assert_eq!(check(&results, true), Vec::<String>::new(), "{sets:?}");
                (format!("{results:?}"), threading.threads)
            };
            let (alone, both) = (on(1), on(2));
            assert_eq!(both.1, 2, "{sets:?}");
            assert!(alone.0 == both.0, "{sets:?}");
        }
    }
}
