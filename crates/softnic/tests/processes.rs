//! Two processes: this test starts itself again as the other one, which serves memory without polling.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed helper fails its test, and the other process says what it has"
)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::Ipv4Addr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use common::{End, end, pattern, whole};
use fairlane_softnic::{
    Connection, Device, Operation, QpNumber, Rights, SendRequest, Sending, Settings, Status, Target,
};
use fairlane_units::Duration;

const ADDRESS: &str = "SOFTNIC_TEST_ADDRESS";
const LENGTH: usize = 1 << 20;

/// The other process: says what it has, hears whom to connect to, and sleeps until its input ends.
fn serve(address: Ipv4Addr) {
    let device = Device::open(Settings::new(address)).unwrap();
    let domain = device.allocate_domain();
    let queue = device.create_completion_queue(16).unwrap();
    let end = End {
        device,
        domain,
        queue,
    };
    let (pair, memory) = (end.pair(), end.memory(LENGTH));
    end.fill(&memory, 42);
    println!(
        "\nserves {} {} {}",
        pair.get(),
        memory.address,
        memory.remote_key
    );
    let mut lines = std::io::stdin().lines();
    let line = lines.next().unwrap().unwrap();
    let (peer, number) = line.split_once(' ').unwrap();
    let number = QpNumber::new(number.parse().unwrap());
    end.connect(
        pair,
        &Connection::new(peer.parse().unwrap(), number),
        &Sending::default(),
    );
    println!("connected");
    for _ in lines {}
}

/// The other process as this one sees it.
struct Server {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    address: Ipv4Addr,
    pair: QpNumber,
    memory: Target,
}

impl Server {
    fn start() -> Self {
        let address = common::address();
        let program = std::env::current_exe().unwrap();
        let mut process = Command::new(program)
            .args(["--exact", "two_processes_share_memory", "--nocapture"])
            .env(ADDRESS, address.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut server = Self {
            input: process.stdin.take(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            address,
            pair: QpNumber::new(0),
            memory: Target { address: 0, key: 0 },
        };
        let line = server.line("serves ");
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
        let mut next = || numbers.next().unwrap();
        server.pair = QpNumber::new(next() as u32);
        server.memory = Target {
            address: next(),
            key: next() as u32,
        };
        server
    }

    /// The rest of the next line that begins so.
    fn line(&mut self, begin: &str) -> String {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "it says nothing more"
            );
            if let Some(rest) = line.trim_end().strip_prefix(begin) {
                return rest.to_owned();
            }
        }
    }

    fn connect(&mut self, end: &End, sending: &Sending) -> QpNumber {
        let pair = end.pair();
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{} {}", end.device.address(), pair.get()).unwrap();
        end.connect(pair, &Connection::new(self.address, self.pair), sending);
        self.line("connected");
        pair
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.input = None;
        drop(self.process.wait());
    }
}

#[test]
fn two_processes_share_memory() {
    if let Ok(address) = std::env::var(ADDRESS) {
        return serve(address.parse().unwrap());
    }
    let mut server = Server::start();
    let end = end();
    let pair = server.connect(&end, &Sending::default());
    let (own, back) = (end.memory(LENGTH), end.memory(LENGTH));
    end.post(
        pair,
        &SendRequest::read(1, vec![whole(&own)], server.memory),
    );
    assert_eq!(end.wait().status, Status::Success);
    assert!(end.bytes(&own) == pattern(LENGTH, 42));
    let bytes = end.fill(&own, 43);
    end.post(
        pair,
        &SendRequest::write(2, vec![whole(&own)], server.memory),
    );
    end.post(
        pair,
        &SendRequest::read(3, vec![whole(&back)], server.memory),
    );
    assert_eq!((end.wait().id, end.wait().id), (2, 3));
    assert!(end.bytes(&back) == bytes);
    let word = end
        .device
        .allocate(end.domain, 8, Rights::LOCAL_WRITE)
        .unwrap();
    let add = Operation::FetchAdd(server.memory, 1);
    end.post(pair, &SendRequest::new(4, add, vec![whole(&word)]));
    assert_eq!(end.wait().status, Status::Success);
    assert_eq!(end.bytes(&word), bytes[..8]);
}

#[test]
fn a_process_that_dies_takes_nothing_else_with_it() {
    let mut server = Server::start();
    let end = end();
    let sending = Sending {
        timeout: Some(Duration::from_ms(2)),
        retries: 3,
        ..Sending::default()
    };
    let pair = server.connect(&end, &sending);
    let own = end.memory(LENGTH);
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    end.post(
        pair,
        &SendRequest::write(1, vec![whole(&own)], server.memory),
    );
    assert_eq!(end.wait().status, Status::RetryExceeded);
    let mut next = Server::start();
    let pair = next.connect(&end, &Sending::default());
    end.post(pair, &SendRequest::write(2, vec![whole(&own)], next.memory));
    assert_eq!(end.wait().status, Status::Success);
}
