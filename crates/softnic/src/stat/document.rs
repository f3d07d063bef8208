//! The document: JSON, of which every value is a number or one of few texts.

use std::fmt::Write as _;
use std::io;
use std::net::IpAddr;

use fairlane_transport::{Service, State};

use super::VERSION;
use crate::counters::Counters;
use crate::engine::figures::{self, PairFigures};
use crate::gid;
use crate::interface::{self, Interface};
use crate::progress::Shared;

/// Queue pairs that are looked at before others may have the lock.
const AT_A_TIME: u32 = 64;

/// The device that is told of.
#[derive(Debug)]
pub(crate) struct Subject {
    /// How applications know it.
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    /// The number of its interface if the address holds for a link only.
    pub(crate) interface: u32,
}

/// What the port lacks on purpose of what its interface has.
#[derive(Clone, Copy)]
struct PortLimits {
    is_cut: bool,
    /// The largest path MTU.
    mtu: Option<u16>,
}

/// Gives `put` the document, part by part.
pub(super) fn write(
    shared: &Shared,
    subject: &Subject,
    with_pairs: bool,
    mut put: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let (count, limits, counters) = {
        let inner = shared.lock();
        (
            inner.engine.pairs.count(),
            PortLimits {
                is_cut: inner.is_cut(),
                mtu: inner.limited_mtu(),
            },
            figures::of_device(&inner.engine),
        )
    };
    let mut text = String::new();
    head(&mut text, subject, count, limits);
    put_counters(&mut text, &counters, |_| true);
    if with_pairs {
        text.push_str(",\"pairs\":[");
        let (mut from, mut first) = (0, true);
        loop {
            let part = figures::of_pairs(&shared.lock().engine, from..from + AT_A_TIME);
            let Some(part) = part else {
                break;
            };
            for pair in &part {
                if !std::mem::take(&mut first) {
                    text.push(',');
                }
                one(&mut text, pair);
            }
            put(text.as_bytes())?;
            text.clear();
            from += AT_A_TIME;
        }
        text.push(']');
    }
    text.push_str("}\n");
    put(text.as_bytes())
}

fn head(text: &mut String, subject: &Subject, pairs: usize, limits: PortLimits) {
    let address = subject.address;
    let found = Interface::of(address);
    let is_up = found.as_ref().is_some_and(|found| found.is_up);
    let state = if is_up && !limits.is_cut {
        "ACTIVE"
    } else {
        "DOWN"
    };
    let mtu = found.and_then(|found| interface::largest_mtu(&found, address));
    let mtu = mtu.map(|mtu| limits.mtu.map_or(mtu, |most| mtu.min(most)));
    let program = std::fs::read_to_string("/proc/self/comm").unwrap_or_default();
    put(text, '{', "version", VERSION);
    put_text(text, "device", &subject.name);
    put_text(text, "address", &address.to_string());
    put_text(text, "gid", &gid::of(address).to_string());
    put(text, ',', "pid", std::process::id());
    put_text(text, "program", program.trim_end_matches('\n'));
    put_text(text, "state", state);
    put(text, ',', "mtu", mtu.unwrap_or(0));
    put(text, ',', "queue_pairs", pairs);
}

fn one(text: &mut String, pair: &PairFigures) {
    put(text, '{', "number", pair.number.get());
    put_text(text, "service", service(pair.service));
    put_text(text, "state", state(pair.state));
    put(text, ',', "partition", pair.partition.get());
    if let Some((address, number)) = pair.peer {
        put_text(text, "peer", &address.to_string());
        put(text, ',', "peer_number", number.get());
    }
    put_counters(text, &pair.counters, |value| value > 0);
    text.push('}');
}

fn put_counters(text: &mut String, counters: &Counters, shows: impl Fn(u64) -> bool) {
    text.push_str(",\"counters\":{");
    let mut first = true;
    for (name, value) in counters.named().filter(|(_, value)| shows(*value)) {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        // Writing to a text doesn't fail.
        let _ = write!(text, "{comma}\"{name}\":{value}");
    }
    text.push('}');
}

fn put(text: &mut String, before: char, name: &str, value: impl std::fmt::Display) {
    let _ = write!(text, "{before}\"{name}\":{value}");
}

/// A member that is a text, of which JSON wants some characters written in another way (RFC 8259, section 7).
fn put_text(text: &mut String, name: &str, value: &str) {
    let _ = write!(text, ",\"{name}\":\"");
    for letter in value.chars() {
        match letter {
            '"' | '\\' => text.extend(['\\', letter]),
            control if control < ' ' => drop(write!(text, "\\u{:04x}", u32::from(control))),
            other => text.push(other),
        }
    }
    text.push('"');
}

const fn service(service: Service) -> &'static str {
    match service {
        Service::ReliableConnection => "RC",
        Service::UnreliableConnection => "UC",
        Service::UnreliableDatagram => "UD",
    }
}

const fn state(state: State) -> &'static str {
    match state {
        State::Reset => "RESET",
        State::Init => "INIT",
        State::ReadyToReceive => "RTR",
        State::ReadyToSend => "RTS",
        State::SendQueueDrain => "SQD",
        State::SendQueueError => "SQE",
        State::Error => "ERR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_can_have_any_characters() {
        let mut text = String::new();
        put_text(&mut text, "program", "a\"b\\c\n\u{1}\u{7f}é");
        let expected = ",\"program\":\"a\\\"b\\\\c\\u000a\\u0001\u{7f}é\"";
        assert_eq!(text, expected);
    }
}
