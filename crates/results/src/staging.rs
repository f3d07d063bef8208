//! A result directory that exists only once it is complete.
//!
//! Files are written into `.NAME.partial-PID` beside the directory NAME that they are meant for, and
//! one rename at the end makes them appear. An error, a panic or a signal before that removes the
//! partial directory. A process that is killed outright leaves it behind, without the lock that it had on it, and the next one
//! that writes NAME removes it.

mod partial;

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;
use partial::{Partial, writers};

/// The directory under construction; removed when dropped before [`Staging::publish`].
#[derive(Debug)]
pub struct Staging {
    partial: Partial,
    former: PathBuf,
    target: PathBuf,
    replace: bool,
}

impl Staging {
    /// Prepares to write `target`, after checks that it may be written when the time comes.
    ///
    /// # Errors
    /// If `target` holds something and `force` is false, isn't a directory, is the current directory
    /// or one above it, or if its parent can't be written.
    pub fn begin(target: &Path, force: bool) -> Result<Self, Error> {
        let replace = occupied(target)?;
        if replace && !force {
            return Err(Error::at(target, "not empty")
                .hint("name a new directory, or replace the results in it with --force"));
        }
        let target = absolute(target)?;
        refuse_current(&target)?;
        let (parent, name) = split(&target)?;
        fs::create_dir_all(&parent).map_err(|error| Error::at(&parent, error))?;
        let taken = |others: bool| match others {
            true => Err(
                Error::at(&target, "another run is writing its results here")
                    .hint("wait for it, or name another directory"),
            ),
            false => Ok(()),
        };
        taken(!writers(&parent, &name)?.is_empty())?;
        let partial = Partial::directory(&parent, &name).map_err(|error| {
            Error::at(&parent, format!("can't create a directory here: {error}"))
                .hint("results are prepared beside the directory that --out names")
        })?;
        let former = parent.join(format!(".{name}.former-{}", std::process::id()));
        let staging = Self {
            partial,
            former,
            target: target.clone(),
            replace,
        };
        // Of two that begin at once, one goes on.
        taken(
            writers(&parent, &name)?
                .iter()
                .any(|other| *other < std::process::id()),
        )?;
        Ok(staging)
    }

    /// Whether there are results that would be replaced.
    pub fn replaces(&self) -> bool {
        self.replace
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        self.partial.path()
    }

    /// Makes the directory appear under its name and returns that name.
    ///
    /// Files of a replaced directory that aren't in `ours` move into the new one.
    ///
    /// # Errors
    /// If a rename fails; then the former directory is as it was.
    pub fn publish(mut self, ours: &[&str]) -> Result<PathBuf, Error> {
        if self.replace && occupied(&self.target)? {
            self.replace_target(ours)?;
        } else if occupied(&self.target)? {
            let (parent, name) = split(&self.target)?;
            let beside = parent.join(format!("{name}.results-{}", std::process::id()));
            rename(self.path(), &beside)?;
            self.partial.published();
            return Err(Error::new(format!(
                "{}: another program has written here in the meantime",
                self.target.display()
            ))
            .hint(format!("the results are in {}", beside.display())));
        } else {
            rename(self.path(), &self.target)?;
        }
        self.partial.published();
        Ok(self.target.clone())
    }

    fn replace_target(&self, ours: &[&str]) -> Result<(), Error> {
        rename(&self.target, &self.former)?;
        if let Err(failure) = rename(self.path(), &self.target) {
            rename(&self.former, &self.target)?;
            return Err(failure);
        }
        keep_foreign(&self.former, &self.target, ours)?;
        fs::remove_dir_all(&self.former).map_err(|error| Error::at(&self.former, error))
    }
}

/// Moves what isn't a result file from one directory to another.
fn keep_foreign(from: &Path, to: &Path, ours: &[&str]) -> Result<(), Error> {
    for entry in fs::read_dir(from).map_err(|error| Error::at(from, error))? {
        let name = entry.map_err(|error| Error::at(from, error))?.file_name();
        if !ours.iter().any(|known| name == **known) {
            rename(&from.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

/// Whether there is something at `path` that a new directory would displace.
fn occupied(path: &Path) -> Result<bool, Error> {
    match fs::read_dir(path) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            Err(Error::at(path, "not a directory").hint("--out names a directory"))
        }
        Err(error) => Err(Error::at(path, error)),
    }
}

/// The current directory can't be swapped for another one under the feet of the shell.
fn refuse_current(target: &Path) -> Result<(), Error> {
    let here = std::env::current_dir().map_err(|error| Error::at(Path::new("."), error))?;
    if target.exists() && here.starts_with(target) {
        return Err(
            Error::at(target, "is the current directory or one above it")
                .hint("name a directory inside it, such as --out results"),
        );
    }
    Ok(())
}

/// `path` from the root, with symbolic links of what exists resolved.
fn absolute(path: &Path) -> Result<PathBuf, Error> {
    if let Ok(resolved) = path.canonicalize() {
        return Ok(resolved);
    }
    if path.symlink_metadata().is_ok() {
        return Err(Error::at(path, "a symbolic link that leads nowhere"));
    }
    std::path::absolute(path).map_err(|error| Error::at(path, error))
}

fn split(target: &Path) -> Result<(PathBuf, String), Error> {
    match (target.parent(), target.file_name()) {
        (Some(parent), Some(name)) => {
            Ok((parent.to_path_buf(), name.to_string_lossy().into_owned()))
        }
        _ => Err(Error::at(target, "not a name for a directory")
            .hint("name a directory inside it, such as --out results")),
    }
}

fn rename(from: &Path, to: &Path) -> Result<(), Error> {
    fs::rename(from, to).map_err(|error| {
        Error::at(
            from,
            format!("can't be renamed to {}: {error}", to.display()),
        )
    })
}

/// Writes a single file so that it is there whole or as it was before, whatever happens meanwhile.
///
/// # Errors
/// If it can't be written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    replace_with(path, |out| {
        out.write_all(bytes).map_err(|error| Error::at(path, error))
    })
}

/// Writes a single file with what `fill` writes, so that it is there whole or as it was before.
///
/// # Errors
/// If the file can't be written, or `fill` fails.
pub fn replace_with<E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let name = path
        .file_name()
        .ok_or_else(|| Error::at(path, "not a name for a file"))?;
    let parent = path.parent().unwrap_or_else(|| Path::new(""));
    let (mut partial, file) = Partial::file(parent, &name.to_string_lossy()).map_err(|error| {
        Error::at(path, error).hint("name a file in a folder that exists and can be written")
    })?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    let ended = out
        .flush()
        .and_then(|()| out.get_ref().sync_all())
        .and_then(|()| fs::rename(partial.path(), path));
    ended.map_err(|error| E::from(Error::at(path, error)))?;
    partial.published();
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        let entries = fs::read_dir(directory).unwrap();
        let mut names: Vec<_> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn appears_only_when_published() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("deep/out");
        let staging = Staging::begin(&target, false).unwrap();
        fs::write(staging.path().join("a"), "1").unwrap();
        assert!(!target.exists());
        staging.publish(&["a"]).unwrap();
        assert_eq!(names(&target), ["a"]);
        assert_eq!(names(&root.path().join("deep")), ["out"]);
    }

    #[test]
    fn a_panic_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("out");
        let result = std::panic::catch_unwind(|| {
            let staging = Staging::begin(&target, false).unwrap();
            fs::write(staging.path().join("a"), "1").unwrap();
            panic!("in the middle of a run");
        });
        assert!(result.is_err());
        assert_eq!(names(root.path()), [""; 0]);
    }

    #[test]
    fn force_replaces_results_and_keeps_other_files() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("out");
        fs::create_dir(&target).unwrap();
        fs::write(target.join("a"), "old").unwrap();
        fs::write(target.join("b"), "old result that the new run doesn't have").unwrap();
        fs::write(target.join("notes"), "mine").unwrap();
        let staging = Staging::begin(&target, true).unwrap();
        fs::write(staging.path().join("a"), "new").unwrap();
        assert_eq!(fs::read_to_string(target.join("a")).unwrap(), "old");
        staging.publish(&["a", "b"]).unwrap();
        assert_eq!(names(&target), ["a", "notes"]);
        assert_eq!(fs::read_to_string(target.join("a")).unwrap(), "new");
        assert_eq!(names(root.path()), ["out"]);
    }

    #[test]
    fn a_directory_filled_in_the_meantime_is_not_overwritten() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("out");
        let staging = Staging::begin(&target, false).unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(target.join("theirs"), "1").unwrap();
        fs::write(staging.path().join("a"), "mine").unwrap();
        assert!(staging.publish(&[]).is_err());
        assert_eq!(names(&target), ["theirs"]);
        let beside = format!("out.results-{}", std::process::id());
        assert_eq!(names(root.path()), ["out", &beside]);
        assert_eq!(names(&root.path().join(beside)), ["a"]);
    }

    #[test]
    fn a_directory_is_reserved_from_the_start() {
        let root = tempfile::tempdir().unwrap();
        let target = root.path().join("out");
        let other = root.path().join(".out.partial-1");
        fs::create_dir(&other).unwrap();
        // A process that runs has the lock.
        let lock = File::open(&other).unwrap();
        lock.lock().unwrap();
        let taken = Staging::begin(&target, false).unwrap_err();
        assert!(taken.message.contains("another run"), "{taken:?}");
        assert_eq!(names(root.path()), [".out.partial-1"]);
    }

    #[test]
    fn what_killed_processes_have_left_is_removed_by_the_next_one() {
        let root = tempfile::tempdir().unwrap();
        // Process 1 lives, and has no lock; there is no process of the highest number.
        for name in [".out.partial-1", ".out.partial-2147483647"] {
            fs::create_dir(root.path().join(name)).unwrap();
            fs::write(root.path().join(name).join("a"), "half").unwrap();
        }
        fs::create_dir(root.path().join(".other.partial-1")).unwrap();
        fs::write(root.path().join(".a.csv.partial-1"), "half").unwrap();
        let staging = Staging::begin(&root.path().join("out"), false).unwrap();
        staging.publish(&[]).unwrap();
        replace(&root.path().join("a.csv"), b"whole").unwrap();
        assert_eq!(names(root.path()), [".other.partial-1", "a.csv", "out"]);
    }

    #[test]
    fn a_file_is_whole_or_as_before() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("a");
        replace(&path, b"old").unwrap();
        let failed: Result<(), Error> = replace_with(&path, |out| {
            out.write_all(b"half").unwrap();
            Err(Error::new("in the middle"))
        });
        assert_eq!(failed.unwrap_err().message, "in the middle");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        replace(&path, b"new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(names(root.path()), ["a"]);
        let missing = replace(&root.path().join("missing/a"), b"new").unwrap_err();
        assert!(missing.hint.is_some());
    }
}
