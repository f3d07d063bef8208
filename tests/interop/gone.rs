//! Processes that leave without a word, or aren't there: who is connected to them hears of it as from a kernel (`c/gone.c`).

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::Duration;

use crate::pair::{CLIENT, SERVER};
use crate::setup::{alone, at, compiled};
use crate::veth::{self, Namespaces};

/// How soon whoever is left hears of it.
const SOON: Duration = Duration::from_secs(1);
/// How long it takes at most until something else happens.
const MOST: Duration = Duration::from_secs(20);

/// A program that tells what happens to it, a line each.
struct Party {
    child: Child,
    lines: Receiver<String>,
}

impl Party {
    fn start(program: &Path, address: &str, arguments: &[&str]) -> Self {
        let mut command = at(address, &program.display().to_string());
        command.args(arguments);
        Self::of(command)
    }

    /// The same in the network namespace of a process.
    fn start_in(keeper: &str, program: &Path, address: &str, arguments: &[&str]) -> Self {
        let mut command = at(address, "nsenter");
        command.args(["-t", keeper, "-n", "--"]).arg(program);
        command.args(arguments);
        Self::of(command)
    }

    fn of(mut command: Command) -> Self {
        let command = command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it is there");
        let said = child.stdout.take().expect("it is piped");
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            let mut said = BufReader::new(said).lines().map_while(Result::ok);
            said.try_for_each(|line| tell.send(line))
        });
        Self { child, lines }
    }

    /// A server that listens.
    fn serve(program: &Path) -> Self {
        let server = Self::start(program, SERVER, &["server", SERVER]);
        server.expect("listening", MOST);
        server
    }

    /// A client that is connected.
    fn connect(program: &Path, mode: &str, server: &Self) -> Self {
        let client = Self::start(program, CLIENT, &["client", SERVER, mode]);
        client.expect("RDMA_CM_EVENT_ADDR_RESOLVED 0", MOST);
        client.expect("RDMA_CM_EVENT_ROUTE_RESOLVED 0", MOST);
        client.expect("RDMA_CM_EVENT_ESTABLISHED 0", MOST);
        server.expect("RDMA_CM_EVENT_CONNECT_REQUEST 0", MOST);
        server.expect("RDMA_CM_EVENT_ESTABLISHED 0", MOST);
        client
    }

    /// The next line is this one, and comes in time.
    #[track_caller]
    fn expect(&self, line: &str, within: Duration) {
        assert_eq!(self.lines.recv_timeout(within).as_deref(), Ok(line));
    }

    fn kill(&mut self) {
        self.child.kill().expect("it is a child");
        self.child.wait().expect("it is a child");
    }
}

impl Drop for Party {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn program() -> Option<PathBuf> {
    compiled("gone", ("rdma/rdma_cma.h", "librdmacm-dev"))
}

#[test]
fn who_exits_is_missed() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let server = Party::serve(&program);
    let mut client = Party::connect(&program, "exit", &server);
    assert!(client.child.wait().expect("it is a child").success());
    server.expect("RDMA_CM_EVENT_DISCONNECTED 0", SOON);
    // Also before the answer to its request.
    let mut client = Party::start(&program, CLIENT, &["client", SERVER, "hurry"]);
    assert!(client.child.wait().expect("it is a child").success());
    let lines = || server.lines.recv_timeout(SOON);
    let last = std::iter::from_fn(|| lines().ok()).find(|line| {
        ["REJECTED", "DISCONNECTED"]
            .iter()
            .any(|end| line.contains(end))
    });
    assert!(last.is_some());
}

#[test]
fn who_is_killed_is_missed_and_comes_again() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let server = Party::serve(&program);
    for _ in 0..3 {
        let mut client = Party::connect(&program, "sleep", &server);
        client.kill();
        server.expect("RDMA_CM_EVENT_DISCONNECTED 0", SOON);
    }
}

#[test]
fn who_waits_for_a_server_that_is_killed_hears_of_it() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let mut server = Party::serve(&program);
    let client = Party::connect(&program, "event", &server);
    server.kill();
    client.expect("RDMA_CM_EVENT_DISCONNECTED 0", SOON);
}

#[test]
fn children_end_nothing_and_keep_nothing() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let server = Party::serve(&program);
    let mut client = Party::connect(&program, "fork", &server);
    client.expect("forked", MOST);
    client.expect("forked", MOST);
    sleep(Duration::from_millis(200));
    assert!(server.lines.try_recv().is_err(), "the connection stands");
    client.kill();
    server.expect("RDMA_CM_EVENT_DISCONNECTED 0", SOON);
    // The child has the client's address until it ends, too.
    assert_eq!(client.lines.recv_timeout(MOST).ok(), None);
}

#[test]
fn a_request_waits_for_who_has_the_address_and_listens_soon() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let server = Party::start(&program, SERVER, &["late", "0.0.0.0"]);
    server.expect("bound", MOST);
    let client = Party::start(&program, CLIENT, &["client", SERVER, "sleep"]);
    client.expect("RDMA_CM_EVENT_ADDR_RESOLVED 0", MOST);
    client.expect("RDMA_CM_EVENT_ROUTE_RESOLVED 0", MOST);
    client.expect("RDMA_CM_EVENT_ESTABLISHED 0", MOST);
    server.expect("listening", MOST);
}

#[test]
fn a_request_to_nobody_is_refused_at_once() {
    let _alone = alone();
    let Some(program) = program() else { return };
    for address in ["127.77.0.99", "127.0.0.1"] {
        // IB_CM_REJ_INVALID_SERVICE_ID, as whoever has a device there would say.
        let mut client = Party::start(&program, CLIENT, &["client", address, "event"]);
        client.expect("RDMA_CM_EVENT_ADDR_RESOLVED 0", MOST);
        client.expect("RDMA_CM_EVENT_ROUTE_RESOLVED 0", MOST);
        client.expect("RDMA_CM_EVENT_REJECTED 8", SOON);
        let ended = client.child.wait().expect("it is a child");
        assert_eq!(ended.code(), Some(3), "it has measured less than a second");
    }
}

#[test]
fn other_hosts_say_that_nobody_is_there() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let Some(hosts) = Namespaces::new() else {
        return;
    };
    let [server, client] = &hosts.keepers;
    let run = |mode| {
        let arguments = ["client", veth::SERVER, mode];
        let client = Party::start_in(client, &program, veth::CLIENT, &arguments);
        client.expect("RDMA_CM_EVENT_ADDR_RESOLVED 0", MOST);
        client.expect("RDMA_CM_EVENT_ROUTE_RESOLVED 0", MOST);
        client
    };
    // A request comes before its server, and is refused by the other host's system.
    run("event").expect("RDMA_CM_EVENT_REJECTED 8", SOON);
    let mut server = Party::start_in(server, &program, veth::SERVER, &["server", veth::SERVER]);
    server.expect("listening", MOST);
    // It answers for a process that has been killed, too, once it is asked.
    let mut client = run("goodbye");
    client.expect("RDMA_CM_EVENT_ESTABLISHED 0", MOST);
    server.kill();
    client.expect("RDMA_CM_EVENT_DISCONNECTED 0", MOST);
    let ended = client.child.wait().expect("it is a child");
    assert!(ended.success(), "it has measured less than a second");
}
