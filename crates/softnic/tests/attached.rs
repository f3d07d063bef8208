//! Devices at ports of a network that another process carries packets in.
#![allow(clippy::unwrap_used, reason = "a failure fails the test")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fairlane_rings::{Frame, MOST_BYTES, Port, give};
use fairlane_softnic::{
    Completion, CompletionQueue, Connection, Device, Domain, Error, Modify, QpNumber,
    QueuePairOptions, Region, Rights, SendRequest, Sending, Settings, Sge, Status, Target,
};
use fairlane_units::Rate;

const MTU: u16 = 1024;
/// Thousandths by which time goes slower.
const SCALE: u64 = 10_000;

/// A network without delays: what comes to a port leaves by that of its address.
struct Hub {
    path: PathBuf,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    ends: AtomicBool,
    /// Whether class 3 is paused.
    pauses: AtomicBool,
    carried: AtomicU64,
    /// Which packets are lost: each so manieth.
    loses: AtomicU64,
}

impl Hub {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fairlane-{name}-{}", std::process::id()));
        drop(std::fs::remove_file(&path));
        let listener = UnixListener::bind(&path).unwrap();
        listener.set_nonblocking(true).unwrap();
        let shared = Arc::new(Shared::default());
        let known = shared.clone();
        let thread = std::thread::spawn(move || carry(&listener, &known));
        Self {
            path,
            shared,
            thread: Some(thread),
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap();
        std::fs::remove_file(&self.path).unwrap();
    }
}

fn carry(listener: &UnixListener, shared: &Shared) {
    let mut ports: BTreeMap<[u8; 4], Port> = BTreeMap::new();
    let mut room = [0; MOST_BYTES];
    while !shared.ends.load(Ordering::SeqCst) {
        if let Ok((socket, _)) = listener.accept() {
            socket.set_nonblocking(false).unwrap();
            let mut line = String::new();
            BufReader::new(&socket).read_line(&mut line).unwrap();
            let address: Ipv4Addr = line.trim().parse().unwrap();
            let port = give(socket, |told| {
                told.set_mtu(MTU);
                told.set_clock(0, SCALE);
            });
            let port = port.unwrap();
            ports.insert(address.octets(), port);
        }
        let mut taken: Vec<([u8; 4], Frame, Vec<u8>)> = Vec::new();
        for (address, port) in &mut ports {
            let paused = u8::from(shared.pauses.load(Ordering::SeqCst)) << 3;
            port.shared.set_paused(paused);
            while let Ok(Some((frame, length))) = port.receiver.receive(&mut room) {
                assert_eq!(frame.class, 3);
                taken.push((*address, frame, room[..length].to_vec()));
            }
        }
        for (from, frame, bytes) in taken {
            let carried = 1 + shared.carried.fetch_add(1, Ordering::SeqCst);
            let loses = shared.loses.load(Ordering::SeqCst);
            if loses != 0 && carried.is_multiple_of(loses) {
                continue;
            }
            let to = ports.get_mut(&frame.peer).unwrap();
            let frame = Frame {
                peer: from,
                ..frame
            };
            to.sender.send(&frame, &bytes).unwrap();
        }
        std::thread::sleep(Duration::from_micros(20));
    }
}

struct End {
    device: Device,
    domain: Domain,
    queue: CompletionQueue,
    pair: QpNumber,
    memory: Region,
}

fn address(at: u8) -> IpAddr {
    Ipv4Addr::new(127, 81, 0, at).into()
}

fn settings(hub: &Hub, at: u8) -> Settings {
    let mut settings = Settings::new(address(at));
    settings.lab = Some(hub.path.clone());
    settings.line_rate = Rate::from_gbps(10);
    settings.burst = fairlane_units::Duration::ZERO;
    settings.stat = false;
    settings
}

/// Two devices with a queue pair each, and memory of so many bytes.
fn ends(hub: &Hub, first: u8, length: usize) -> [End; 2] {
    let ends = [first, first + 1].map(|at| {
        let device = Device::open(settings(hub, at)).unwrap();
        let domain = device.allocate_domain().unwrap();
        let queue = device.create_completion_queue(64).unwrap();
        let options = QueuePairOptions::new(domain, queue);
        let pair = device.create_queue_pair(&options).unwrap();
        let memory = device.allocate(domain, length, Rights::ALL).unwrap();
        End {
            device,
            domain,
            queue,
            pair,
            memory,
        }
    });
    for (own, other) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        let connection = Connection {
            mtu: MTU,
            ..Connection::new(other.device.address(), other.pair)
        };
        for modify in [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(connection),
            Modify::ReadyToSend(Sending {
                timeout: Some(fairlane_units::Duration::from_us(500)),
                retries: 100,
                ..Sending::default()
            }),
        ] {
            own.device.modify(own.pair, &modify).unwrap();
        }
    }
    ends
}

impl End {
    fn write(&self, other: &Self, length: u32) {
        let target = Target {
            address: other.memory.address,
            key: other.memory.remote_key,
        };
        let operation = fairlane_softnic::Operation::Write(target);
        let pieces = vec![Sge::of(&self.memory, 0, length)];
        let request = SendRequest::new(7, operation, pieces);
        self.device.post_send(self.pair, request).unwrap();
    }

    fn completion(&self, most: Duration) -> Option<Completion> {
        self.device.wait(self.queue, most).unwrap()
    }
}

#[test]
fn memory_is_written_through_a_network_that_loses_packets() {
    const LENGTH: usize = 300_000;
    let hub = Hub::new("written");
    hub.shared.loses.store(41, Ordering::SeqCst);
    let [here, there] = ends(&hub, 1, LENGTH);
    let bytes: Vec<u8> = (0..LENGTH).map(|at| (at * 7 % 251) as u8).collect();
    here.device.write(&here.memory, 0, &bytes).unwrap();
    here.write(&there, LENGTH as u32);
    let completion = here.completion(Duration::from_secs(30)).unwrap();
    assert_eq!(completion.status, Status::Success);
    let mut found = vec![0; LENGTH];
    there.device.read(&there.memory, 0, &mut found).unwrap();
    assert!(found == bytes);
    assert!(hub.shared.carried.load(Ordering::SeqCst) >= LENGTH as u64 / 1024);
}

#[test]
fn packets_leave_at_the_rate_of_the_link_by_the_network_s_clock() {
    const LENGTH: u32 = 250_000;
    let hub = Hub::new("paced");
    let [here, there] = ends(&hub, 11, LENGTH as usize);
    let begun = Instant::now();
    here.write(&there, LENGTH);
    assert!(here.completion(Duration::from_secs(30)).is_some());
    // 2 Mbit at 10 Gb/s take 0.2 ms, and ten times as long here; more where threads wait for processors.
    let taken = begun.elapsed();
    assert!(taken > Duration::from_millis(2), "{taken:?}");
    assert!(taken < Duration::from_millis(200), "{taken:?}");
}

#[test]
fn a_paused_class_waits() {
    let hub = Hub::new("paused");
    hub.shared.pauses.store(true, Ordering::SeqCst);
    let [here, there] = ends(&hub, 21, 1000);
    std::thread::sleep(Duration::from_millis(20));
    here.write(&there, 1000);
    assert_eq!(here.completion(Duration::from_millis(100)), None);
    assert_eq!(hub.shared.carried.load(Ordering::SeqCst), 0);
    hub.shared.pauses.store(false, Ordering::SeqCst);
    assert!(here.completion(Duration::from_secs(10)).is_some());
}

#[test]
fn the_network_says_what_fits_and_nobody_there_is_an_error() {
    let hub = Hub::new("mtu");
    let [here, _there] = ends(&hub, 31, 10);
    assert_eq!(here.device.largest_mtu(), Some(MTU));
    let options = QueuePairOptions::new(here.domain, here.queue);
    let pair = here.device.create_queue_pair(&options).unwrap();
    let init = Modify::Init(Rights::ALL);
    here.device.modify(pair, &init).unwrap();
    let large = Connection {
        mtu: 2048,
        ..Connection::new(address(32), pair)
    };
    let refused = here.device.modify(pair, &Modify::ReadyToReceive(large));
    assert!(matches!(refused, Err(Error::PathMtu { wanted: 2048, .. })));
    let mut nowhere = settings(&hub, 33);
    nowhere.lab = Some("/nowhere/fairlane".into());
    let error = Device::open(nowhere).unwrap_err().to_string();
    assert!(error.starts_with("lab at /nowhere/fairlane: "), "{error}");
}

#[test]
fn a_network_that_goes_leaves_requests_that_fail() {
    let hub = Hub::new("gone");
    let [here, there] = ends(&hub, 41, 1000);
    drop(hub);
    here.write(&there, 1000);
    // A hundred timeouts of 5 ms.
    let completion = here.completion(Duration::from_secs(60)).unwrap();
    assert_eq!(completion.status, Status::RetryExceeded);
}
