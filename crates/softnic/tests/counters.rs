//! What devices count, and tell other processes.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed helper fails its test, and tests say why they are skipped"
)]

mod common;

use std::io::{Read, Write};
use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{End, LONG, Way, connected, end, end_at, end_with, target, whole};
use fairlane_softnic::stat::{self, DEVICE, PAIRS};
use fairlane_softnic::{Counters, Operation, QpNumber, Scope, SendRequest, Status};
use serde_json::Value;

const ASKS: &str = "SOFTNIC_TEST_ASKS";

fn connect(name: &str) -> Option<UnixStream> {
    let address = SocketAddr::from_abstract_name(name).unwrap();
    let stream = UnixStream::connect_addr(&address).ok()?;
    stream.set_read_timeout(Some(LONG)).unwrap();
    Some(stream)
}

fn answer(name: &str, question: &str) -> String {
    let mut stream = connect(name).unwrap();
    let mut answer = String::new();
    stream.write_all(question.as_bytes()).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn ask(end: &End, question: &str) -> Value {
    let name = stat::name(end.device.address(), 0);
    serde_json::from_str(&answer(&name, question)).unwrap()
}

/// Sends, writes and reads by two queue pairs, until everything has been acknowledged at both ends.
fn talk(a: &End, b: &End) -> [(QpNumber, QpNumber); 2] {
    let pairs = [
        connected(a, b, Way::default()),
        connected(a, b, Way::default()),
    ];
    let (here, there) = (a.memory(50_000), b.memory(50_000));
    for (at_a, at_b) in pairs {
        b.receive(at_b, 1, &there);
        let immediate = Operation::WriteImmediate(target(&there), 7);
        for request in [
            SendRequest::write(1, vec![whole(&here)], target(&there)),
            SendRequest::read(2, vec![whole(&here)], target(&there)),
            SendRequest::send(3, vec![whole(&here)]),
        ] {
            a.post(at_a, &request);
            assert_eq!(a.wait().status, Status::Success);
        }
        assert_eq!(b.wait().status, Status::Success);
        b.receive(at_b, 2, &there);
        a.post(at_a, &SendRequest::new(4, immediate, vec![whole(&here)]));
        assert_eq!((a.wait().id, b.wait().id), (4, 2));
    }
    let until = Instant::now() + LONG;
    while a.device.counters().rcvd_pkts != b.device.counters().sent_pkts {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    pairs
}

/// What queue pairs have counted together.
fn sum(end: &End, pairs: &[QpNumber]) -> Vec<(&'static str, u64)> {
    let all = pairs
        .iter()
        .map(|&pair| end.device.pair_counters(pair).unwrap());
    all.fold(
        Counters::default().named().collect(),
        |sum: Vec<_>, counters| {
            let added = sum.into_iter().zip(counters.named());
            added
                .map(|((name, sum), (_, value))| (name, sum + value))
                .collect()
        },
    )
}

fn of_pairs(counters: &Counters) -> Vec<(&'static str, u64)> {
    let all = Counters::ALL.iter().zip(counters.named());
    all.map(|(counter, (name, value))| match counter.scope {
        Scope::QueuePair => (name, value),
        Scope::Device => (name, 0),
    })
    .collect()
}

#[test]
fn queue_pairs_count_what_their_device_counts() {
    let (a, b) = (end(), end());
    let pairs = talk(&a, &b);
    let (at_a, at_b) = (a.device.counters(), b.device.counters());
    assert_eq!(sum(&a, &pairs.map(|pair| pair.0)), of_pairs(&at_a));
    assert_eq!(sum(&b, &pairs.map(|pair| pair.1)), of_pairs(&at_b));
    assert_eq!(
        (at_a.sent_pkts, at_a.rcvd_pkts),
        (at_b.rcvd_pkts, at_b.sent_pkts)
    );
    assert_eq!(at_a.port_xmit_data, at_b.port_rcv_data);
    assert_eq!(at_b.port_xmit_data, at_a.port_rcv_data);
    assert_eq!((at_a.rdma_sends, at_b.rdma_recvs), (2, 4));
    // Three times 50,000 bytes by each queue pair, and headers.
    let bytes = 4 * at_a.port_xmit_data;
    assert!((300_000..310_000).contains(&bytes), "{bytes}");
    let [first, second] = pairs.map(|(at_a, _)| a.device.pair_counters(at_a).unwrap());
    assert!(first.sent_pkts > 39 && second.sent_pkts > 39);
    a.device.destroy_queue_pair(pairs[0].0).unwrap();
    assert!(a.device.pair_counters(pairs[0].0).is_err());
    assert_eq!(a.device.counters(), at_a);
}

#[test]
fn timeouts_are_counted_by_queue_pair_and_outlive_a_reset() {
    let (a, b) = (end(), end());
    let sending = fairlane_softnic::Sending {
        timeout: Some(fairlane_units::Duration::from_ms(1)),
        retries: 2,
        ..Default::default()
    };
    let way = Way {
        sending,
        ..Way::default()
    };
    let (pair, other) = connected(&a, &b, way);
    let idle = a.pair();
    drop(b);
    a.post(pair, &SendRequest::send(1, Vec::new()));
    assert_eq!(a.wait().status, Status::RetryExceeded);
    let counted = a.device.pair_counters(pair).unwrap();
    assert_eq!(
        (counted.local_ack_timeout_err, counted.retry_exceeded_err),
        (3, 1)
    );
    assert_eq!(a.device.counters().local_ack_timeout_err, 3);
    assert_eq!(a.device.pair_counters(idle).unwrap(), Counters::default());
    a.device
        .modify(pair, &fairlane_softnic::Modify::Reset)
        .unwrap();
    assert_eq!(a.device.pair_counters(pair).unwrap(), counted);
    assert!(
        a.device
            .pair_counters(QpNumber::new(other.get() + 77))
            .is_err()
    );
}

#[test]
fn others_are_told_of_a_port_that_lacks_something_on_purpose() {
    let own = end();
    let faults = "port=at:0s mtu=active:512".parse().unwrap();
    own.device.set_faults(Some(faults));
    let until = Instant::now() + LONG;
    while own.device.take_async_event().is_none() {
        assert!(Instant::now() < until);
        std::thread::yield_now();
    }
    let told = ask(&own, DEVICE);
    let (state, mtu) = (&told["state"], &told["mtu"]);
    assert_eq!((state, mtu), (&"DOWN".into(), &512.into()));
}

#[test]
fn others_are_told_what_applications_are_told() {
    let (a, b) = (end_with(|settings| settings.name = "mine".into()), end());
    let pairs = talk(&a, &b);
    let told = ask(&a, PAIRS);
    let address = a.device.address().to_string();
    assert_eq!(told["version"], stat::VERSION);
    assert_eq!(
        (&told["device"], &told["address"]),
        (&"mine".into(), &address.clone().into())
    );
    assert_eq!(told["gid"], format!("::ffff:{address}"));
    assert_eq!(
        (&told["pid"], &told["state"]),
        (&std::process::id().into(), &"ACTIVE".into())
    );
    assert_eq!(
        (&told["queue_pairs"], &told["mtu"]),
        (&2.into(), &4096.into())
    );
    assert!(
        told["program"]
            .as_str()
            .is_some_and(|name| !name.is_empty())
    );
    let named = |counters: Counters| {
        counters
            .named()
            .map(|(name, value)| (name.to_owned(), value.into()))
    };
    let all: serde_json::Map<String, Value> = named(a.device.counters()).collect();
    assert_eq!(told["counters"], Value::Object(all));
    let own = told["pairs"].as_array().unwrap();
    assert_eq!(own.len(), 2);
    for (told, (pair, other)) in own.iter().zip(pairs) {
        let counters = named(a.device.pair_counters(pair).unwrap());
        let counters: serde_json::Map<String, Value> =
            counters.filter(|(_, value)| *value != 0).collect();
        assert_eq!(told["counters"], Value::Object(counters));
        assert_eq!(
            (&told["number"], &told["peer_number"]),
            (&pair.get().into(), &other.get().into())
        );
        assert_eq!(told["peer"], b.device.address().to_string());
        assert_eq!(
            (&told["service"], &told["state"]),
            (&"RC".into(), &"RTS".into())
        );
        assert_eq!(told["partition"], 0xffff);
    }
    let told = ask(&b, DEVICE);
    assert!(told["pairs"].is_null() && told["counters"]["sent_pkts"].as_u64() > Some(0));
}

#[test]
fn who_never_reads_holds_up_nobody() {
    let (a, b) = (end(), end());
    for _ in 0..5000 {
        a.pair();
    }
    let name = stat::name(a.device.address(), 0);
    let mut stuck: Vec<_> = (0..3).map(|_| connect(&name).unwrap()).collect();
    for stream in &mut stuck {
        stream.write_all(PAIRS.as_bytes()).unwrap();
    }
    let silent = connect(&name).unwrap();
    let start = Instant::now();
    talk(&a, &b);
    let talked = start.elapsed();
    assert!(talked < Duration::from_secs(5), "{talked:?}");
    assert_eq!(ask(&a, PAIRS)["pairs"].as_array().unwrap().len(), 5002);
    assert!(start.elapsed() < LONG);
    for _ in 0..8 {
        let mut stream = connect(&name).unwrap();
        stream.write_all(PAIRS.as_bytes()).unwrap();
        stuck.push(stream);
    }
    let start = Instant::now();
    drop(a);
    // It has a second's patience with each of them, and none when it ends.
    let ended = start.elapsed();
    assert!(ended < Duration::from_secs(5), "{ended:?}");
    drop(silent);
}

#[test]
fn garbage_has_no_answer_and_does_no_harm() {
    let own = end();
    let name = stat::name(own.device.address(), 0);
    let long = "device".repeat(100_000);
    for garbage in [
        "",
        "\n",
        "devic",
        "device",
        "devices\n",
        "\0\u{1}\n",
        "GET / HTTP/1.1\r\n\r\n",
        &long,
    ] {
        let mut stream = connect(&name).unwrap();
        // It may have been hung up.
        drop(stream.write_all(garbage.as_bytes()));
        drop(stream.shutdown(std::net::Shutdown::Write));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        assert!(answer.is_empty());
    }
    for _ in 0..100 {
        let mut stream = connect(&name).unwrap();
        drop(stream.write_all(PAIRS.as_bytes()));
    }
    assert_eq!(ask(&own, DEVICE)["queue_pairs"], 0);
}

#[test]
fn a_device_is_silent_if_told_so_and_takes_another_name_if_it_must() {
    let silent = end_with(|settings| settings.stat = false);
    assert!(connect(&stat::name(silent.device.address(), 0)).is_none());
    let address = common::address();
    let name = stat::name(address, 0);
    let taken = SocketAddr::from_abstract_name(&name).unwrap();
    let _taken = UnixListener::bind_addr(&taken).unwrap();
    let own = end_at(address, |_| {});
    let told = answer(&format!("{name}#{}", std::process::id()), DEVICE);
    assert!(told.contains(&format!("\"{address}\"")), "{told}");
    drop(own);
    assert!(connect(&format!("{name}#{}", std::process::id())).is_none());
}

#[test]
fn other_users_get_no_answer() {
    if let Ok(name) = std::env::var(ASKS) {
        let mut stream = connect(&name).unwrap();
        drop(stream.write_all(DEVICE.as_bytes()));
        let mut answer = Vec::new();
        drop(stream.read_to_end(&mut answer));
        assert!(answer.is_empty());
        println!("got none");
        return;
    }
    let me = Command::new("id").arg("-u").output().unwrap();
    if me.stdout != b"0\n" {
        println!("skipped: only root can become another user");
        return;
    }
    let own = end();
    let mut other = Command::new(std::env::current_exe().unwrap());
    other.args(["--exact", "other_users_get_no_answer", "--nocapture"]);
    other.env(ASKS, stat::name(own.device.address(), 0));
    match other.uid(65534).gid(65534).output() {
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(
                output.status.success() && said.contains("got none"),
                "{said}"
            );
        }
        Err(error) => println!("skipped: another user can't start this test: {error}"),
    }
    assert_eq!(ask(&own, DEVICE)["queue_pairs"], 0);
}

#[test]
fn names_tell_addresses_and_links() {
    let [four, six]: [IpAddr; 2] = ["127.0.0.1", "fe80::1"].map(|text| text.parse().unwrap());
    assert_eq!(stat::name(four, 0), "fairlane/127.0.0.1");
    assert_eq!(stat::name(six, 3), "fairlane/fe80::1%3");
}

#[test]
fn every_counter_is_documented() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/softnic.md");
    let page = std::fs::read_to_string(page).unwrap();
    for counter in Counters::ALL {
        assert!(
            page.contains(&format!("`{}`", counter.name)),
            "{}",
            counter.name
        );
        assert!(
            counter.help.ends_with('.') && !counter.help.contains("  "),
            "{}",
            counter.help
        );
    }
}
