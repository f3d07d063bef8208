//! `fairlane stat` asks devices of this process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::Stdio;
use std::time::{Duration, Instant};

use fairlane_softnic::{
    Connection, Counters, Device, Modify, QpNumber, QueuePairOptions, Rights, SendRequest, Sending,
    Settings, Sge, Target, stat,
};

use crate::support::Case;

/// An address that no other test has.
fn address(own: u8) -> IpAddr {
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 128 | high & 0x3f, low, own).into()
}

/// A device that has written 10,000 bytes to itself.
fn device(own: u8) -> (Device, QpNumber) {
    let mut settings = Settings::new(address(own));
    settings.name = format!("test{own}");
    let device = Device::open(settings).unwrap();
    let domain = device.allocate_domain().unwrap();
    let memory = device.allocate(domain, 10_000, Rights::ALL).unwrap();
    let queue = device.create_completion_queue(4).unwrap();
    let pair = device
        .create_queue_pair(&QueuePairOptions::new(domain, queue))
        .unwrap();
    for modify in [
        Modify::Init(Rights::ALL),
        Modify::ReadyToReceive(Connection::new(device.address(), pair)),
        Modify::ReadyToSend(Sending::default()),
    ] {
        device.modify(pair, &modify).unwrap();
    }
    let target = Target {
        address: memory.address,
        key: memory.remote_key,
    };
    let request = SendRequest::write(1, vec![Sge::of(&memory, 0, 10_000)], target);
    device.post_send(pair, request).unwrap();
    let ended = device.wait(queue, Duration::from_secs(60)).unwrap();
    assert!(ended.is_some());
    (device, pair)
}

/// What the command prints, which must succeed.
fn printed(arguments: &str) -> String {
    let output = Case::new().run(arguments);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && said.is_empty(), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn text_has_a_table_of_the_device_and_one_of_its_queue_pairs() {
    let (device, pair) = device(1);
    let counters = device.counters();
    let at = device.address();
    let text = printed(&format!("stat --address {at}"));
    let me = std::process::id();
    let begins = format!("test1 at {at}, GID ::ffff:{at}, ACTIVE: ");
    assert!(text.starts_with(&begins), "{text}");
    assert!(
        text.contains(&format!(", process {me}, 1 queue pair\n")),
        "{text}"
    );
    let lines: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let has = |line: [&str; 2]| lines.iter().any(|own| own[..] == line);
    let octets = counters.port_xmit_data.to_string();
    assert!(
        has(["counter", "value"]) && has(["sent_pkts", &counters.sent_pkts.to_string()]),
        "{text}"
    );
    assert!(
        counters.port_xmit_data < 2999 && text.contains(&octets[1..]),
        "{text}"
    );
    assert!(!text.contains("cq_overrun"), "{text}");
    let text = printed(&format!("stat --address {at} --all --qp"));
    assert!(text.contains("cq_overrun"), "{text}");
    let row = text.lines().last().unwrap();
    let fields: Vec<&str> = row.split_whitespace().collect();
    let number = pair.get().to_string();
    let expected = [&number, "RC", "RTS", "0xffff", &at.to_string(), &number];
    assert_eq!(fields[..6], expected, "{text}");
}

#[test]
fn json_and_csv_have_what_the_application_sees() {
    let (device, pair) = device(2);
    let at = device.address();
    let text = printed(&format!("stat --address {at} --qp --format json"));
    let told: serde_json::Value = serde_json::from_str(&text).unwrap();
    let own = &told["devices"][0];
    assert!(told["time"].as_f64() > Some(1e9));
    assert_eq!(own["pid"], std::process::id());
    assert_eq!(own["pairs"][0]["number"], pair.get());
    for (name, value) in device.counters().named() {
        assert_eq!(own["counters"][name], value, "{name}");
    }
    let text = printed(&format!("stat --address {at} --qp --format csv"));
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let mut found = BTreeMap::new();
    for record in reader.records() {
        let record = record.unwrap();
        assert_eq!(record[1], *"test2");
        found.insert(
            (record[5].to_owned(), record[6].to_owned()),
            record[7].to_owned(),
        );
    }
    let counters = [
        (String::new(), device.counters()),
        (pair.get().to_string(), device.pair_counters(pair).unwrap()),
    ];
    for (of, counters) in counters {
        for (counter, (name, value)) in Counters::ALL.iter().zip(counters.named()) {
            let told = found.remove(&(of.clone(), name.to_owned()));
            let has = of.is_empty() || counter.scope == fairlane_softnic::Scope::QueuePair;
            assert_eq!(told, has.then(|| value.to_string()), "{name}");
        }
    }
    assert!(found.is_empty(), "{found:?}");
}

/// A sample: metric, labels, value.
type Sample = (String, BTreeMap<String, String>, f64);

fn is_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.chars().all(plain)
        && !name.starts_with(|letter: char| letter.is_ascii_digit())
        && !name.is_empty()
}

/// Labels from behind the brace, and what follows the other one.
fn labels(mut text: &str) -> Option<(BTreeMap<String, String>, &str)> {
    let mut labels = BTreeMap::new();
    loop {
        let (name, rest) = text.split_once("=\"")?;
        let mut value = String::new();
        let mut letters = rest.char_indices();
        let end = loop {
            match letters.next()? {
                (at, '"') => break at,
                (_, '\\') => value.push(match letters.next()?.1 {
                    'n' => '\n',
                    own @ ('"' | '\\') => own,
                    _ => return None,
                }),
                (_, letter) => value.push(letter),
            }
        };
        if !is_name(name) || labels.insert(name.to_owned(), value).is_some() {
            return None;
        }
        let rest = &rest[end + 1..];
        match rest.strip_prefix(',') {
            Some(more) => text = more,
            None => return Some((labels, rest.strip_prefix('}')?)),
        }
    }
}

/// Reads the text format of Prometheus as its specification has it, and refuses what it doesn't permit: metrics without HELP
/// and TYPE or in two places, counters not called so, samples twice, other line ends.
fn exposition(text: &str) -> Result<Vec<Sample>, String> {
    let mut samples: Vec<Sample> = Vec::new();
    let (mut seen, mut current) = (BTreeSet::new(), None::<(String, String)>);
    if !text.ends_with('\n') {
        return Err("no line break at the end".into());
    }
    let mut lines = text.split_terminator('\n');
    while let Some(line) = lines.next() {
        let wrong = || format!("not permitted: {line}");
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').ok_or_else(wrong)?;
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let kind = kind.and_then(|kind| kind.strip_prefix(name)?.strip_prefix(' '));
            let kind = kind.filter(|kind| ["counter", "gauge"].contains(kind));
            let kind = kind.ok_or_else(wrong)?;
            let counts = name.ends_with("_total") == (kind == "counter");
            if !is_name(name) || words.is_empty() || !counts || !seen.insert(name) {
                return Err(wrong());
            }
            current = Some((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (name, rest) = line.split_once('{').ok_or_else(wrong)?;
        let (labels, value) = labels(rest).ok_or_else(wrong)?;
        let value = value.strip_prefix(' ').ok_or_else(wrong)?;
        let value: f64 = value.parse().map_err(|_| wrong())?;
        let belongs = current.as_ref().is_some_and(|(own, _)| own == name);
        let twice = samples.iter().any(|own| own.0 == name && own.1 == labels);
        if !belongs || twice || !(value >= 0.0 && value.fract() == 0.0) {
            return Err(wrong());
        }
        samples.push((name.to_owned(), labels, value));
    }
    Ok(samples)
}

#[test]
fn prometheus_reads_it() {
    let all = [device(3), device(4)];
    let text = printed("stat --format prometheus --qp");
    let samples = exposition(&text).unwrap();
    for (device, pair) in &all {
        let own: Vec<&Sample> = samples
            .iter()
            .filter(|(_, labels, _)| labels["address"] == device.address().to_string())
            .collect();
        let counters = device.counters();
        let value = |name: &str| own.iter().find(|own| own.0 == name).map(|own| own.2);
        let bytes = 4.0 * counters.port_xmit_data as f64;
        assert_eq!(
            value("fairlane_port_data_transmitted_bytes_total"),
            Some(bytes)
        );
        assert_eq!(
            value("fairlane_sent_pkts_total"),
            Some(counters.sent_pkts as f64)
        );
        assert_eq!(
            value("fairlane_qp_sent_pkts_total"),
            Some(counters.sent_pkts as f64)
        );
        assert_eq!(value("fairlane_queue_pairs"), Some(1.0));
        assert_eq!(value("fairlane_port_up"), Some(1.0));
        assert_eq!(value("fairlane_rx_dropped_total"), Some(0.0));
        assert_eq!(value("fairlane_qp_rx_dropped_total"), None);
        let info = own.iter().find(|own| own.0 == "fairlane_qp_info").unwrap();
        let (number, peer) = (pair.get().to_string(), device.address().to_string());
        for (label, value) in [("qp", &number), ("peer_qp", &number), ("peer", &peer)] {
            assert_eq!(info.1[label], *value);
        }
    }
}

#[test]
fn the_checker_of_prometheus_refuses_what_is_wrong() {
    let right = "# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\\\\\\\"\\n\"} 1\n";
    assert_eq!(exposition(right).unwrap()[0].1["b"], "c\\\"\n");
    for (from, to) in [
        ("a_total{", "c_total{"),
        ("counter", "gauge"),
        ("# TYPE a_total counter\n", ""),
        ("\\n", "\\t"),
        ("} 1\n", "} 1"),
        ("} 1", "} one"),
        ("} 1", "} -1"),
        ("b=", "1b="),
        ("b=\"", "b=\"\",b=\""),
    ] {
        let wrong = right.replace(from, to);
        assert!(exposition(&wrong).is_err(), "{wrong}");
    }
    let (head, sample) = right.split_at(right.find("a_total{").unwrap());
    assert!(exposition(&format!("{head}{sample}{sample}")).is_err());
    assert!(exposition(&format!("{right}{right}")).is_err());
}

#[test]
fn intervals_end_with_the_last_device() {
    let (device, _) = device(5);
    let at = device.address();
    let mut command = Case::new().command(&format!("stat --address {at} --interval 0.05"));
    command.current_dir("/");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut text = String::new();
    while text.matches("process").count() < 3 {
        let line = lines.next().expect("it ended before its device").unwrap();
        text.push_str(&line);
        text.push('\n');
    }
    drop(device);
    for line in lines {
        text.push_str(&line.unwrap());
    }
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{text}");
    assert!(
        text.matches("process").count() > 2 && text.contains("per second"),
        "{text}"
    );
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "no device is left\n"
    );
}

#[test]
fn who_doesnt_answer_is_said_in_a_line() {
    let at = address(6);
    let text = Case::new().transcript(&format!("stat --address {at}"));
    let expected = format!(
        "--- stderr\nno device at {at} is running in this network namespace\n\
         hint: `fairlane exec -- PROGRAM` starts a program that has one\n--- exit 1\n"
    );
    assert!(text.ends_with(&expected), "{text}");
    let name = stat::name(at, 0);
    let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap());
    let listener = listener.unwrap();
    let start = Instant::now();
    let text = Case::new().transcript(&format!("stat --address {at}"));
    assert!(
        text.contains(&format!("\n@{name}: it doesn't answer\n")),
        "{text}"
    );
    assert!(text.ends_with("--- exit 1\n") && start.elapsed() < Duration::from_secs(30));
    let liar = std::thread::spawn(move || {
        use std::io::{Read, Write};
        // Those of the first question wait, too.
        for stream in listener.incoming().take(2) {
            let mut stream = stream.unwrap();
            drop(stream.read_exact(&mut [0; stat::DEVICE.len()]));
            drop(stream.write_all(b"{\"version\":7}"));
        }
    });
    let text = Case::new().transcript(&format!("stat --address {at}"));
    assert!(
        text.contains(": its answer has version 7, expected 1\n"),
        "{text}"
    );
    liar.join().unwrap();
}
