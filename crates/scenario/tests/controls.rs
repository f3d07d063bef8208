//! Congestion controls of tenants and workloads: what is read, and what is refused where.

use fairlane_congestion::{Algorithm, Scope, WindowMode};

use crate::common::{STAR, read, refused, refused_star};

/// A workload with one more key.
fn workload(more: &str) -> String {
    format!("[[workload]]\nkind = \"permutation\"\nsize = \"1kB\"\n{more}\n")
}

#[test]
fn what_is_left_out_is_that_of_the_fabric() {
    let text = format!(
        "{STAR}[congestion]\nalgorithm = \"hpcc\"\nbase_rtt = \"pair\"\nscope = \"none\"\n\
         [congestion.swift]\nbase_target = \"33us\"\n{}",
        workload("congestion = { algorithm = \"swift\" }")
    );
    let loaded = read(&text).expect("it is right");
    let own = loaded.scenario.workload[0].congestion().expect("its own");
    let own = loaded.scenario.congestion.with(own);
    assert_eq!((own.algorithm, own.scope), (Algorithm::Swift, Scope::Qp));
    assert_eq!(own.base_rtt, loaded.scenario.congestion.base_rtt);
    assert_eq!(own.swift, loaded.scenario.congestion.swift);
    // HPCC has a window of the driver, Swift has none.
    assert_eq!(own.window_mode(), WindowMode::None);
    let again = read(&loaded.to_toml().expect("it has a form")).expect("it is right");
    assert_eq!(again.scenario, loaded.scenario);
}

#[test]
fn mistakes_in_controls() {
    for (control, parts) in [
        ("{ }", ["congestion", "algorithm"]),
        (
            "{ algorithm = \"swft\" }",
            ["congestion.algorithm`", "`swift`?"],
        ),
        (
            "{ algorithm = \"swift\", dcqcn = { gain = 0.1 } }",
            ["congestion.dcqcn`", "but the algorithm is swift"],
        ),
        (
            "{ algorithm = \"dcqcn\", dcqcn = { gain = 2.0 } }",
            ["congestion.dcqcn.gain`", "expected"],
        ),
        (
            "{ algorithm = \"fixed\", fixed = { rate = \"0bps\" } }",
            ["congestion.fixed.rate`", "expected 1Mbps"],
        ),
        (
            "{ algorithm = \"hpcc\", window = \"none\" }",
            ["congestion.window`", "expected \"fixed\" or \"scaled\""],
        ),
        (
            "{ algorithm = \"dcqcn\", dcqcn = { min_rate = \"200Gbps\" } }",
            ["congestion.dcqcn.min_rate`", "the rate of every host link"],
        ),
    ] {
        let key = format!("congestion = {control}");
        refused_star(&workload(&key), &["workload[0]", parts[0], parts[1]]);
        let tenant = format!("[[tenant]]\nname = \"a\"\n{key}\n{}", workload(""));
        refused_star(&tenant, &["tenant[0]", parts[0], parts[1]]);
    }
}

#[test]
fn controls_have_what_they_need_and_share_nothing() {
    let swift = workload("congestion = { algorithm = \"swift\" }");
    let dctcp = workload("congestion = { algorithm = \"dctcp\" }");
    for scope in ["pair", "destination-unsplit", "tenant"] {
        let text = format!("[congestion]\nscope = \"{scope}\"\n{swift}");
        refused_star(
            &text,
            &["`workload[0].congestion`", scope, "share a controller"],
        );
    }
    refused_star(
        &format!("[switch.ecn]\nenabled = false\n{dctcp}"),
        &[
            "`workload[0].congestion.algorithm`",
            "switch.ecn.enabled is false",
        ],
    );
    refused_star(
        &format!("[congestion]\nnotification = \"cnp\"\n{dctcp}"),
        &["`workload[0].congestion.algorithm`", "hears no CNPs"],
    );
    // Swift needs no marks, and CNPs are for those that hear them.
    let cnp = "notification = \"cnp\"\n";
    read(&format!("{STAR}[congestion]\n{cnp}{swift}")).expect("DCQCN hears CNPs");
    let dcqcn = workload("congestion = { algorithm = \"dcqcn\" }");
    let text = format!("[congestion]\nalgorithm = \"swift\"\n{cnp}");
    read(&format!("{STAR}{text}{dcqcn}")).expect("DCQCN hears CNPs");
    refused_star(
        &format!("{text}{swift}"),
        &["`congestion.notification`", "hears no CNPs"],
    );
    refused(
        &format!("profile = \"hpcc-ns3\"\n{STAR}{swift}"),
        &["`workload[0].congestion`", "hpcc-ns3", "exact"],
    );
}
