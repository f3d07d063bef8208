//! A result directory that exists only once it is complete.
//!
//! Files are written into `.NAME.partial-PID` beside the directory NAME that they are meant for, and
//! one rename at the end makes them appear. An error, a panic or a signal before that removes the
//! partial directory; a process that is killed outright leaves it behind under its telltale name.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// The directory under construction; removed when dropped before [`Staging::publish`].
#[derive(Debug)]
pub struct Staging {
    partial: PathBuf,
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
        let partial = parent.join(format!(".{name}.partial-{}", std::process::id()));
        let taken = |others: bool| match others {
            true => Err(
                Error::at(&target, "another run is writing its results here")
                    .hint("wait for it, or name another directory"),
            ),
            false => Ok(()),
        };
        taken(writers(&parent, &name)?.next().is_some())?;
        fs::create_dir(&partial).map_err(|error| {
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
        taken(writers(&parent, &name)?.any(|other| other < std::process::id()))?;
        Ok(staging)
    }

    /// Whether there are results that would be replaced.
    pub fn replaces(&self) -> bool {
        self.replace
    }

    /// Where to write.
    pub fn path(&self) -> &Path {
        &self.partial
    }

    /// Makes the directory appear under its name and returns that name.
    ///
    /// Of a directory that is replaced, files that aren't in `ours` move into the new one.
    ///
    /// # Errors
    /// If a rename fails; then the former directory is as it was.
    pub fn publish(mut self, ours: &[&str]) -> Result<PathBuf, Error> {
        if self.replace && occupied(&self.target)? {
            self.replace_target(ours)?;
        } else if occupied(&self.target)? {
            let (parent, name) = split(&self.target)?;
            let beside = parent.join(format!("{name}.results-{}", std::process::id()));
            rename(&self.partial, &beside)?;
            self.partial = PathBuf::new();
            return Err(Error::new(format!(
                "{}: another program has written here in the meantime",
                self.target.display()
            ))
            .hint(format!("the results are in {}", beside.display())));
        } else {
            rename(&self.partial, &self.target)?;
        }
        self.partial = PathBuf::new();
        Ok(self.target.clone())
    }

    fn replace_target(&self, ours: &[&str]) -> Result<(), Error> {
        rename(&self.target, &self.former)?;
        if let Err(failure) = rename(&self.partial, &self.target) {
            rename(&self.former, &self.target)?;
            return Err(failure);
        }
        keep_foreign(&self.former, &self.target, ours)?;
        fs::remove_dir_all(&self.former).map_err(|error| Error::at(&self.former, error))
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.partial.as_os_str().is_empty() {
            // The directory's name already says that it is incomplete.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

/// Other processes that prepare results for a directory and haven't ended.
fn writers(parent: &Path, name: &str) -> Result<impl Iterator<Item = u32>, Error> {
    let prefix = format!(".{name}.partial-");
    let entries = fs::read_dir(parent).map_err(|error| Error::at(parent, error))?;
    let number = move |entry: std::io::Result<fs::DirEntry>| {
        let name = entry.ok()?.file_name();
        name.to_str()?.strip_prefix(&prefix)?.parse::<u32>().ok()
    };
    let others = entries.filter_map(number);
    Ok(others.filter(|&other| other != std::process::id() && is_alive(other)))
}

/// Whether a process runs; one of somebody else does, too.
fn is_alive(process: u32) -> bool {
    let Ok(process) = i32::try_from(process) else {
        return false;
    };
    let asked = nix::sys::signal::kill(nix::unistd::Pid::from_raw(process), None);
    asked != Err(nix::errno::Errno::ESRCH)
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

/// The same with what `fill` writes.
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
    let name = format!(".{}.partial-{}", name.to_string_lossy(), std::process::id());
    let partial = path.with_file_name(name);
    let file = File::create(&partial).map_err(|error| {
        Error::at(path, error).hint("name a file in a folder that exists and can be written")
    })?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let done = fill(&mut out).and_then(|()| {
        let ended = out
            .flush()
            .and_then(|()| out.get_ref().sync_all())
            .and_then(|()| fs::rename(&partial, path));
        ended.map_err(|error| E::from(Error::at(path, error)))
    });
    if done.is_err() {
        // The failure that is already on its way says more than one about the temporary file.
        let _ = fs::remove_file(&partial);
    }
    done
}

#[cfg(test)]
mod tests {
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
        // The parent of this process lives, and there is no process of the highest number.
        for (process, taken) in [
            (std::os::unix::process::parent_id(), true),
            (i32::MAX as u32, false),
        ] {
            let other = root.path().join(format!(".out.partial-{process}"));
            fs::create_dir(&other).unwrap();
            assert_eq!(Staging::begin(&target, false).is_err(), taken, "{process}");
            fs::remove_dir(&other).unwrap();
        }
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
