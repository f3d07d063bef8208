//! Programs that connect by addresses (librdmacm).

use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::pair::{
    CLIENT, Ended, Meeting, SERVER, complaint, run_both, run_until_client_ends, wait_for,
};
use crate::setup::{alone, at, compiled, has, library};
use crate::symbols::symbols;

const PACKAGE: &str = "rdmacm-utils";

/// Runs a server and a client, and says what went wrong. On a busy machine a server may begin to listen after its client has
/// asked, which is then refused, and gets another try.
fn failure(server: &[&str], client: &[&str]) -> Option<String> {
    const TRIES: usize = 3;
    let mut said = None;
    for _ in 0..TRIES {
        said = complaint(client, &run_both(server, client, None));
        let refused = |said: &String| {
            said.contains("RDMA_CM_EVENT_REJECTED, error 8")
                || said.contains("RDMA_CM_EVENT_REJECTED; error: 8")
        };
        if !said.as_ref().is_some_and(refused) {
            break;
        }
    }
    said
}

#[track_caller]
fn assert_run(pairs: &[[&[&str]; 2]]) {
    let complaints: Vec<String> = pairs
        .iter()
        .filter_map(|[server, client]| failure(server, client))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn pings_come_back_as_they_were() {
    if !has("rping", PACKAGE) {
        return;
    }
    let _alone = alone();
    // -V compares every byte; -q makes queue pairs without the library; -P serves each client in a thread of its own.
    assert_run(&[
        [
            &["rping", "-s", "-a", SERVER, "-C", "20", "-V", "-S", "4000"],
            &["rping", "-c", "-a", SERVER, "-C", "20", "-V", "-S", "4000"],
        ],
        [
            &["rping", "-s", "-C", "3", "-V", "-q"],
            &["rping", "-c", "-a", SERVER, "-C", "3", "-V", "-q"],
        ],
        [
            &["rping", "-s", "-C", "3", "-V"],
            &["rping", "-c", "-I", CLIENT, "-a", SERVER, "-C", "3", "-V"],
        ],
    ]);
}

#[test]
fn connections_come_to_be_over_a_network_that_loses_repeats_and_reorders() {
    if !has("ucmatose", PACKAGE) {
        return;
    }
    let _alone = alone();
    let faults = Some("seed=3 packets=loss:0.05,duplicate:0.05,reorder:0.05,corrupt:0.05");
    // What it has said by a line's end is there however it ends.
    let server = ["stdbuf", "-oL", "ucmatose", "-c", "8", "-C", "5"];
    let client = ["ucmatose", "-s", SERVER, "-c", "8", "-C", "5"];
    let ended = run_until_client_ends(&server, &client, faults);
    let said = complaint(&client, &ended).unwrap_or_default();
    assert!(ended.client.status.success(), "{said}");
    // The server ends its connections. If its client's last answer to that is lost, nobody is left to repeat it.
    let heard = String::from_utf8_lossy(&ended.server.stdout);
    let waits = heard.ends_with("data transfers complete\ncmatose: disconnecting\n");
    assert!(ended.server.status.success() || waits, "{said}");
}

#[test]
fn connections_and_datagram_services_are_found() {
    if !has("ucmatose", PACKAGE) {
        return;
    }
    let _alone = alone();
    assert_run(&[
        [&["ucmatose", "-b", SERVER], &["ucmatose", "-s", SERVER]],
        [
            &["ucmatose", "-c", "32", "-C", "20", "-S", "3000"],
            &[
                "ucmatose", "-s", SERVER, "-c", "32", "-C", "20", "-S", "3000",
            ],
        ],
        // Moves ids from one event channel to another.
        [&["ucmatose", "-m"], &["ucmatose", "-s", SERVER, "-m"]],
        [&["udaddy", "-b", SERVER], &["udaddy", "-s", SERVER]],
        [
            &["udaddy", "-c", "16", "-C", "10"],
            &["udaddy", "-s", SERVER, "-c", "16", "-C", "10"],
        ],
        // Calls that wait themselves, and endpoints.
        [
            &["rdma_server", "-p", "7471"],
            &["rdma_client", "-s", SERVER, "-p", "7471"],
        ],
    ]);
}

#[test]
fn many_connections_are_opened_and_closed_step_by_step() {
    if !has("cmtime", PACKAGE) {
        return;
    }
    let _alone = alone();
    // The server waits for ever.
    let Ended { client, .. } = run_until_client_ends(
        &["cmtime", "-b", SERVER, "-c", "100"],
        &["cmtime", "-b", CLIENT, "-s", SERVER, "-c", "100"],
        None,
    );
    let said = String::from_utf8_lossy(&client.stdout).into_owned();
    assert!(client.status.success(), "{said}");
    // Nothing had to be repeated, which takes seconds: the third column is the longest time of a step in ms.
    let steps = said.lines().filter_map(|line| line.split_once(':'));
    let longest = steps.filter_map(|(_, times)| times.split_whitespace().nth(1)?.parse().ok());
    let longest: Vec<f64> = longest.collect();
    assert!(
        longest.len() == 8 && longest.iter().all(|ms| *ms < 4_000.0),
        "{said}"
    );
}

#[test]
fn perftest_connects_by_addresses() {
    if !has("ib_write_bw", "perftest") {
        return;
    }
    let _alone = alone();
    let all: [&[&str]; 6] = [
        &["ib_write_bw", "-R", "-n", "200"],
        &["ib_read_bw", "-R", "-n", "200"],
        &["ib_send_lat", "-R", "-n", "200"],
        &["ib_send_bw", "-R", "-c", "UD", "-n", "200"],
        &["ib_write_bw", "-R", "-q", "4", "-n", "200"],
        &["ib_write_bw", "-R", "--use_old_post_send", "-n", "200"],
    ];
    let complaints: Vec<String> = all
        .iter()
        .filter_map(|server| failure(server, &[server, &[SERVER][..]].concat()))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn localhost_is_whoever_listens_on_this_host() {
    if !has("ib_write_bw", "perftest") || !has("rping", PACKAGE) {
        return;
    }
    let _alone = alone();
    // perftest connects twice, and listens to nothing in between; for UD in another port space the second time.
    assert_run(&[
        [
            &["ib_write_bw", "-R", "-n", "200"],
            &["ib_write_bw", "-R", "-n", "200", "localhost"],
        ],
        [
            &["ib_send_bw", "-R", "-c", "UD", "-n", "200"],
            &["ib_send_bw", "-R", "-c", "UD", "-n", "200", "localhost"],
        ],
        [
            &["rping", "-s", "-C", "3", "-V"],
            &["rping", "-c", "-a", "127.0.0.1", "-C", "3", "-V"],
        ],
        [
            &["rping", "-s", "-a", "::1", "-C", "3", "-V"],
            &["rping", "-c", "-a", "::1", "-C", "3", "-V"],
        ],
        [&["udaddy"], &["udaddy", "-s", "localhost"]],
    ]);
}

#[test]
fn who_nobody_waits_for_is_refused_at_once() {
    if !has("rping", PACKAGE) {
        return;
    }
    let _alone = alone();
    // A process that has a connection manager, but not this service.
    let Ended { client, .. } = run_until_client_ends(
        &["rping", "-s", "-a", SERVER, "-p", "5001"],
        &["rping", "-c", "-a", SERVER, "-p", "5002", "-C", "1"],
        None,
    );
    let said = String::from_utf8_lossy(&client.stderr).into_owned();
    assert!(said.contains("RDMA_CM_EVENT_REJECTED, error 8"), "{said}");
    assert!(!client.status.success());
}

/// A process that ends with the test, however that ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_server_outlives_clients_that_are_killed() {
    if !has("rping", PACKAGE) {
        return;
    }
    let _alone = alone();
    let mut server = at(SERVER, "rping");
    let server = server
        .args(["-s", "-P", "-a", SERVER])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut server = Server(server.spawn().expect("it has been found"));
    let until = Instant::now() + Duration::from_secs(60);
    wait_for(&mut server.0, Meeting::Addresses, SERVER, until);
    for round in 0..4 {
        let mut client = at(CLIENT, "rping");
        client.args(["-c", "-a", SERVER, "-V", "-C"]);
        if round % 2 == 0 {
            // It ends without a word.
            let client = client
                .arg("1000000")
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            let mut client = client.spawn().expect("it has been found");
            sleep(Duration::from_millis(300));
            client.kill().expect("it is a child");
            client.wait().expect("it is a child");
            continue;
        }
        let ended = client.arg("5").output().expect("it has been found");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(ended.status.success(), "round {round}: {said}");
    }
    let ended = server.0.try_wait().expect("it is a child");
    assert_eq!(ended, None, "the server runs on");
}

#[test]
fn every_name_of_the_library_it_stands_in_for_is_there() {
    let packaged = Path::new("/usr/lib/x86_64-linux-gnu/librdmacm.so.1");
    if !packaged.exists() {
        println!("skipped: there is no librdmacm (Debian: apt-get install librdmacm1)");
        return;
    }
    if !has("readelf", "binutils") {
        return;
    }
    let packaged = symbols(packaged);
    assert!(!packaged.is_empty());
    let own = symbols(&library().join("librdmacm.so.1"));
    let missing: Vec<_> = packaged.difference(&own).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Runs a program in C that says what is wrong.
#[track_caller]
pub(crate) fn assert_program(name: &str, arguments: &[&str]) {
    let Some(program) = compiled(name, ("rdma/rdma_cma.h", "librdmacm-dev")) else {
        return;
    };
    let ran = at(SERVER, &program.display().to_string())
        .args(arguments)
        .output()
        .expect("it has been compiled");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{}: {said}", ran.status);
}

#[test]
fn ids_that_make_no_sense_are_errors() {
    let _alone = alone();
    assert_program("calls", &[]);
}

#[test]
fn each_connection_of_a_listener_has_completion_queues_of_its_own() {
    let _alone = alone();
    assert_program("lifetimes", &["completions"]);
}

#[test]
fn who_waits_for_acknowledgements_keeps_nobody_from_giving_them() {
    let _alone = alone();
    assert_program("lifetimes", &["acknowledgements"]);
}

#[test]
fn events_of_many_connections_come_in_order() {
    let _alone = alone();
    assert_program("lifetimes", &["order"]);
}

#[test]
fn what_is_posted_completes_if_the_peer_refuses() {
    let _alone = alone();
    assert_program("lifetimes", &["refusal"]);
}

#[test]
fn a_channel_is_readable_while_it_has_events() {
    let _alone = alone();
    assert_program("lifetimes", &["readable"]);
}

#[test]
fn calls_that_fail_leave_nothing_behind() {
    let _alone = alone();
    assert_program("lifetimes", &["failures"]);
}

#[test]
fn signals_are_for_threads_of_the_program() {
    let _alone = alone();
    assert_program("lifetimes", &["signals"]);
}
