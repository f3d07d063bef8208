//! What a device says of itself.

use std::collections::BTreeMap;

use fairlane_softnic::{Counter, Counters, Scope, stat};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// A counter's name and value.
pub(super) type Named = (String, u64);

/// A device.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Device {
    pub(super) device: String,
    pub(super) address: String,
    pub(super) gid: String,
    /// Its process; as the device says it if that is in another namespace of processes.
    pub(super) pid: i64,
    pub(super) program: String,
    pub(super) state: String,
    /// The largest path MTU; 0 if the interface has gone.
    pub(super) mtu: u64,
    pub(super) queue_pairs: u64,
    #[serde(serialize_with = "map", deserialize_with = "list")]
    pub(super) counters: Vec<Named>,
    /// If they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pairs: Option<Vec<Pair>>,
}

/// A queue pair.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Pair {
    pub(super) number: u64,
    pub(super) service: String,
    pub(super) state: String,
    /// The partition key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) partition: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) peer_number: Option<u64>,
    #[serde(serialize_with = "map", deserialize_with = "list")]
    pub(super) counters: Vec<Named>,
}

impl Pair {
    /// The partition key as people write it; empty if the device doesn't tell.
    pub(super) fn partition(&self) -> String {
        self.partition
            .map_or_else(String::new, |key| format!("{key:#06x}"))
    }
}

/// Counters as an object.
fn map<S: Serializer>(counters: &[Named], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counters.iter().map(|(name, value)| (name, value)))
}

/// Counters of an object, by name.
fn list<'de, D: Deserializer<'de>>(object: D) -> Result<Vec<Named>, D::Error> {
    BTreeMap::deserialize(object).map(|counters| counters.into_iter().collect())
}

/// The document, of which nothing is trusted.
#[derive(Deserialize)]
struct Document {
    version: u32,
    #[serde(flatten)]
    device: Value,
}

/// Reads what a device has answered; `process` is its number as the system says it, if it does.
pub(super) fn read(document: &[u8], process: Option<i32>) -> Result<Device, String> {
    let unclear = |error: serde_json::Error| format!("its answer isn't understood: {error}");
    let document: Document = serde_json::from_slice(document).map_err(unclear)?;
    let version = document.version;
    if version != stat::VERSION {
        let own = stat::VERSION;
        return Err(format!("its answer has version {version}, expected {own}"));
    }
    let mut device: Device = serde_json::from_value(printable(document.device)).map_err(unclear)?;
    device.pid = process.map_or(device.pid, i64::from);
    complete(&mut device.counters, |_| true);
    for pair in device.pairs.iter_mut().flatten() {
        complete(&mut pair.counters, |own| own.scope == Scope::QueuePair);
    }
    Ok(device)
}

/// Makes them all counters: first those that this command knows, then others of a later version.
fn complete(counters: &mut Vec<Named>, has: impl Fn(&Counter) -> bool) {
    let mut told = BTreeMap::from_iter(std::mem::take(counters));
    let known = Counters::ALL.iter().filter(|counter| has(counter));
    counters.extend(known.map(|counter| {
        let value = told.remove(counter.name).unwrap_or(0);
        (counter.name.to_owned(), value)
    }));
    counters.extend(told.into_iter().filter(|(name, _)| is_name(name)));
}

/// Whether it is as counters are called, which every format takes.
fn is_name(name: &str) -> bool {
    let plain = |letter: char| matches!(letter, 'a'..='z' | '0'..='9' | '_');
    name.chars().all(plain) && name.starts_with(|letter: char| letter.is_ascii_lowercase())
}

/// A value whose texts are without what terminals would obey.
fn printable(value: Value) -> Value {
    let shown = |letter: char| if letter.is_control() { '?' } else { letter };
    match value {
        Value::String(text) => text.chars().map(shown).collect::<String>().into(),
        Value::Array(values) => values.into_iter().map(printable).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields = fields.map(|(name, value)| (name, printable(value)));
            Value::Object(fields.collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"{"version":1,"device":"d\u001b[2J","address":"a","gid":"g","pid":7,"program":"p","state":"s","mtu":1,
        "queue_pairs":1,"counters":{"sent_pkts":5,"later":6,"la ter":7},"new":[],
        "pairs":[{"number":2,"service":"RC","state":"RTS","counters":{"rcvd_pkts":9}}]}"#;

    #[test]
    fn what_a_later_version_adds_is_taken_and_what_harms_is_not() {
        let device = read(WHOLE.as_bytes(), None).unwrap();
        assert_eq!((device.device.as_str(), device.pid), ("d?[2J", 7));
        assert_eq!(device.counters.len(), Counters::ALL.len() + 1);
        let has = |name: &str, value| device.counters.contains(&(name.to_owned(), value));
        assert!(has("sent_pkts", 5) && has("later", 6) && has("cq_overrun", 0));
        let [pair] = &device.pairs.unwrap()[..] else {
            panic!("expected a queue pair");
        };
        assert!(pair.counters.len() < Counters::ALL.len());
        assert!(pair.counters.contains(&("rcvd_pkts".to_owned(), 9)));
    }

    #[test]
    fn other_answers_are_refused() {
        assert_eq!(read(WHOLE.as_bytes(), Some(8)).unwrap().pid, 8);
        for (answer, says) in [
            ("", "isn't understood"),
            ("[]", "isn't understood"),
            (r#"{"version":2}"#, "has version 2"),
            (r#"{"version":1}"#, "isn't understood"),
        ] {
            let error = read(answer.as_bytes(), None).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
