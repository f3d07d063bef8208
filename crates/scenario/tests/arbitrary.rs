//! No input makes a parser panic, and what parses can be written and read again.

use std::path::Path;

use fairlane_hpcc_files::{Times, flows};
use fairlane_scenario::{HostSet, LinkText, SizeDistribution, TopologyText, parse};
use fairlane_units::{Duration, NodeId, Rate};
use proptest::prelude::*;

use crate::common::Folder;

/// Words that the formats know, so that random texts get past the first line.
const WORDS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "-1",
    "100",
    "1e9",
    "nan",
    "inf",
    "0.5",
    "2.000000001",
    "4294967295",
    "18446744073709551616",
    "100Gbps",
    "0Gbps",
    "1us",
    "1000ns",
    "0.001ms",
    "1ps",
    "µs",
    "#",
    "\n",
    "\n",
    "\n",
    "\r\n",
    "\u{0}",
    "\t",
];

const TOML_PARTS: &[&str] = &[
    "[topology]\n",
    "kind = \"star\"\n",
    "kind = \"fat-tree\"\n",
    "kind = \"file\"\n",
    "hosts = 4\n",
    "hosts = \"all\"\n",
    "host_link = { rate = \"1Gbps\", delay = \"1us\" }\n",
    "host_link = 1\n",
    "[[workload]]\n",
    "kind = \"poisson\"\n",
    "kind = \"flows\"\n",
    "kind = 3\n",
    "load = 0.5\n",
    "load = nan\n",
    "sizes = \"rpc\"\n",
    "sizes = []\n",
    "sizes = [{ size = 1, percent = 0 }]\n",
    "duration = \"1ms\"\n",
    "flow = [{ source = 0 }]\n",
    "path = \"x\"\n",
    "seed = 1\n",
    "stop = 1\n",
    "stop = \"18446744073709551615ps\"\n",
    "[switch.ecn]\n",
    "pmax = -0.0\n",
    "threshold = [1]\n",
    "[packet]\n",
    "mtu = 18446744073709551615\n",
    "mtu = \"16777216TB\"\n",
    "size = \"1kB\"\n",
    "pods = 4000000000\n",
    "cores = 4000000000\n",
    "aggregations_per_pod = 0\n",
    "tors_per_pod = 4000000000\n",
    "hosts_per_tor = 1\n",
    "profile = \"hpcc-ns3\"\n",
    "= \n",
    "[",
    "[[faults.link]]\n",
    "between = [0, 4]\n",
    "down = \"1us\"\n",
    "class = 3\n",
    "degree = 3\n",
    "kind = \"incast\"\n",
    "rounds = 4294967295\n",
    "period = \"1ms\"\n",
    "kind = \"all-to-all\"\n",
    "[[tenant]]\n",
    "name = \"a\"\n",
    "weight = 0\n",
    "tenant = \"a\"\n",
    "guarantee = \"1Gbps\"\n",
    "planes = 2\n",
    "planes = 4000000000\n",
    "plane = 1\n",
];

fn text_of(
    words: &'static [&'static str],
    separator: &'static str,
) -> impl Strategy<Value = String> {
    let known = prop::collection::vec(prop::sample::select(words), 0..40)
        .prop_map(move |parts| parts.join(separator));
    prop_oneof![4 => known, 1 => any::<String>(), 1 => "[ -~\n]{0,200}"]
}

/// Scenarios without mistakes.
fn plausible() -> impl Strategy<Value = String> {
    const LINK: &str = "{ rate = \"100Gbps\", delay = \"1.5us\" }";
    let topology = prop_oneof![
        (1u32..9, 3u32..9).prop_map(|(left, right)| format!(
            "kind = \"dumbbell\"\nleft = {left}\nright = {right}\ncore_link = {LINK}"
        )),
        (4u32..99).prop_map(|hosts| format!("kind = \"star\"\nhosts = {hosts}")),
        (2u32..5, 1u32..5, 2u32..9).prop_map(|(leaves, spines, hosts)| format!(
            "kind = \"leaf-spine\"\nleaves = {leaves}\nspines = {spines}\nhosts_per_leaf = {hosts}\nfabric_link = {LINK}"
        )),
        (1u32..5, 1u32..4).prop_map(|(pods, group)| format!(
            "kind = \"fat-tree\"\npods = {pods}\ntors_per_pod = 2\naggregations_per_pod = 2\ncores = {}\nhosts_per_tor = 2\nfabric_link = {LINK}",
            2 * group
        )),
    ];
    let workload = prop_oneof![
        (1u32..=1000, 1u64..1_000_000).prop_map(|(load, ps)| format!(
            "kind = \"poisson\"\nsizes = \"rpc\"\nload = {}\nduration = \"{ps}ps\"",
            f64::from(load) / 1000.0
        )),
        (1u64..1 << 32, 1u32..4).prop_map(|(size, degree)| format!(
            "kind = \"incast\"\ndegree = {degree}\nsize = {size}\nhosts = \"0-3\""
        )),
        (4u64..1 << 34, 0u64..1 << 50).prop_map(|(size, start)| format!(
            "kind = \"ring-all-reduce\"\nsize = {size}\nstart = \"{start}ps\"\nhosts = \"0,2-3,1\""
        )),
        (1u64..1 << 32, 1u32..9).prop_map(|(size, rounds)| format!(
            "kind = \"collective\"\noperation = \"all-gather\"\nsize = {size}\nrounds = {rounds}\nhosts = \"0-3\"\ngroups = 2"
        )),
        (1u64..1 << 30, 1u32..4).prop_map(|(size, count)| format!(
            "kind = \"training\"\nlayers = [{{ count = {count}, parameters = {size}, activation = {size}, forward = \"1us\", backward = \"2us\" }}]\nhosts = \"0-3\""
        )),
        (1u64..1 << 32, 1u8..8).prop_map(|(size, class)| format!(
            "kind = \"flows\"\nflow = [{{ source = 0, destination = 1, size = {size}, class = {class} }}]"
        )),
    ];
    let policy = prop::sample::select(vec!["fixed", "dcqcn", "hpcc"]);
    let workloads = prop::collection::vec(workload, 0..5);
    (topology, workloads, policy, 0.0..1.0f64, 0u64..1 << 40).prop_map(
        |(topology, workloads, policy, share, buffer)| {
            let mut text = format!(
                "[switch]\nbuffer = {}\n[switch.ecn]\npmax = {share:?}\n[congestion]\nalgorithm = \"{policy}\"\n\
                 [congestion.dcqcn]\ngain = {share:?}\n[topology]\n{topology}\nhost_link = {LINK}\n",
                buffer + 1
            );
            for workload in workloads {
                text.push_str(&format!("[[workload]]\n{workload}\n"));
            }
            text
        },
    )
}

fn topologies() -> impl Strategy<Value = TopologyText> {
    let link = (1u64..=8_000_000, 0u64..1_000_000, 0.0..1.0f64);
    prop::collection::vec(link, 1..40).prop_map(|links| {
        let nodes = u32::try_from(links.len()).unwrap() + 1;
        let link = |(i, (mbps, delay, loss)): (usize, (u64, u64, f64))| LinkText {
            a: nodes - 1,
            b: u32::try_from(i).unwrap(),
            rate: Rate::from_mbps(mbps),
            delay: Duration::from_ns(delay + 1),
            loss,
        };
        let links = links.into_iter().enumerate().map(link).collect();
        TopologyText {
            nodes,
            switches: vec![nodes - 1],
            links,
        }
    })
}

proptest! {
    #[test]
    fn scenarios_never_panic(text in text_of(TOML_PARTS, ""), set in text_of(WORDS, ".")) {
        let folder = Path::new("no such folder");
        let _ = parse(&text, "x", folder, &[], None);
        let _ = parse(&text, "x", folder, &[set.clone(), format!("workload.0.{set}")], Some(1));
    }

    #[test]
    fn scenarios_read_back_equal(text in plausible()) {
        let loaded = parse(&text, "x", Path::new("."), &[], None);
        prop_assert!(loaded.is_ok(), "{}\n{}", loaded.unwrap_err(), text);
        let loaded = loaded.unwrap();
        let again = parse(&loaded.to_toml().unwrap(), "x", Path::new("."), &[], None);
        prop_assert_eq!(again, Ok(loaded));
    }

    #[test]
    fn any_damage_is_told_with_a_place(text in plausible(), at in any::<prop::sample::Index>(), new in any::<char>()) {
        let at = text.char_indices().map(|(i, _)| i).nth(at.index(text.len())).unwrap_or(0);
        let damaged = format!("{}{new}{}", &text[..at], &text[at + 1..]);
        if let Err(error) = parse(&damaged, "x.toml", Path::new("no such folder"), &[], None) {
            prop_assert!(error.place.starts_with("x.toml:"), "{error}\n{damaged}");
            prop_assert!(!error.hint.is_empty(), "{error}\n{damaged}");
        }
    }

    #[test]
    fn mistakes_have_a_place_and_a_hint(text in text_of(TOML_PARTS, "")) {
        if let Err(error) = parse(&text, "x.toml", Path::new("no such folder"), &[], None) {
            prop_assert!(error.place.starts_with("x.toml:"), "{}", error);
            prop_assert!(!error.hint.is_empty(), "{}", error);
        }
    }

    #[test]
    fn side_files_never_panic(text in text_of(WORDS, " ")) {
        for times in [Times::Exact, Times::Ns3] {
            let _ = TopologyText::parse(&text, "t", times);
            let _ = flows::parse(&text, "f", times);
        }
        let _ = SizeDistribution::parse(&text, "c");
        let _ = SizeDistribution::parse(&text, "c.toml");
    }

    #[test]
    fn sets_of_hosts_never_panic(text in "[-0-9, al]{0,20}", count in 0u32..20) {
        let hosts: Vec<NodeId> = (0..count).map(|i| NodeId::new(i * 2)).collect();
        if let Ok(chosen) = HostSet(text).resolve(&hosts) {
            prop_assert!(chosen.is_sorted() && chosen.iter().all(|host| hosts.contains(host)));
        }
    }

    #[test]
    fn topologies_read_back_equal(topology in topologies()) {
        for times in [Times::Exact, Times::Ns3] {
            let again = TopologyText::parse(&topology.to_text(), "t", times);
            prop_assert_eq!(again, Ok(topology.clone()));
        }
    }
}

#[test]
fn arbitrary_bytes_in_files_never_panic() {
    let folder =
        Folder::new("bytes").with("s.toml", "[topology]\nkind = \"file\"\npath = \"t.txt\"");
    let file = |name: &str| folder.0.join(name);
    proptest!(ProptestConfig::with_cases(200), |(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        gzipped in any::<bool>(),
    )| {
        let bytes = if gzipped { [&[0x1f, 0x8b, 8], bytes.as_slice()].concat() } else { bytes };
        std::fs::write(file("t.txt"), &bytes).unwrap();
        prop_assert!(fairlane_scenario::load(&file("s.toml"), &[], None).is_err());
        prop_assert!(fairlane_scenario::load(&file("t.txt"), &[], None).is_err() || bytes.is_ascii());
    });
}
