//! What programs read and ask for by librdmacm, against what rdma-core and the kernel give (`c/fields.c`).

use std::path::Path;

use crate::connections::assert_program;
use crate::pair::SERVER;
use crate::setup::{alone, at, has};

#[test]
fn hints_come_back_with_all_that_they_say() {
    let _alone = alone();
    assert_program("fields", &["hints"]);
}

#[test]
fn ids_have_every_field_at_every_event() {
    let _alone = alone();
    assert_program("fields", &["fields"]);
}

#[test]
fn loopback_stands_for_every_device() {
    let _alone = alone();
    assert_program("fields", &["loopback"]);
}

#[test]
fn addresses_are_shared_as_options_say() {
    let _alone = alone();
    assert_program("fields", &["options"]);
}

#[test]
fn ordinary_descriptors_are_waited_for() {
    let _alone = alone();
    assert_program("fields", &["descriptors"]);
}

/// Waits by `select` and `poll` for both ends of a connection.
const WAITS: &str = "
import select, socket
server = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
server.bind(('127.0.0.1', 0))
server.listen()
client = socket.create_connection(server.getsockname())
assert select.select([server], [], [], 10)[0] == [server]
peer = server.accept()[0]
assert select.select([peer], [client], [], 0) == ([], [client], [])
client.sendall(b'x' * 1000)
poll = select.poll()
poll.register(peer, select.POLLIN)
assert poll.poll(10000) == [(peer.fileno(), select.POLLIN)]
assert peer.recv(2000) == b'x' * 1000
";

#[test]
fn programs_over_librspreload_fall_back_to_tcp() {
    const PRELOAD: &str = "/usr/lib/x86_64-linux-gnu/rsocket/librspreload.so";
    if !Path::new(PRELOAD).exists() {
        println!("skipped: there is no librspreload (Debian: apt-get install librdmacm1)");
        return;
    }
    if !has("python3", "python3") {
        return;
    }
    let _alone = alone();
    let mut python = at(SERVER, "python3");
    python.env("LD_PRELOAD", PRELOAD).args(["-c", WAITS]);
    let ran = python.output().expect("it has been found");
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{}: {said}", ran.status);
}
