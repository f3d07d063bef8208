//! What links are offered by messages at random times.

use fairlane_fabric::load::{TierLoad, tier_loads};
use fairlane_fabric::topology::Topology;
use fairlane_fabric::warnings;
use fairlane_scenario::Loaded;

use crate::common::{links, loaded, loaded_with, star};

fn of(loaded: &Loaded) -> Vec<TierLoad> {
    let file = loaded.inputs.topology.as_ref();
    let topology = Topology::build(&loaded.scenario.topology, file, 0.0).unwrap();
    tier_loads(loaded, &topology).unwrap()
}

/// Tiers of both ends, the share that their links are offered together, and that of the worst link.
type Share = (u8, u8, f64, f64);

fn shares(loaded: &Loaded) -> Vec<Share> {
    let tiers = of(loaded).into_iter();
    tiers
        .map(|tier| (tier.from, tier.to, tier.share, tier.worst.share))
        .collect()
}

fn assert_shares(loaded: &Loaded, expected: &[Share]) {
    let found = shares(loaded);
    let close = |(found, expected): (&Share, &Share)| {
        (found.0, found.1) == (expected.0, expected.1)
            && (found.2 - expected.2).abs() < 1e-9
            && (found.3 - expected.3).abs() < 1e-9
    };
    let all = found.len() == expected.len() && found.iter().zip(expected).all(close);
    assert!(all, "{found:?}, expected {expected:?}");
}

/// Four leaves of 16 hosts at 100 Gb/s and two spines at 200 Gb/s: four to one.
const LEAF_SPINE: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 16
host_link = { rate = "100Gbps", delay = "1us" }
fabric_link = { rate = "200Gbps", delay = "1us" }
"#;

fn poisson(load: f64, more: &str) -> String {
    format!(
        "[[workload]]\nkind = \"poisson\"\nsizes = \"websearch\"\nload = {load}\nduration = \"2ms\"\n{more}"
    )
}

#[test]
fn uplinks_of_four_to_one_are_offered_nearly_twice_their_rate() {
    // 48 of the 63 other hosts are behind the uplinks: 16 hosts of 60 Gb/s offer 400 Gb/s 16 * 60 * 48 / 63.
    let up = 16.0 * 60.0 * 48.0 / 63.0 / 400.0;
    assert!((up - 1.83_f64).abs() < 0.005);
    let case = loaded(&(LEAF_SPINE.to_owned() + &poisson(0.6, "")), &[]);
    assert_shares(
        &case,
        &[
            (0, 1, 0.6, 0.6),
            (1, 2, up, up),
            (2, 1, up, up),
            (1, 0, 0.6, 0.6),
        ],
    );
    let said = warnings::before(&case).unwrap().join("\n");
    assert!(
        said.contains("tier 1 to tier 2") && said.contains("183 %"),
        "{said}"
    );
    // At a third of it nothing is said.
    let case = loaded(&(LEAF_SPINE.to_owned() + &poisson(0.2, "")), &[]);
    assert_eq!(warnings::before(&case).unwrap(), [""; 0]);
}

#[test]
fn each_tier_of_a_fat_tree_has_the_messages_that_leave_its_part() {
    let fat_tree = r#"
        [topology]
        kind = "fat-tree"
        pods = 5
        tors_per_pod = 4
        aggregations_per_pod = 4
        cores = 16
        hosts_per_tor = 16
        host_link = { rate = "100Gbps", delay = "1us" }
        fabric_link = { rate = "400Gbps", delay = "1us" }
        "#;
    let case = loaded(&(fat_tree.to_owned() + &poisson(0.5, "")), &[]);
    // 304 of the 319 other hosts are at other ToRs, 256 in other pods.
    let tor = 16.0 * 50.0 * 304.0 / 319.0 / (4.0 * 400.0);
    let pod = 64.0 * 50.0 * 256.0 / 319.0 / (16.0 * 400.0);
    let up = [(0, 1, 0.5, 0.5), (1, 2, tor, tor), (2, 3, pod, pod)];
    let down = [(3, 2, pod, pod), (2, 1, tor, tor), (1, 0, 0.5, 0.5)];
    assert_shares(&case, &[up, down].concat());
}

#[test]
fn load_of_the_fabric_is_that_of_its_busiest_link() {
    let text = LEAF_SPINE.to_owned() + &poisson(0.6, "load_of = \"fabric\"\n");
    let case = loaded(&text, &[]);
    // Uplinks have 0.6 of 400 Gb/s for 48 of 63 messages of 16 hosts of 100 Gb/s.
    let hosts = 0.6 * 400.0 / (16.0 * 100.0 * 48.0 / 63.0);
    assert_shares(
        &case,
        &[
            (0, 1, hosts, hosts),
            (1, 2, 0.6, 0.6),
            (2, 1, 0.6, 0.6),
            (1, 0, hosts, hosts),
        ],
    );
    assert_eq!(warnings::before(&case).unwrap(), [""; 0]);
    // And so many messages arrive: a mean of websearch is 1.7 MB.
    let bytes = |text: &str| -> f64 {
        let messages = fairlane_fabric::messages(&loaded(text, &["workload.0.duration=\"40ms\""]));
        messages
            .unwrap()
            .iter()
            .map(|message| message.size.as_f64())
            .sum()
    };
    let ratio = bytes(&text) / bytes(&(LEAF_SPINE.to_owned() + &poisson(0.6, "")));
    assert!((ratio / (hosts / 0.6) - 1.0).abs() < 0.1, "{ratio}");
    let star = star(4) + &poisson(0.5, "load_of = \"fabric\"\n");
    let error = fairlane_fabric::messages(&loaded(&star, &[])).unwrap_err();
    assert_eq!(error.place, "workload[0].load_of");
}

#[test]
fn one_receiver_has_one_link() {
    // Three of four hosts at half of their links send to one; as READs they go the other way.
    let text = |more: &str| {
        star(4)
            + &poisson(
                0.5,
                &format!("destinations = \"3\"\nsources = \"0-2\"\n{more}"),
            )
    };
    assert_shares(
        &loaded(&text(""), &[]),
        &[(0, 1, 0.375, 0.5), (1, 0, 0.375, 1.5)],
    );
    let tiers = of(&loaded(&text(""), &[]));
    let worst = tiers[1].worst;
    assert_eq!((worst.node, worst.port, worst.peer), (4, 4, 3));
    let reads = loaded(&text("verb = \"read\"\n"), &[]);
    assert_shares(&reads, &[(0, 1, 0.375, 1.5), (1, 0, 0.375, 0.5)]);
    // Hosts that send all at once offer no load.
    let incast = "[[workload]]\nkind = \"incast\"\ndegree = 3\nsize = \"1MB\"\nreceiver = 3\n";
    let case = loaded(&(star(4) + incast), &[]);
    assert_eq!(of(&case), []);
    assert_eq!(warnings::before(&case).unwrap(), [""; 0]);
}

#[test]
fn only_what_arrives_at_one_time_adds_up() {
    let text = |start: &str| {
        star(4) + &poisson(0.6, "") + &poisson(0.7, &format!("start = \"{start}\"\n"))
    };
    assert_shares(
        &loaded(&text("2ms"), &[]),
        &[(0, 1, 0.7, 0.7), (1, 0, 0.7, 0.7)],
    );
    assert_shares(
        &loaded(&text("1ms"), &[]),
        &[(0, 1, 1.3, 1.3), (1, 0, 1.3, 1.3)],
    );
}

#[test]
fn paths_of_equal_length_have_equal_shares_whatever_their_rates() {
    // Hosts 0 and 1 at switch 4, hosts 2 and 3 at switch 5: a link of 100 Gb/s and one of 25 between them.
    let trunk = links(
        4,
        &[
            (0, 4, "100Gbps", "1us"),
            (1, 4, "100Gbps", "1us"),
            (2, 5, "100Gbps", "1us"),
            (3, 5, "100Gbps", "1us"),
            (4, 5, "100Gbps", "1us"),
            (4, 5, "25Gbps", "1us"),
        ],
    );
    let case = loaded_with("load", &trunk, &poisson(0.3, ""), &[]);
    // Two hosts of 30 Gb/s send two of three messages over there: 40 Gb/s, 20 on each link.
    assert_shares(
        &case,
        &[
            (0, 1, 0.3, 0.3),
            (1, 1, 80.0 / 250.0, 0.8),
            (1, 0, 0.3, 0.3),
        ],
    );
}

#[test]
fn planes_share_what_no_workload_binds_to_one() {
    let planes = "topology.planes=4";
    let text = LEAF_SPINE.to_owned() + &poisson(0.6, "");
    let one = shares(&loaded(&text, &[]));
    assert_shares(&loaded(&text, &[planes]), &one);
    // Load is then that of the one plane, and three of four links are idle.
    let bound = shares(&loaded(&text, &[planes, "workload.0.plane=2"]));
    for (bound, one) in bound.iter().zip(&one) {
        assert!((bound.2 - one.2 / 4.0).abs() < 1e-9 && (bound.3 - one.3).abs() < 1e-9);
    }
}

/// Rounds at Poisson times: all that hosts could send, times the load, goes to the receiver, or to all alike.
#[test]
fn incasts_at_poisson_times_offer_load() {
    let incast = |load: f64, more: &str| {
        format!(
            "[topology]\nkind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 8\n\
             host_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             fabric_link = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\
             [[workload]]\nkind = \"incast\"\ndegree = 8\nsize = \"20kB\"\nload = {load}\n\
             duration = \"300us\"\n{more}"
        )
    };
    // 16 hosts of 100 Gb/s: 1,440 Gb/s to host 0, of which 8 of 15 senders are behind the other leaf.
    let one = loaded(&incast(0.9, "receiver = 0\n"), &[]);
    let far = 14.4 * 8.0 / 15.0;
    let to_host = [
        (0, 1, 0.9, 0.96),
        (1, 2, far / 2.0, far),
        (2, 1, far / 2.0, far),
        (1, 0, 0.9, 14.4),
    ];
    assert_shares(&one, &to_host);
    assert!(!warnings::before(&one).unwrap().is_empty());
    // To all alike: 80 Gb/s of each leaf's hosts, 8 of 15 to the other.
    let all = loaded(&incast(0.1, ""), &[]);
    let far = 0.8 * 8.0 / 15.0;
    assert_shares(
        &all,
        &[
            (0, 1, 0.1, 0.1),
            (1, 2, far, far),
            (2, 1, far, far),
            (1, 0, 0.1, 0.1),
        ],
    );
    // Asked for by READ it comes from the others all the same.
    let read = loaded(&incast(0.9, "receiver = 0\nverb = \"read\"\n"), &[]);
    assert_shares(&read, &to_host);
    // Rounds at regular times have none.
    let regular = "[[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"20kB\"\n";
    assert_shares(&loaded(&(star(4) + regular), &[]), &[]);
}

/// Hosts at the same two switches, whose fast link leads to one or the other.
#[test]
fn hosts_at_the_same_switches_send_by_their_fast_links() {
    let topology = "6 2 9\n4 5\n0 4 400Gbps 1us 0\n0 5 100Gbps 1us 0\n1 4 400Gbps 1us 0\n1 5 100Gbps 1us 0\n\
                    2 4 100Gbps 1us 0\n2 5 400Gbps 1us 0\n3 4 100Gbps 1us 0\n3 5 400Gbps 1us 0\n4 5 400Gbps 1us 0\n";
    let case = loaded_with("fast-links", topology, &poisson(0.4, ""), &[]);
    // Each offers 200 Gb/s, two thirds of it to the two hosts whose fast links are at the other switch.
    let between = 2.0 * 200.0 * 2.0 / 3.0 / 400.0;
    let offered = 4.0 * 200.0 / (4.0 * 400.0 + 4.0 * 100.0);
    assert_shares(
        &case,
        &[
            (0, 1, offered, 0.5),
            (1, 1, between, between),
            (1, 0, offered, 0.5),
        ],
    );
    let fabric = loaded_with(
        "fast-links",
        topology,
        &poisson(0.5, "load_of = \"fabric\"\n"),
        &[],
    );
    let half = 0.5 / between;
    assert_shares(
        &fabric,
        &[
            (0, 1, half * offered, half * 0.5),
            (1, 1, 0.5, 0.5),
            (1, 0, half * offered, half * 0.5),
        ],
    );
}

#[test]
fn a_load_of_links_that_nothing_passes_is_refused() {
    let text = star(4) + &poisson(0.4, "load_of = \"fabric\"\n");
    let error = warnings::before(&loaded(&text, &[]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("workload[0].load_of") && error.contains("no message passes"),
        "{error}"
    );
}
