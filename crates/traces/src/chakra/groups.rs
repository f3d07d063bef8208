//! Which ranks communicate with each other.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::node::Node;
use crate::Error;

/// Process groups by name; no ranks means all.
pub(super) type Declared = BTreeMap<String, Vec<u32>>;

/// What PyTorch records of a process group.
#[derive(Deserialize)]
struct Recorded {
    pg_name: String,
    #[serde(default)]
    ranks: Vec<u32>,
}

/// Groups of a file that has nothing else: a JSON object of lists of ranks.
pub(super) fn of_file(file: &str, bytes: &[u8]) -> Result<Declared, Error> {
    // Some editors begin a file with a byte order mark.
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice(text).map_err(|error| {
        let place = format!("{file}:{}:{}", error.line(), error.column());
        let message = format!("{error}, expected groups");
        Error::new(place, message, r#"for example {"1": [0, 1], "2": [2, 3]}"#)
    })
}

/// Adds the groups that a node declares, if it is one that does.
pub(super) fn add_of_node(
    node: &Node<'_>,
    groups: &mut Declared,
) -> Result<(), (String, &'static str)> {
    if !node.name.contains("process_group") || node.inputs.is_empty() {
        return Ok(());
    }
    // The list is a string in a list of Python: ['[{"pg_name": ...}]'].
    let ends = |byte: &u8| *byte == b'[' || *byte == b']';
    let inner = node
        .inputs
        .get(1..node.inputs.len() - 1)
        .unwrap_or_default();
    let first = inner.iter().position(ends).unwrap_or_default();
    let last = inner.iter().rposition(ends).unwrap_or_default();
    let list = inner.get(first..=last).unwrap_or_default();
    let recorded: Vec<Recorded> = serde_json::from_slice(list).map_err(|error| {
        let message = format!("has inputs that aren't process groups: {error}");
        (
            message,
            r#"they are such as ['[{"pg_name": "1", "ranks": [0, 1]}]']"#,
        )
    })?;
    groups.extend(recorded.into_iter().map(|it| (it.pg_name, it.ranks)));
    Ok(())
}

/// The groups that collectives of all ranks have used.
#[derive(Default)]
pub(super) struct Used {
    /// The ranks of each.
    pub(super) members: Vec<Vec<u32>>,
    /// By name and ranks: the same name can mean others in the file of another rank.
    numbers: BTreeMap<(String, Vec<u32>), u32>,
}

impl Used {
    /// The number of a group of `count` ranks, as `rank` calls it.
    pub(super) fn number(
        &mut self,
        name: &str,
        declared: &Declared,
        rank: u32,
        count: u32,
    ) -> Result<u32, (String, &'static str)> {
        let ranks = match declared.get(name) {
            Some(ranks) => ranks.clone(),
            None if is_default(name) => Vec::new(),
            None => {
                let message = format!("names the process group \"{name}\", which isn't declared");
                let hint = "give its ranks in a process_group node, or in one file of JSON beside the traces; of several, name the one in `path`";
                return Err((message, hint));
            }
        };
        let ranks = if ranks.is_empty() {
            (0..count).collect()
        } else {
            check(name, &ranks, rank, count)?;
            ranks
        };
        let all = is_default(name) && ranks.len() == count as usize;
        let key = (if all { "" } else { name }.to_owned(), ranks);
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        let number = u32::try_from(self.members.len())
            .map_err(|_| ("is in more than 2^32 groups".to_owned(), ""))?;
        self.members.push(key.1.clone());
        self.numbers.insert(key, number);
        Ok(number)
    }
}

/// Whether a group of this name has all ranks unless declared otherwise, as in ASTRA-sim.
fn is_default(name: &str) -> bool {
    name.is_empty() || name == "0"
}

fn check(name: &str, ranks: &[u32], rank: u32, count: u32) -> Result<(), (String, &'static str)> {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    if let Some(pair) = twice {
        let message = format!("the process group \"{name}\" has rank {} twice", pair[0]);
        return Err((message, "name each rank once"));
    }
    if let Some(unknown) = sorted.last().filter(|last| **last >= count) {
        let message =
            format!("the process group \"{name}\" has rank {unknown}, but there are {count} ranks");
        return Err((message, "is a file missing? there is one for each rank"));
    }
    if sorted.binary_search(&rank).is_err() {
        let message = format!("rank {rank} isn't in its process group \"{name}\"");
        return Err((message, "a collective is in the files of all members"));
    }
    Ok(())
}
