//! What both send for the same program, field by field. Each has been its client and its server once, with one queue pair.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::decode::Fields;
use super::machine::OURS;

/// Fields that name something, or say when, or hold data that isn't decoded: no two runs agree.
const IDENTITIES: [&str; 44] = [
    "infiniband.bth.destqp",
    "infiniband.deth.srcqp",
    "infiniband.reth.r_key",
    "infiniband.invariant.crc",
    "infiniband.atomicacketh.origremdt",
    "infiniband.mad.data",
    "infiniband.smplid.smpdata",
    "infiniband.mad.transactionid",
    "infiniband.cm.req",
    "infiniband.cm.rep",
    "infiniband.cm.rep.remotecommid",
    "infiniband.cm.req.localcaguid",
    "infiniband.cm.req.localqpn",
    "infiniband.cm.req.startpsn",
    "infiniband.cm.req.prim_localgid_ipv4",
    "infiniband.cm.req.prim_remotegid_ipv4",
    "infiniband.cm.req.ip_cm.sport",
    "infiniband.cm.req.ip_cm.sip4",
    "infiniband.cm.req.ip_cm.dip4",
    "infiniband.cm.rep.localqpn",
    "infiniband.cm.rep.startpsn",
    "infiniband.cm.rep.localcaguid",
    "infiniband.cm.rtu.localcommid",
    "infiniband.cm.rtu.remotecommid",
    "infiniband.cm.dreq.localcommid",
    "infiniband.cm.dreq.remotecommid",
    "infiniband.cm.req.remoteqpneecn",
    "infiniband.cm.drsp.localcommid",
    "infiniband.cm.drsp.remotecommid",
    "ip.addr",
    "ip.src",
    "ip.dst",
    "ip.host",
    "ip.src_host",
    "ip.dst_host",
    "ip.id",
    "ip.checksum",
    "udp.checksum",
    "udp.payload",
    "udp.time_delta",
    "udp.time_relative",
    "udp.port",
    "udp.srcport",
    "udp.stream",
];

/// Fields that the specification leaves to the sender, and why.
const CHOICES: [(&str, &str); 11] = [
    (
        "infiniband.aeth.msn",
        "a READ counts when it is taken, however many are before its answer",
    ),
    (
        "infiniband.cm.rep.failoveracc",
        "says nothing where no alternate path is asked for",
    ),
    (
        "infiniband.cm.rep.tgtackdelay",
        "how fast an end answers is its own",
    ),
    ("infiniband.cm.req.prim_flowlabel", "any flow label will do"),
    (
        "infiniband.cm.req.prim_localacktout",
        "how long an end waits is its own",
    ),
    (
        "infiniband.cm.req.prim_pktrate",
        "tshark reads a part of the flow label here",
    ),
    (
        "infiniband.cm.req.prim_reserved0",
        "tshark reads a part of the flow label here",
    ),
    (
        "infiniband.immdt",
        "udaddy sends the number of its queue pair",
    ),
    (
        "ip.dsfield.ecn",
        "who hears of congestion says so (RFC 3168)",
    ),
    (
        "udp.checksum.status",
        "the checksum may be left out (IBTA A17.3.1.2)",
    ),
    (
        "infiniband.bth.a",
        "who sends chooses what it wants to have acknowledged (IBTA 9.7.5.1.2)",
    ),
];

/// What a packet is, in the run of a program: equal for both.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    by_client: bool,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// The first, second ... message of the connection manager with an attribute.
    Management(String, usize),
    /// Behind the first PSN by so much.
    Request(u32),
    /// To the request with this PSN. How it is coalesced is a choice.
    Acknowledgement(u32, String),
    /// To a READ or an atomic.
    Response(u32),
}

/// A field whose values differ.
#[derive(Debug)]
pub(super) struct Difference {
    what: String,
    ours: String,
    theirs: String,
    count: usize,
    /// Why it may.
    reason: Option<&'static str>,
}

impl Difference {
    pub(super) fn is_expected(&self) -> bool {
        self.reason.is_some()
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            what,
            ours,
            theirs,
            count,
            reason,
        } = self;
        write!(
            formatter,
            "{what}: ours {ours}, rxe's {theirs} ({count} packets)"
        )?;
        reason.map_or(Ok(()), |reason| write!(formatter, ": {reason}"))
    }
}

type Rows = BTreeMap<Place, Fields>;

fn number(fields: &Fields, name: &str) -> Option<u32> {
    let text = fields.get(name)?;
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// How far an address is behind another one.
fn behind(address: &str, start: &str) -> i64 {
    let [address, start] = [address, start].map(|text| {
        let digits = text.trim_start_matches("0x");
        u64::from_str_radix(digits, 16).expect("tshark writes addresses so")
    });
    address.wrapping_sub(start).cast_signed()
}

/// Whether it is sent in answer to a request (IBTA 9.2, table 38).
fn is_response(opcode: u32) -> bool {
    (13..=18).contains(&opcode)
}

const ACKNOWLEDGE: u32 = 17;

/// DREQ and DREP.
const ENDING: [&str; 2] = ["0x0015", "0x0016"];

/// Packets by what they are; of those that are sent again, the first.
fn rows(packets: &[Fields], client: &str) -> Rows {
    let mut rows = Rows::new();
    let mut messages = BTreeMap::<(bool, String), BTreeSet<String>>::new();
    let mut firsts = BTreeMap::<bool, u32>::new();
    let mut starts = BTreeMap::<(bool, Option<String>), String>::new();
    for packet in packets {
        // Nothing in it: it asks whether anybody has the port.
        if packet.get("udp.length").is_some_and(|length| length == "8") {
            continue;
        }
        let by_client = packet.get("ip.src").is_some_and(|source| source == client);
        let opcode = number(packet, "infiniband.bth.opcode").expect("it has a base header");
        let psn = number(packet, "infiniband.bth.psn").expect("it has a base header");
        let mut fields = packet.clone();
        let kind = if let Some(attribute) = packet.get("infiniband.mad.attributeid") {
            let transaction = packet.get("infiniband.mad.transactionid").cloned();
            let seen = messages.entry((by_client, attribute.clone())).or_default();
            seen.insert(transaction.unwrap_or_default());
            Kind::Management(attribute.clone(), seen.len())
        } else if is_response(opcode) {
            let Some(first) = firsts.get(&!by_client) else {
                continue;
            };
            let behind = psn.wrapping_sub(*first) & 0xff_ffff;
            match packet.get("infiniband.aeth.syndrome.opcode") {
                Some(kind) if opcode == ACKNOWLEDGE => Kind::Acknowledgement(behind, kind.clone()),
                _ => Kind::Response(behind),
            }
        } else {
            let first = *firsts.entry(by_client).or_insert(psn);
            if let Some(address) = packet.get("infiniband.reth.va") {
                // Where a region is, is the program's choice; where in it, is the same each time.
                let key = packet.get("infiniband.reth.r_key").cloned();
                let start = starts
                    .entry((by_client, key))
                    .or_insert_with(|| address.clone());
                let place = format!("{} behind the first", behind(address, start));
                fields.insert("infiniband.reth.va".to_owned(), place);
            }
            Kind::Request(psn.wrapping_sub(first) & 0xff_ffff)
        };
        fields.remove("infiniband.bth.psn");
        fields.retain(|name, _| !IDENTITIES.contains(&name.as_str()));
        rows.entry(Place { by_client, kind }).or_insert(fields);
    }
    rows
}

/// Compares packets of a program whose client was ours with those of when it was Soft-RoCE's.
pub(super) fn compare(ours: &[Fields], theirs: &[Fields]) -> Vec<Difference> {
    let [our_run, their_run] = [(ours, true), (theirs, false)].map(|(packets, our_client)| {
        rows(
            packets,
            if our_client {
                OURS
            } else {
                super::machine::THEIRS
            },
        )
    });
    let mut found = BTreeMap::<String, Difference>::new();
    let places: BTreeSet<&Place> = our_run.keys().chain(their_run.keys()).collect();
    for place in places {
        let pair = [our_run.get(place), their_run.get(place)];
        let [ours, theirs] = if place.by_client {
            pair
        } else {
            [pair[1], pair[0]]
        };
        for (name, ours, theirs) in fields(place, ours, theirs) {
            let who = if place.by_client { "client" } else { "server" };
            let kind = match &place.kind {
                Kind::Management(attribute, _) => format!("message {attribute}"),
                Kind::Request(_) => "request".to_owned(),
                Kind::Acknowledgement(..) => "acknowledgement".to_owned(),
                Kind::Response(_) => "response".to_owned(),
            };
            let what = format!("{who}'s {kind}: {name}");
            let reason = CHOICES
                .iter()
                .find(|(field, _)| *field == name)
                .map(|(_, why)| *why);
            let difference = Difference {
                what: what.clone(),
                ours,
                theirs,
                count: 0,
                reason,
            };
            found.entry(what).or_insert(difference).count += 1;
        }
    }
    found.into_values().collect()
}

/// Names of fields that differ, with their values.
fn fields(
    place: &Place,
    ours: Option<&Fields>,
    theirs: Option<&Fields>,
) -> Vec<(String, String, String)> {
    let (ours, theirs) = match (ours, theirs, &place.kind) {
        (Some(ours), Some(theirs), _) => (ours, theirs),
        // How many are acknowledged at once is a choice, and who ends a connection first a race.
        (_, _, Kind::Acknowledgement(..)) => return Vec::new(),
        (_, _, Kind::Management(attribute, _)) if ENDING.contains(&attribute.as_str()) => {
            return Vec::new();
        }
        _ => {
            let there = |row: Option<&Fields>| if row.is_some() { "there" } else { "missing" };
            return vec![(
                format!("{:?}", place.kind),
                there(ours).to_owned(),
                there(theirs).to_owned(),
            )];
        }
    };
    let names: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let value = |row: &Fields, name: &str| {
        row.get(name)
            .cloned()
            .unwrap_or_else(|| "absent".to_owned())
    };
    let differ = |name: &&String| ours.get(*name) != theirs.get(*name);
    names
        .into_iter()
        .filter(differ)
        .map(|name| (name.clone(), value(ours, name), value(theirs, name)))
        .collect()
}
