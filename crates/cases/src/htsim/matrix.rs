//! Connection matrices: who sends how much to whom, and when or after what.
//!
//! A head of counts (`Nodes`, `Connections`, `Triggers`), then a line for each connection and trigger:
//!
//! ```text
//! 0->1 id 1 start 0 size 2000000 send_done_trigger 1
//! 1->2 id 2 trigger 1 size 2000000
//! trigger id 1 oneshot
//! ```

use std::collections::BTreeMap;

use fairlane_hpcc_files::lines::{Line, lines, shorten};
use fairlane_scenario::Error;
use fairlane_units::{Bytes, Decimal, Time};

/// A connection matrix.
pub(super) struct Matrix {
    pub(super) nodes: u32,
    pub(super) connections: Vec<Connection>,
    /// By number.
    pub(super) triggers: BTreeMap<u64, Trigger>,
    /// Whether connections have priorities.
    pub(super) has_priorities: bool,
}

/// One connection, which has one message.
pub(super) struct Connection {
    /// The place of its line.
    pub(super) place: String,
    pub(super) source: u32,
    pub(super) destination: u32,
    pub(super) size: Bytes,
    pub(super) begins: Begin,
    /// The trigger that is fired when the sender, and when the receiver has all of the message behind it.
    pub(super) fires: [Option<u64>; 2],
}

/// When a connection begins.
#[derive(Clone, Copy)]
pub(super) enum Begin {
    At(Time),
    /// When this trigger fires.
    On(u64),
}

/// What others wait for.
pub(super) struct Trigger {
    pub(super) place: String,
    /// How many must fire it, if that is stated: a barrier.
    pub(super) count: Option<u64>,
}

const HEAD: &str = "the head has `Nodes N`, `Connections N` and `Triggers N`";

impl Matrix {
    /// Reads `text`, which messages call `file`.
    pub(super) fn parse(text: &str, file: &str) -> Result<Self, Error> {
        let mut reader = Reader::default();
        for line in lines(text, file) {
            if !line.text.starts_with('#') {
                reader.read(line)?;
            }
        }
        reader.finish(file)
    }
}

/// What has been read so far.
#[derive(Default)]
struct Reader<'a> {
    /// By their name, the counts of the head and where they are.
    counts: BTreeMap<&'static str, (u64, Option<Line<'a>>)>,
    connections: Vec<Connection>,
    triggers: BTreeMap<u64, Trigger>,
    has_priorities: bool,
}

const COUNTS: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];

impl<'a> Reader<'a> {
    fn read(&mut self, line: Line<'a>) -> Result<(), Error> {
        let mut words = line.text.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some(ends) = first.split_once("->") {
            let connection = self.connection(&line, ends)?;
            self.connections.push(connection);
            return Ok(());
        }
        match first {
            "trigger" => self.trigger(&line),
            "failure" => Err(line.error(
                "failures aren't imported, expected connections and triggers",
                "remove the line, and state the link in the scenario: faults.link",
            )),
            _ => self.count(line, first),
        }
    }

    fn count(&mut self, line: Line<'a>, first: &str) -> Result<(), Error> {
        let Some(name) = COUNTS.into_iter().find(|name| *name == first) else {
            let message = format!("\"{}\", expected a connection such as 0->1", shorten(first));
            return Err(line.error(message, HEAD));
        };
        let [_, count] = line.fields(&format!("{name} COUNT"))?;
        let count = line.whole(count, "the count", "a whole number")?;
        if self.counts.contains_key(name) {
            return Err(line.error(
                format!("{name} a second time"),
                "remove one of the two lines",
            ));
        }
        self.counts.insert(name, (count, Some(line)));
        Ok(())
    }

    fn connection(&mut self, line: &Line<'_>, ends: (&str, &str)) -> Result<Connection, Error> {
        let node = |field| line.whole(field, "a node", "a node number");
        let (source, destination) = (node(ends.0)?, node(ends.1)?);
        let nodes = self.counts.get("Nodes").map_or(0, |(count, _)| *count);
        for node in [source, destination] {
            if u64::from(node) >= nodes {
                let message =
                    format!("node {node} doesn't exist, expected below {nodes} (`Nodes`)");
                return Err(line.error(message, "nodes are numbered from 0"));
            }
        }
        if source == destination {
            let message = format!("a connection from node {source} to itself, expected two nodes");
            return Err(line.error(message, "remove the line, or correct a node"));
        }
        let mut read = Attributes::default();
        let mut words = line.text.split_ascii_whitespace().skip(1);
        while let Some(word) = words.next() {
            read.take(line, word, &mut words)?;
        }
        self.has_priorities |= read.has_priority;
        let begins = match (read.start, read.trigger) {
            (Some(start), None) => Begin::At(start),
            (None, Some(trigger)) => Begin::On(trigger),
            (start, _) => {
                let found = match start {
                    Some(_) => "has both `start` and `trigger`",
                    None => "has neither `start` nor `trigger`",
                };
                let message = format!("{found}, expected one of them");
                return Err(line.error(message, "write `start 0`, or `trigger N`"));
            }
        };
        let size = read.size.ok_or_else(|| {
            line.error("has no `size`, expected its bytes", "write `size 2000000`")
        })?;
        Ok(Connection {
            place: line.place(),
            source,
            destination,
            size,
            begins,
            fires: read.fires,
        })
    }

    fn trigger(&mut self, line: &Line<'_>) -> Result<(), Error> {
        let (mut id, mut kind, mut count) = (None, None, None);
        let mut words = line.text.split_ascii_whitespace().skip(1);
        while let Some(word) = words.next() {
            match word {
                "id" => id = Some(number(line, word, words.next())?),
                "count" => count = Some(number(line, word, words.next())?),
                "oneshot" | "multishot" | "barrier" => kind = Some(word),
                _ => {
                    let message = format!("\"{}\", expected id, count or a kind", shorten(word));
                    return Err(line.error(message, "kinds are oneshot, multishot and barrier"));
                }
            }
        }
        let (Some(id), Some(kind)) = (id, kind) else {
            let message = "a trigger without id or kind, expected both";
            return Err(line.error(message, "for example `trigger id 1 oneshot`"));
        };
        let count = match kind {
            "barrier" => Some(count.ok_or_else(|| {
                let message = "a barrier without count, expected how many must fire it";
                line.error(message, "for example `trigger id 1 barrier count 4`")
            })?),
            _ => None,
        };
        let place = line.place();
        match self.triggers.insert(id, Trigger { place, count }) {
            None => Ok(()),
            Some(before) => {
                let message = format!("trigger {id} is also at {}, expected once", before.place);
                Err(line.error(message, "remove one of the two lines"))
            }
        }
    }

    fn finish(self, file: &str) -> Result<Matrix, Error> {
        let found = [self.connections.len(), self.triggers.len(), 0];
        for (name, found) in COUNTS.into_iter().skip(1).zip(found) {
            let stated = self.counts.get(name);
            let count = stated.map_or(0, |(count, _)| *count);
            if count != found as u64 {
                let message = format!("{name} is {count}, but {found} are there");
                let hint = "correct the count, or is the file truncated?";
                let line = stated.and_then(|(_, line)| line.as_ref());
                return Err(match line {
                    Some(line) => line.error(message, hint),
                    None => Error::new(file, message, hint),
                });
            }
        }
        if self.connections.is_empty() {
            let message = "no connection, expected one or more";
            return Err(Error::new(
                file,
                message,
                "write `0->1 start 0 size 2000000`",
            ));
        }
        let nodes = self.counts.get("Nodes");
        let nodes = nodes.and_then(|(count, _)| u32::try_from(*count).ok().filter(|it| *it > 0));
        let nodes = nodes
            .ok_or_else(|| Error::new(file, "no number of nodes, expected `Nodes N`", HEAD))?;
        Ok(Matrix {
            nodes,
            connections: self.connections,
            triggers: self.triggers,
            has_priorities: self.has_priorities,
        })
    }
}

/// What stands behind the nodes of a connection.
#[derive(Default)]
struct Attributes {
    start: Option<Time>,
    trigger: Option<u64>,
    size: Option<Bytes>,
    fires: [Option<u64>; 2],
    has_priority: bool,
}

impl Attributes {
    fn take<'a>(
        &mut self,
        line: &Line<'_>,
        word: &str,
        rest: &mut impl Iterator<Item = &'a str>,
    ) -> Result<(), Error> {
        match word {
            // Picoseconds, perhaps with a point.
            "start" => {
                let field = rest.next().unwrap_or_default();
                let start = Decimal::read(field).and_then(|number| number.rounded(1));
                let start = start.ok_or_else(|| {
                    let message = format!("start is \"{}\", expected picoseconds", shorten(field));
                    line.error(message, "write `start 0`")
                })?;
                self.start = Some(Time::from_ps(start));
            }
            "size" => {
                self.size = Some(line.size(rest.next().unwrap_or_default(), "size", "bytes")?)
            }
            "trigger" => self.trigger = Some(number(line, word, rest.next())?),
            "send_done_trigger" => self.fires[0] = Some(number(line, word, rest.next())?),
            "recv_done_trigger" => self.fires[1] = Some(number(line, word, rest.next())?),
            "id" => drop(number(line, word, rest.next())?),
            "prio" => {
                number(line, word, rest.next())?;
                self.has_priority = true;
            }
            _ => {
                let message = format!("unknown attribute \"{}\"", shorten(word));
                let hint = "connections have id, start, size, trigger, send_done_trigger, recv_done_trigger and prio";
                return Err(line.error(message, hint));
            }
        }
        Ok(())
    }
}

fn number(line: &Line<'_>, name: &str, field: Option<&str>) -> Result<u64, Error> {
    line.whole(field.unwrap_or_default(), name, "a whole number")
}
