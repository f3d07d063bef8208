//! The traffic of a connection matrix: messages that start at stated times as a flow file, messages that wait for others as a GOAL
//! schedule, in which every node is a rank.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use fairlane_hpcc_files::flows::Message;
use fairlane_scenario::{Error, LARGEST_MESSAGE};
use fairlane_units::{Bytes, Duration, Time};

use super::matrix::{Begin, Connection, Matrix};

/// The class of all messages, which is usual for RDMA.
const CLASS: u8 = 3;
/// Their port, that of ordinary messages.
const PORT: u16 = 100;

/// Whether messages wait for others.
pub(super) fn has_order(matrix: &Matrix) -> bool {
    let waits = |it: &Connection| matches!(it.begins, Begin::On(_));
    matrix.connections.iter().any(waits)
}

/// The messages of a matrix without order, by start.
pub(super) fn messages(matrix: &Matrix, notes: &mut Vec<String>) -> Result<Vec<Message>, Error> {
    let sizes = sizes(matrix, notes)?;
    let message = |(it, size): (&Connection, Bytes)| Message {
        source: it.source,
        destination: it.destination,
        size,
        start: start(it),
        class: CLASS,
        destination_port: PORT,
    };
    let mut all: Vec<Message> = matrix.connections.iter().zip(sizes).map(message).collect();
    all.sort_by_key(|it| it.start);
    Ok(all)
}

fn start(it: &Connection) -> Duration {
    match it.begins {
        Begin::At(start) => start - Time::ZERO,
        Begin::On(_) => Duration::ZERO,
    }
}

/// The size of each message; that of endless ones is the largest.
fn sizes(matrix: &Matrix, notes: &mut Vec<String>) -> Result<Vec<Bytes>, Error> {
    let mut endless = 0;
    let mut sizes = Vec::with_capacity(matrix.connections.len());
    for it in &matrix.connections {
        if it.size > LARGEST_MESSAGE {
            let message = format!(
                "size is {}, expected at most {}",
                it.size.get(),
                LARGEST_MESSAGE.get()
            );
            return Err(Error::new(
                it.place.as_str(),
                message,
                "make several connections of it",
            ));
        }
        endless += u32::from(it.size.is_zero());
        sizes.push(if it.size.is_zero() {
            LARGEST_MESSAGE
        } else {
            it.size
        });
    }
    if endless > 0 {
        notes.push(format!(
            "{endless} connections of size 0 send without end: each has a message of {} bytes, the largest; say in `stop` when the run ends",
            LARGEST_MESSAGE.get()
        ));
    }
    Ok(sizes)
}

/// The GOAL schedule of a matrix with order.
pub(super) fn schedule(matrix: &Matrix, notes: &mut Vec<String>) -> Result<String, Error> {
    let sizes = sizes(matrix, notes)?;
    let mut ranks: Vec<String> = vec![String::new(); matrix.nodes as usize];
    let mut rounded = 0;
    // Writing to strings can't fail.
    for (number, (it, size)) in matrix.connections.iter().zip(sizes).enumerate() {
        let (size, tag) = (size.get(), number);
        let sender = &mut ranks[it.source as usize];
        let _ = writeln!(
            sender,
            "m{number}: send {size}b to {} tag {tag}",
            it.destination
        );
        let start = start(it).as_ps();
        if start > 0 {
            rounded += u32::from(!start.is_multiple_of(1000));
            // Computations of different streams don't wait for each other.
            let _ = writeln!(
                sender,
                "s{number}: calc {} cpu {number}\nm{number} requires s{number}",
                start.div_ceil(1000)
            );
        }
        let receiver = &mut ranks[it.destination as usize];
        let _ = writeln!(
            receiver,
            "m{number}: recv {size}b from {} tag {tag}",
            it.source
        );
    }
    if rounded > 0 {
        notes.push(format!(
            "{rounded} starts are rounded up to nanoseconds, the unit of schedules"
        ));
    }
    Order {
        matrix,
        ranks: &mut ranks,
        told: BTreeSet::new(),
        other_end: 0,
    }
    .add(notes)?;
    let mut text = format!("num_ranks {}\n", matrix.nodes);
    for (rank, statements) in ranks.iter().enumerate() {
        let _ = write!(text, "\nrank {rank} {{\n{statements}}}\n");
    }
    Ok(text)
}

/// What adds to a schedule who waits for whom.
struct Order<'a> {
    matrix: &'a Matrix,
    ranks: &'a mut [String],
    /// Trigger, and the nodes from and to which a message says that it is fired.
    told: BTreeSet<(u64, u32, u32)>,
    /// How many waits are for the other end's part of a message.
    other_end: u32,
}

impl Order<'_> {
    fn add(mut self, notes: &mut Vec<String>) -> Result<(), Error> {
        // By trigger, the connections that fire it, and whether that is the receiver's end.
        let mut fired: BTreeMap<u64, Vec<(usize, bool)>> = BTreeMap::new();
        for (number, it) in self.matrix.connections.iter().enumerate() {
            for (trigger, receives) in it.fires.into_iter().zip([false, true]) {
                if let Some(trigger) = trigger {
                    self.check(it, trigger)?;
                    fired.entry(trigger).or_default().push((number, receives));
                }
            }
        }
        for (number, it) in self.matrix.connections.iter().enumerate() {
            if let Begin::On(trigger) = it.begins {
                self.check(it, trigger)?;
                let by = fired.get(&trigger).map_or(&[][..], Vec::as_slice);
                self.check_count(it, trigger, by.len())?;
                for &(before, receives) in by {
                    self.wait(number, before, receives, trigger);
                }
            }
        }
        if self.other_end > 0 {
            notes.push(format!(
                "{} waits are for the other end of a message than stated: for its arrival where the sender's end is stated, or the reverse, half a round trip apart",
                self.other_end
            ));
        }
        if !self.told.is_empty() {
            notes.push(format!(
                "triggers are told to other hosts by {} messages of 1 byte, where htsim tells them at once",
                self.told.len()
            ));
        }
        Ok(())
    }

    fn check(&self, it: &Connection, trigger: u64) -> Result<(), Error> {
        match self.matrix.triggers.contains_key(&trigger) {
            true => Ok(()),
            false => {
                let message = format!("names trigger {trigger}, which isn't described");
                let hint =
                    format!("add `trigger id {trigger} oneshot`, and count it in `Triggers`");
                Err(Error::new(it.place.as_str(), message, hint))
            }
        }
    }

    /// Whether all who fire a trigger must have done so before it counts.
    fn check_count(&self, it: &Connection, trigger: u64, fired_by: usize) -> Result<(), Error> {
        let described = &self.matrix.triggers[&trigger];
        let (place, hint) = match (described.count, fired_by) {
            (_, 0) => (
                &it.place,
                "name it as send_done_trigger or recv_done_trigger of a connection",
            ),
            (None, 1) => return Ok(()),
            (None, _) => (
                &described.place,
                "let one connection fire it, or make it a barrier of all",
            ),
            (Some(count), fired_by) if count == fired_by as u64 => return Ok(()),
            (Some(_), _) => (
                &described.place,
                "let the count be that of the connections which fire it",
            ),
        };
        let wanted = described
            .count
            .map_or_else(|| "one".to_owned(), |count| count.to_string());
        let message =
            format!("trigger {trigger} is fired by {fired_by} connections, expected {wanted}");
        Err(Error::new(place.as_str(), message, hint))
    }

    /// Lets the message `number` wait for the message `before`.
    fn wait(&mut self, number: usize, before: usize, receives: bool, trigger: u64) {
        let (it, first) = (
            &self.matrix.connections[number],
            &self.matrix.connections[before],
        );
        let (own, other) = match receives {
            true => (first.destination, first.source),
            false => (first.source, first.destination),
        };
        if [own, other].contains(&it.source) {
            self.other_end += u32::from(own != it.source);
            let _ = writeln!(
                self.ranks[it.source as usize],
                "m{number} requires m{before}"
            );
            return;
        }
        // Of messages between the same two nodes, the first carries the trigger of all.
        let tag = self.matrix.connections.len() as u64 + trigger;
        let (says, hears) = (
            format!("t{trigger}to{}", it.source),
            format!("t{trigger}from{own}"),
        );
        if self.told.insert((trigger, own, it.source)) {
            let _ = writeln!(
                self.ranks[own as usize],
                "{says}: send 1b to {} tag {tag}",
                it.source
            );
            let _ = writeln!(
                self.ranks[it.source as usize],
                "{hears}: recv 1b from {own} tag {tag}"
            );
        }
        let _ = writeln!(self.ranks[own as usize], "{says} requires m{before}");
        let _ = writeln!(self.ranks[it.source as usize], "m{number} requires {hears}");
    }
}
