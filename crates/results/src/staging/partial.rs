//! Directories and files under construction. The process that makes one has a lock on it, which ends with the process however that
//! ends, so that one without a lock is nobody's.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;

/// A directory or file under construction; removed when dropped, unless it was published.
#[derive(Debug)]
pub(super) struct Partial {
    path: PathBuf,
    /// Its lock.
    _lock: File,
    published: bool,
}

impl Partial {
    /// Makes the directory `.NAME.partial-PID`.
    pub(super) fn directory(parent: &Path, name: &str) -> io::Result<Self> {
        let make = |path: &Path| {
            fs::create_dir(path)?;
            File::open(path)
        };
        Ok(Self::make(parent, name, &make)?.0)
    }

    /// Makes the file `.NAME.partial-PID`, and removes those of others that were killed.
    pub(super) fn file(parent: &Path, name: &str) -> io::Result<(Self, File)> {
        // Several processes may replace one file: the last one wins.
        let _ = writers(parent, name);
        Self::make(parent, name, &|path| File::create(path))
    }

    /// Makes something with `make` under another name, and gives it its own when it is locked.
    fn make(
        parent: &Path,
        name: &str,
        make: &dyn Fn(&Path) -> io::Result<File>,
    ) -> io::Result<(Self, File)> {
        let process = std::process::id();
        let new = parent.join(format!("{}{process}", prefix(name, NEW)));
        let path = parent.join(format!("{}{process}", prefix(name, PARTIAL)));
        loop {
            let file = make(&new)?;
            match file.lock() {
                Err(error) if error.kind() != io::ErrorKind::Unsupported => return Err(error),
                _ => {}
            }
            match fs::rename(&new, &path) {
                Ok(()) => {
                    let lock = file.try_clone()?;
                    let partial = Self {
                        path,
                        _lock: lock,
                        published: false,
                    };
                    return Ok((partial, file));
                }
                // Another process has taken it, which had no lock yet, for one of nobody.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes note that it is where it was meant for.
    pub(super) const fn published(&mut self) {
        self.published = true;
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        if !self.published {
            // Its name already says that it is incomplete.
            let _ = remove(&self.path);
        }
    }
}

/// What is under construction.
const PARTIAL: &str = "partial";
/// What isn't locked yet.
const NEW: &str = "new";

/// What names of a kind begin with, before the number of the process.
fn prefix(name: &str, kind: &str) -> String {
    format!(".{name}.{kind}-")
}

/// Processes that write something called `name`, which have a lock on it; what others have left is removed.
pub(super) fn writers(parent: &Path, name: &str) -> Result<Vec<u32>, Error> {
    let prefixes = [PARTIAL, NEW].map(|kind| prefix(name, kind));
    // An empty path is the current directory.
    let folder = match parent.as_os_str().is_empty() {
        true => Path::new("."),
        false => parent,
    };
    let entries = fs::read_dir(folder).map_err(|error| Error::at(folder, error))?;
    let process = |entry: &fs::DirEntry| {
        let name = entry.file_name();
        let mut numbers = prefixes
            .iter()
            .filter_map(|prefix| name.to_str()?.strip_prefix(prefix));
        numbers.next()?.parse::<u32>().ok()
    };
    let found = entries.flatten();
    let found = found.filter_map(|entry| Some((process(&entry)?, entry.path())));
    let written = found.filter(|(_, path)| !remove_if_left(path));
    Ok(written.map(|(process, _)| process).collect())
}

/// Removes something without a lock; says whether it is gone.
fn remove_if_left(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return !path.exists();
    };
    match file.try_lock() {
        Ok(()) => remove(path).is_ok(),
        Err(TryLockError::WouldBlock) => false,
        // A file system without locks: somebody may be writing.
        Err(TryLockError::Error(_)) => false,
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match path.is_dir() {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    }
}
