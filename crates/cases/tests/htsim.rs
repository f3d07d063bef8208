//! Import of connection matrices and fat trees of htsim.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

#[path = "../../scenario/tests/common/mod.rs"]
mod common;

use common::Folder;
use fairlane_cases::htsim::import;
use fairlane_cases::{Imported, Traffic};
use fairlane_hpcc_files::{Times, TopologyText};
use fairlane_scenario::load;
use fairlane_traces::{Format, read};
use fairlane_units::{Duration, Rate};

const MATRIX: &str = "Nodes 16\nConnections 3\n# a remark\n0->13 id 1 start 0 size 2000000\n\
    13->0 start 5000000.0 size 1000\n7->8 id 3 start 1500 size 64 prio 2\n\n";

/// Three tiers of k-port switches with k = 4, as the page of htsim's format has them.
const TREE: &str = "# a fat tree\nNodes 16\nTiers 3\nPodsize 4\n\nTier 0\nOversubscribed 1\nDownlink_speed_Gbps 100\n\
    Radix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n\nTier 1\nDownlink_speed_Gbps 100\n\
    Radix_Down 2\nRadix_Up 2\nDownlink_Latency_ns 1000\nBundle 1\n\nTier 2\nDownlink_speed_Gbps 100\nRadix_Down 4\n\
    Downlink_Latency_ns 1000\n";

/// Imports a matrix on a tree, if one is given.
fn case(matrix: &str, tree: &str) -> Result<Imported, String> {
    let folder = Folder::new("htsim")
        .with("m.cm", matrix)
        .with("t.topo", tree);
    let topology = folder.0.join("t.topo");
    let topology = (!tree.is_empty()).then_some(topology.as_path());
    import(&folder.0.join("m.cm"), topology).map_err(|error| {
        assert!(!error.hint.is_empty(), "no hint: {error}");
        error.to_string()
    })
}

fn topology(imported: &Imported) -> TopologyText {
    TopologyText::parse(&imported.topology, "t", Times::Exact).unwrap()
}

#[test]
fn messages_start_at_their_picosecond() {
    let imported = case(MATRIX, TREE).unwrap();
    assert_eq!(imported.traffic, Traffic::Flows);
    assert_eq!(
        imported.flows,
        "3\n0 13 3 100 2000000 0.000000000\n7 8 3 100 64 0.0000000015\n13 0 3 100 1000 0.000005000\n"
    );
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.starts_with("prio has no effect"))
    );
    let folder = Folder::new("htsim-written");
    imported.write(&folder.0.join("case")).unwrap();
    let loaded = load(&folder.0.join("case.toml"), &[], None).unwrap();
    assert_eq!(
        loaded.inputs.flows[0].as_ref().unwrap()[1].start,
        Duration::from_ps(1500)
    );
    assert!(folder.0.join("case.flows.txt").exists());
}

/// Between hosts of a pod 4 links, of two pods 6, and so many ways as Leiserson's tree has.
#[test]
fn a_fat_tree_has_the_switches_and_links_of_htsim() {
    let built = topology(&case(MATRIX, TREE).unwrap());
    assert_eq!(
        (built.nodes, built.hosts().len(), built.switches.len()),
        (36, 16, 20)
    );
    assert_eq!(built.links.len(), 16 + 16 + 16);
    let above = |node: u32| -> Vec<u32> {
        let links = built.links.iter().filter(|link| link.a == node);
        links.map(|link| link.b).collect()
    };
    // Hosts 0 to 15, ToRs 16 to 23, aggregation switches 24 to 31, cores 32 to 35.
    assert_eq!(above(5), [18]);
    assert_eq!(above(18), [26, 27]);
    assert_eq!((above(26), above(27)), (vec![32, 34], vec![33, 35]));
    // The same tree is built where none is given.
    assert_eq!(
        case(MATRIX, "").unwrap().topology,
        case(MATRIX, TREE).unwrap().topology
    );
}

/// A leaf-spine fabric with four times as many downlinks: 32 hosts, 4 ToRs, 2 spines.
const TINY: &str = "Nodes 32\nTiers 2\nPodsize 32\n\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 8\nRadix_Up 2\n\
    Downlink_Latency_ns 1000\nSwitch_Latency_ns 100\nOversubscribed 4\n\ntier 1\ndownlink_speed_gbps 100\nradix_down 4\n\
    downlink_latency_ns 2000\nswitch_latency_ns 300\n";

#[test]
fn two_tiers_are_leaves_and_spines_and_switches_take_time() {
    let imported = case(&MATRIX.replace('\n', "\r\n"), &TINY.replace('\n', "\r\n")).unwrap();
    let built = topology(&imported);
    assert_eq!(
        (built.nodes, built.switches.len(), built.links.len()),
        (38, 6, 32 + 8)
    );
    assert!(
        built
            .links
            .iter()
            .all(|link| link.rate == Rate::from_gbps(100))
    );
    // Between hosts of two ToRs: two links of each kind, two ToRs and a spine.
    let [lower, upper] = [0, 32].map(|link: usize| built.links[link].delay.as_ps());
    assert_eq!(
        2 * (lower + upper),
        (2 * 1000 + 2 * 2000 + 2 * 100 + 300) * 1000
    );
    // Between hosts of one: two links and the ToR.
    assert_eq!(2 * lower, (2 * 1000 + 100) * 1000);
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.starts_with("Switch_Latency_ns"))
    );
}

#[test]
fn bundles_are_links_side_by_side() {
    // Each of two cores has three links to each of twelve pods.
    let tree = "Nodes 24\nTiers 3\nPodsize 2\nTier 0\nDownlink_speed_Gbps 100\nRadix_Down 2\nRadix_Up 3\n\
        Downlink_Latency_ns 1\nTier 1\nDownlink_speed_Gbps 200\nRadix_Down 1\nRadix_Up 3\nDownlink_Latency_ns 1\n\
        Tier 2\nDownlink_speed_Gbps 200\nRadix_Down 36\nBundle 3\nDownlink_Latency_ns 1\n";
    let error = case(MATRIX, tree).expect_err("1 uplink of a ToR, 12 of aggregation switches");
    assert!(
        error.contains("cores: uplinks by Radix_Down of tier 2"),
        "{error}"
    );
}

const ORDERED: &str = "Nodes 16\nConnections 4\nTriggers 2\n\
    0->1 id 1 start 2500 size 20000 send_done_trigger 1\n2->3 id 2 start 0 size 20000 recv_done_trigger 1\n\
    3->4 id 3 trigger 1 size 20000 recv_done_trigger 2\n4->5 id 4 trigger 2 size 20000\n\
    trigger id 1 barrier count 2\ntrigger id 2 oneshot\n";

#[test]
fn triggers_become_the_order_of_a_schedule() {
    let imported = case(ORDERED, TREE).unwrap();
    assert_eq!(imported.traffic, Traffic::Schedule);
    let program = read(Format::Goal, &[("case.goal", imported.flows.as_bytes())]).unwrap();
    assert_eq!(program.ranks.len(), 16);
    let names = |rank: usize, at: usize| -> Vec<&str> {
        let operations = &program.ranks[rank];
        operations[at]
            .after
            .iter()
            .map(|&it| operations[it as usize].name.as_str())
            .collect()
    };
    let at = |rank: usize, name: &str| {
        program.ranks[rank]
            .iter()
            .position(|it| it.name == name)
            .unwrap()
    };
    // Host 3 has message 1 itself and is told of message 0 by its sender, host 0; host 4 has message 2.
    assert_eq!(names(3, at(3, "m2")), ["m1", "t1from0"]);
    assert_eq!(names(0, at(0, "t1to3")), ["m0"]);
    assert_eq!(names(0, at(0, "m0")), ["s0"]);
    assert_eq!(names(4, at(4, "m3")), ["m2"]);
    for note in [
        "1 starts are rounded up",
        "triggers are told to other hosts by 1 messages",
    ] {
        assert!(
            imported.notes.iter().any(|it| it.starts_with(note)),
            "{:?}",
            imported.notes
        );
    }
    let folder = Folder::new("htsim-ordered");
    imported.write(&folder.0.join("case.toml")).unwrap();
    assert!(folder.0.join("case.goal").exists() && !folder.0.join("case.flows.txt").exists());
    load(&folder.0.join("case.toml"), &[], None).unwrap();
    // The sender's end where the receiver waits.
    let other = ORDERED.replace("recv_done_trigger 2", "send_done_trigger 2");
    let notes = case(&other, TREE).unwrap().notes;
    assert!(
        notes
            .iter()
            .any(|note| note.starts_with("1 waits are for the other end")),
        "{notes:?}"
    );
}

#[test]
fn endless_connections_have_the_largest_message() {
    let imported = case(
        "Nodes 16\nConnections 1\n3->0 start 0.000000 size 0\n",
        TREE,
    )
    .unwrap();
    assert_eq!(imported.flows, "1\n3 0 3 100 4294967295 0.000000000\n");
    assert!(
        imported
            .notes
            .iter()
            .any(|note| note.contains("say in `stop`")),
        "{:?}",
        imported.notes
    );
}

/// Refuses each matrix with a message that has this part.
fn refused(matrices: &[(String, &str)]) {
    for (matrix, part) in matrices {
        let error = case(matrix, TREE).expect_err(part);
        assert!(error.contains(part), "expected {part} in {error}");
    }
}

#[test]
fn malformed_matrices_are_refused_with_their_line() {
    let line = |line: &str| format!("Nodes 4\nConnections 1\n{line}\n");
    refused(&[
        (String::new(), "m.cm: no connection"),
        ("Nodes 4\nConnections 0\n".into(), "m.cm: no connection"),
        ("Nodes 4\nNodes 4\n".into(), "m.cm:2: Nodes a second time"),
        (
            "Nodes 4\nConnections x\n".into(),
            "m.cm:2: the count is \"x\"",
        ),
        (
            "Nodes 4\nConnections 2\n0->1 start 0 size 1\n".into(),
            "m.cm:2: Connections is 2, but 1 are there",
        ),
        (
            "Nodes 4\n0->1 start 0 size 1\n".into(),
            "m.cm: Connections is 0, but 1 are there",
        ),
        (
            "Nodes 4\nFailures 1\nConnections 0\n".into(),
            "m.cm:2: Failures is 1",
        ),
        (line("0->4 start 0 size 1"), "m.cm:3: node 4 doesn't exist"),
        (line("x->1 start 0 size 1"), "m.cm:3: a node is \"x\""),
        (
            line("1->1 start 0 size 1"),
            "m.cm:3: a connection from node 1 to itself",
        ),
        (
            line("0->1 size 1"),
            "m.cm:3: has neither `start` nor `trigger`",
        ),
        (
            line("0->1 start 0 trigger 1 size 1"),
            "m.cm:3: has both `start` and `trigger`",
        ),
        (line("0->1 start 0"), "m.cm:3: has no `size`"),
        (line("0->1 start -1 size 1"), "m.cm:3: start is \"-1\""),
        (line("0->1 start 0 size"), "m.cm:3: size is \"\""),
        (
            line("0->1 start 0 size 4294967296"),
            "m.cm:3: size is 4294967296",
        ),
        (
            line("0->1 start 0 size 1 colour 3"),
            "m.cm:3: unknown attribute \"colour\"",
        ),
    ]);
}

#[test]
fn triggers_that_can_not_be_honoured_are_refused_with_their_line() {
    let line = |line: &str| format!("Nodes 4\nConnections 1\n{line}\n");
    refused(&[
        (
            line("0->1 trigger 7 size 1"),
            "m.cm:3: names trigger 7, which isn't described",
        ),
        (
            line("failure switch_type AGG switch_id 0 link_id 1"),
            "m.cm:3: failures aren't imported",
        ),
        (
            line("0 -> 1 start 0 size 1"),
            "m.cm:3: \"0\", expected a connection",
        ),
        (
            ORDERED.replace("trigger id 2 oneshot", "trigger id 1 oneshot"),
            "trigger 1 is also at",
        ),
        (
            ORDERED.replace("trigger id 2 oneshot", "trigger id 2"),
            "m.cm:9: a trigger without id or kind",
        ),
        (
            ORDERED.replace(" count 2", ""),
            "m.cm:8: a barrier without count",
        ),
        (
            ORDERED.replace("count 2", "count 3"),
            "m.cm:8: trigger 1 is fired by 2 connections, expected 3",
        ),
        (
            ORDERED.replace("barrier count 2", "oneshot"),
            "m.cm:8: trigger 1 is fired by 2 connections, expected one",
        ),
        (
            ORDERED.replace(" recv_done_trigger 2", ""),
            "m.cm:7: trigger 2 is fired by 0 connections",
        ),
        (
            "Nodes 17\nConnections 1\n0->16 start 0 size 1\n".into(),
            "Nodes is 17, but the topology has 16",
        ),
    ]);
    let error = case("Nodes 17\nConnections 1\n0->16 start 0 size 1\n", "").unwrap_err();
    assert!(error.contains("17 nodes make no fat tree"), "{error}");
}

/// The tree with one thing replaced.
fn with(old: &str, new: &str) -> String {
    TREE.replacen(old, new, 1)
}

/// Refuses each tree with a message that has this part.
fn refused_trees(trees: &[(String, &str)]) {
    for (tree, part) in trees {
        let error = case(MATRIX, tree).expect_err(part);
        assert!(error.contains(part), "expected {part} in {error}");
    }
}

#[test]
fn malformed_trees_are_refused_with_their_line() {
    refused_trees(&[
        (with("Nodes 16", ""), "t.topo: no `nodes`"),
        (
            with("Nodes 16", "Nodes 16\nNodes 16"),
            "t.topo:3: Nodes a second time",
        ),
        (
            with("Tiers 3", "Tiers 4"),
            "t.topo: 4 tiers, expected 2 or 3",
        ),
        (
            with("Tier 2", "Tier 1"),
            "t.topo:21: tier 1, expected 0, 1 and 2 once each",
        ),
        (with("Tier 2", "Tier x"), "t.topo:21: Tier is \"x\""),
    ]);
}

#[test]
fn trees_that_do_not_add_up_are_refused_or_noted() {
    refused_trees(&[
        (
            with("Podsize 4", "Podsize 5"),
            "t.topo: pods: Nodes by Podsize: 16 / 5",
        ),
        (
            with("Podsize 4", "Podsize"),
            "t.topo:4: 1 fields, expected 2",
        ),
        (
            with("Radix_Down 2", ""),
            "t.topo: no `radix_down` of tier 0",
        ),
        (
            with("Radix_Down 2", "Radix_Down 0"),
            "t.topo:9: Radix_Down is \"0\", expected 1",
        ),
        (
            with("Radix_Down 2", "Radix_Dwn 2"),
            "t.topo:9: unknown key Radix_Dwn",
        ),
        (
            with("speed_Gbps 100", "speed_Gbps 9000"),
            "t.topo:8: Downlink_speed_Gbps is \"9000\"",
        ),
        (
            with("speed_Gbps 100", "speed_Gbps 100Gbps"),
            "t.topo:8: Downlink_speed_Gbps is",
        ),
        (
            with(
                "Radix_Up 2\nDownlink_Latency_ns 1000\nBundle",
                "Radix_Up 3\nDownlink_Latency_ns 1000\nBundle",
            ),
            "tier 1 has Radix_Up 3",
        ),
        (
            with("Nodes 16", "Nodes 2000000"),
            "t.topo: 2000000 nodes, expected at most",
        ),
        (
            with("Oversubscribed 1", "Oversubscribed 3"),
            "uplinks of ToRs",
        ),
    ]);
    let sloppy = case(MATRIX, &with("Radix_Up 2", "Radix_Up 7"))
        .unwrap()
        .notes;
    assert!(
        sloppy
            .iter()
            .any(|note| note.contains("tier 0 states radix_up 7, but")),
        "{sloppy:?}"
    );
}
