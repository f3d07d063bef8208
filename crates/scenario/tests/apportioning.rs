//! Receivers that can't apportion their links are refused with place, what was expected and a hint.

use crate::common::{read, refused};

#[test]
fn receivers_that_cannot_apportion() {
    let dasr = |lines: &str| format!("[congestion.dasr]\n{lines}");
    refused(
        &dasr("mode = \"demand\""),
        &["x.toml:2:1", "`congestion.dasr.mode`", "demand-aware"],
    );
    refused(&dasr("rows = 0"), &["`congestion.dasr.rows`", "is 0", "1"]);
    refused(&dasr("rows = -1"), &["`congestion.dasr.rows`", "-1"]);
    refused(&dasr("eta = nan"), &["`congestion.dasr.eta`", "is NaN"]);
    refused(&dasr("eta = 0.0"), &["`congestion.dasr.eta`", "0.1 to 1"]);
    refused(
        &dasr("window = 0.5"),
        &["`congestion.dasr.window`", "is 0.5", "expected 1 to"],
    );
    refused(
        &dasr("first_burst = -1.0"),
        &["`congestion.dasr.first_burst`", "is -1"],
    );
    refused(
        &dasr("eta = 0.5"),
        &["`congestion.dasr.draining`", "at most eta", "hint:"],
    );
    refused(
        &dasr("tolerance = 0.2"),
        &["`congestion.dasr.tolerance`", "0 to 0.05"],
    );
    refused(
        &dasr("silence = 8.0"),
        &["silence", "hint: remove it", "docs/dasr.md"],
    );
    refused(
        "[transport]\nservice = \"ud\"\n[congestion.dasr]\nmode = \"count\"",
        &["x.toml:4:1", "`congestion.dasr.mode`", "acknowledgements"],
    );
    refused(
        "[congestion]\nscope = \"tenant\"\n[congestion.dasr]\nmode = \"window\"",
        &[
            "x.toml:4:1",
            "`congestion.dasr.mode`",
            "set congestion.tenant.shares = false",
        ],
    );
    refused(
        "[congestion]\nscope = \"tenant\"\n[transport]\nservice = \"uc\"",
        &["congestion.tenant.shares", "acknowledgements", "hint:"],
    );
    refused(
        "profile = \"hpcc-ns3\"\n[congestion.dasr]\nmode = \"window\"",
        &["x.toml:3:1", "`congestion.dasr.mode`", "profile \"exact\""],
    );
    refused(
        "profile = \"hpcc-ns3\"\n[switch.ecn]\nhost_ports = false",
        &["x.toml:3:1", "`switch.ecn.host_ports`", "is false"],
    );
    refused(
        "[packet]\nmtu = 9000\nheader = 56450\n[congestion.dasr]\nmode = \"count\"",
        &["`packet.mtu`", "65535B"],
    );
    let tenant = "[congestion]\nscope = \"tenant\"\n";
    assert!(read(&format!("{tenant}{}", dasr("mode = \"weighted\""))).is_ok());
    let beside = "[congestion]\nscope = \"tenant\"\n[congestion.tenant]\nshares = false\n";
    assert!(read(&format!("{beside}{}", dasr("mode = \"count\""))).is_ok());
}

#[test]
fn keys_of_rules_that_are_gone_name_what_there_is() {
    let tenant =
        |key: &str| format!("[congestion]\nscope = \"tenant\"\n[congestion.tenant]\n{key}");
    for (key, hint) in [
        ("express = true", "hint: `unsolicited` says"),
        ("share_memory = \"1ms\"", "hint: `shares` has"),
        ("arbitration = false", "hint: `turns` has"),
        ("idle_recovery = \"300us\"", "hint: remove it: a pair keeps"),
        ("early_weight = 4", "hint: remove it"),
    ] {
        refused(&tenant(key), &["x.toml:4:1", "unknown key", hint]);
    }
}

/// Nothing varied them.
#[test]
fn keys_that_have_become_constants_are_named_with_what_to_do() {
    for (section, key, hint) in [
        ("multipath", "probation = 4", "when paths are suspected"),
        ("multipath", "suspect_loss = 25", "when paths are suspected"),
        ("multipath", "reps_explore = 32", "its paper's"),
        ("multipath", "reps_freeze = \"100us\"", "its paper's"),
        ("nic.drum", "linger = \"8us\"", "lingers for 8 us"),
        (
            "nic.drum",
            "window_bytes = \"20kB\"",
            "bandwidth-delay product",
        ),
    ] {
        let text = format!("[{section}]\n{key}");
        refused(
            &text,
            &["x.toml:2:1", "unknown key", "hint: remove it", hint],
        );
    }
}
