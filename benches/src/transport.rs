//! The state machines of queue pairs, packet by packet: a requester that sends and hears
//! acknowledgements or responses, a responder that takes packets or answers READs.

use std::hint::black_box;

use fairlane_transport::{
    Config, Extension, Operation, Packet, Remote, Requester, Responder, Unchecked, WorkRequest,
};
use fairlane_units::{Bytes, Psn, Time};
use fairlane_wire::{Aeth, Opcode, Syndrome};

use crate::micro::{Cost, Effort, title};
use crate::table::{self, row};
use crate::{Outcome, process};

const PARTS: [(&str, &str); 8] = [
    ("send-write", "requester: packet of a WRITE to send"),
    ("send-send", "requester: packet of a SEND to send"),
    ("take-write", "responder: packet of a WRITE taken"),
    ("take-send", "responder: packet of a SEND taken"),
    (
        "acknowledge-write",
        "requester: packet of a WRITE sent and acknowledged",
    ),
    ("answer-read", "responder: response of a READ to send"),
    ("hear-read", "requester: response of a READ"),
    (
        "keep-write",
        "both: early packet of a WRITE kept, reported, noted",
    ),
];
const EFFORT: Effort = Effort {
    timed: 2_000_000,
    counted: 100_000,
};
const MTU: u64 = 1024;

/// Measures the parts and prints a table.
pub(crate) fn table() -> Outcome<()> {
    let counted = process::counts_instructions();
    let mut rows = vec![row(["", "ns", "instructions"])];
    for (name, what) in PARTS {
        rows.push(Cost::of(&format!("transport-{name}"), EFFORT, counted)?.row(what));
    }
    table::print(&title("packet in a queue pair", counted), &rows)
}

/// Repeats one of them and returns the user time in microseconds.
pub(crate) fn run(which: &str, operations: u64) -> Outcome<u64> {
    let write = Operation::Write(Remote::default());
    let read = Operation::Read(Remote::default());
    match which {
        "send-write" => send(write, operations),
        "send-send" => send(Operation::Send, operations),
        "take-write" => take(Opcode::RcWriteFirst, Opcode::RcWriteMiddle, operations),
        "take-send" => take(Opcode::RcSendFirst, Opcode::RcSendMiddle, operations),
        "acknowledge-write" => acknowledge(write, operations),
        "answer-read" => answer(operations),
        "hear-read" => hear(read, operations),
        "keep-write" => keep(operations),
        _ => Err("unknown part".into()),
    }
}

fn config() -> Config {
    Config {
        mtu: Bytes::new(MTU),
        ack_interval: 16,
        ..Config::default()
    }
}

/// A requester with one message of so many packets, and one more that is never reached.
fn requester(config: &Config, operation: Operation, packets: u64) -> Requester {
    let mut requester = Requester::new(config, Psn::new(0));
    let length = Bytes::new((packets + 1) * MTU);
    requester.post(config, WorkRequest::new(1, operation, length));
    requester
}

fn send(operation: Operation, operations: u64) -> Outcome<u64> {
    let config = config();
    let mut requester = requester(&config, operation, operations);
    let before = process::user_us()?;
    for _ in 0..operations {
        black_box(requester.poll_transmit(&config, Time::ZERO));
    }
    Ok(process::user_us()? - before)
}

/// A packet without extension headers.
const fn plain(opcode: Opcode, number: u64, payload: u64) -> Packet {
    Packet {
        opcode,
        psn: Psn::new(number as u32),
        payload: Bytes::new(payload),
        ack_request: number.is_multiple_of(16),
        solicited: false,
        selective: false,
        extension: Extension::None,
    }
}

/// The first packet of a message of so many packets.
const fn first(opcode: Opcode, packets: u64) -> Packet {
    let extension = match opcode {
        Opcode::RcSendFirst => Extension::None,
        _ => Extension::Remote {
            remote: Remote { address: 0, key: 0 },
            length: Bytes::new((packets + 2) * MTU),
            immediate: None,
        },
    };
    Packet {
        extension,
        ..plain(opcode, 0, MTU)
    }
}

fn take(begin: Opcode, middle: Opcode, operations: u64) -> Outcome<u64> {
    let config = config();
    let mut responder = Responder::new(&config, Psn::new(0));
    let mut take = |packet: &Packet| {
        let (memory, receives) = (&mut Unchecked, &mut Unchecked);
        black_box(responder.on_packet(&config, Time::ZERO, packet, memory, receives));
    };
    take(&first(begin, operations));
    let before = process::user_us()?;
    for number in 1..=operations {
        take(&plain(middle, number, MTU));
    }
    Ok(process::user_us()? - before)
}

const fn aeth() -> Extension {
    Extension::Acknowledge(Aeth {
        syndrome: Syndrome::ACK,
        msn: 0,
    })
}

const fn acknowledgement(number: u64) -> Packet {
    Packet {
        extension: aeth(),
        ..plain(Opcode::RcAcknowledge, number, 0)
    }
}

const fn response(number: u64) -> Packet {
    plain(Opcode::RcReadResponseMiddle, number, MTU)
}

fn acknowledge(operation: Operation, operations: u64) -> Outcome<u64> {
    let config = config();
    let mut requester = requester(&config, operation, operations);
    let before = process::user_us()?;
    for number in 0..operations {
        black_box(requester.poll_transmit(&config, Time::ZERO));
        black_box(requester.on_packet(&config, Time::ZERO, &acknowledgement(number)));
    }
    Ok(process::user_us()? - before)
}

fn hear(operation: Operation, operations: u64) -> Outcome<u64> {
    let config = config();
    let mut requester = requester(&config, operation, operations);
    black_box(requester.poll_transmit(&config, Time::ZERO));
    let before = process::user_us()?;
    for number in 0..operations {
        black_box(requester.on_packet(&config, Time::ZERO, &response(number)));
    }
    Ok(process::user_us()? - before)
}

fn answer(operations: u64) -> Outcome<u64> {
    let config = config();
    let mut responder = Responder::new(&config, Psn::new(0));
    let read = first(Opcode::RcReadRequest, operations);
    let read = Packet {
        payload: Bytes::ZERO,
        ..read
    };
    let (memory, receives) = (&mut Unchecked, &mut Unchecked);
    responder.on_packet(&config, Time::ZERO, &read, memory, receives);
    let before = process::user_us()?;
    for _ in 0..operations {
        black_box(responder.poll_transmit(&config));
    }
    Ok(process::user_us()? - before)
}

/// Every 64th packet comes 63 packets late.
fn keep(operations: u64) -> Outcome<u64> {
    const WINDOW: u64 = 64;
    let config = Config {
        selective_window: 2 * WINDOW as u32,
        reorder_tolerance: WINDOW as u32,
        ..config()
    };
    let mut requester = requester(&config, Operation::Write(Remote::default()), operations);
    let mut responder = Responder::new(&config, Psn::new(0));
    let mut late = None;
    let before = process::user_us()?;
    for number in 0..operations {
        let outgoing = requester.poll_transmit(&config, Time::ZERO);
        let mut packet = outgoing.map(|outgoing| outgoing.packet);
        match number % WINDOW {
            1 => late = packet.take(),
            0 if number > 0 => {
                hand_over(&config, (&mut requester, &mut responder), late.take());
            }
            _ => {}
        }
        hand_over(&config, (&mut requester, &mut responder), packet);
    }
    Ok(process::user_us()? - before)
}

fn hand_over(
    config: &Config,
    (requester, responder): (&mut Requester, &mut Responder),
    packet: Option<Packet>,
) {
    let (memory, receives) = (&mut Unchecked, &mut Unchecked);
    let received =
        packet.map(|packet| responder.on_packet(config, Time::ZERO, &packet, memory, receives));
    if let Some(reply) = received.and_then(|received| received.reply) {
        black_box(requester.on_reply(config, Time::ZERO, &reply));
    }
}
