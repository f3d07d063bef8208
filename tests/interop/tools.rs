//! Tools of rdma-core.

use crate::pair::{SERVER, complaint, run};
use crate::setup::{alone, at, has};

const PACKAGE: &str = "ibverbs-utils";

#[test]
fn tools_list_and_describe_the_device() {
    if !has("ibv_devinfo", PACKAGE) {
        return;
    }
    let _alone = alone();
    let list = at(SERVER, "ibv_devices")
        .output()
        .expect("it can be started");
    let text = String::from_utf8_lossy(&list.stdout).into_owned();
    assert!(
        text.contains("fairlane0") && text.contains("02005efe7f4d0001"),
        "{text}"
    );
    let info = at(SERVER, "ibv_devinfo").arg("-v").output();
    let info = info.expect("it can be started");
    let text = String::from_utf8_lossy(&info.stdout).into_owned();
    assert!(info.status.success(), "{text}");
    for line in [
        "PORT_ACTIVE (4)",
        "Ethernet",
        "GID[  1]:\t\t::ffff:127.77.0.1, RoCE v2",
    ] {
        assert!(text.contains(line), "no \"{line}\" in {text}");
    }
}

#[test]
fn every_ping_comes_back_as_it_was() {
    if !has("ibv_rc_pingpong", PACKAGE) {
        return;
    }
    let _alone = alone();
    // `-c` compares every byte of every buffer.
    let all: [&[&str]; 7] = [
        &["ibv_rc_pingpong", "-g", "1", "-c"],
        &[
            "ibv_rc_pingpong",
            "-g",
            "0",
            "-c",
            "-s",
            "1048577",
            "-n",
            "20",
        ],
        &["ibv_rc_pingpong", "-g", "1", "-c", "-e"],
        &["ibv_rc_pingpong", "-g", "1", "-c", "-N"],
        &["ibv_uc_pingpong", "-g", "1", "-c", "-e"],
        &["ibv_ud_pingpong", "-g", "1", "-c", "-s", "2048"],
        &["ibv_srq_pingpong", "-g", "1", "-c", "-e"],
    ];
    let complaints: Vec<String> = all
        .iter()
        .filter_map(|arguments| complaint(arguments, &run(arguments)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}

#[test]
fn an_address_that_is_taken_is_said_in_a_line() {
    if !has("ibv_devinfo", PACKAGE) {
        return;
    }
    let _alone = alone();
    let taken = "127.77.0.9";
    let _socket = std::net::UdpSocket::bind((taken, 4791)).expect("it is free");
    let info = at(taken, "ibv_devinfo")
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&info.stderr).into_owned();
    assert!(!info.status.success());
    assert!(
        said.contains(&format!("UDP port 4791 of {taken}")) && said.contains("hint:"),
        "{said}"
    );
    let info = at("192.0.2.77", "ibv_devinfo")
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&info.stderr).into_owned();
    assert!(
        said.contains("FAIRLANE_ADDRESS") && said.contains("hint:"),
        "{said}"
    );
}
