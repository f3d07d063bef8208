//! Reads `flows.csv` as what a capture must agree with.

use std::net::Ipv4Addr;

/// Payload of a packet, unless the scenario says otherwise.
pub(crate) const MTU: u64 = 1024;

/// A row.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) id: u32,
    pub(crate) source: u32,
    pub(crate) destination: u32,
    pub(crate) source_port: u16,
    pub(crate) verb: String,
    pub(crate) size: u64,
    pub(crate) retransmitted: u32,
}

impl Message {
    /// Queue pairs of the requester and the responder, as the documentation has them.
    pub(crate) fn queue_pairs(&self) -> [u32; 2] {
        [2 + 2 * self.id, 3 + 2 * self.id]
    }
}

/// Address of a node, as the documentation has it.
pub(crate) fn address(node: u32) -> Ipv4Addr {
    Ipv4Addr::from(10 << 24 | node)
}

/// The messages, all of which have completed.
pub(crate) fn read(text: &str) -> Vec<Message> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let place = |name: &str| header.iter().position(|column| *column == name);
    let place = |name: &str| place(name).unwrap_or_else(|| panic!("no column {name}"));
    let message = |cells: Vec<&str>| {
        let number = |name: &str| cells[place(name)].parse::<u64>().expect("a number");
        assert_eq!(cells[place("outcome")], "completed");
        Message {
            id: number("id") as u32,
            source: number("source") as u32,
            destination: number("destination") as u32,
            source_port: number("source_port") as u16,
            verb: cells[place("verb")].into(),
            size: number("size_bytes"),
            retransmitted: number("retransmitted_packets") as u32,
        }
    };
    lines.map(message).collect()
}
