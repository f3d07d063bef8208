//! Workloads whose hosts are ranks of a program: what is refused, and where.

use std::path::Path;

use fairlane_scenario::parse;

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
"#;

#[track_caller]
fn refused_star(workload: &str, parts: &[&str]) {
    let text = format!("{STAR}{workload}");
    let error = parse(&text, "test.toml", Path::new("."), &[], None).expect_err("a mistake");
    assert!(!error.hint.is_empty(), "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{error}\nwithout {part}");
    }
}

#[test]
fn programs_of_ranks_are_checked() {
    let collective = |rest: &str| {
        format!("[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\n{rest}\n")
    };
    for (rest, expected) in [
        ("", "workload[0].size"),
        ("size = 9\nrounds = 0", "workload[0].rounds"),
        ("size = 9\ngroups = 3", "workload[0].groups"),
        ("size = 9\nhosts = \"1\"", "workload[0].groups"),
        ("size = 9\nroot = 4", "workload[0].root"),
        ("size = 9\nverb = \"read\"", "workload[0].verb"),
        (
            "size = 9\nalgorithm = \"hierarchical\"",
            "workload[0].inner",
        ),
        ("size = 9\ninner = 2", "workload[0].inner"),
        ("size = 9\nclass = 9", "workload[0].class"),
        (
            "size = 9\nrounds = 2000000\ngap = \"1s\"",
            "workload[0].rounds",
        ),
    ] {
        refused_star(&collective(rest), &[expected]);
    }
    let tree = collective("size = 9\nalgorithm = \"tree\"").replace("all-reduce", "all-gather");
    refused_star(&tree, &["workload[0].algorithm"]);
    let layer = "count = 2, parameters = 1, activation = 1, forward = \"1us\", backward = \"1us\"";
    let training = |rest: &str| {
        format!("[[workload]]\nkind = \"training\"\nlayers = [{{ {layer} }}]\n{rest}\n")
    };
    for (rest, expected) in [
        ("tensor = 3", "workload[0].hosts"),
        ("expert = 3", "workload[0].expert"),
        ("pipeline = 4", "workload[0].pipeline"),
        ("steps = 0", "workload[0].steps"),
        ("steps = 4000000000", "workload[0].steps"),
        ("gradient_bytes = 9", "workload[0].gradient_bytes"),
        ("bucket = 0", "workload[0].bucket"),
        ("algorithm = \"hierarchical\"", "workload[0].algorithm"),
    ] {
        refused_star(&training(rest), &[expected]);
    }
    let long = training("steps = 10\nmicro_batches = 100");
    let long = long.replace("backward = \"1us\"", "backward = \"1000s\"");
    refused_star(&long, &["workload[0].steps", "10 steps of 200000.0002s"]);
    let none = training("").replace("count = 2", "count = 0");
    refused_star(&none, &["workload[0].layers[0].count"]);
    refused_star(
        "[[workload]]\nkind = \"training\"\nlayers = []\n",
        &["workload[0].layers"],
    );
    let program = "[[workload]]\nkind = \"program\"\npath = \"none.goal\"\n";
    refused_star(program, &["none.goal", "doesn't exist"]);
}
