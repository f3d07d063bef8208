//! Records in a folder, which survive whatever happens to the process: a journal that is only appended to.
//!
//! Each line is on the disk before the next run's is written. A line that was cut off, by a kill or a full disk,
//! is no record: its run is run again. Locks keep two sweeps out of one folder.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::sweep::Sweep;
use crate::sweep::key::digest;
use crate::sweep::record::Record;

/// The name of the journal.
pub const JOURNAL: &str = "runs.jsonl";

/// Whether a folder of another sweep may become that of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extend {
    /// The folder becomes this sweep's: runs that both have aren't run again.
    Yes,
    /// The folder is refused.
    No,
}

/// The records of a sweep.
#[derive(Debug, Default)]
pub struct Store {
    /// Nothing, if they are kept for this process alone.
    journal: Option<Journal>,
    records: BTreeMap<String, Record>,
}

#[derive(Debug)]
struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes that are whole lines.
    length: u64,
}

/// The journal's first line, and what begins it anew.
#[derive(Debug, Deserialize, PartialEq, Serialize)]
struct Header {
    sweep: String,
    title: String,
    runs: usize,
    metrics: Vec<String>,
    curves: Vec<String>,
}

impl Header {
    fn of(sweep: &Sweep) -> Self {
        let keys: Vec<_> = sweep.runs().iter().map(|run| run.key.clone()).collect();
        Self {
            sweep: digest(&keys),
            title: sweep.title.clone(),
            runs: sweep.runs().len(),
            metrics: sweep.metrics().map(str::to_owned).collect(),
            curves: sweep.curves().map(str::to_owned).collect(),
        }
    }
}

impl Store {
    /// Keeps records in memory, without a folder.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Gives the folder free for others; records stay in memory.
    pub fn release(&mut self) {
        self.journal = None;
    }

    /// Opens the folder of a sweep, or makes it.
    ///
    /// # Errors
    /// If it belongs to another sweep or to something else, is in use, or can't be written.
    pub fn open(folder: &Path, sweep: &Sweep, extend: Extend) -> Result<Self, Error> {
        let path = folder.join(JOURNAL);
        refuse_foreign(folder, &path)?;
        fs::create_dir_all(folder).map_err(|error| at(folder, &error))?;
        if path.exists() && !path.is_file() {
            let message = format!("{}: not a file", path.display());
            return Err(Error::new(message, "name another directory with --out"));
        }
        let options = File::options()
            .read(true)
            .append(true)
            .create(true)
            .open(&path);
        let mut file = options.map_err(|error| at(&path, &error))?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let message = format!("{}: another sweep is at work here", folder.display());
            return Err(Error::new(
                message,
                "wait for it, or name another directory",
            ));
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)
            .map_err(|error| at(&path, &error))?;
        let whole = bytes
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |last| last + 1);
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        let mut journal = Journal {
            path,
            file,
            length: whole as u64,
        };
        let mut store = Self::in_memory();
        let known = store.take_in(&text);
        let is_ours = known.is_some() || (whole == 0 && begins_header(&bytes));
        if !is_ours {
            return Err(foreign(&journal.path));
        }
        let header = Header::of(sweep);
        let is_same = known
            .as_ref()
            .is_some_and(|known| known.sweep == header.sweep);
        if let Some(known) = known.filter(|_| !is_same && extend == Extend::No) {
            return Err(another(folder, &known, &header));
        }
        // Not before it is known to be ours.
        journal.cut()?;
        store.journal = Some(journal);
        if !is_same {
            store.append(&serde_json::to_string(&header).unwrap_or_default())?;
        }
        sync_folder(folder)?;
        Ok(store)
    }

    /// Reads the lines of a journal and returns its last header.
    fn take_in(&mut self, text: &str) -> Option<Header> {
        let mut header = None;
        for line in text.lines() {
            if let Ok(record) = serde_json::from_str::<Record>(line) {
                self.records.insert(record.key.clone(), record);
            } else if let Ok(found) = serde_json::from_str(line) {
                header = Some(found);
            }
        }
        header
    }

    /// Keeps a record; once this returns, nothing loses it.
    ///
    /// # Errors
    /// If it can't be written; what was kept before stays.
    pub fn add(&mut self, record: Record) -> Result<(), Error> {
        self.append(&record.to_json()?)?;
        self.records.insert(record.key.clone(), record);
        Ok(())
    }

    fn append(&mut self, line: &str) -> Result<(), Error> {
        let Some(journal) = &mut self.journal else {
            return Ok(());
        };
        let kept = self.records.len();
        journal.append(line).map_err(|error| {
            let hint = format!(
                "{kept} runs are kept and aren't run again: make room, then run the same command"
            );
            Error::new(format!("{}: {error}", journal.path.display()), hint)
        })
    }

    /// The record of each run of a sweep, if there is one.
    pub fn records(&self, sweep: &Sweep) -> Vec<Option<Record>> {
        let record = |key: &String| self.records.get(key).cloned();
        sweep.runs().iter().map(|run| record(&run.key)).collect()
    }

    /// Runs of a sweep without a record. Of runs that are the same, the first.
    pub fn missing(&self, sweep: &Sweep) -> Vec<usize> {
        let mut seen = std::collections::BTreeSet::new();
        let mut is_missing =
            |key: &str| !self.records.contains_key(key) && seen.insert(key.to_owned());
        let runs = sweep.runs().iter().enumerate();
        runs.filter(|(_, run)| is_missing(&run.key))
            .map(|(number, _)| number)
            .collect()
    }
}

impl Journal {
    /// Appends a line; once this returns, it is on the disk.
    fn append(&mut self, line: &str) -> std::io::Result<()> {
        let line = format!("{line}\n");
        let written = self
            .file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.sync_data());
        if written.is_err() {
            // What a full disk took in of the line; a later `open` cuts it off as well.
            let _ = self.cut();
            return written;
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Cuts off what isn't a whole line.
    fn cut(&mut self) -> Result<(), Error> {
        let cut = self.file.set_len(self.length);
        let end = cut.and_then(|()| self.file.seek(SeekFrom::End(0)));
        end.map(|_| ()).map_err(|error| at(&self.path, &error))
    }
}

/// A folder that holds something, but no journal, isn't ours to write into.
fn refuse_foreign(folder: &Path, journal: &Path) -> Result<(), Error> {
    let entries = match fs::read_dir(folder) {
        Ok(mut entries) => entries.next().is_some(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => false,
        Err(error) => return Err(at(folder, &error)),
    };
    if entries && !journal.exists() {
        let message = format!(
            "{}: not empty, and not the folder of a sweep",
            folder.display()
        );
        return Err(Error::new(message, "name a new directory with --out"));
    }
    Ok(())
}

/// Whether a file without a whole line may be a journal whose first line was cut off.
fn begins_header(bytes: &[u8]) -> bool {
    const BEGINNING: &[u8] = b"{\"sweep\":\"";
    let length = bytes.len().min(BEGINNING.len());
    bytes[..length] == BEGINNING[..length]
}

/// A file with a journal's name that isn't one.
fn foreign(path: &Path) -> Error {
    let message = format!("{}: not the journal of a sweep", path.display());
    Error::new(message, "name a new directory with --out")
}

fn another(folder: &Path, known: &Header, asked: &Header) -> Error {
    let what = if known.metrics != asked.metrics || known.curves != asked.curves {
        "measures something else"
    } else if known.runs != asked.runs {
        "has other runs"
    } else {
        "has another scenario, other values or another version of fairlane"
    };
    let message = format!(
        "{}: holds another sweep, \"{}\" of {} runs, which {what}",
        folder.display(),
        known.title,
        known.runs
    );
    let hint = "name another directory with --out, or make it this sweep's with --extend: runs that both have aren't run again";
    Error::new(message, hint)
}

/// A new file's name is on the disk once its folder is.
fn sync_folder(folder: &Path) -> Result<(), Error> {
    let synced = File::open(folder).and_then(|file| file.sync_all());
    // Not every file system has that.
    synced.or_else(|error| match error.kind() {
        std::io::ErrorKind::InvalidInput | std::io::ErrorKind::Unsupported => Ok(()),
        _ => Err(at(folder, &error)),
    })
}

fn at(path: &Path, error: &std::io::Error) -> Error {
    let hint = match error.kind() {
        std::io::ErrorKind::NotADirectory => "--out names a directory",
        _ => "",
    };
    Error::new(format!("{}: {error}", path.display()), hint)
}
