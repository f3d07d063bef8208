//! Wireshark reads exported captures without a complaint, and finds in them what `flows.csv` says.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a step of a test that fails fails the test; a test that is skipped says so"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use crate::support::flows::{self, MTU, Message};
use crate::support::{Case, mixed};

/// Loss, so that packets are sent again, beside the pauses that the scenario has of itself.
const LOSS: &str = "--set faults.loss_rate=0.01 --set transport.ack_timeout=100us \
                    --set transport.retry_limit=100 --set transport.nak_interval=20us";

const FIELDS: [&str; 16] = [
    "frame.protocols",
    "_ws.malformed",
    "_ws.expert.severity",
    "frame.interface_name",
    "frame.packet_flags_direction",
    "ip.src",
    "ip.dst",
    "udp.srcport",
    "infiniband.bth.opcode",
    "infiniband.bth.destqp",
    "infiniband.bth.psn",
    "infiniband.bth.padcnt",
    "infiniband.reth.dmalen",
    "infiniband.aeth.syndrome",
    "infiniband.aeth.msn",
    "udp.length",
];

/// A line of tshark: its cells by the name of the field.
type Row = BTreeMap<&'static str, String>;

/// Runs tshark on a capture; `None`, with a printed reason, where there is none.
fn tshark(file: &Path, arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file).arg("-n").args(arguments);
    command.args(["-o", "ip.check_checksum:TRUE"]);
    let Ok(done) = command.output() else {
        println!("skipped: tshark isn't installed");
        return None;
    };
    let talk = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "tshark: {talk}");
    Some(String::from_utf8(done.stdout).unwrap())
}

fn rows(file: &Path) -> Option<Vec<Row>> {
    let mut arguments = vec!["-T", "fields", "-E", "separator=|", "-E", "occurrence=f"];
    arguments.extend(FIELDS.iter().flat_map(|name| ["-e", name]));
    let table = tshark(file, &arguments)?;
    let row = |line: &str| {
        let cells = line.split('|').map(str::to_owned);
        FIELDS.into_iter().zip(cells).collect()
    };
    Some(table.lines().map(row).collect())
}

/// A number as one version of Wireshark or another shows it; nothing if the field isn't there.
fn number(row: &Row, name: &str) -> Option<u64> {
    let cell = &row[name];
    match cell.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => cell.parse().ok(),
    }
}

#[test]
fn wireshark_agrees_with_the_flows() {
    for recovery in ["go-back-n", "selective-repeat"] {
        let case = Case::with("s.toml", &mixed());
        let run = format!("run s.toml --out d {LOSS} --set transport.recovery={recovery}");
        assert!(case.run(&run).status.success());
        assert!(case.run("export pcap d -o c.pcapng").status.success());
        let Some(rows) = rows(&case.path("c.pcapng")) else {
            return;
        };
        refuse_complaints(&rows);
        let messages = flows::read(&case.text("d/flows.csv"));
        conversations(&rows, &messages);
        let naks: usize = messages.iter().map(|message| fields(&rows, message)).sum();
        assert!(naks > 0);
        nothing_else(&case.path("c.pcapng"));
    }
}

#[test]
fn wireshark_agrees_with_the_signals() {
    let case = Case::with("s.toml", &mixed());
    let marks = "--set switch.ecn.kmin_per_gbps=100B --set switch.ecn.kmax_per_gbps=100B";
    let run = format!(
        "run s.toml --out d {marks} --set congestion.algorithm=dcqcn --set congestion.notification=cnp"
    );
    assert!(case.run(&run).status.success());
    assert!(case.run("export pcap d -o c.pcapng").status.success());
    let Some(rows) = rows(&case.path("c.pcapng")) else {
        return;
    };
    refuse_complaints(&rows);
    let messages = flows::read(&case.text("d/flows.csv"));
    conversations(&rows, &messages);
    assert_eq!(
        messages
            .iter()
            .map(|message| fields(&rows, message))
            .sum::<usize>(),
        0
    );
    let arrived = |filter: &str| {
        let filter = format!("frame.packet_flags_direction == 1 && {filter}");
        let lines = tshark(&case.path("c.pcapng"), &["-Y", &filter]).unwrap();
        lines.lines().count()
    };
    let signals: serde_json::Value = serde_json::from_str(&case.text("d/signals.json")).unwrap();
    let notifications =
        arrived("infiniband.bth.opcode == 0x81 && frame.interface_name matches \"^host\"");
    assert!(notifications > 0);
    assert_eq!(signals["cnps"]["count"], notifications);
    let pauses = arrived("macc.opcode == 0x0101 && macc.cbfc.pause_time.c3 == 65535");
    assert!(pauses > 0);
    assert_eq!(signals["pauses"]["count"], pauses);
    // A mark stays on a packet, so that the receiver sees all of them.
    let marked = arrived("ip.dsfield.ecn == 3 && frame.interface_name matches \"^host\"");
    assert_eq!(signals["ecn_marks"]["count"], marked);
}

/// No packet is malformed, and Wireshark has nothing to remark on any.
fn refuse_complaints(rows: &[Row]) {
    let mut protocols = BTreeSet::new();
    for row in rows {
        assert_eq!(row["_ws.malformed"], "", "{row:?}");
        assert_eq!(row["_ws.expert.severity"], "", "{row:?}");
        // What carries payload is guessed to be RPC, since zeros don't contradict that.
        let guessed = [":data", ":rpcordma"];
        let known = row["frame.protocols"].as_str();
        let ends = guessed.iter().filter_map(|guess| known.find(guess)).min();
        protocols.insert(&known[..ends.unwrap_or(known.len())]);
    }
    let expected = ["eth:ethertype:ip:udp:infiniband", "eth:ethertype:macc"];
    assert!(protocols.iter().eq(&expected), "{protocols:?}");
}

/// What a message's packets add up to at the hosts that are its ends.
#[derive(Default)]
struct Conversation {
    /// Packets with payload that left their sender.
    sent: u64,
    /// Those that arrived.
    arrived: u64,
    /// Payload that arrived, by PSN.
    payload: BTreeMap<u64, u64>,
}

/// Between which addresses and ports packets go, how many with how much payload: as their message says.
fn conversations(rows: &[Row], messages: &[Message]) {
    let mut found: BTreeMap<u32, Conversation> = BTreeMap::new();
    for row in rows {
        let Some(pair) = number(row, "infiniband.bth.destqp") else {
            continue;
        };
        let mine = |message: &&Message| message.queue_pairs().contains(&(pair as u32));
        let message = messages.iter().find(mine).unwrap();
        let mut ends = [message.source, message.destination].map(flows::address);
        if pair == u64::from(message.queue_pairs()[0]) {
            ends.reverse();
        }
        let ends = ends.map(|end| end.to_string());
        assert_eq!([&row["ip.src"], &row["ip.dst"]], ends.each_ref());
        assert_eq!(number(row, "udp.srcport"), Some(message.source_port.into()));
        if row["frame.interface_name"].starts_with("host") {
            found.entry(message.id).or_default().take(row);
        }
    }
    for message in messages {
        let found = &found[&message.id];
        let atomic = message.verb.contains('-');
        let (count, size) = match atomic {
            true => (0, 0),
            false => (message.size.div_ceil(MTU), message.size),
        };
        assert_eq!(found.payload.values().sum::<u64>(), size, "{message:?}");
        let most = count + u64::from(message.retransmitted);
        match message.verb.as_str() {
            "write" | "send" => assert_eq!(found.sent, most, "{message:?}"),
            // Requests for responses are among what is sent again.
            _ => assert!((count..=most).contains(&found.sent), "{message:?}"),
        }
        assert!((count..=found.sent).contains(&found.arrived), "{message:?}");
    }
}

impl Conversation {
    fn take(&mut self, row: &Row) {
        let opcode = number(row, "infiniband.bth.opcode").unwrap();
        let extension = match opcode {
            0x06 | 0x0a => 16,
            0x0d | 0x0f | 0x10 => 4,
            0x00..=0x0b | 0x0e => 0,
            _ => return,
        };
        if !is_inbound(row) {
            self.sent += 1;
            return;
        }
        self.arrived += 1;
        let pad = number(row, "infiniband.bth.padcnt").unwrap();
        // UDP, BTH and ICRC.
        let headers = 8 + 12 + 4 + extension;
        let payload = number(row, "udp.length").unwrap() - headers - pad;
        let psn = number(row, "infiniband.bth.psn").unwrap();
        let before = self.payload.insert(psn, payload);
        assert!(before.is_none_or(|before| before == payload), "{row:?}");
    }
}

fn is_inbound(row: &Row) -> bool {
    number(row, "frame.packet_flags_direction") == Some(1)
}

/// The headers of a message's packets; returns how many NAKs it had.
fn fields(rows: &[Row], message: &Message) -> usize {
    let [requester, responder] = message.queue_pairs().map(u64::from);
    let to = |pair: u64| {
        let mine = move |row: &&Row| number(row, "infiniband.bth.destqp") == Some(pair);
        rows.iter().filter(mine)
    };
    let lengths = to(responder).filter_map(|row| number(row, "infiniband.reth.dmalen"));
    let lengths: BTreeSet<u64> = lengths.collect();
    match message.verb.as_str() {
        "write" => assert!(
            lengths.iter().eq(&[message.size]),
            "{lengths:?} {message:?}"
        ),
        // A READ that is asked for again asks for the rest.
        "read" => assert_eq!(lengths.last(), Some(&message.size)),
        _ => assert!(lengths.is_empty()),
    }
    let opcodes: BTreeSet<u64> = to(responder)
        .filter_map(|row| number(row, "infiniband.bth.opcode"))
        // Feedback and congestion notifications for the response to a READ.
        .filter(|opcode| ![0x11, 0x81].contains(opcode))
        .collect();
    let several = message.size > MTU;
    let expected: &[u64] = match (message.verb.as_str(), several) {
        ("send", true) => &[0x00, 0x01, 0x02],
        ("write", true) => &[0x06, 0x07, 0x08],
        ("write", false) => &[0x0a],
        ("read", _) => &[0x0c],
        ("compare-swap", _) => &[0x13],
        ("fetch-add", _) => &[0x14],
        other => panic!("no {other:?} in the scenario"),
    };
    assert!(opcodes.iter().eq(expected), "{opcodes:?} {message:?}");
    acknowledgements(to(requester), message)
}

/// Acknowledgements and responses of a message; returns how many NAKs there are.
fn acknowledgements<'a>(rows: impl Iterator<Item = &'a Row>, message: &Message) -> usize {
    let last = message.size.div_ceil(MTU) - 1;
    let (mut naks, mut completed) = (0, false);
    for row in rows {
        let Some(msn) = number(row, "infiniband.aeth.msn") else {
            continue;
        };
        let psn = number(row, "infiniband.bth.psn").unwrap();
        match number(row, "infiniband.aeth.syndrome") {
            Some(0x1f) => {
                let ends = psn == last || message.verb == "read";
                assert_eq!(msn, u64::from(ends), "{row:?}");
                completed |= ends;
            }
            Some(0x60) => naks += 1,
            other => panic!("syndrome {other:?}"),
        }
    }
    assert!(completed, "{message:?}");
    naks
}

/// Wireshark's own summaries: every packet of UDP is in one of the conversations.
fn nothing_else(file: &Path) {
    let experts = tshark(file, &["-q", "-z", "expert"]).unwrap();
    assert_eq!(experts.trim(), "", "{experts}");
    let malformed = tshark(file, &["-Y", "_ws.malformed"]).unwrap();
    assert_eq!(malformed, "");
}
