//! `fairlane stat` looks at programs while they run.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::pair::{CLIENT, SERVER, complaint, run};
use crate::setup::{alone, fairlane, has, library};

/// What devices at an address say, if there are any.
fn ask(fairlane: &PathBuf, address: &str) -> Option<Value> {
    let mut command = Command::new(fairlane);
    command.args(["stat", "--qp", "--format", "json", "--address", address]);
    let output = command.stderr(Stdio::null()).output();
    let told = serde_json::from_slice(&output.expect("it can be started").stdout);
    let told: Option<Value> = told.ok();
    told.map(|mut told| told["devices"][0].take())
}

/// Looks at a device until a queue pair of it has sent or heard something.
fn watch(fairlane: &PathBuf, address: &str) -> Option<Value> {
    let until = Instant::now() + Duration::from_secs(30);
    while Instant::now() < until {
        let told = ask(fairlane, address);
        let busy = |own: &Value| {
            let mut pairs = own["pairs"].as_array().into_iter().flatten();
            pairs.any(|pair| pair["counters"]["rcvd_pkts"].as_u64() > Some(0))
        };
        if let Some(own) = told.filter(busy) {
            return Some(own);
        }
    }
    None
}

#[test]
fn counters_of_running_programs_are_seen() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let fairlane = fairlane();
    let _alone = alone();
    let arguments = ["ib_write_bw", "-D", "3", "-s", "4096"];
    let (ended, [server, client]) = std::thread::scope(|scope| {
        let watches = [SERVER, CLIENT].map(|at| scope.spawn(|| watch(&fairlane, at)));
        let ended = run(&arguments);
        (
            ended,
            watches.map(|watch| watch.join().expect("it watches")),
        )
    });
    assert_eq!(complaint(&arguments, &ended), None);
    for (own, address) in [(&server, SERVER), (&client, CLIENT)] {
        let own = own.as_ref().expect("it was seen");
        assert_eq!(own["device"], "fairlane0");
        assert_eq!(
            (&own["address"], &own["program"]),
            (&address.into(), &"ib_write_bw".into())
        );
        assert_eq!(
            (&own["state"], &own["gid"]),
            (&"ACTIVE".into(), &format!("::ffff:{address}").into())
        );
    }
    let pair = |own: Option<Value>| {
        let mut pairs = own.map(|mut own| own["pairs"].take()).unwrap_or_default();
        pairs[0].take()
    };
    let (server, client) = (pair(server), pair(client));
    // A server that is only written to never sends.
    let states = [&server["state"], &client["state"]];
    assert_eq!(states, ["RTR", "RTS"]);
    assert_eq!(
        (&server["service"], &client["service"]),
        (&"RC".into(), &"RC".into())
    );
    assert_eq!(
        (&server["peer"], &client["peer"]),
        (&CLIENT.into(), &SERVER.into())
    );
    assert_eq!(
        (&server["peer_number"], &client["peer_number"]),
        (&client["number"], &server["number"])
    );
    let words = client["counters"]["port_xmit_data"].as_u64();
    assert!(words > Some(1000), "{client}");
}

#[test]
fn programs_that_exec_starts_are_seen_and_leave_nothing() {
    if !has("ibv_rc_pingpong", "ibverbs-utils") {
        return;
    }
    let fairlane = fairlane();
    let _alone = alone();
    let mut command = Command::new(&fairlane);
    command.env("FAIRLANE_VERBS", library());
    command.args([
        "exec",
        "--address",
        SERVER,
        "--",
        "ibv_rc_pingpong",
        "-g",
        "1",
    ]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = command.spawn().expect("it can be started");
    let until = Instant::now() + Duration::from_secs(30);
    let told = loop {
        match ask(&fairlane, SERVER).filter(|own| own["queue_pairs"] == 1) {
            None if Instant::now() < until => {}
            told => break told,
        }
    };
    let process = server.id();
    server.kill().expect("it is a child");
    server.wait().expect("it is a child");
    let told = told.expect("it was seen");
    assert_eq!(
        (&told["pid"], &told["program"]),
        (&process.into(), &"ibv_rc_pingpong".into())
    );
    assert!(ask(&fairlane, SERVER).is_none());
}
