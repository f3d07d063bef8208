//! Every mistake in what workloads send is refused with its place, what was expected and a hint.

use crate::common::{STAR, read, refused_star};

#[test]
fn arrivals_of_senseless_numbers() {
    let poisson = |load: &str, more: &str| {
        format!(
            "[[workload]]\nkind = \"poisson\"\nsizes = \"rpc\"\nload = {load}\nduration = \"1ms\"\n{more}"
        )
    };
    for load in ["0", "0.0", "-0.5", "1.01", "nan", "inf"] {
        refused_star(
            &poisson(load, ""),
            &["x.toml:9:1", "`workload[0].load`", "at most 1"],
        );
    }
    refused_star(
        &poisson("0.5", "class = 0"),
        &["`workload[0].class`", "1 to 7"],
    );
    refused_star(
        &poisson("0.5", "class = 8"),
        &["`workload[0].class`", "1 to 7"],
    );
    refused_star(
        &poisson("0.5", "sources = \"0\"\ndestinations = \"0\""),
        &["destinations`", "itself"],
    );
    refused_star(
        &poisson("0.5", "").replace("1ms", "1000s"),
        &["`workload[0]`", "messages, expected at most"],
    );
    refused_star(
        &poisson("0.5", "").replace("1ms", "0s"),
        &["`workload[0].duration`", "is 0"],
    );
    refused_star(
        &poisson("0.5", "").replace("\"rpc\"", "\"rcp\""),
        &["x.toml:8:1", "\"rcp\"", "websearch"],
    );
    refused_star(
        &poisson("0.5", "").replace("\"rpc\"", "\"hadop\""),
        &["did you mean \"hadoop\"?"],
    );
}

#[test]
fn incasts_come_regularly_or_at_a_load() {
    let incast = "[[workload]]\nkind = \"incast\"\ndegree = 3\nsize = 1000\n";
    for (more, parts) in [
        ("load = 0.02", ["`workload[0].duration`", "is missing"]),
        ("load = 0.0", ["`workload[0].load`", "at most 1"]),
        ("load = 1.5", ["`workload[0].load`", "at most 1"]),
        (
            "duration = \"1ms\"",
            ["`workload[0].duration`", "without a load"],
        ),
        (
            "load = 0.02\nduration = \"1ms\"\nrounds = 3",
            ["`workload[0].rounds`", "beside `load`"],
        ),
        (
            "load = 0.02\nduration = \"1ms\"\nperiod = \"1ms\"",
            ["`workload[0].period`", "beside `load`"],
        ),
        (
            "load = 0.5\nduration = \"1000s\"",
            ["`workload[0]`", "messages, expected at most"],
        ),
    ] {
        refused_star(&format!("{incast}{more}"), &parts);
    }
}

#[test]
fn incasts_and_collectives_of_senseless_numbers() {
    let incast = |more: &str| format!("[[workload]]\nkind = \"incast\"\n{more}");
    refused_star(
        &incast("degree = 0\nsize = 1"),
        &["`workload[0].degree`", "at least 1"],
    );
    refused_star(
        &incast("degree = 4\nsize = 1"),
        &["`workload[0].degree`", "at most 3"],
    );
    refused_star(
        &incast("degree = 3\nsize = 0"),
        &["`workload[0].size`", "is 0"],
    );
    refused_star(
        &incast("degree = 3\nsize = 1\nreceiver = 4"),
        &["`workload[0].receiver`", "isn't a host"],
    );
    refused_star(
        &incast("degree = 3\nsize = 1\nrounds = 2\nperiod = \"0s\""),
        &["`workload[0].period`"],
    );
    refused_star(
        &incast("degree = 3\nsize = 1\nrounds = 2000000\nperiod = \"1s\""),
        &["`workload[0].rounds`", "2000000 rounds of 1s, expected"],
    );
    for hosts in ["+1", "0-+2", "0,+2"] {
        refused_star(
            &incast(&format!("degree = 1\nsize = 1\nhosts = \"{hosts}\"")),
            &["`workload[0].hosts`", "is no host"],
        );
    }
    refused_star(
        &incast("degree = 3\nsize = 1\nhosts = \"0-2\"\nreceiver = 1"),
        &["at most 2"],
    );
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\n";
    refused_star(
        &format!("{ring}size = 3"),
        &["`workload[0].size`", "4 hosts"],
    );
    refused_star(
        &format!("{ring}size = 9\nhosts = \"2\""),
        &["`workload[0].hosts`", "at least 2"],
    );
    refused_star(
        &format!("{ring}size = 9\nrounds = 0"),
        &["`workload[0].rounds`"],
    );
    refused_star(
        "[[workload]]\nkind = \"all-to-all\"\nsize = \"2TiB\"",
        &["unknown unit"],
    );
}

#[test]
fn a_message_is_no_larger_than_a_work_request() {
    let held = ["what a work request can hold", "several messages"];
    for (workload, place) in [
        (
            "kind = \"permutation\"\nsize = 4294967296",
            "`workload[0].size`",
        ),
        (
            "kind = \"all-to-all\"\nsize = \"5GB\"",
            "`workload[0].size`",
        ),
        (
            "kind = \"incast\"\ndegree = 1\nsize = \"4GiB\"",
            "`workload[0].size`",
        ),
        (
            "kind = \"flows\"\nflow = [{ source = 0, destination = 1, size = \"8GB\" }]",
            "workload[0].flow[0]",
        ),
        (
            "kind = \"poisson\"\nload = 0.5\nduration = \"1us\"\n\
             sizes = [{ size = 1, percent = 0 }, { size = \"5GB\", percent = 100 }]",
            "workload[0].sizes",
        ),
        // A part of 5 GB for each of the four hosts.
        (
            "kind = \"ring-all-reduce\"\nsize = \"20GB\"",
            "`workload[0].size`",
        ),
    ] {
        refused_star(
            &format!("[[workload]]\n{workload}"),
            &[place, held[0], held[1]],
        );
    }
    let accepted = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"8GB\"\n\
                    [[workload]]\nkind = \"permutation\"\nsize = 4294967295";
    assert!(read(&format!("{STAR}{accepted}")).is_ok());
}

#[test]
fn sets_of_hosts() {
    let set = |hosts: &str| {
        format!("[[workload]]\nkind = \"permutation\"\nsize = 1\nhosts = \"{hosts}\"")
    };
    for bad in ["", "a", "1-", "-1", "3-1", "0,,1", "0;1", "all,0"] {
        refused_star(
            &set(bad),
            &[
                "x.toml:9:1",
                "`workload[0].hosts`",
                "expected a number or a range",
            ],
        );
    }
    refused_star(&set("0-4"), &["node 4 isn't a host"]);
    refused_star(&set("0-4294967295"), &["node 4 isn't a host"]);
    refused_star(&set("7"), &["node 7 isn't a host"]);
    refused_star(&set("0-2,2"), &["host 2 is named twice"]);
}

#[test]
fn listed_flows() {
    let flows = |rows: &str| format!("[[workload]]\nkind = \"flows\"\nflow = [{rows}]");
    let key = "`workload[0].flow[0]";
    refused_star(&flows(""), &["`workload[0]`", "neither `path` nor `flow`"]);
    refused_star(
        &flows("{ source = 0, destination = 0, size = 1 }"),
        &[key, "to itself"],
    );
    refused_star(
        &flows("{ source = 0, destination = 4, size = 1 }"),
        &[key, "isn't a host"],
    );
    refused_star(
        &flows("{ source = 0, destination = 1, size = 0 }"),
        &[key, "is 0"],
    );
    refused_star(
        &flows("{ source = 0, destination = 1, size = 1, class = 0 }"),
        &[key, "1 to 7"],
    );
    refused_star(
        &flows(
            "{ source = 0, destination = 1, size = 1, start = \"2us\" }, { source = 0, destination = 1, size = 1, start = \"1us\" }",
        ),
        &["`workload[0].flow[1].start`", "ascending"],
    );
}

#[test]
fn points_of_sizes() {
    let points = |rows: &str| {
        format!(
            "[[workload]]\nkind = \"poisson\"\nload = 0.1\nduration = \"1us\"\nsizes = [{rows}]"
        )
    };
    let rows = |rows: &[(u64, f64)]| {
        let row =
            |(size, percent): &(u64, f64)| format!("{{ size = {size}, percent = {percent:?} }}");
        points(&rows.iter().map(row).collect::<Vec<_>>().join(", "))
    };
    refused_star(&points(""), &["`workload[0].sizes`", "0 points"]);
    refused_star(
        &rows(&[(1, 5.0), (2, 100.0)]),
        &["sizes[0]`", "first percent is 5"],
    );
    refused_star(
        &rows(&[(1, 0.0), (2, 50.0), (3, 40.0), (4, 100.0)]),
        &["sizes[2]`", "falls from 50 to 40"],
    );
    refused_star(
        &rows(&[(1, 0.0), (5, 50.0), (3, 100.0)]),
        &["sizes[2]`", "falls from 5B to 3B"],
    );
    refused_star(&rows(&[(1, 0.0), (5, 90.0)]), &["last percent is 90"]);
    refused_star(&rows(&[(1, 0.0), (5, 1.0)]), &["percents, not fractions"]);
    refused_star(&rows(&[(1, 0.0), (5, 101.0)]), &["percent is 101"]);
    refused_star(&rows(&[(0, 0.0), (0, 100.0)]), &["mean size is 0"]);
}
