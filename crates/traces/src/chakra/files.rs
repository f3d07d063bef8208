//! Which file is whose, and the messages in it.

use std::collections::BTreeMap;

use super::groups::{self, Declared};
use super::node::{self, Node};
use super::wire::{Bytes, Fault, Value};
use crate::Error;

/// Files of execution traces, in the order of their ranks.
pub(super) struct Files<'a> {
    pub(super) traces: Vec<(&'a str, &'a [u8])>,
    /// Groups of the file that has nothing else.
    pub(super) groups: Declared,
}

impl<'a> Files<'a> {
    /// Finds whose file each is, by the number that ends its name.
    pub(super) fn new(files: &[(&'a str, &'a [u8])]) -> Result<Self, Error> {
        let (mut traces, mut groups) = (BTreeMap::new(), None);
        for &(name, bytes) in files {
            if plain(name).ends_with(".json") {
                if groups.replace(groups::of_file(name, bytes)?).is_some() {
                    let message = "a second file of JSON, expected one at most";
                    let hint = "name all process groups in one";
                    return Err(Error::new(name, message, hint));
                }
                continue;
            }
            let rank = rank(name).ok_or_else(|| {
                let message = "no number at the end of the name, expected the rank";
                Error::new(name, message, "for example \"trace.0.et\"")
            })?;
            if let Some((first, _)) = traces.insert(rank, (name, bytes)) {
                let message = format!("a second file of rank {rank}, {first} is one too");
                return Err(Error::new(name, message, "give the files of one trace"));
            }
        }
        let missing = (0u32..)
            .zip(traces.keys())
            .find(|(wanted, it)| wanted != *it);
        let hint = "give the file of every rank, counted from 0";
        if let Some((wanted, found)) = missing {
            let message =
                format!("the file of rank {wanted} is missing, that of rank {found} is there");
            return Err(Error::new("files", message, hint));
        }
        if traces.is_empty() {
            return Err(Error::new("files", "no file of any rank", hint));
        }
        Ok(Self {
            traces: traces.into_values().collect(),
            groups: groups.unwrap_or_default(),
        })
    }
}

/// A name without the ending of gzipped files.
fn plain(name: &str) -> &str {
    name.strip_suffix(".gz").unwrap_or(name)
}

/// The number at the end of a name, without its extension.
fn rank(name: &str) -> Option<u32> {
    let name = plain(name);
    let stem = match name.rsplit_once('.') {
        Some((stem, extension)) if extension.parse::<u32>().is_err() => stem,
        _ => name,
    };
    let digits = stem.trim_end_matches(|it: char| it.is_ascii_digit()).len();
    stem[digits..].parse().ok()
}

/// A node that isn't read yet.
pub(super) struct Entry<'a> {
    pub(super) id: u64,
    body: Bytes<'a>,
}

impl<'a> Entry<'a> {
    pub(super) fn node(&self, file: &str) -> Result<Node<'a>, Error> {
        Node::read(self.body).map_err(|fault| broken(file, fault))
    }
}

/// The nodes of a file, by ascending number: so do simulators issue those that wait for nothing.
pub(super) fn entries<'a>(file: &str, bytes: &'a [u8]) -> Result<Vec<Entry<'a>>, Error> {
    if bytes.starts_with(&[0x1f, 0x8b, 8]) {
        let message = "compressed, expected a Chakra execution trace";
        return Err(Error::new(file, message, "decompress it with gunzip"));
    }
    let mut entries = messages(bytes).map_err(|fault| broken(file, fault))?;
    entries.sort_by_key(|entry| entry.id);
    let twice = entries.windows(2).find(|pair| pair[0].id == pair[1].id);
    if let Some([first, second]) = twice {
        let place = format!("{file}: node {}", first.id);
        let (first, second) = (first.body.at, second.body.at);
        let message = format!("is there twice, at byte {first} and at byte {second}");
        let hint = "numbers of nodes are unique in a file";
        return Err(Error::new(place, message, hint));
    }
    Ok(entries)
}

fn broken(file: &str, fault: Fault) -> Error {
    let hint = "is the file whole, and a Chakra execution trace? those have GlobalMetadata and then Nodes, each behind its length";
    Error::new(format!("{file}: byte {}", fault.at), fault.message, hint)
}

/// Goes over the messages of a file.
fn messages(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Fault> {
    let mut rest = Bytes { rest: bytes, at: 0 };
    if rest.is_empty() {
        return Err(rest.fault("an empty file, expected GlobalMetadata"));
    }
    let mut metadata = rest.delimited()?;
    loop {
        let start = metadata;
        match metadata.field()? {
            None => break,
            // `version` and `attr`; a node has its number in field 1.
            Some((1 | 2, Value::Bytes(_)) | (3.., _)) => {}
            Some((number, _)) => {
                let message = format!("field {number} has another type than GlobalMetadata's");
                return Err(start.fault(message));
            }
        }
    }
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let body = rest.delimited()?;
        if body.is_empty() {
            return Err(body.fault("an empty message, expected a Node"));
        }
        let id = node::id(body)?;
        entries.push(Entry { id, body });
    }
    Ok(entries)
}
