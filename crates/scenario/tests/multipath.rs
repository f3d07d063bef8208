//! Messages over several paths: what is read, and what is refused.

use std::path::Path;

use fairlane_scenario::{Connections, Multipath, Plan, Scenario, Twins, load};
use fairlane_units::{Bytes, Duration, Rate};

use crate::common::{Folder, STAR, read, refused};

const PERMUTATION: &str = "[[workload]]\nkind = \"permutation\"\nsize = \"1MB\"\n";

fn with(section: &str) -> String {
    format!("{STAR}{PERMUTATION}{section}\n")
}

#[test]
fn every_parameter_has_the_default_of_the_crate() {
    let section = Multipath::default();
    let mtu = Bytes::new(4096);
    let settings = section.settings(mtu, Rate::ZERO);
    let own = fairlane_multipath::Settings::default();
    let holes = settings.holes;
    assert_eq!(settings, fairlane_multipath::Settings { holes, ..own });
}

#[test]
fn a_section_is_read_and_written_again() {
    let text = with(
        "[multipath]\nconnections = \"pair\"\ntwins = \"probe\"\nplan = [50000, 50001, 50002]\npaths = 3\n\
         balancer = \"least-delay\"\ntwo_sided = \"stream\"\n[multipath.costs]\npost = \"70ns\"",
    );
    let loaded = read(&text).unwrap();
    let section = loaded.scenario.multipath.as_ref().unwrap();
    assert_eq!(section.connections, Some(Connections::Pair));
    assert_eq!(section.twins, Twins::Probe);
    assert_eq!(section.plan, Plan::List(vec![50000, 50001, 50002]));
    assert_eq!(section.costs.unwrap().post, Duration::from_ns(70));
    let again = read(&loaded.to_toml().unwrap()).unwrap();
    assert_eq!(again, loaded);
    assert_eq!(Scenario::default().multipath, None);
}

#[test]
fn a_plan_comes_from_a_file_and_goes_with_the_results() {
    let text = with("[multipath]\nplan = { file = \"ports.cfg\" }");
    let folder = Folder::new("ports").with("x.toml", &text).with(
        "ports.cfg",
        "# all\n0.0.0.0,0.0.0.0=50000,50001,50002,50003,50004,50005,50006,50007\n",
    );
    let loaded = load(&folder.0.join("x.toml"), &[], None).unwrap();
    assert_eq!(loaded.inputs.ports.as_ref().unwrap().len(), 1);
    let (portable, files) = loaded.portable().unwrap();
    assert!(
        portable.contains("file = \"inputs/ports.cfg\""),
        "{portable}"
    );
    assert_eq!(files[0].0, Path::new("inputs/ports.cfg"));
    let broken = Folder::new("ports")
        .with("x.toml", &text)
        .with("ports.cfg", "\n10.0.0.1,10.0.0.2=49152,x\n");
    let error = load(&broken.0.join("x.toml"), &[], None).unwrap_err();
    assert!(error.place.ends_with("ports.cfg:2"), "{error}");
    assert!(error.message.contains("no port"), "{error}");
}

#[test]
fn mistakes_have_place_and_hint() {
    for (section, place) in [
        ("[multipath]\npaths = 0", "multipath.paths"),
        ("[multipath]\npaths = 1025", "multipath.paths"),
        ("[multipath]\nchunk = \"0B\"", "multipath.chunk"),
        ("[multipath]\nchunk = \"3GiB\"", "multipath.chunk"),
        (
            "[multipath]\nchunk = \"2MB\"\nmessage_limit = \"1MB\"",
            "multipath.chunk",
        ),
        ("[multipath]\ndepth = 0", "multipath.depth"),
        (
            "[multipath]\ntwo_sided = \"stream\"\npaths = 128\ndepth = 16384",
            "x.toml:12:1: `multipath.depth`",
        ),
        (
            "[multipath]\nmessage_limit = 512\nchunk = 512\nchunk_least = 1\nchunk_most = 512",
            "`packet.mtu`",
        ),
        ("[multipath]\ntwins = \"probe\"", "multipath.twins"),
        ("[multipath]\nplan = [50000, 50001]", "multipath.paths"),
        (
            "[multipath]\npaths = 2\nplan = [50000, 50000]",
            "multipath.plan",
        ),
        (
            "[multipath]\npaths = 2\nplan = [0, 50000]",
            "multipath.plan",
        ),
        (
            "[multipath]\n[output]\nrate_interval = \"1us\"",
            "output.rate_interval",
        ),
        ("[multipath.costs]\npoll = \"2ms\"", "multipath.costs.poll"),
        ("[multipath]\nbalancer = \"fastest\"", "multipath.balancer"),
        ("[multipath]\nlimiter = \"none\"", "multipath.limiter"),
        ("[multipath]\npath = 2", "multipath.path"),
        ("[multipath]\nplan = \"hosts\"", "multipath.plan"),
        (
            "[multipath]\nplan = { file = \"nowhere.cfg\" }",
            "multipath.plan.file",
        ),
    ] {
        refused(&with(section), &[place]);
    }
}

#[test]
fn workloads_have_paths_only_with_the_section() {
    let paths = |number: u32| PERMUTATION.to_owned() + &format!("paths = {number}\n");
    refused(
        &format!("{STAR}{}", paths(2)),
        &["workload[0].paths", "[multipath]"],
    );
    refused(
        &format!("{STAR}{}[multipath]\n", paths(0)),
        &["workload[0].paths"],
    );
    let one = read(&format!("{STAR}{}[multipath]\n", paths(1))).unwrap();
    assert_eq!(one.scenario.workload[0].paths(), Some(1));
    let key_value =
        "[[workload]]\nkind = \"key-value\"\nservers = \"0\"\nsize = \"1kB\"\npaths = 2\n";
    refused(
        &format!("{STAR}{key_value}[multipath]\n"),
        &["unknown key `paths`"],
    );
}

#[test]
fn parts_of_a_message_have_one_path() {
    let flows = "[[workload]]\nkind = \"flows\"\nflow = [{ source = 0, destination = 1, size = \"1MB\", subflows = 2 }]\n";
    let place = "workload[0].flow[0].subflows";
    refused(&format!("{STAR}{flows}[multipath]\n"), &[place]);
    read(&format!("{STAR}{flows}paths = 1\n[multipath]\n")).unwrap();
}

#[test]
fn the_profile_of_another_simulator_has_one_path() {
    let text = format!("profile = \"hpcc-ns3\"\n{}", with("[multipath]"));
    refused(&text, &["multipath", "one queue pair"]);
}

/// Connections stay open where ranks send, unless something else is stated; under `hpcc-ns3` never.
#[test]
fn which_messages_share_a_connection_follows_from_kind_section_and_workload() {
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"1MB\"\n";
    let of = |text: &str, more: &str| {
        let loaded = read(&format!("{STAR}{text}{more}\n")).unwrap();
        loaded.scenario.connections_of(&loaded.scenario.workload[0])
    };
    use Connections::{Message, Pair};
    assert_eq!((of(ring, ""), of(PERMUTATION, "")), (Pair, Message));
    let own = "connections = \"message\"";
    assert_eq!(of(ring, own), Message);
    assert_eq!(of(PERMUTATION, "connections = \"pair\""), Pair);
    let section = "[multipath]\npaths = 1\nconnections = ";
    let stated = |which: &str| format!("{section}\"{which}\"");
    assert_eq!(of(PERMUTATION, &stated("pair")), Pair);
    assert_eq!(of(ring, &stated("message")), Message);
    assert_eq!(of(ring, &format!("{own}\n{}", stated("pair"))), Message);
    assert_eq!(of(ring, "[multipath]"), Pair);
    let profile = |text: &str| format!("profile = \"hpcc-ns3\"\n{STAR}{text}");
    let ns3 = read(&profile(ring)).unwrap();
    assert_eq!(
        ns3.scenario.connections_of(&ns3.scenario.workload[0]),
        Message
    );
    refused(
        &profile(&format!("{ring}connections = \"pair\"\n")),
        &["workload[0].connections", "hpcc-ns3"],
    );
    for more in [
        "connections = \"message\"\nchannels = 2\n",
        "channels = 65\n",
    ] {
        refused(&format!("{STAR}{ring}{more}"), &["workload[0].channels"]);
    }
    refused(
        &profile(&format!("{ring}channels = 2\n")),
        &["workload[0].channels"],
    );
}
