//! Programs over a network that loses, repeats, reorders and alters packets.

use std::process::Output;

use crate::pair::{Ended, complaint, run_with};
use crate::perftest::VARIANTS;
use crate::setup::{alone, has};

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
