//! Fabrics of several planes.

use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Ending, Outcome, Paths, Results, Simulation, paths};
use fairlane_scenario::Loaded;
use fairlane_units::{Duration, NodeId, Time};

use crate::common::{complete, flows, links, loaded, loaded_with, random, run};

/// A star at 100 Gb/s and 1 us with so many planes, without whatever controls congestion.
fn star(hosts: u32, planes: u32) -> String {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let shape = format!("kind = \"star\", hosts = {hosts}, host_link = {link}, planes = {planes}");
    format!("topology = {{ {shape} }}\ncongestion.algorithm = \"fixed\"\n")
}

fn leaf_spine(planes: u32) -> String {
    format!(
        r#"
        [topology]
        kind = "leaf-spine"
        leaves = 4
        spines = 2
        hosts_per_leaf = 4
        host_link = {{ rate = "100Gbps", delay = "500ns" }}
        fabric_link = {{ rate = "100Gbps", delay = "1us" }}
        planes = {planes}
        "#
    )
}

const MIXED: &str = r#"
[[workload]]
kind = "poisson"
sizes = "websearch"
load = 0.4
duration = "60us"

[[workload]]
kind = "incast"
degree = 9
size = "60kB"
class = 5
start = "20us"

[[workload]]
kind = "poisson"
sizes = "rpc"
load = 0.1
duration = "60us"
verb = "read"
plane = 1
"#;

/// So many messages of 100 kB from host 0 to host 1.
fn many(count: usize) -> String {
    flows(&vec![(0, 1, 100_000, "0us"); count])
}

fn end(results: &Results) -> Duration {
    results.totals.end - Time::ZERO
}

#[test]
fn two_planes_carry_twice_as_much() {
    let ended = |planes| {
        let results = complete(&loaded(&(star(2, planes) + &many(64)), &[]));
        end(&results).as_ps() as f64
    };
    let (one, two) = (ended(1), ended(2));
    // The hash gives no plane exactly half of the messages.
    assert!((1.5..=2.0).contains(&(one / two)), "{one} {two}");
}

#[test]
fn every_plane_takes_some_messages_of_many() {
    let results = complete(&loaded(&(star(2, 8) + &many(200)), &[]));
    let sent = port_bytes(&results);
    for (port, sent) in results.ports.iter().zip(sent) {
        // 25 messages of 100 kB if all planes had as many; acknowledgements the other way.
        let least = match port.node.get() {
            0 => 1_000_000,
            _ => 1,
        };
        assert!(port.on_switch || sent >= least, "{port:?} sent {sent}");
    }
}

/// Bytes that each port sent.
fn port_bytes(results: &Results) -> Vec<u64> {
    let ports = results.ports.len();
    let mut sums = vec![0; ports];
    for (at, sent) in results.series.sent.iter().enumerate() {
        sums[at % ports] += *sent;
    }
    sums
}

#[test]
fn a_workload_that_names_a_plane_stays_in_it() {
    for plane in 0..3 {
        let workload = many(8) + &format!("plane = {plane}");
        let results = complete(&loaded(&(star(2, 3) + &workload), &[]));
        for (port, sent) in results.ports.iter().zip(port_bytes(&results)) {
            // Ports of a host are numbered from 1; switches are numbered behind two hosts.
            let of = match port.on_switch {
                true => port.node.get() - 2,
                false => port.number - 1,
            };
            assert_eq!(sent > 0, of == plane, "{port:?} sent {sent}");
        }
    }
}

#[test]
fn packets_of_a_message_stay_in_one_plane() {
    let hosts = (0..16).map(|node| format!("\"host:{node}\""));
    let switches = (16..28).map(|node| format!("\"switch:{node}\""));
    let points: Vec<String> = hosts.chain(switches).collect();
    let capture = format!("capture=[{}]", points.join(","));
    for forwarding in ["ecmp", "spray", "adaptive"] {
        let forwarding = format!("switch.forwarding=\"{forwarding}\"");
        let case = loaded(&(leaf_spine(2) + MIXED), &[&capture, &forwarding]);
        let results = complete(&case);
        let mut planes = vec![[false; 2]; results.messages.len()];
        for record in &results.capture {
            let Some(packet) = record.packet.transport() else {
                continue;
            };
            let port = &results.ports[record.port.index()];
            let plane = match port.on_switch {
                true => (port.node.get() - 16) / 6,
                false => port.number - 1,
            };
            planes[packet.flow.index()][plane as usize] = true;
        }
        let both = planes.iter().position(|seen| seen[0] == seen[1]);
        assert_eq!(both, None, "{forwarding}");
        let of = |record: &fairlane_fabric::MessageRecord| planes[record.id.index()];
        for record in &results.messages {
            assert!(record.workload != 2 || of(record) == [false, true]);
        }
        for plane in 0..2 {
            let taken = results.messages.iter().filter(|one| of(one)[plane]);
            assert!(taken.count() > 3, "{forwarding} plane {plane}");
        }
    }
}

#[test]
fn a_message_alone_takes_its_ideal_time_on_the_links_of_its_plane() {
    // Plane 1 is slower and longer than plane 0, and crosses two switches.
    let fabric = links(
        2,
        &[
            (0, 2, "100Gbps", "1us"),
            (1, 2, "100Gbps", "1us"),
            (0, 3, "40Gbps", "2us"),
            (3, 4, "25Gbps", "3us"),
            (4, 1, "50Gbps", "2us"),
        ],
    );
    let fixed = "congestion.algorithm = \"fixed\"\n";
    for (plane, least) in [(0, Duration::from_us(4)), (1, Duration::from_us(14))] {
        for verb in ["write", "send", "read"] {
            let message = flows(&[(0, 1, 50_000, "0us")]);
            let message = message + &format!("plane = {plane}\nverb = \"{verb}\"\n");
            let case = loaded_with("planes", &fabric, &(fixed.to_owned() + &message), &[]);
            let message = complete(&case).messages[0];
            let taken = message.finish.unwrap() - message.start;
            assert_eq!(taken, message.ideal, "plane {plane}, {verb}");
            assert!(taken > least, "{taken} in plane {plane}");
        }
    }
}

#[test]
fn a_port_that_is_down_holds_up_its_plane_only() {
    // The link of host 0 to the second plane, whose switch is node 5, goes down and comes back.
    let fault = "[[faults.link]]\nbetween = [0, 5]\ndown = \"2us\"\nup = \"400us\"\n";
    let workload = |plane| many(2) + &format!("plane = {plane}\n");
    let text = star(4, 2) + &workload(0) + &workload(1) + fault;
    let results = complete(&loaded(&text, &["transport.ack_timeout=\"100us\""]));
    for message in &results.messages {
        let late = message.finish.unwrap() > Time::from_ns(400_000);
        assert_eq!(late, message.workload == 1, "{message:?}");
    }
    let text = text.replace("up = \"400us\"\n", "");
    let results = run(&loaded(&text, &["transport.ack_timeout=\"100us\""]));
    // As on one plane: it times out, and nobody moves it to another plane.
    assert_eq!(results.totals.ending, Ending::Failed);
    for message in &results.messages {
        let failed = message.outcome == Outcome::RetryExceeded;
        assert_eq!(failed, message.workload == 1, "{message:?}");
    }
}

#[test]
fn a_host_that_pauses_its_switches_pauses_all_of_them() {
    let fault = "[[faults.pause]]\nhost = 1\nstart = \"2us\"\nduration = \"300us\"\n";
    let results = complete(&loaded(&(star(2, 2) + &many(16) + fault), &[]));
    for node in [2, 3] {
        let paused = results.pauses.iter().filter(|record| {
            let port = &results.ports[record.port.index()];
            record.pause && port.node.get() == node && port.peer_node.get() == 1
        });
        assert!(paused.count() > 0, "switch {node}");
    }
    assert!(end(&results) > Duration::from_us(300));
}

#[test]
fn load_is_that_of_all_ports_or_of_the_one_of_the_plane() {
    let sizes = "[{ size = \"1kB\", percent = 0 }, { size = \"1kB\", percent = 100 }]";
    let workload = format!(
        "[[workload]]\nkind = \"poisson\"\nsizes = {sizes}\nload = 0.5\nduration = \"200us\"\n"
    );
    let count = |text: &str| fairlane_fabric::messages(&loaded(text, &[])).unwrap().len();
    let one = count(&(star(8, 1) + &workload)) as f64;
    let four = count(&(star(8, 4) + &workload)) as f64;
    let bound = count(&(star(8, 4) + &workload + "plane = 2\n")) as f64;
    assert!((3.9..4.1).contains(&(four / one)), "{four} {one}");
    assert_eq!(bound, one);
}

fn on_threads(case: &Loaded, threads: usize) -> (String, usize) {
    let simulation = Simulation::new(case).unwrap();
    let (results, threading) = simulation.run_on(threads, &mut |_| Control::Continue);
    let lossless = case.scenario.switch.pfc.enabled;
    assert_eq!(check(&results, lossless), Vec::<String>::new());
    (format!("{results:?}"), threading.threads)
}

#[test]
fn results_are_the_same_on_several_threads() {
    let fault = "[[faults.link]]\nbetween = [1, 22]\ndown = \"10us\"\nup = \"60us\"\n";
    let storm = "[[faults.pause]]\nhost = 6\nstart = \"5us\"\nduration = \"20us\"\n";
    let text = leaf_spine(3) + MIXED + fault + storm;
    for sets in [
        &[][..],
        &["congestion.scope=\"tenant\""],
        &["congestion.algorithm=\"hpcc\""],
        &["switch.forwarding=\"spray\""],
        &[
            "congestion.algorithm=\"swift\"",
            "switch.forwarding=\"adaptive\"",
        ],
        &["capture=[\"host:1\", \"switch:22\"]"],
    ] {
        let case = loaded(&text, sets);
        let (alone, _) = on_threads(&case, 1);
        for threads in [2, 3] {
            let (results, parts) = on_threads(&case, threads);
            assert_eq!(parts, threads, "{sets:?}");
            assert!(alone == results, "{sets:?} on {threads} threads");
        }
    }
}

/// Random scenarios that are run.
const SCENARIOS: u64 = 40;

#[test]
fn random_scenarios_hold_with_planes_and_on_several_threads() {
    let (mut judged, mut cut) = (0, 0);
    for seed in 0..SCENARIOS {
        let text = random::scenario(seed);
        let shapes = ["star", "leaf-spine", "fat-tree"].map(|kind| format!("kind = \"{kind}\""));
        if !shapes.iter().any(|shape| text.contains(shape)) {
            continue;
        }
        let planes = format!("topology.planes={}", 2 + seed % 3);
        // Packets that are sent at one instant by several parts are recorded in the order of parts.
        let case = loaded(&text, &[&planes, "output.trace_nodes=[]", "capture=[]"]);
        let (alone, _) = on_threads(&case, 1);
        let (results, parts) = on_threads(&case, 3);
        assert!(alone == results, "seed {seed}");
        judged += 1;
        cut += u32::from(parts > 1);
    }
    assert!(judged > 15 && cut > 7, "{judged}, {cut} cut");
}

#[test]
fn applications_use_all_planes() {
    let workload = r#"
        [[workload]]
        kind = "key-value"
        clients = "0-1"
        servers = "2-3"
        applications = 2
        connections = 8
        size = "20kB"
        batch = 4
        count = 40
        "#;
    for policy in ["raw", "share", "drum"] {
        let set = format!("nic.policy=\"{policy}\"");
        let small = "nic.costs.cache_entries=1";
        let case = loaded(&(star(4, 2) + workload), &[&set, small]);
        let results = complete(&case);
        let sent = port_bytes(&results);
        let servers = results.ports.iter().zip(sent).filter(|(port, _)| {
            let node = port.node.get();
            node == 2 || node == 3
        });
        for (port, sent) in servers {
            assert!(sent > 1_000_000, "{policy}: {port:?} sent {sent}");
        }
    }
}

#[test]
fn previews_show_the_plane_of_each_source_port() {
    let case = loaded(&(star(2, 2) + &many(1)), &[]);
    let ends = (NodeId::new(0), NodeId::new(1));
    let Paths::ByPort(previews) = paths(&case, ends, 0xc000..0xc040, 100).unwrap() else {
        panic!("source ports decide");
    };
    let through = |node| {
        let nodes = [0, node, 1].map(NodeId::new);
        let back = [1, node, 0].map(NodeId::new);
        previews
            .iter()
            .filter(|one| one.forward.nodes == nodes && one.reverse.nodes == back)
            .count()
    };
    let (first, second) = (through(2), through(3));
    assert_eq!(first + second, previews.len());
    assert!(first > 16 && second > 16, "{first} {second}");
    // The message of the run has a source port, and takes the plane that its preview says.
    let results = complete(&case);
    let port = results.messages[0].source_port;
    let preview = paths(&case, ends, [port], 100).unwrap();
    let Paths::ByPort(preview) = preview else {
        panic!("source ports decide");
    };
    let plane = preview[0].forward.nodes[1].get() - 2;
    let sent = port_bytes(&results);
    let busy = results.ports.iter().zip(sent).filter(|(_, sent)| *sent > 0);
    for (port, _) in busy.filter(|(port, _)| !port.on_switch) {
        assert_eq!(port.number - 1, plane);
    }
}

/// A GOAL schedule that sends 10 MB from rank 0 to rank 1 on each of these NICs of both.
fn schedule(nics: &[[&str; 2]]) -> String {
    let rank = |rank: usize, verb: &str| {
        let statement = |(tag, nics): (usize, &[&str; 2])| {
            let nic = nics[rank];
            format!("{verb} {} tag {tag} {nic}\n", 1 - rank)
        };
        let statements: String = (0..).zip(nics).map(statement).collect();
        format!("rank {rank} {{\n{statements}}}\n")
    };
    let sends = rank(0, "send 10000000b to");
    format!("num_ranks 2\n{sends}{}", rank(1, "recv 10000000b from"))
}

fn scheduled(
    planes: u32,
    nics: &[[&str; 2]],
    more: &str,
) -> Result<Loaded, fairlane_scenario::Error> {
    let text = star(2, planes) + "[[workload]]\nkind = \"program\"\npath = \"s.goal\"\n" + more;
    let schedule = schedule(nics);
    let held: [(&str, &[u8]); 1] = [("s.goal", schedule.as_bytes())];
    let files = fairlane_scenario::Files::Held(&held);
    fairlane_scenario::parse_with(&text, "test.toml", files, &[], None)
}

#[test]
fn the_nic_that_a_schedule_names_is_the_port_to_that_plane() {
    let nics = ["nic 0", "nic 1", "nic 2", "nic 3"].map(|nic| [nic; 2]);
    let case = scheduled(4, &nics, "").unwrap();
    let results = complete(&case);
    let sizes = &case.scenario.packet;
    let on_wire = |payload: u64| payload + sizes.header.get() + sizes.gap.get();
    let packets = 10_000_000u64.div_ceil(sizes.mtu.get());
    // 80 ps a byte at 100 Gb/s. The last packet is stored and forwarded once; 1 us on each of two links there and back.
    let bytes = 10_000_000 + packets * on_wire(0) + sizes.first_header.get();
    let last = 10_000_000 - (packets - 1) * sizes.mtu.get();
    let acknowledgement = 2 * (sizes.ack.get() + sizes.gap.get());
    let expected = 80 * (bytes + on_wire(last) + acknowledgement) + 4_000_000;
    for message in &results.messages {
        let taken = (message.finish.unwrap() - message.start).as_ps();
        let ratio = taken as f64 / expected as f64;
        assert!(
            (0.999..1.001).contains(&ratio),
            "{taken} ps, {expected} expected"
        );
    }
    // One end may leave its NIC out; two messages on one take twice as long.
    let one = complete(&scheduled(4, &[["nic 3", ""], ["", "nic 3"]], "").unwrap());
    let ratio = end(&one).as_ps() as f64 / expected as f64;
    assert!((1.98..2.01).contains(&ratio), "{ratio}");
    let sent = port_bytes(&one);
    let busy: Vec<_> = one
        .ports
        .iter()
        .zip(sent)
        .filter(|(_, sent)| *sent > 10_000_000)
        .collect();
    assert_eq!(
        busy.len(),
        2,
        "the host's port to plane 3, and the switch's to the other host"
    );
}

#[test]
fn a_nic_without_a_plane_is_refused() {
    let refused = |planes, nics: &[[&str; 2]], more: &str| {
        let case = scheduled(planes, nics, more);
        let error = case
            .and_then(|case| Simulation::new(&case).map(|_| ()))
            .unwrap_err();
        assert!(!error.hint.is_empty(), "{error}");
        format!("{}: {}", error.place, error.message)
    };
    let other = [["nic 0"; 2], ["nic 4"; 2]];
    assert_eq!(
        refused(4, &other, ""),
        "workload[0].path: rank 0, operation 1: names NIC 4, expected 0 to 3: NIC n is the port to plane n"
    );
    assert!(
        refused(1, &[["nic 1", ""]], "").contains("names NIC 1, expected 0: hosts have one port")
    );
    assert!(
        refused(2, &[["nic 0", "nic 1"]], "")
            .contains("sends from NIC 0, but rank 1 receives on NIC 1")
    );
    assert!(
        refused(2, &[["nic 0"; 2]], "plane = 1")
            .contains("names NIC 0, but the workload's `plane` is 1")
    );
    assert!(scheduled(1, &[["nic 0"; 2]], "").is_ok());
}
