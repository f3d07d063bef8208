//! Two processes: this test starts itself again as the other one, which serves memory without polling.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed helper fails its test, and the other process says what it has"
)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::net::IpAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use common::{End, LONG, end, pattern, whole};
use fairlane_softnic::{
    Connection, Device, Error, Operation, QpNumber, Rights, SendRequest, Sending, Settings, Status,
    Target,
};
use fairlane_units::Duration;

const ADDRESS: &str = "SOFTNIC_TEST_ADDRESS";
const LENGTH: usize = 1 << 20;

/// The other process: says what it has, hears whom to connect to, and sleeps until its input ends.
fn serve(address: IpAddr) {
    let device = Device::open(Settings::new(address)).unwrap();
    let domain = device.allocate_domain().unwrap();
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
    address: IpAddr,
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

/// Runs `child` in a process forked off, which must end within a minute; returns its exit code.
#[expect(unsafe_code, reason = "the standard library has no fork")]
fn fork(child: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the child calls nothing that another thread may have been in the middle of but the allocator, which the C
    // library makes usable again.
    let process = unsafe { libc::fork() };
    if process == 0 {
        let code = child();
        // SAFETY: it ends the child at once, without what the test harness would do.
        unsafe { libc::_exit(code) };
    }
    let start = Instant::now();
    let mut status = 0;
    // SAFETY: the status lives on the stack.
    while unsafe { libc::waitpid(process, &raw mut status, libc::WNOHANG) } == 0 {
        if start.elapsed() > LONG {
            // SAFETY: it is the child, which hasn't been waited for.
            unsafe { libc::kill(process, libc::SIGKILL) };
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    if libc::WIFEXITED(status) {
        libc::WEXITSTATUS(status)
    } else {
        -1
    }
}

/// What a child does with its parent's device, and one of its own; 0 if all is as it should be.
fn in_child(parent: End, address: IpAddr) -> i32 {
    let forked = |result: Result<(), Error>| matches!(result, Err(Error::Forked));
    let device = &parent.device;
    let calls = [
        device.allocate_domain().map(drop),
        device.poll(parent.queue, 1, &mut Vec::new()).map(drop),
        device.wait(parent.queue, LONG).map(drop),
        device.create_channel().map(drop),
    ];
    if !calls.into_iter().all(forked) || device.take_async_event().is_some() {
        return 1;
    }
    drop(parent);
    let own = common::end_at(address, |_| {});
    let pair = own.pair();
    let connection = Connection::new(address, pair);
    own.connect(pair, &connection, &Sending::default());
    let (from, to) = (own.memory(10_000), own.memory(10_000));
    let bytes = own.fill(&from, 1);
    own.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], common::target(&to)),
    );
    if own.wait().status != Status::Success || own.bytes(&to) != bytes {
        return 2;
    }
    0
}

#[test]
fn a_forked_process_leaves_the_device_alone_and_opens_its_own() {
    let (parent, address) = (end(), common::address());
    let pair = parent.pair();
    let connection = Connection::new(parent.device.address(), pair);
    parent.connect(pair, &connection, &Sending::default());
    // The device is held while the process forks, now and then.
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let _done = common::Set(&done);
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                parent
                    .device
                    .poll(parent.queue, 1, &mut Vec::new())
                    .unwrap();
            }
        });
        for _ in 0..10 {
            // SAFETY: a copy of the value, which the child's copy of the memory holds once.
            #[expect(unsafe_code, reason = "the child has its own copy of everything")]
            let copy = unsafe { std::ptr::read(&raw const parent) };
            let copy = std::mem::ManuallyDrop::new(copy);
            let code = fork(|| in_child(std::mem::ManuallyDrop::into_inner(copy), address));
            assert_eq!(code, 0);
        }
    });
    let (from, to) = (parent.memory(100), parent.memory(100));
    parent.post(
        pair,
        &SendRequest::write(1, vec![whole(&from)], common::target(&to)),
    );
    assert_eq!(parent.wait().status, Status::Success);
}

/// The signals that a thread of this process doesn't get, by its folder below `/proc`, if it hasn't ended.
fn blocked(thread: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    u64::from_str_radix(mask?.trim(), 16).ok()
}

/// The same of all threads of devices.
fn blocked_of_devices() -> Vec<u64> {
    let names = std::fs::read_dir("/proc/self/task").unwrap();
    let threads = names.map(|name| format!("self/task/{}", name.unwrap().file_name().display()));
    let named = |thread: &String| {
        let name = std::fs::read_to_string(format!("/proc/{thread}/comm"));
        name.is_ok_and(|name| name.trim() == "softnic")
    };
    let threads = threads.filter(named);
    threads.filter_map(|thread| blocked(&thread)).collect()
}

#[test]
fn the_thread_of_a_device_leaves_signals_to_the_application() {
    /// Signals from SIGHUP to SIGSYS but SIGKILL and SIGSTOP, which nobody holds back.
    const ALL: u64 = 0x7fff_ffff & !(1 << 8) & !(1 << 18);
    let before = blocked("thread-self");
    let _end = end();
    assert_eq!(blocked("thread-self"), before);
    // A thread gives itself its name, once it runs.
    let until = Instant::now() + LONG;
    let mut masks = blocked_of_devices();
    while masks.is_empty() && Instant::now() < until {
        std::thread::yield_now();
        masks = blocked_of_devices();
    }
    assert!(!masks.is_empty());
    assert!(masks.iter().all(|mask| mask & ALL == ALL), "{masks:x?}");
}
