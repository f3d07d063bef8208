//! The text format of Prometheus, version 0.0.4: every metric once, with all its samples.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fairlane_softnic::Counters;

use super::device::{Device, Named, Pair};

/// A metric in front of its samples.
struct Family {
    help: String,
    kind: &'static str,
    /// Labels in braces, and value.
    samples: Vec<(String, u64)>,
}

/// Metrics in the order in which they were first seen.
#[derive(Default)]
struct Exposition {
    order: Vec<String>,
    families: BTreeMap<String, Family>,
}

/// Every counter of devices and queue pairs.
pub(super) fn text(devices: &[Device]) -> String {
    let mut all = Exposition::default();
    for device in devices {
        all.add_device(device);
    }
    for device in devices {
        for pair in device.pairs.iter().flatten() {
            all.add_pair(device, pair);
        }
    }
    all.text()
}

impl Exposition {
    fn add(&mut self, (name, help): (&str, &str), kind: &'static str, sample: (String, u64)) {
        let known = self.families.entry(name.to_owned()).or_insert_with(|| {
            self.order.push(name.to_owned());
            Family {
                help: help.to_owned(),
                kind,
                samples: Vec::new(),
            }
        });
        known.samples.push(sample);
    }

    fn add_device(&mut self, device: &Device) {
        let own = labels_of(device);
        let mut info = own.clone();
        info.extend([("gid", device.gid.clone()), ("state", device.state.clone())]);
        let say = "Which device it is.";
        self.add(("fairlane_info", say), "gauge", (braces(&info), 1));
        let up = u64::from(device.state == "ACTIVE");
        let say = "Whether its interface is up.";
        self.add(("fairlane_port_up", say), "gauge", (braces(&own), up));
        let say = "Queue pairs that it has.";
        let pairs = (braces(&own), device.queue_pairs);
        self.add(("fairlane_queue_pairs", say), "gauge", pairs);
        self.add_counters("fairlane_", &device.counters, &braces(&own));
    }

    fn add_pair(&mut self, device: &Device, pair: &Pair) {
        let mut own = labels_of(device);
        own.push(("qp", pair.number.to_string()));
        let mut info = own.clone();
        info.extend([
            ("service", pair.service.clone()),
            ("state", pair.state.clone()),
            ("partition", pair.partition()),
            ("peer", pair.peer.clone().unwrap_or_default()),
        ]);
        let peer_qp = pair.peer_number.map(|number| number.to_string());
        info.push(("peer_qp", peer_qp.unwrap_or_default()));
        let say = "Which queue pair it is.";
        self.add(("fairlane_qp_info", say), "gauge", (braces(&info), 1));
        self.add_counters("fairlane_qp_", &pair.counters, &braces(&own));
    }

    fn add_counters(&mut self, start: &str, counters: &[Named], labels: &str) {
        for (name, value) in counters {
            let (name, help, value) = metric(name, *value);
            let name = format!("{start}{name}_total");
            self.add((&name, &help), "counter", (labels.to_owned(), value));
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, family) in self
            .order
            .iter()
            .filter_map(|name| self.families.get_key_value(name))
        {
            let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
            // Writing to a text doesn't fail.
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {}", family.kind);
            for (labels, value) in &family.samples {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        }
        text
    }
}

/// The name of a counter's metric, what it means, and its value: words of four bytes become bytes, by the names that exporters
/// of hardware's counters use.
fn metric(name: &str, value: u64) -> (String, String, u64) {
    let bytes = value.saturating_mul(4);
    let known = Counters::ALL.iter().find(|counter| counter.name == name);
    let help = known.map_or("Of a later version.", |counter| counter.help);
    let words = |name: &str, way: &str| {
        (
            name.to_owned(),
            format!("Bytes {way}, from BTH to ICRC."),
            bytes,
        )
    };
    match name {
        "port_xmit_data" => words("port_data_transmitted_bytes", "sent"),
        "port_rcv_data" => words("port_data_received_bytes", "that came"),
        _ => (name.to_owned(), help.to_owned(), value),
    }
}

type Label = (&'static str, String);

fn labels_of(device: &Device) -> Vec<Label> {
    vec![
        ("device", device.device.clone()),
        ("address", device.address.clone()),
        ("pid", device.pid.to_string()),
        ("program", device.program.clone()),
    ]
}

fn braces(labels: &[Label]) -> String {
    let one = |(name, value): &Label| format!("{name}=\"{}\"", escaped(value));
    let all: Vec<String> = labels.iter().map(one).collect();
    format!("{{{}}}", all.join(","))
}

fn escaped(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    value.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped() {
        let labels = [("program", "a\"b\\c\nd".to_owned())];
        assert_eq!(braces(&labels), r#"{program="a\"b\\c\nd"}"#);
    }

    #[test]
    fn words_become_bytes() {
        let (name, _, bytes) = metric("port_rcv_data", 5);
        assert_eq!((name.as_str(), bytes), ("port_data_received_bytes", 20));
        assert_eq!(metric("rcvd_pkts", 5).2, 5);
    }
}
