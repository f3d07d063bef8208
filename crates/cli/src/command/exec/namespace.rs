//! A mount namespace in which a program sees devices where a kernel would have them.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use fairlane_softnic::sysfs::PLACES;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::{Uid, getgid, getuid};

/// What fails, and how.
#[derive(Debug)]
pub(crate) struct Refused {
    what: &'static str,
    error: io::Error,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.what, self.error)
    }
}

/// Names what is done if it fails.
fn doing<T>(what: &'static str, result: Result<T, impl Into<io::Error>>) -> Result<T, Refused> {
    result.map_err(|error| Refused {
        what,
        error: error.into(),
    })
}

/// Moves this process into a mount namespace of its own, in which the folders of a tree are at their [places](PLACES). It stays the user
/// that it is; all else of `/sys` and `/dev` stays as it is.
///
/// # Errors
/// If the kernel doesn't let it. Folders are as they were then; of users but root the process may be in a user namespace.
pub(crate) fn enter(tree: &Path) -> Result<(), Refused> {
    let is_root = Uid::effective().is_root();
    let flags = match is_root {
        true => CloneFlags::CLONE_NEWNS,
        // Whoever isn't root may mount in a user namespace.
        false => CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWUSER,
    };
    let (user, group) = (getuid(), getgid());
    doing("new namespaces", unshare(flags))?;
    if !is_root {
        doing("setgroups", fs::write("/proc/self/setgroups", "deny"))?;
        doing(
            "uid_map",
            fs::write("/proc/self/uid_map", format!("{user} {user} 1")),
        )?;
        doing(
            "gid_map",
            fs::write("/proc/self/gid_map", format!("{group} {group} 1")),
        )?;
    }
    // What is mounted outside later is seen here, and not the other way round.
    let slave = MsFlags::MS_SLAVE | MsFlags::MS_REC;
    doing(
        "mounts",
        mount(None::<&str>, "/", None::<&str>, slave, None::<&str>),
    )?;
    for around in ["sys/class", "dev"] {
        let here = PLACES
            .iter()
            .filter(|place| Path::new(place).parent() == Some(Path::new(around)));
        let here: Vec<&str> = here.copied().collect();
        doing("folders of devices", cover(tree, around, &here))?;
    }
    Ok(())
}

/// Puts a folder of the same entries over one, in which some are those of the tree: nothing can be made in one of the kernel's.
fn cover(tree: &Path, around: &str, places: &[&str]) -> io::Result<()> {
    let covered = Path::new("/").join(around);
    // The folder is hidden from now on; its entries are reached by its descriptor.
    let open = File::open(&covered)?;
    let before = PathBuf::from(format!("/proc/self/fd/{}", open.as_raw_fd()));
    let kind = Some("tmpfs");
    // As folders of the kernel: a sticky one of another user would refuse to open files with O_CREAT.
    mount(kind, &covered, kind, MsFlags::MS_NOSUID, Some("mode=755"))?;
    let filled = fill(&covered, &before, tree, places);
    if filled.is_err() {
        umount2(&covered, MntFlags::MNT_DETACH)?;
    }
    filled
}

fn fill(covered: &Path, before: &Path, tree: &Path, places: &[&str]) -> io::Result<()> {
    let root = Path::new("/");
    for entry in fs::read_dir(before)? {
        let entry = entry?;
        let to = covered.join(entry.file_name());
        if places.iter().any(|place| root.join(place) == to) {
            continue;
        }
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, to)?;
        } else {
            bind(&entry.path(), &to, kind.is_dir())?;
        }
    }
    for place in places {
        bind(&tree.join(place), &root.join(place), true)?;
    }
    Ok(())
}

fn bind(from: &Path, to: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        fs::create_dir(to)?;
    } else {
        File::create(to)?;
    }
    // With all that is mounted below: the kernel shows no part of what is hidden there.
    let flags = MsFlags::MS_BIND | MsFlags::MS_REC;
    Ok(mount(Some(from), to, None::<&str>, flags, None::<&str>)?)
}
