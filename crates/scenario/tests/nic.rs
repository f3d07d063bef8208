//! NICs and `key-value` workloads: what is read, and what is refused where.

use crate::common::{read, refusal};

const FABRIC: &str = r#"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "40Gbps", delay = "1us" }
"#;

const CLIENTS: &str = r#"
[[workload]]
kind = "key-value"
clients = "0"
servers = "1-3"
size = "32B"
count = 5
"#;

/// Asserts that `text` after the fabric is refused with each of `parts`.
#[track_caller]
fn refused(text: &str, parts: &[&str]) {
    crate::common::refused(&format!("{FABRIC}{text}"), parts);
}

/// The clients' workload with one line replaced.
fn clients_with(from: &str, to: &str) -> String {
    assert!(CLIENTS.contains(from), "{from}");
    CLIENTS.replace(from, to)
}

#[test]
fn an_empty_table_of_costs_has_all_defaults() {
    let loaded = read(&format!("{FABRIC}[nic.costs]\n{CLIENTS}"));
    let costs = loaded.expect("it is right").scenario.nic.costs;
    assert_eq!(costs, Some(fairlane_scenario::Costs::default()));
    let loaded = read(&format!("{FABRIC}{CLIENTS}")).expect("it is right");
    assert_eq!(loaded.scenario.nic.costs, None);
    let text = loaded.to_toml().expect("it has a form");
    assert!(
        !text.contains("[nic.costs]") && !text.contains("[nic.drum]"),
        "{text}"
    );
}

#[test]
fn what_is_resolved_can_be_read_again() {
    let nic = "[nic]\npolicy = \"drum\"\n[nic.drum]\nactive = 3\n[nic.costs]\ncache_entries = 9\n";
    let loaded = read(&format!("{FABRIC}{nic}{CLIENTS}")).expect("it is right");
    let again = read(&loaded.to_toml().expect("it has a form")).expect("it is right");
    assert_eq!(again.scenario, loaded.scenario);
}

#[test]
fn mistakes_in_costs() {
    for (line, parts) in [
        (
            "cache_entries = 0",
            ["`nic.costs.cache_entries`", "is 0, expected 1 to"],
        ),
        (
            "pipeline = 0",
            ["`nic.costs.pipeline`", "is 0, expected 1 to"],
        ),
        (
            "wqes_per_fetch = 0",
            ["`nic.costs.wqes_per_fetch`", "is 0, expected 1 to"],
        ),
        (
            "doorbell = \"1000001s\"",
            ["`nic.costs.doorbell`", "expected at most"],
        ),
        (
            "pcie_rate = \"0bps\"",
            ["`nic.costs.pcie_rate`", "expected 1Mbps"],
        ),
        (
            "processing = 3",
            ["`nic.costs.processing`", "expected a time"],
        ),
        (
            "cache_mis = \"1us\"",
            ["`nic.costs.cache_mis`", "did you mean `cache_miss`?"],
        ),
    ] {
        refused(&format!("[nic.costs]\n{line}\n{CLIENTS}"), &parts);
    }
}

#[test]
fn mistakes_in_policies() {
    for (lines, parts) in [
        ("[nic]\npolicy = \"drumm\"", ["`nic.policy`", "`drum`?"]),
        (
            "[nic.drum]\nactive = 0",
            ["`nic.drum.active`", "at least 1"],
        ),
        (
            "[nic.drum]\nepoch = \"0s\"",
            ["`nic.drum.epoch`", "a time above 0"],
        ),
        (
            "[nic.drum]\nalpha = -1.0",
            ["`nic.drum.alpha`", "expected 0 to 64"],
        ),
        (
            "[nic.drum]\nalpha = nan",
            ["`nic.drum.alpha`", "expected 0 to 64"],
        ),
        (
            "[nic.share]\nratio = 0",
            ["`nic.share.ratio`", "expected 1 to"],
        ),
        (
            "[nic.justitia]\nchunk = 0",
            ["`nic.justitia.chunk`", "expected 1B to"],
        ),
        (
            "[nic.justitia]\nmin_rate = \"1bps\"",
            ["`nic.justitia.min_rate`", "expected 1Mbps"],
        ),
    ] {
        refused(&format!("{lines}\n{CLIENTS}"), &parts);
    }
}

#[test]
fn costs_and_policies_are_for_connections_that_stay_open() {
    let other = "[[workload]]\nkind = \"permutation\"\nsize = \"1kB\"\n";
    for nic in ["[nic.costs]\n", "[nic]\npolicy = \"share\"\n"] {
        refused(
            &format!("{nic}{CLIENTS}{other}"),
            &["key-value", "workload[1] is another"],
        );
    }
    // Costs are those of paths, too; a policy isn't.
    let policy = "[nic]\npolicy = \"share\"\n[nic.costs]\n[multipath]\n";
    refused(
        &format!("{policy}{CLIENTS}{other}"),
        &["`nic.policy`", "workload[1] is another"],
    );
    let service = "[transport]\nservice = \"uc\"\n";
    refused(
        &format!("{service}{other}"),
        &["`transport.service`", "workload[0] is another"],
    );
}

#[test]
fn services_have_only_some_verbs() {
    let uc = "[transport]\nservice = \"uc\"\n";
    refused(
        &format!("{uc}{CLIENTS}"),
        &["`workload[0].verb`", "is \"read\""],
    );
    let ud = "[transport]\nservice = \"ud\"\n";
    let write = clients_with("count = 5", "count = 5\nverb = \"write\"");
    refused(
        &format!("{ud}{write}"),
        &["`workload[0].verb`", "datagrams send"],
    );
    let long = clients_with("size = \"32B\"", "size = \"2kB\"\nverb = \"send\"");
    refused(
        &format!("{ud}{long}"),
        &["`workload[0].size`", "more than a packet"],
    );
    let points = |largest: &str| {
        let low = "{ size = \"32B\", percent = 0 }";
        let sizes = format!("sizes = [{low}, {{ size = \"{largest}\", percent = 100 }}]");
        let sizes = clients_with("size = \"32B\"", &format!("{sizes}\nverb = \"send\""));
        format!("{ud}{sizes}")
    };
    assert!(read(&format!("{FABRIC}{}", points("512B"))).is_ok());
    refused(
        &points("2kB"),
        &["`workload[0].sizes`", "more than a packet"],
    );
}

#[test]
fn mistakes_in_ends_and_sizes() {
    refuses_each(&[
        (
            "servers = \"1-3\"",
            "servers = \"0-3\"",
            ["`workload[0].servers`", "host 0 is a client"],
        ),
        (
            "clients = \"0\"",
            "clients = \"9\"",
            ["`workload[0].clients`", "9"],
        ),
        (
            "size = \"32B\"",
            "",
            ["`workload[0]`", "one of `size`, `range` and `sizes`"],
        ),
        (
            "size = \"32B\"",
            "size = 0",
            ["`workload[0].size`", "at least 1 byte"],
        ),
        (
            "size = \"32B\"",
            "range = { low = 9, high = 3 }",
            ["`workload[0].range.low`", "swap the two"],
        ),
        (
            "size = \"32B\"",
            "sizes = \"nothing\"",
            ["`workload[0].sizes`", "storage, rpc"],
        ),
    ]);
}

#[test]
fn mistakes_in_counts() {
    refuses_each(&[
        (
            "count = 5",
            "count = 0",
            ["`workload[0].count`", "at least 1"],
        ),
        (
            "count = 5",
            "duration = \"0s\"",
            ["`workload[0].duration`", "a time above 0"],
        ),
        (
            "count = 5",
            "batch = 3",
            ["`workload[0]`", "neither `count` nor `duration`"],
        ),
        (
            "count = 5",
            "count = 5\nbatch = 0",
            ["`workload[0].batch`", "1 to 65536"],
        ),
        (
            "count = 5",
            "count = 5\nweight = 0.0",
            ["`workload[0].weight`", "above 0"],
        ),
        (
            "count = 5",
            "count = 5\napplications = 70000",
            ["`workload[0].connections`", "70000"],
        ),
        (
            "count = 5",
            "count = 5\nverb = \"fetch-add\"",
            ["`workload[0].size`", "8 B"],
        ),
    ]);
}

/// What is written in place of what, and parts of the message that this gives.
fn refuses_each(cases: &[(&str, &str, [&str; 2])]) {
    for (from, to, parts) in cases {
        refused(&clients_with(from, to), parts);
    }
}

#[test]
fn the_ns3_profile_has_none_of_it() {
    let text = format!("profile = \"hpcc-ns3\"\n{FABRIC}{CLIENTS}");
    let text = text.replace("count = 5", "count = 5\nverb = \"write\"");
    let message = refusal(read(&text));
    assert!(message.contains("profile \"hpcc-ns3\""), "{message}");
}
