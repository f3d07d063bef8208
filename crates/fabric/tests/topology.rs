//! Topologies: counts, numbering, checks, facts and layouts.

use std::collections::BTreeSet;

use fairlane_fabric::topology::{Link, NodeKind, Topology, TopologyError, facts, layout};
use fairlane_scenario::{
    Dumbbell, FatTree, Faults, LeafSpine, LinkSpec, LinkText, Mesh, PlaneError, SlowLink, Star,
    Topology as Shape, TopologyFile, TopologyText,
};
use fairlane_units::{Duration, NodeId, Rate};
use proptest::prelude::*;

fn spec(gbps: u64) -> LinkSpec {
    LinkSpec {
        rate: Rate::from_gbps(gbps),
        delay: Duration::from_us(1),
    }
}

fn link(a: u32, b: u32) -> Link {
    let (a, b) = (NodeId::new(a), NodeId::new(b));
    Link {
        a,
        b,
        rate: Rate::from_gbps(100),
        delay: Duration::from_us(1),
        loss: 0.0,
    }
}

fn links(pairs: &[(u32, u32)]) -> Vec<Link> {
    pairs.iter().map(|&(a, b)| link(a, b)).collect()
}

fn build(shape: &Shape) -> Topology {
    Topology::build(shape, None, 0.0).expect("a sound shape")
}

fn fat_tree(pods: u32, tors: u32, aggregations: u32, group: u32, hosts: u32) -> Shape {
    Shape::FatTree(FatTree {
        pods,
        tors_per_pod: tors,
        aggregations_per_pod: aggregations,
        cores: aggregations * group,
        hosts_per_tor: hosts,
        host_link: spec(100),
        fabric_link: spec(400),
        planes: 1,
    })
}

fn leaf_spine(leaves: u32, spines: u32, hosts_per_leaf: u32) -> Shape {
    let (host_link, fabric_link) = (spec(100), spec(400));
    Shape::LeafSpine(LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        host_link,
        fabric_link,
        planes: 1,
    })
}

fn mesh(switches: u32, hosts_per_switch: u32) -> Shape {
    Shape::Mesh(Mesh {
        switches,
        hosts_per_switch,
        host_link: spec(100),
        fabric_link: spec(400),
    })
}

fn dumbbell(left: u32, right: u32) -> Shape {
    Shape::Dumbbell(Dumbbell {
        left,
        right,
        host_link: spec(100),
        core_link: spec(100),
    })
}

fn joined(topology: &Topology) -> BTreeSet<(u32, u32)> {
    topology
        .links
        .iter()
        .map(|link| (link.a.get(), link.b.get()))
        .collect()
}

#[test]
fn fat_tree_of_320_hosts_has_its_counts_and_facts() {
    let topology = build(&fat_tree(5, 4, 4, 4, 16));
    let facts = facts(&topology);
    assert_eq!((facts.hosts, facts.switches, facts.links), (320, 56, 480));
    let rates: Vec<_> = facts
        .links_by_rate
        .iter()
        .map(|r| (r.rate_gbps, r.links))
        .collect();
    assert_eq!(rates, [(100.0, 320), (400.0, 160)]);
    assert_eq!(facts.diameter_links, 6);
    let tiers: Vec<_> = facts.tiers.iter().map(|t| (t.tier, t.switches)).collect();
    assert_eq!(tiers, [(1, 20), (2, 20), (3, 16)]);
    let ratios: Vec<_> = facts.tiers.iter().map(|t| t.oversubscription).collect();
    assert_eq!(ratios, [Some(1.0), Some(1.0), None]);
    assert_eq!(facts.tiers[2].down_gbps, 32_000.0);
    assert_eq!(facts.bisection_gbps, Some(16_000.0));
}

#[test]
fn fat_tree_links_each_aggregation_switch_to_its_group_of_cores() {
    let topology = build(&fat_tree(2, 2, 2, 2, 1));
    // Hosts 0-3, ToRs 4-7, aggregations 8-11, cores 12-15.
    let expected = [
        [(0, 4), (1, 5), (2, 6), (3, 7)],
        [(4, 8), (4, 9), (5, 8), (5, 9)],
        [(6, 10), (6, 11), (7, 10), (7, 11)],
        [(8, 12), (8, 13), (9, 14), (9, 15)],
        [(10, 12), (10, 13), (11, 14), (11, 15)],
    ];
    let order: Vec<_> = topology
        .links
        .iter()
        .map(|l| (l.a.get(), l.b.get()))
        .collect();
    assert_eq!(order, expected.concat());
    assert_eq!(
        topology.tiers,
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]
    );
}

#[test]
fn dumbbell_numbers_left_hosts_then_right_hosts_then_switches() {
    let topology = build(&dumbbell(2, 3));
    let expected = links(&[(0, 5), (1, 5), (2, 6), (3, 6), (4, 6), (5, 6)]);
    assert_eq!(topology.links, expected);
    let facts = facts(&topology);
    assert_eq!(facts.diameter_links, 3);
    assert_eq!(facts.tiers[0].oversubscription, Some(3.0));
    assert_eq!(facts.bisection_gbps, Some(100.0));
}

#[test]
fn leaf_spine_and_mesh_have_every_link_they_should() {
    let topology = build(&leaf_spine(2, 2, 1));
    let expected = [(0, 2), (1, 3), (2, 4), (2, 5), (3, 4), (3, 5)];
    assert_eq!(joined(&topology), expected.into_iter().collect());
    let topology = build(&mesh(3, 1));
    let expected = [(0, 3), (1, 4), (2, 5), (3, 4), (3, 5), (4, 5)];
    assert_eq!(joined(&topology), expected.into_iter().collect());
}

#[test]
fn star_of_one_host_has_no_diameter_and_no_bisection() {
    let facts = facts(&build(&Shape::Star(Star {
        hosts: 1,
        host_link: spec(10),
        planes: 1,
    })));
    assert_eq!((facts.diameter_links, facts.bisection_gbps), (0, None));
}

#[test]
fn two_hosts_on_one_link_need_no_switch() {
    let topology = Topology::from_links(2, &[], links(&[(0, 1)])).expect("sound");
    let facts = facts(&topology);
    assert_eq!(
        (facts.hosts, facts.diameter_links, facts.tiers.len()),
        (2, 1, 0)
    );
    assert_eq!(facts.bisection_gbps, Some(100.0));
}

#[test]
fn bisection_is_the_narrowest_cut_whichever_way_packets_go() {
    // Two switches joined directly and by way of a third.
    let mut through = links(&[(0, 4), (1, 4), (2, 5), (3, 5), (4, 5), (4, 6), (6, 5)]);
    through[4].rate = Rate::from_gbps(25);
    through[5].rate = Rate::from_gbps(40);
    through[6].rate = Rate::from_gbps(10);
    let topology = Topology::from_links(7, &[4, 5, 6], through).expect("sound");
    assert_eq!(facts(&topology).bisection_gbps, Some(35.0));
}

#[test]
fn slow_links_are_slow_whichever_end_is_named_first() {
    let slow = |between, gbps| SlowLink {
        between,
        index: None,
        rate: Rate::from_gbps(gbps),
    };
    // Hosts 0 to 3, leaves 4 and 5, spines 6 and 7.
    let faults = Faults {
        slow: vec![slow([6, 4], 100), slow([0, 4], 25)],
        ..Faults::default()
    };
    let topology = build(&leaf_spine(2, 2, 2)).slowed(&faults);
    let rate = |a: u32, b: u32| {
        let mut links = topology.links.iter();
        let found = links.find(|link| (link.a.get(), link.b.get()) == (a, b));
        found.expect("a link").rate
    };
    assert_eq!(rate(4, 6), Rate::from_gbps(100));
    assert_eq!(rate(0, 4), Rate::from_gbps(25));
    assert_eq!(rate(4, 7), Rate::from_gbps(400));
    assert_eq!(rate(1, 4), Rate::from_gbps(100));
}

#[test]
fn loss_rate_applies_to_links_that_state_none() {
    let topology = Topology::build(&dumbbell(1, 1), None, 0.01).expect("sound");
    assert!(topology.links.iter().all(|link| link.loss == 0.01));
    for rate in [-0.1, 1.5, f64::NAN] {
        let error = Topology::build(&dumbbell(1, 1), None, rate).expect_err("no probability");
        assert!(
            matches!(error, TopologyError::Loss { link: 1, .. }),
            "{error}"
        );
    }
}

fn refused(nodes: u32, switches: &[u32], pairs: &[(u32, u32)]) -> TopologyError {
    Topology::from_links(nodes, switches, links(pairs)).expect_err("unsound")
}

#[test]
fn unsound_links_are_refused_by_name() {
    use TopologyError as E;
    let n = NodeId::new;
    refused_as(&[
        (
            refused(3, &[2], &[(0, 2), (1, 3)]),
            E::UnknownNode {
                link: 2,
                node: n(3),
                nodes: 3,
            },
        ),
        (
            refused(3, &[2], &[(0, 2), (2, 2)]),
            E::SelfLink {
                link: 2,
                node: n(2),
            },
        ),
        (refused(3, &[2], &[(0, 2)]), E::Unlinked { host: n(1) }),
        (
            refused(3, &[2], &[(0, 2), (0, 1), (1, 2)]),
            E::Planes(PlaneError {
                link: Some(1),
                message: "host 0 has several links, expected switches at all of them".into(),
                hint: "list the node as a switch if it forwards packets",
            }),
        ),
    ]);
}

#[test]
fn unsound_nodes_are_refused_by_name() {
    use TopologyError as E;
    let n = NodeId::new;
    refused_as(&[
        (refused(2, &[0, 1], &[(0, 1)]), E::NoHosts),
        (refused(0, &[], &[]), E::NoHosts),
        (
            refused(2, &[2], &[(0, 1)]),
            E::UnknownSwitch {
                switch: 2,
                nodes: 2,
            },
        ),
        (refused(2, &[1, 1], &[(0, 1)]), E::SwitchTwice { switch: 1 }),
        (
            refused(6, &[4, 5], &[(0, 4), (1, 4), (2, 5), (3, 5)]),
            E::Disconnected {
                from: n(0),
                to: n(2),
            },
        ),
        (
            refused(3, &[1, 2], &[(0, 1)]),
            E::Disconnected {
                from: n(0),
                to: n(2),
            },
        ),
        (
            refused(4, &[], &[(0, 1), (2, 3)]),
            E::Disconnected {
                from: n(0),
                to: n(2),
            },
        ),
    ]);
}

fn refused_as(cases: &[(TopologyError, TopologyError)]) {
    for (refused, expected) in cases {
        assert_eq!(refused, expected);
        assert!(refused.to_string().contains("\nhint: "), "{refused}");
    }
}

#[test]
fn zero_rates_and_losses_beyond_one_are_refused() {
    let mut slow = links(&[(0, 1)]);
    slow[0].rate = Rate::ZERO;
    let error = Topology::from_links(2, &[], slow).expect_err("rate 0");
    assert!(
        matches!(error, TopologyError::ZeroRate { link: 1, .. }),
        "{error}"
    );
    let mut lossy = links(&[(0, 1)]);
    lossy[0].loss = 1.01;
    let error = Topology::from_links(2, &[], lossy).expect_err("loss above 1");
    assert!(matches!(error, TopologyError::Loss { .. }), "{error}");
}

#[test]
fn unsound_shapes_are_refused() {
    let shape = Shape::FatTree(FatTree {
        pods: 2,
        tors_per_pod: 2,
        aggregations_per_pod: 3,
        cores: 4,
        hosts_per_tor: 1,
        host_link: spec(100),
        fabric_link: spec(100),
        planes: 1,
    });
    let error = Topology::build(&shape, None, 0.0).expect_err("4 cores for 3 switches");
    assert_eq!(
        error,
        TopologyError::UnevenCores {
            cores: 4,
            aggregations: 3
        }
    );
    let error = Topology::build(&leaf_spine(2, 0, 4), None, 0.0).expect_err("no spines");
    assert!(
        matches!(error, TopologyError::Disconnected { .. }),
        "{error}"
    );
    let error = Topology::build(&leaf_spine(2, 1, 0), None, 0.0).expect_err("no hosts");
    assert_eq!(error, TopologyError::NoHosts);
    let file = Shape::File(TopologyFile {
        path: "fabric.txt".into(),
    });
    let error = Topology::build(&file, None, 0.0).expect_err("nothing was read");
    assert!(error.to_string().contains("fabric.txt"), "{error}");
}

#[test]
fn fabrics_beyond_any_run_are_refused_not_attempted() {
    let huge = u32::MAX;
    let shapes = [
        Shape::Star(Star {
            hosts: huge,
            host_link: spec(1),
            planes: 1,
        }),
        dumbbell(huge, huge),
        leaf_spine(huge, huge, huge),
        mesh(huge, huge),
        mesh(100_000, 1),
        fat_tree(huge, huge, 1, huge, huge),
    ];
    for shape in shapes {
        let error = Topology::build(&shape, None, 0.0).expect_err("too large");
        assert!(matches!(error, TopologyError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn files_take_tiers_from_the_distance_to_a_host() {
    // Two ToRs below one aggregation switch; the numbers of hosts and switches are mixed.
    let pairs = [(0, 1), (2, 3), (1, 4), (3, 4), (5, 1)];
    let topology = Topology::from_links(6, &[1, 3, 4], links(&pairs)).expect("sound");
    assert_eq!(topology.tiers, [0, 1, 0, 1, 2, 0]);
    assert_eq!(topology.nodes[4], NodeKind::Switch);
    let hosts: Vec<_> = topology.hosts().map(NodeId::get).collect();
    assert_eq!(hosts, [0, 2, 5]);
    assert_eq!(topology.host_rates()[2], Rate::from_gbps(100));
    assert_eq!(topology.host_rates()[1], Rate::ZERO);
}

#[test]
fn a_file_keeps_its_own_loss_and_takes_the_general_one_elsewhere() {
    let (rate, delay) = (Rate::from_gbps(40), Duration::from_ns(7));
    let host = |a, loss| LinkText {
        a,
        b: 2,
        rate,
        delay,
        loss,
    };
    let links = vec![host(1, 0.25), host(0, 0.0)];
    let text = TopologyText {
        nodes: 3,
        switches: vec![2],
        links,
    };
    let shape = Shape::File(TopologyFile {
        path: "fabric.txt".into(),
    });
    let topology = Topology::build(&shape, Some(&text), 0.01).expect("sound");
    let found: Vec<_> = topology
        .links
        .iter()
        .map(|l| (l.a.get(), l.rate, l.delay, l.loss))
        .collect();
    assert_eq!(found, [(1, rate, delay, 0.25), (0, rate, delay, 0.01)]);
}

#[test]
fn layout_puts_tiers_in_rows_and_switches_above_what_they_connect() {
    let topology = build(&fat_tree(2, 2, 2, 2, 2));
    let places = layout(&topology);
    // Hosts 0-7, ToRs 8-11, aggregations 12-15, cores 16-19.
    assert!(places[0].1 > places[8].1 && places[8].1 > places[12].1 && places[12].1 > places[16].1);
    let middle = (places[0].0 + places[1].0) / 2.0;
    assert!((places[8].0 - middle).abs() < 1e-6);
    assert!(places[13].0 < 0.5 && places[14].0 > 0.5, "pods stay apart");
    assert!(
        places[3].0 - places[2].0 < places[2].0 - places[1].0,
        "a gap between ToRs"
    );
}

#[test]
fn layout_of_a_mesh_is_a_circle_with_hosts_outside() {
    let topology = build(&mesh(5, 3));
    let radius = |(x, y): (f32, f32)| (x - 0.5).hypot(y - 0.5);
    for (kind, place) in topology.nodes.iter().zip(layout(&topology)) {
        let expected = if *kind == NodeKind::Host { 0.46 } else { 0.3 };
        assert!((radius(place) - expected).abs() < 1e-5);
    }
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        (0..6u32, 1..6u32).prop_map(|(left, right)| dumbbell(left, right)),
        (1..200u32).prop_map(|hosts| Shape::Star(Star {
            hosts,
            host_link: spec(25),
            planes: 1,
        })),
        (1..9u32, 1..6u32, 1..9u32).prop_map(|(l, s, h)| leaf_spine(l, s, h)),
        (1..12u32, 1..6u32).prop_map(|(s, h)| mesh(s, h)),
        (1..5u32, 1..4u32, 1..4u32, 1..4u32, 1..5u32)
            .prop_map(|(p, t, a, g, h)| fat_tree(p, t, a, g, h)),
    ]
}

/// A random tree of switches with a host on each leaf, as a file could describe it.
fn trees() -> impl Strategy<Value = Topology> {
    prop::collection::vec(any::<prop::sample::Index>(), 1..40).prop_map(|parents| {
        let switches = u32::try_from(parents.len()).expect("few");
        let number = |index: usize| u32::try_from(index).expect("few");
        let mut pairs = Vec::new();
        for (index, parent) in parents.iter().enumerate().skip(1) {
            pairs.push((number(index), number(parent.index(index))));
        }
        let ids: Vec<_> = (0..switches).collect();
        pairs.extend(ids.iter().map(|switch| (switch + switches, *switch)));
        Topology::from_links(2 * switches, &ids, links(&pairs)).expect("a tree is sound")
    })
}

fn naive_diameter(topology: &Topology) -> u32 {
    let nodes = topology.nodes.len();
    let mut distance = vec![vec![u32::MAX / 2; nodes]; nodes];
    for (node, row) in distance.iter_mut().enumerate() {
        row[node] = 0;
    }
    for link in &topology.links {
        distance[link.a.index()][link.b.index()] = 1;
        distance[link.b.index()][link.a.index()] = 1;
    }
    for k in 0..nodes {
        for i in 0..nodes {
            for j in 0..nodes {
                distance[i][j] = distance[i][j].min(distance[i][k] + distance[k][j]);
            }
        }
    }
    let hosts: Vec<_> = topology.hosts().map(NodeId::index).collect();
    let pairs = hosts
        .iter()
        .flat_map(|a| hosts.iter().map(move |b| (*a, *b)));
    pairs.map(|(a, b)| distance[a][b]).max().unwrap_or(0)
}

fn assert_drawable(topology: &Topology) {
    let places = layout(topology);
    assert_eq!(places.len(), topology.nodes.len());
    let bits: BTreeSet<_> = places
        .iter()
        .map(|(x, y)| (x.to_bits(), y.to_bits()))
        .collect();
    assert_eq!(bits.len(), places.len(), "two nodes share a place");
    for (x, y) in places {
        assert!(
            (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y),
            "({x}, {y})"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn every_shape_is_sound_and_its_facts_hold(shape in shapes()) {
        let topology = build(&shape);
        let switches: Vec<_> = topology.switches().map(NodeId::get).collect();
        let nodes = u32::try_from(topology.nodes.len()).expect("few");
        // Reading the links back runs every check again, that all is connected among them.
        let read = Topology::from_links(nodes, &switches, topology.links.clone());
        prop_assert_eq!(read.map(|read| read.nodes), Ok(topology.nodes.clone()));
        let hosts = topology.hosts().count();
        let first = topology.nodes[..hosts].iter();
        prop_assert!(first.into_iter().all(|kind| *kind == NodeKind::Host));
        if nodes < 150 {
            prop_assert_eq!(facts(&topology).diameter_links, naive_diameter(&topology));
        }
    }

    #[test]
    fn every_layout_is_on_the_page_and_distinct(shape in shapes()) {
        assert_drawable(&build(&shape));
    }

    #[test]
    fn trees_from_files_are_sound_and_drawable(topology in trees()) {
        assert_drawable(&topology);
        prop_assert_eq!(facts(&topology).diameter_links, naive_diameter(&topology));
    }

    #[test]
    fn no_list_of_links_panics(
        nodes in 0..12u32,
        switches in prop::collection::vec(0..14u32, 0..8),
        pairs in prop::collection::vec((0..14u32, 0..14u32), 0..20),
    ) {
        if let Ok(topology) = Topology::from_links(nodes, &switches, links(&pairs)) {
            assert_drawable(&topology);
            facts(&topology);
        }
    }
}

#[test]
fn a_thousand_hosts_take_no_time_to_describe() {
    let topology = build(&fat_tree(8, 8, 8, 8, 16));
    let facts = facts(&topology);
    assert_eq!((facts.hosts, facts.diameter_links), (1024, 6));
    assert_drawable(&topology);
}
