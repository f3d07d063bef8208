//! Execution traces of Chakra.

use std::collections::BTreeMap;

use fairlane_program::{Algorithm, Collective, Kind, LONGEST, Operation, Program, Work};
use fairlane_units::{Bytes, Duration};

use crate::{Error, order};

mod files;
mod groups;
mod node;
mod wire;

use files::{Entry, Files};
use groups::{Declared, Used};
use node::Node;

/// What is wrong with a node, and what to do.
type Wrong = (String, &'static str);

/// The stream of nodes that do nothing but have others wait.
const NOTHING: u32 = 0;
/// The stream of the host's computations.
const HOST: u32 = 1;
/// The first stream of the device's computations.
const DEVICE: u32 = 2;

/// Reads Chakra execution traces: a file for each rank, whose name ends in its number (`trace.0.et`), and perhaps one in JSON (`.json`) that says
/// which ranks are in which process group.
///
/// # Errors
/// For files that are missing, cut off or no execution traces; and for nodes that are there twice, wait for others that aren't there or for
/// themselves, lack what their type needs, name ranks or groups that there aren't, have sizes or times out of bounds, or are of a kind that isn't supported.
pub fn read(files: &[(&str, &[u8])]) -> Result<Program, Error> {
    let files = Files::new(files)?;
    let count = u32::try_from(files.traces.len())
        .map_err(|_| Error::new("files", "more than 2^32 ranks", ""))?;
    let mut used = Used::default();
    let mut ranks = Vec::new();
    for (rank, &(file, bytes)) in (0..count).zip(&files.traces) {
        let reader = Reader {
            file,
            rank,
            count,
            entries: files::entries(file, bytes)?,
            declared: files.groups.clone(),
            streams: BTreeMap::new(),
            numbers: BTreeMap::new(),
            used: &mut used,
        };
        ranks.push(reader.operations()?);
    }
    Ok(Program {
        ranks,
        groups: used.members,
    })
}

/// What turns the nodes of a rank into operations.
struct Reader<'a> {
    file: &'a str,
    rank: u32,
    /// How many ranks there are.
    count: u32,
    entries: Vec<Entry<'a>>,
    declared: Declared,
    /// Streams of the device by their number in the trace.
    streams: BTreeMap<i128, u32>,
    /// Groups that the rank has used, by name.
    numbers: BTreeMap<String, u32>,
    used: &'a mut Used,
}

impl Reader<'_> {
    fn operations(mut self) -> Result<Vec<Operation>, Error> {
        // A group can be used before the node that declares it.
        for entry in &self.entries {
            groups::add_of_node(&entry.node(self.file)?, &mut self.declared)
                .map_err(|wrong| self.error(entry.id, wrong))?;
        }
        let mut operations = Vec::new();
        for index in 0..self.entries.len() {
            let entry = &self.entries[index];
            let (id, node) = (entry.id, entry.node(self.file)?);
            let operation = self
                .operation(&node)
                .map_err(|wrong| self.error(id, wrong))?;
            operations.push(operation);
        }
        let Some(cycle) = order::cycle(&operations) else {
            return Ok(operations);
        };
        let names = cycle
            .iter()
            .map(|&it| format!("node {}", self.entries[it].id));
        let message = format!("{}: none of them begins", order::chain(names));
        let hint = "data_deps name what comes first";
        Err(self.error(self.entries[cycle[0]].id, (message, hint)))
    }

    fn error(&self, node: u64, (message, hint): Wrong) -> Error {
        Error::new(format!("{}: node {node}", self.file), message, hint)
    }

    fn operation(&mut self, node: &Node<'_>) -> Result<Operation, Wrong> {
        let mut after = Vec::new();
        for &id in &node.after {
            let found = self.entries.binary_search_by_key(&id, |it| it.id).ok();
            let index = found.and_then(|index| u32::try_from(index).ok());
            after.push(index.ok_or_else(|| {
                let message = format!("waits for node {id}, which isn't in the file");
                (message, "is the file whole?")
            })?);
        }
        after.sort_unstable();
        after.dedup();
        let (work, stream) = match node.kind {
            0 | 1 => (Work::Compute(Duration::ZERO), NOTHING),
            // What launches a collective on the host can be recorded as one too; that of the device follows it.
            5..=7 if node.is_launch() => (Work::Compute(time(node)?), HOST),
            2..=4 => (Work::Compute(time(node)?), self.stream(node)),
            5 | 6 => (self.message(node)?, NOTHING),
            7 => (Work::Collective(self.collective(node)?), NOTHING),
            kind => {
                let message = format!("is of type {kind}, expected 0 to 7");
                return Err((
                    message,
                    "types of nodes are those of NodeType in et_def.proto",
                ));
            }
        };
        Ok(Operation {
            work,
            after,
            after_start: Vec::new(),
            stream,
            nic: None,
            step: 0,
            name: node.name.clone(),
        })
    }

    fn stream(&mut self, node: &Node<'_>) -> u32 {
        if node.attributes.is_cpu_op.is_some_and(|it| it != 0) {
            return HOST;
        }
        let next = DEVICE + self.streams.len() as u32;
        let number = node.attributes.stream.unwrap_or_default();
        *self.streams.entry(number).or_insert(next)
    }

    fn message(&self, node: &Node<'_>) -> Result<Work, Wrong> {
        let it = &node.attributes;
        let src = ("comm_src", it.comm_src);
        let dst = ("comm_dst", it.comm_dst);
        let (own, other) = if node.kind == 5 {
            (src, dst)
        } else {
            (dst, src)
        };
        if let (name, Some(rank)) = own
            && rank != i128::from(self.rank)
        {
            let message = format!(
                "has {name} {rank}, expected {}, whose file it is",
                self.rank
            );
            return Err((
                message,
                "senders have COMM_SEND_NODEs, receivers COMM_RECV_NODEs",
            ));
        }
        let other = self.peer(other)?;
        let size = Bytes::new(size(node)?.get().max(1));
        let tag = within("comm_tag", it.comm_tag.unwrap_or_default(), u64::MAX)?;
        Ok(if node.kind == 5 {
            Work::Send {
                to: other,
                size,
                tag,
            }
        } else {
            Work::Receive {
                from: other,
                size,
                tag,
            }
        })
    }

    fn peer(&self, (name, rank): (&str, Option<i128>)) -> Result<u32, Wrong> {
        let hint = "ranks are counted from 0, and each has a file";
        let rank = rank.ok_or_else(|| lacks(name))?;
        let found = u32::try_from(rank).ok().filter(|it| *it < self.count);
        match found {
            Some(own) if own == self.rank => {
                let message = format!("has {name} {own}, itself, expected another rank");
                Err((message, "a COMP_NODE stands for a local copy"))
            }
            Some(rank) => Ok(rank),
            None => {
                let message = format!("has {name} {rank}, but there are {} ranks", self.count);
                Err((message, hint))
            }
        }
    }

    fn collective(&mut self, node: &Node<'_>) -> Result<Collective, Wrong> {
        let it = &node.attributes;
        if let Some(dimension) = it.leaves_out {
            let message = format!(
                "leaves out dimension {dimension} of the topology (involved_dim), expected all"
            );
            let hint = "a trace doesn't say which ranks make a dimension: name them as a process group (pg_name)";
            return Err((message, hint));
        }
        let name = it.pg_name.unwrap_or_default();
        let group = match self.numbers.get(name) {
            Some(&group) => group,
            None => {
                let group = self
                    .used
                    .number(name, &self.declared, self.rank, self.count)?;
                self.numbers.insert(name.to_owned(), group);
                group
            }
        };
        let members = self.used.members[group as usize].len() as u64;
        let root = || within("root", it.root.unwrap_or_default(), members - 1);
        // CollectiveCommType of et_def.proto.
        let kind = match it.comm_type.ok_or_else(|| lacks("comm_type"))? {
            0 => Kind::AllReduce,
            1 => Kind::Reduce {
                root: root()? as u32,
            },
            2 => Kind::AllGather,
            5 => Kind::Broadcast {
                root: root()? as u32,
            },
            6 => Kind::AllToAll,
            7 | 8 => Kind::ReduceScatter,
            9 => Kind::Barrier,
            other => {
                let name = match other {
                    3 => "GATHER".to_owned(),
                    4 => "SCATTER".to_owned(),
                    _ => format!("comm_type {other}"),
                };
                let hint = "all others of CollectiveCommType are: state it as sends and receives";
                return Err((format!("{name} isn't supported"), hint));
            }
        };
        // Traces have the size of what goes in at each member, which is a part where parts are gathered.
        let size = match kind {
            Kind::Barrier => Bytes::new(0),
            _ if size(node)?.is_zero() => {
                let message = format!("is {kind} with comm_size 0, expected at least 1 byte");
                let hint = "a trace of another version of the schema reads so: convert it; only barriers have no size";
                return Err((message, hint));
            }
            Kind::AllGather => {
                let part = size(node)?;
                let whole = i128::from(part.get()) * i128::from(members);
                Bytes::new(within("comm_size times members", whole, LONGEST.get())?)
            }
            _ => size(node)?,
        };
        Ok(Collective {
            kind,
            algorithm: Algorithm::Usual,
            group,
            size,
            parts: Vec::new(),
        })
    }
}

fn time(node: &Node<'_>) -> Result<Duration, Wrong> {
    let operations = node.attributes.num_ops.unwrap_or_default();
    if node.micros == 0 && operations > 0 {
        let message = format!("has {operations} operations (num_ops) and no duration_micros");
        let hint = "how fast a device computes isn't known here: state how long it takes";
        return Err((message, hint));
    }
    let time = node.micros.checked_mul(1_000_000).ok_or_else(|| {
        let message = format!("takes {} us, expected less than 213 days", node.micros);
        (message, "duration_micros is in microseconds")
    })?;
    Ok(Duration::from_ps(time))
}

fn size(node: &Node<'_>) -> Result<Bytes, Wrong> {
    let size = node
        .attributes
        .comm_size
        .ok_or_else(|| lacks("comm_size"))?;
    Ok(Bytes::new(within("comm_size", size, LONGEST.get())?))
}

fn within(name: &str, value: i128, most: u64) -> Result<u64, Wrong> {
    let found = u64::try_from(value).ok().filter(|it| *it <= most);
    found.ok_or_else(|| {
        let what = if value < 0 { "negative" } else { "too large" };
        let message = format!("has {name} {value}, which is {what}, expected 0 to {most}");
        (message, "")
    })
}

fn lacks(name: &str) -> Wrong {
    let message = format!("lacks the attribute {name}");
    (
        message,
        "nodes that communicate have comm_size; collectives comm_type, messages comm_dst or comm_src",
    )
}
