//! Programs where things go wrong on purpose: over a network that loses, repeats, reorders and alters packets, and what they meet
//! of `fairlane exec --faults` (`c/faults.c`).

use std::process::{Command, Output};

use crate::pair::{Ended, complaint, run_until_client_ends, run_with};
use crate::perftest::VARIANTS;
use crate::setup::{alone, compiled, fairlane, has, library, root};

const FAULTS: &str = "seed=7 packets=loss:0.01,duplicate:0.01,reorder:0.01,corrupt:0.01";

#[test]
fn connections_survive_what_networks_do() {
    if !has("ib_write_bw", "perftest") || !has("ibv_rc_pingpong", "ibverbs-utils") {
        return;
    }
    let _alone = alone();
    let pingpongs: [&[&str]; 2] = [
        &["ibv_rc_pingpong", "-g", "1", "-c", "-n", "200"],
        &["ibv_srq_pingpong", "-g", "1", "-c", "-e", "-n", "100"],
    ];
    // Others lose what networks lose.
    let is_reliable = |arguments: &&&[&str]| !arguments.contains(&"-c");
    // perftest takes the last of two counts; 100 messages of each size up to 8 MB would be 1.6 GB.
    let fewer = |arguments: &[&'static str]| match arguments {
        _ if arguments.contains(&"-a") => [arguments, &["-n", "5"]].concat(),
        _ if arguments.contains(&"-n") => arguments.to_vec(),
        _ => [arguments, &["-n", "300"]].concat(),
    };
    let matrix = VARIANTS.iter().filter(is_reliable).map(|one| fewer(one));
    let all: Vec<Vec<&str>> = pingpongs
        .iter()
        .map(|one| one.to_vec())
        .chain(matrix)
        .collect();
    let run = |arguments: &Vec<&str>| {
        let ended = run_with(arguments, Some(FAULTS));
        // perftest agrees on the end.
        let may_leave = arguments[0].ends_with("_pingpong");
        complaint(arguments, &ended).filter(|_| !(may_leave && one_left_first(&ended)))
    };
    let complaints: Vec<String> = all.iter().filter_map(run).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

/// Whether one has done everything, and the other waits in vain for its last acknowledgement: that was lost, and who would
/// repeat it has ended. Programs that don't agree on the end, as pingpongs, can't do better on any network that loses packets.
fn one_left_first(ended: &Ended) -> bool {
    let waits = |output: &Output| {
        let all = [&output.stdout[..], &output.stderr[..]].concat();
        String::from_utf8_lossy(&all).contains("transport retry counter exceeded")
    };
    let (server, client) = (&ended.server, &ended.client);
    (client.status.success() && waits(server)) || (server.status.success() && waits(client))
}

/// Runs a part of `faults.c` at an address with a file of faults; what it says, unless it is skipped.
fn runs(part: &str, address: &str, faults: &str) -> Option<Output> {
    let program = compiled("faults", ("infiniband/verbs.h", "libibverbs-dev"))?;
    let file = root().join("target/interop/faults.toml");
    std::fs::write(&file, faults).expect("target can be written");
    let mut command = Command::new(fairlane());
    command.env("FAIRLANE_VERBS", library());
    command.args(["exec", "--address", address, "--faults"]);
    command.arg(file).arg("--").arg(program).arg(part);
    Some(command.output().expect("it can be started"))
}

/// Whether a part of `faults.c` finds what it expects.
fn holds(part: &str, faults: &str) {
    let _alone = alone();
    if let Some(output) = runs(part, "127.77.0.8", faults) {
        let all = [&output.stdout[..], &output.stderr].concat();
        let said = String::from_utf8_lossy(&all).into_owned();
        assert!(output.status.success(), "{part}: {said}");
        assert!(said.contains("faults on purpose: seed=0 "), "{said}");
    }
}

#[test]
fn a_request_fails_and_those_behind_it_are_flushed() {
    let status = "IBV_WC_RETRY_EXC_ERR";
    holds(
        "request",
        &format!("[[request]]\nnumber = 3\nstatus = \"{status}\"\n"),
    );
}

#[test]
fn a_port_goes_down_and_comes_up() {
    holds("port", "[[port]]\nat = \"1s\"\ndown = \"300ms\"\n");
}

#[test]
fn a_gid_moves_and_goes() {
    let gone = "[[gid]]\nat = \"1500ms\"\n";
    holds("moves", &format!("[[gid]]\nat = \"1s\"\nto = 5\n{gone}"));
}

#[test]
fn a_send_queue_is_full_before_it_should_be() {
    holds("full", "[queue]\nsend = 2\n[packets]\nloss = 1\n");
}

#[test]
fn a_completion_queue_overruns_before_it_should() {
    holds("overrun", "[queue]\ncompletion = 2\n");
}

#[test]
fn a_port_has_a_smaller_mtu() {
    holds("mtu", "[mtu]\nactive = 1024\n");
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let _alone = alone();
    let arrive = |address, seed| {
        let faults = format!("seed = {seed}\n[packets]\nloss = 0.3\n");
        let output = runs("lost", address, &faults)?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{said}");
        Some(said)
    };
    let Some(first) = arrive("127.77.0.8", 7) else {
        return;
    };
    let count = first.lines().count();
    assert!((100..180).contains(&count), "{first}");
    assert_eq!(arrive("127.77.0.8", 7).as_ref(), Some(&first));
    assert_ne!(arrive("127.77.0.8", 8).as_ref(), Some(&first));
    assert_ne!(arrive("127.77.0.9", 7).as_ref(), Some(&first));
}

#[test]
fn faults_that_are_not_understood_leave_no_device() {
    if !has("ibv_devinfo", "ibverbs-utils") {
        return;
    }
    let _alone = alone();
    let mut command = crate::setup::at("127.77.0.8", "ibv_devinfo");
    let output = command.env("FAIRLANE_FAULTS", "packets=lost:1").output();
    let output = output.expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr);
    let expected = "fairlane: FAIRLANE_FAULTS: `packets` has no `lost`\nhint: it has loss, ";
    assert!(
        !output.status.success() && said.contains(expected),
        "{said}"
    );
}

#[test]
fn a_pingpong_says_which_request_of_it_failed() {
    if !has("ibv_rc_pingpong", "ibverbs-utils") {
        return;
    }
    let _alone = alone();
    let server = ["ibv_rc_pingpong", "-g", "1", "-n", "1000"];
    let client = [&server[..], &["127.0.0.1"]].concat();
    let faults = Some("request=number:100,status:IBV_WC_RETRY_EXC_ERR");
    // The client begins, so that its hundredth request is the first; nobody tells the server.
    let client = run_until_client_ends(&server, &client, faults).client;
    let said = String::from_utf8_lossy(&client.stderr);
    let expected = "transport retry counter exceeded (12) for wr_id 2";
    assert!(
        !client.status.success() && said.contains(expected),
        "{said}"
    );
}
