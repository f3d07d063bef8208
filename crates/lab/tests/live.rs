//! A fabric in real time, with NICs of programs at its hosts: here threads of this process.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fairlane_fabric::metrics::{check, is_lossless};
use fairlane_fabric::{Control, MessageRecord, Outcome, Simulation};
use fairlane_lab::{Ended, Live, Place};
use fairlane_rings::{Frame, MOST_BYTES, Shared, take};
use fairlane_scenario::{Loaded, Verb, parse};
use fairlane_softnic::{
    CompletionQueue, Connection, Device, Done, Modify, Operation, QpNumber, QueuePairOptions,
    Region, Rights, SendRequest, Sending, Settings, Sge, Status, Target, WorkEnd, WorkReport,
};
use fairlane_units::{Bytes, NodeId, Time};
use fairlane_wire::{Datagram, Extension, Opcode};
use proptest::prelude::*;

const STAR: &str = r#"
    [topology]
    kind = "star"
    hosts = 4
    host_link = { rate = "10Gbps", delay = "1us" }
"#;
const SCALE: f64 = 200.0;

/// A fabric that runs until it is dropped.
struct Lab {
    loaded: Loaded,
    path: PathBuf,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<Ended>>,
}

impl Lab {
    fn new(name: &str, parts: &[&str]) -> Self {
        Self::at(&path(name), parts)
    }

    fn at(path: &Path, parts: &[&str]) -> Self {
        let text = parts.concat();
        let loaded = parse(&text, "lab.toml", Path::new("."), &[], None).unwrap();
        let simulation = Simulation::new(&loaded).unwrap();
        let live = Live::new(simulation, &loaded, SCALE, path).unwrap();
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        let run = move || {
            live.run(&mut |_| match told.load(Ordering::SeqCst) {
                true => Control::Interrupt,
                false => Control::Continue,
            })
        };
        Self {
            loaded,
            path: path.to_owned(),
            ends,
            thread: Some(std::thread::spawn(run)),
        }
    }

    /// Ends it, and looks whether its results contradict themselves.
    fn end(mut self) -> Ended {
        self.ends.store(true, Ordering::SeqCst);
        let ended = self.thread.take().unwrap().join().unwrap();
        let lossless = is_lossless(&self.loaded.scenario, &ended.results);
        let violations = check(&ended.results, lossless);
        assert!(violations.is_empty(), "{violations:#?}");
        assert!(!self.path.exists(), "the socket is gone");
        ended
    }

    fn program(&self, host: u32, number: u8, length: usize) -> Program {
        let mut settings = Settings::new(address(host, number));
        settings.lab = Some(self.path.clone());
        settings.stat = false;
        let device = Device::open(settings).unwrap();
        let domain = device.allocate_domain().unwrap();
        let queue = device.create_completion_queue(64).unwrap();
        let options = QueuePairOptions::new(domain, queue);
        let pair = device.create_queue_pair(&options).unwrap();
        let memory = device.allocate(domain, length, Rights::ALL).unwrap();
        Program {
            device,
            queue,
            pair,
            memory,
        }
    }
}

/// Where a lab of this process listens.
fn path(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("fairlane-lab-{name}-{}", std::process::id()))
}

fn place(host: u32, program: u8) -> Place {
    Place {
        host: NodeId::new(host),
        plane: 0,
        program,
    }
}

fn address(host: u32, program: u8) -> IpAddr {
    place(host, program).address().unwrap().into()
}

struct Program {
    device: Device,
    queue: CompletionQueue,
    pair: QpNumber,
    memory: Region,
}

fn connect(one: &Program, other: &Program) {
    for (own, other) in [(one, other), (other, one)] {
        let connection = Connection {
            mtu: 1024,
            ..Connection::new(other.device.address(), other.pair)
        };
        let sending = Sending {
            timeout: Some(fairlane_units::Duration::from_ms(5)),
            ..Sending::default()
        };
        for modify in [
            Modify::Init(Rights::ALL),
            Modify::ReadyToReceive(connection),
            Modify::ReadyToSend(sending),
        ] {
            own.device.modify(own.pair, &modify).unwrap();
        }
    }
}

/// One writes all of its memory to that of another, whose bytes must then be the same.
fn write(one: &Program, other: &Program, length: usize) -> Status {
    let bytes = pattern(length);
    one.device.write(&one.memory, 0, &bytes).unwrap();
    let target = Target {
        address: other.memory.address,
        key: other.memory.remote_key,
    };
    let pieces = vec![Sge::of(&one.memory, 0, length as u32)];
    let request = SendRequest::new(1, Operation::Write(target), pieces);
    one.device.post_send(one.pair, request).unwrap();
    let completion = one.device.wait(one.queue, Duration::from_secs(60)).unwrap();
    let status = completion.expect("it ends").status;
    if status == Status::Success {
        let mut found = vec![0; length];
        other.device.read(&other.memory, 0, &mut found).unwrap();
        assert!(found == bytes, "what was written is there");
    }
    status
}

#[test]
fn programs_write_through_simulated_switches_beside_simulated_messages() {
    const LENGTH: usize = 100_000;
    let incast = "[[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"64kB\"\nreceiver = 2\nhosts = \"0-2\"\nrounds = 3\nperiod = \"500us\"\n";
    let lab = Lab::new("written", &[STAR, incast]);
    let programs = [0, 2].map(|host| lab.program(host, 0, LENGTH));
    let [one, other] = &programs;
    connect(one, other);
    assert_eq!(write(one, other, LENGTH), Status::Success);
    assert_eq!(write(other, one, LENGTH), Status::Success);
    assert_eq!(one.device.line_rate().as_bps(), 10_000_000_000);
    drop(programs);
    let ended = lab.end();
    assert_eq!((ended.counts.attached, ended.counts.refused), (2, 0));
    let own = |message: &&MessageRecord| message.workload == 1;
    let rows: Vec<_> = ended.results.messages.iter().filter(own).collect();
    let [there, back] = rows[..] else {
        panic!("two work requests: {rows:?}")
    };
    for (row, from, to) in [(there, 0, 2), (back, 2, 0)] {
        assert_eq!((row.source.get(), row.destination.get()), (from, to));
        assert_eq!((row.verb, row.size.get()), (Verb::Write, LENGTH as u64));
        assert_eq!((row.outcome, row.class), (Outcome::Completed, 3));
        // 97 packets of 1024 bytes, each with 82 of headers and gap, 16 more in the first, have left after 85.8 us at 10 Gb/s, and
        // the last of them has taken another .9 us behind the switch. The one of 672 bytes behind it takes .6 us, links four
        // times 1 us, the acknowledgement twice 53 ns.
        let ideal = row.ideal.as_ns();
        assert!((91_300..91_500).contains(&ideal), "{ideal}");
        assert!(row.slowdown() >= Some(1.0));
    }
    // Data both ways over two links each, and acknowledgements.
    assert!(ended.results.totals.transmissions > 4 * LENGTH as u64 / 1024);
    let real_time = ended.results.real_time.unwrap();
    assert_eq!(real_time.scale, SCALE);
    assert!(real_time.late_max_ns > 0.0);
}

#[test]
fn a_capture_has_the_bytes_of_programs() {
    const LENGTH: usize = 10_000;
    let lab = Lab::new("captured", &["capture = [\"host:3\"]\n", STAR]);
    let programs = [0, 3].map(|host| lab.program(host, 0, LENGTH));
    let [one, other] = &programs;
    connect(one, other);
    assert_eq!(write(one, other, LENGTH), Status::Success);
    drop(programs);
    let results = lab.end().results;
    assert_eq!(results.capture.len(), results.contents.len());
    let digit = |at: &[u8]| u8::from_str_radix(std::str::from_utf8(at).unwrap(), 16).unwrap();
    let mut written = Vec::new();
    for content in results.contents.iter().flatten() {
        let bytes: Vec<u8> = content.as_bytes().chunks(2).map(digit).collect();
        // It checks the ICRC, too.
        let datagram = Datagram::parse(&bytes).unwrap();
        if matches!(datagram.packet.headers.extension, Extension::Rdma(_))
            || datagram.packet.bth().opcode == Opcode::RcWriteMiddle
            || datagram.packet.bth().opcode == Opcode::RcWriteLast
        {
            written.extend_from_slice(datagram.packet.payload);
        }
    }
    assert_eq!(written, pattern(LENGTH));
}

/// What is written.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * 13 % 251) as u8).collect()
}

#[test]
fn a_socket_that_a_killed_lab_has_left_is_no_obstacle_and_one_in_use_is() {
    let path = path("stale");
    drop(UnixListener::bind(&path).unwrap());
    let lab = Lab::at(&path, &[STAR]);
    let loaded = parse(STAR, "lab.toml", Path::new("."), &[], None).unwrap();
    let second = Live::new(Simulation::new(&loaded).unwrap(), &loaded, SCALE, &path);
    let error = second.err().unwrap();
    assert!(error.message.contains("in use"), "{error}");
    lab.end();
}

#[test]
fn several_programs_share_a_host() {
    let lab = Lab::new("shared", &[STAR]);
    let [one, two, other] =
        [(0, 0), (0, 1), (3, 5)].map(|(host, number)| lab.program(host, number, 5000));
    connect(&one, &other);
    assert_eq!(write(&one, &other, 5000), Status::Success);
    let [three, four] = [1, 2].map(|host| lab.program(host, 0, 5000));
    connect(&two, &three);
    assert_eq!(write(&three, &two, 5000), Status::Success);
    drop((one, two, other, three, four));
    assert_eq!(lab.end().counts.attached, 5);
}

#[test]
fn programs_of_a_host_take_turns() {
    const LENGTH: usize = 400_000;
    let lab = Lab::new("turns", &[STAR]);
    let senders = [0, 1].map(|number| lab.program(0, number, LENGTH));
    let receivers = [1, 2].map(|host| lab.program(host, 0, LENGTH));
    for (one, other) in senders.iter().zip(&receivers) {
        connect(one, other);
    }
    std::thread::scope(|scope| {
        for (one, other) in senders.iter().zip(&receivers) {
            scope.spawn(|| assert_eq!(write(one, other, LENGTH), Status::Success));
        }
    });
    drop((senders, receivers));
    let messages = lab.end().results.messages;
    let [first, second] = &messages[..] else {
        panic!("two work requests: {messages:?}")
    };
    let ends = [first, second].map(|row| row.finish.unwrap() - row.start);
    // One behind the other, the first would be there after half the time of the second.
    assert!(ends[0].as_ps() * 10 > ends[1].as_ps() * 7, "{ends:?}");
}

#[test]
fn a_program_that_goes_leaves_its_peer_to_fail_and_others_alone() {
    let lab = Lab::new("gone", &[STAR]);
    let [one, two, three, four] = [0, 1, 2, 3].map(|host| lab.program(host, 0, 5000));
    connect(&one, &two);
    connect(&three, &four);
    drop(two);
    let gone = lab.program(1, 0, 5000);
    // What has its address now doesn't know the queue pair.
    let target = Target {
        address: gone.memory.address,
        key: gone.memory.remote_key,
    };
    let pieces = vec![Sge::of(&one.memory, 0, 5000)];
    let request = SendRequest::new(1, Operation::Write(target), pieces);
    drop(gone);
    one.device.post_send(one.pair, request).unwrap();
    assert_eq!(write(&three, &four, 5000), Status::Success);
    let completion = one
        .device
        .wait(one.queue, Duration::from_secs(120))
        .unwrap();
    assert_eq!(completion.unwrap().status, Status::RetryExceeded);
    drop((one, three, four));
    let messages = lab.end().results.messages;
    let outcomes = messages.iter().map(|message| message.outcome);
    let outcomes: Vec<_> = outcomes.collect();
    assert_eq!(outcomes, [Outcome::Completed, Outcome::RetryExceeded]);
}

#[test]
fn nonsense_of_a_program_harms_nobody_else() {
    let lab = Lab::new("nonsense", &[STAR]);
    let [one, two] = [0, 1].map(|host| lab.program(host, 0, 5000));
    connect(&one, &two);
    let attach = |line: &str| {
        let mut socket = UnixStream::connect(&lab.path).unwrap();
        socket.write_all(line.as_bytes()).unwrap();
        take(socket)
    };
    let own = place(2, 0).address().unwrap();
    let mut port = attach(&format!("{own}\n")).unwrap();
    let there: Ipv4Addr = place(1, 0).address().unwrap();
    let frame = Frame {
        peer: there.octets(),
        class: 3,
        ..Frame::default()
    };
    // No packets, packets to nobody, and of no class.
    for bytes in [&[0; 3][..], &[255; 40], &[100; MOST_BYTES]] {
        port.sender.send(&frame, bytes).unwrap();
    }
    let nobody = Frame {
        peer: [127, 1, 9, 9],
        ..frame
    };
    port.sender.send(&nobody, &[100; 40]).unwrap();
    assert_eq!(write(&one, &two, 5000), Status::Success);
    port.shared.scribble(0, &vec![0xa5; Shared::LENGTH]);
    assert_eq!(write(&two, &one, 5000), Status::Success);
    // Addresses that nobody may have: that of another program, of no host, and none.
    for line in [
        format!("{}\n", address(0, 0)),
        "127.1.200.1\n".into(),
        "\n".into(),
    ] {
        let reason = attach(&line).unwrap_err().to_string();
        assert!(reason.contains("address"), "{reason}");
    }
    drop((one, two));
    let counts = lab.end().counts;
    assert_eq!((counts.attached, counts.nonsense), (3, 1));
    assert_eq!(counts.refused, 4);
}

/// What a program may put into its ring.
fn anything() -> impl Strategy<Value = (Frame, Vec<u8>)> {
    let peer = prop_oneof![Just([127, 1, 0, 1]), Just([127, 1, 0, 4]), any::<[u8; 4]>()];
    let rest = (
        any::<u64>(),
        any::<u16>(),
        0..9_u8,
        any::<bool>(),
        any::<bool>(),
    );
    let frame =
        (peer, rest).prop_map(
            |(peer, (time, source_port, class, marked, is_report))| Frame {
                time,
                peer,
                source_port,
                class,
                marked,
                is_report,
            },
        );
    let size = prop_oneof![0..5000_u64, any::<u64>()];
    let report = (size, 0..2000_u64, 0..2000_u64, 0..5_usize, 0..4_usize);
    let report = report.prop_map(|(size, posted, took, done, end)| {
        let report = WorkReport {
            done: [
                Done::Send,
                Done::Write,
                Done::Read,
                Done::FetchAdd,
                Done::CompareSwap,
            ][done],
            end: [
                WorkEnd::Success,
                WorkEnd::Flushed,
                WorkEnd::RetryExceeded,
                WorkEnd::Failed,
            ][end],
            size: Bytes::new(size),
            posted: Time::from_ns(posted),
            ended: Time::from_ns(posted + took),
            mtu: 1024,
            is_reliable: took % 2 == 0,
            retransmitted: 1,
        };
        report.emit().to_vec()
    });
    let bytes = prop_oneof![report, prop::collection::vec(any::<u8>(), 0..100)];
    (frame, bytes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    /// `Lab::end` looks whether results contradict themselves.
    #[test]
    fn whatever_a_program_says_results_stay_true(said in prop::collection::vec(anything(), 1..200)) {
        let lab = Lab::new("lies", &[STAR]);
        let own = place(2, 0).address().unwrap();
        let mut socket = UnixStream::connect(&lab.path).unwrap();
        writeln!(socket, "{own}").unwrap();
        let mut port = take(socket).unwrap();
        for (frame, bytes) in &said {
            let _ = port.sender.send(frame, bytes);
        }
        std::thread::sleep(Duration::from_millis(20));
        drop(port);
        lab.end();
    }
}

#[test]
fn nothing_is_left_of_programs_that_come_and_go() {
    const ROUNDS: usize = 1000;
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let star = STAR.replace("hosts = 4", "hosts = 10");
    let lab = Lab::new("leaks", &[&star]);
    let [one, two] = [8, 9].map(|host| lab.program(host, 0, 5000));
    connect(&one, &two);
    let come = |host: u32| {
        let own = place(host, 0).address().unwrap();
        // The one before may not have been noticed as gone.
        let found = (0..10_000).find_map(|_| {
            let mut socket = UnixStream::connect(&lab.path).unwrap();
            writeln!(socket, "{own}").unwrap();
            let port = take(socket).ok();
            if port.is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
            port
        });
        found.expect("the address is free soon")
    };
    let all_come_and_go = || drop((0..8).map(come).collect::<Vec<_>>());
    (0..10).for_each(|_| all_come_and_go());
    let before = descriptors();
    for round in 10..ROUNDS {
        all_come_and_go();
        if round % 200 == 0 {
            assert_eq!(write(&one, &two, 5000), Status::Success);
        }
    }
    std::thread::sleep(Duration::from_millis(200));
    // Other tests of this process open some, too.
    assert!(descriptors() < before + 100, "{before} {}", descriptors());
    drop((one, two));
    assert_eq!(lab.end().counts.attached, 8 * ROUNDS as u64 + 2);
}
