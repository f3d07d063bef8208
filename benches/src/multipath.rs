//! A chunk of a multipath connection: split off, given to a path, completed; and taken at the other end.

use std::collections::VecDeque;
use std::hint::black_box;
use std::sync::Arc;

use fairlane_multipath::{
    BalancerKind, Completion, Connection, LimiterKind, Opening, Operation, Reassembler, Remote,
    Request, Segment, Settings, Transfer,
};
use fairlane_units::{Bytes, Duration, Time};

use crate::micro::{Cost, Effort, title};
use crate::table::{self, row};
use crate::{Outcome, process};

const PATHS: usize = 8;
const EFFORT: Effort = Effort {
    timed: 4_000_000,
    counted: 100_000,
};

/// Measures every balancer and the receiving end, and prints a table.
pub(crate) fn table() -> Outcome<()> {
    let counted = process::counts_instructions();
    let mut rows = vec![row(["", "ns", "instructions"])];
    for balancer in BalancerKind::ALL {
        let cost = Cost::of(&format!("multipath-{balancer}"), EFFORT, counted)?;
        rows.push(cost.row(&format!("chunk given out and completed, {balancer}")));
    }
    let cost = Cost::of("multipath-adaptive", EFFORT, counted)?;
    rows.push(cost.row("the same with limiter adaptive, completion"));
    let cost = Cost::of("multipath-small", EFFORT, counted)?;
    rows.push(cost.row("message of one chunk posted, given out, completed, reported"));
    let cost = Cost::of("multipath-receive", EFFORT, counted)?;
    rows.push(cost.row("chunk of a stream taken, every other one late"));
    table::print(&title("chunk of a connection with 8 paths", counted), &rows)
}

/// Repeats one of them and returns the user time in microseconds.
pub(crate) fn run(which: &str, operations: u64) -> Outcome<u64> {
    match which {
        "receive" => receive(operations),
        "small" => small(operations),
        "adaptive" => {
            let settings = Settings {
                limiter: LimiterKind::Adaptive,
                ..Settings::default()
            };
            chunks(settings, operations)
        }
        _ => {
            let mut kinds = BalancerKind::ALL.into_iter();
            let balancer = kinds
                .find(|kind| kind.name() == which)
                .ok_or("no such balancer")?;
            let settings = Settings {
                balancer,
                ..Settings::default()
            };
            chunks(settings, operations)
        }
    }
}

fn open(settings: Settings) -> Outcome<Connection> {
    let opening = Opening {
        paths: PATHS,
        ..Opening::default()
    };
    Connection::new(Arc::new(settings), &opening).map_err(|error| error.to_string().into())
}

fn post(connection: &mut Connection, now: Time, address: u64, size: u64) -> Outcome<()> {
    let memory = [Segment {
        address: 0,
        length: size,
        key: 0,
    }];
    let request = Request::new(Operation::Write(Remote { address, key: 0 }), &memory);
    connection
        .post(now, &request)
        .map_err(|refusal| refusal.to_string())?;
    Ok(())
}

/// One message of very many chunks; as many are completed as are in flight.
fn chunks(settings: Settings, operations: u64) -> Outcome<u64> {
    let mut connection = open(settings)?;
    post(&mut connection, Time::ZERO, 0, 1 << 50)?;
    let mut posted = VecDeque::new();
    let mut now = Time::ZERO;
    let before = process::user_us()?;
    let mut done = 0;
    while done < operations {
        while let Some(chunk) = connection.poll_chunk(now) {
            posted.push_back(chunk.tag);
        }
        let tag = posted.pop_front().ok_or("nothing is in flight")?;
        now += Duration::from_us(5);
        connection.on_completion(now, tag, &Completion::DELIVERED);
        if let Some(event) = connection.poll_event() {
            return Err(format!("{event:?}").into());
        }
        done += 1;
    }
    black_box(&connection);
    Ok(process::user_us()? - before)
}

/// Messages of one chunk, 16 at a time.
fn small(operations: u64) -> Outcome<u64> {
    let mut connection = open(Settings::default())?;
    let mut posted = VecDeque::new();
    let mut now = Time::ZERO;
    let before = process::user_us()?;
    for number in 0..operations {
        post(&mut connection, now, number % 64 * 4096, 4096)?;
        if number % 16 != 15 {
            continue;
        }
        while connection.outstanding() > 0 {
            while let Some(chunk) = connection.poll_chunk(now) {
                posted.push_back(chunk.tag);
            }
            if let Some(tag) = posted.pop_front() {
                now += Duration::from_us(5);
                connection.on_completion(now, tag, &Completion::DELIVERED);
            }
            while let Some(event) = connection.poll_event() {
                black_box(event);
            }
        }
    }
    Ok(process::user_us()? - before)
}

/// Chunks of 1 MiB messages whose order is changed in pairs.
fn receive(operations: u64) -> Outcome<u64> {
    const CHUNK: u64 = 64 << 10;
    const TOTAL: u64 = 16 * CHUNK;
    let mut receiver = Reassembler::new(Arc::new(Settings::default()));
    let memory = Segment {
        address: 0,
        length: TOTAL,
        key: 0,
    };
    let before = process::user_us()?;
    for number in 0..operations {
        if number % 16 == 0 {
            receiver
                .post_receive(memory, 0)
                .ok_or("receives are full")?;
        }
        let transfer = Transfer {
            id: number / 16,
            total: TOTAL,
            offset: ((number % 16) ^ 1) * CHUNK,
        };
        let placed = receiver.on_transfer(&transfer, Bytes::new(CHUNK).get());
        black_box(placed.map_err(|error| error.to_string())?);
        black_box(receiver.poll_arrived());
    }
    Ok(process::user_us()? - before)
}
