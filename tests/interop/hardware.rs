//! What programs know of hardware beyond the manual pages.

use crate::setup::{alone, at, compiled};

/// Runs a part of `hardware.c` on devices at addresses.
fn holds(part: &str, addresses: &[&str]) {
    let _alone = alone();
    let Some(program) = compiled("hardware", ("infiniband/verbs.h", "libibverbs-dev")) else {
        return;
    };
    let program = program.to_str().expect("its path is a text");
    for address in addresses {
        let output = at(address, program).arg(part).output();
        let output = output.expect("it can be started");
        let (said, complained) = (&output.stdout, &output.stderr);
        let said = String::from_utf8_lossy(&[&said[..], complained].concat()).into_owned();
        assert!(
            output.status.success(),
            "{part} at {address}: {}: {said}",
            output.status
        );
    }
}

#[test]
fn datagrams_say_which_network_header_they_have() {
    let mut addresses = vec!["127.77.0.6"];
    match std::net::UdpSocket::bind("[::1]:0") {
        Ok(_) => addresses.push("::1"),
        Err(error) => println!("skipped: datagrams over IPv6: {error}"),
    }
    holds("headers", &addresses);
}

#[test]
fn atomics_are_those_that_programs_ask_for() {
    holds("atomics", &["127.77.0.6"]);
}

#[test]
fn a_queue_pair_has_room_for_inline_data_that_nobody_asked_for() {
    holds("inlined", &["127.77.0.6"]);
}

#[test]
fn a_port_has_a_speed() {
    holds("speed", &["127.77.0.6"]);
}

#[test]
fn a_null_region_takes_everything_and_gives_zeros() {
    holds("null", &["127.77.0.6"]);
}

#[test]
fn parent_and_thread_domains_stay_while_they_are_used() {
    holds("domains", &["127.77.0.6"]);
}
