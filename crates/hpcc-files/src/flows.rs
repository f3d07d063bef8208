//! Messages as text, in the format of HPCC's simulator.
//!
//! Line 1: the number of messages. Then a line each: source, destination, class, destination port,
//! bytes, start in seconds, in order of start. ConWeave's simulator has no port.

use std::fmt::Write as _;

use fairlane_units::{Bytes, Decimal, Duration, Mistake};

use crate::Times;
use crate::lines::{Line, lines, shorten};
use crate::numbers;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who sends.
    pub source: u32,
    /// Who receives.
    pub destination: u32,
    /// How much.
    pub size: Bytes,
    /// When, from the start of the run.
    pub start: Duration,
    /// Traffic class, 1 to 7.
    pub class: u8,
    /// Destination port.
    pub destination_port: u16,
}

/// The format has 32 bits for sizes.
const LARGEST: Bytes = Bytes::new(u32::MAX as u64);

const FIELDS: &str = "SOURCE DESTINATION CLASS PORT BYTES START";
const CONWEAVE_FIELDS: &str = "SOURCE DESTINATION CLASS BYTES START";

/// Reads the messages of `text`, which messages call `file`. Starts are exact to the picosecond;
/// under [`Times::Ns3`] they are truncated to nanoseconds as ns-3 does.
///
/// # Errors
/// A malformed line, a count that disagrees with the lines, starts out of order, a message of no
/// bytes or to its sender: each with its line.
pub fn parse(text: &str, file: &str, times: Times) -> Result<Vec<Message>, Mistake> {
    parse_lines(text, file, |line| read(line, times))
}

/// Reads the messages of `text` in the format of ConWeave's simulator, whose lines have no port; all
/// get port 100. Starts are exact.
///
/// # Errors
/// As [`parse`].
pub fn parse_conweave(text: &str, file: &str) -> Result<Vec<Message>, Mistake> {
    parse_lines(text, file, |line| {
        let [source, destination, class, size, start] = line.fields(CONWEAVE_FIELDS)?;
        let port = "100";
        flow(
            line,
            [source, destination, class, port, size, start],
            Times::Exact,
        )
    })
}

/// The messages as text; reading it again under [`Times::Exact`] gives equal ones, as long as sizes are
/// below 4 GiB.
pub fn to_text(flows: &[Message]) -> String {
    const SECOND: u64 = 1_000_000_000_000;
    let mut text = format!("{}\n", flows.len());
    for flow in flows {
        let ps = flow.start.as_ps();
        let (seconds, rest) = (ps / SECOND, format!("{:012}", ps % SECOND));
        // Nanoseconds as that simulator's tools write them, and finer only where there is more.
        let (nanoseconds, finer) = rest.split_at(9);
        let finer = finer.trim_end_matches('0');
        let (source, destination, class) = (flow.source, flow.destination, flow.class);
        let (port, size) = (flow.destination_port, flow.size.get());
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "{source} {destination} {class} {port} {size} {seconds}.{nanoseconds}{finer}"
        );
    }
    text
}

fn parse_lines(
    text: &str,
    file: &str,
    read: impl Fn(&Line<'_>) -> Result<Message, Mistake>,
) -> Result<Vec<Message>, Mistake> {
    let mut rest = lines(text, file);
    let first = rest.next().ok_or_else(|| {
        Mistake::new(
            file,
            "empty, expected the number of messages",
            "is the file complete?",
        )
    })?;
    let [count] = first.fields("COUNT")?;
    let count: usize = first.whole(count, "the number of messages", "a whole number")?;
    let mut flows: Vec<Message> = Vec::new();
    for line in rest {
        if flows.len() == count {
            let message = format!(
                "the count in line {} is {count}, but more lines follow",
                first.number
            );
            return Err(line.error(message, "correct the count, or remove the lines"));
        }
        let flow = read(&line)?;
        if flows.last().is_some_and(|before| before.start > flow.start) {
            let message = "starts before the line above, expected ascending starts";
            return Err(line.error(message, "sort the lines by their last field"));
        }
        flows.push(flow);
    }
    if flows.len() != count {
        let message = format!("the count is {count}, but {} lines follow", flows.len());
        return Err(first.error(message, "correct the count, or is the file truncated?"));
    }
    Ok(flows)
}

/// The number of the first line behind the messages that line 1 counts, where those simulators stop reading; `None` if
/// there is none, or line 1 counts nothing.
pub fn behind(text: &str) -> Option<usize> {
    let mut rest = lines(text, "");
    let count = Decimal::read(rest.next()?.text)?.whole()?;
    let line = rest.nth(usize::try_from(count).ok()?)?;
    Some(line.number)
}

/// The messages of a flow file with single blanks, no blank lines and no units; numbers as they were.
pub fn normalize(text: &str) -> String {
    let mut normal = String::with_capacity(text.len());
    for line in lines(text, "") {
        for (i, field) in line.text.split_ascii_whitespace().enumerate() {
            if i > 0 {
                normal.push(' ');
            }
            let in_seconds = Decimal::split(field).is_some_and(|(_, unit)| unit == "s");
            let bare = field.strip_suffix('s').filter(|_| in_seconds);
            normal.push_str(bare.unwrap_or(field));
        }
        normal.push('\n');
    }
    normal
}

fn read(line: &Line<'_>, times: Times) -> Result<Message, Mistake> {
    let fields = line.fields(FIELDS).map_err(|error| {
        let conweave = line.text.split_ascii_whitespace().count() == 5;
        let hint = "ConWeave's lines have no port: insert one (100) after the class, or use `fairlane import conweave`";
        match conweave {
            true => Mistake::new(error.place, error.message, hint),
            false => error,
        }
    })?;
    flow(line, fields, times)
}

/// A message from the fields of a line.
fn flow(line: &Line<'_>, fields: [&str; 6], times: Times) -> Result<Message, Mistake> {
    let [source, destination, class, port, size, start] = fields;
    let flow = Message {
        source: line.whole(source, "the source", "a node number")?,
        destination: line.whole(destination, "the destination", "a node number")?,
        size: read_size(line, size)?,
        start: read_start(line, start, times)?,
        class: line.whole(class, "the class", "1 to 7")?,
        destination_port: line.whole(port, "the destination port", "0 to 65535")?,
    };
    if !(1..=7).contains(&flow.class) {
        let message = format!("the class is {}, expected 1 to 7", flow.class);
        return Err(line.error(message, "3 is usual; class 0 is for control"));
    }
    if flow.source == flow.destination {
        let message = format!("a message from node {source} to itself, expected two hosts");
        return Err(line.error(message, "remove the line, or correct a node"));
    }
    Ok(flow)
}

fn read_size(line: &Line<'_>, field: &str) -> Result<Bytes, Mistake> {
    let size = line.size(field, "the size", "bytes, 1 to 4294967295")?;
    if size.is_zero() {
        return Err(line.error("the size is 0, expected at least 1 byte", "remove the line"));
    }
    if size > LARGEST {
        let message = format!(
            "the size is {}, expected bytes, 1 to {}",
            size.get(),
            LARGEST.get()
        );
        return Err(line.error(message, "send several messages"));
    }
    Ok(size)
}

fn read_start(line: &Line<'_>, field: &str, times: Times) -> Result<Duration, Mistake> {
    numbers::start(field, times).ok_or_else(|| {
        let text = shorten(field);
        let message = format!("the start is \"{text}\", expected seconds such as 2.000001");
        line.error(
            message,
            "write seconds such as 2.000001 or 5e-05, below 213 days",
        )
    })
}
