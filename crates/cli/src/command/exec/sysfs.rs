//! Where a program finds its devices in `/sys/class/infiniband`, `/sys/class/infiniband_verbs` and `/dev/infiniband`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use fairlane_softnic::Settings;
use fairlane_softnic::address;
use fairlane_softnic::sysfs::{Tree, VARIABLE};
use nix::unistd::Uid;

use super::namespace;
use crate::args::Sysfs;
use crate::failure::Failure;
use crate::libraries;
use crate::print;

const HINT: &str = "`fairlane exec --sysfs none` starts it without";

/// Shows a program its devices' folders, in the asked way; `addresses` is the value of FAIRLANE_ADDRESS that it will have. Returns the library
/// that it must load before all others, if it needs one.
///
/// # Errors
/// If the asked way can't be gone. Where any way will do, what stands in the way is a warning.
pub(crate) fn show(
    command: &mut Command,
    asked: Sysfs,
    addresses: Option<&str>,
) -> Result<Option<PathBuf>, Failure> {
    let result = match asked {
        Sysfs::None => return Ok(None),
        _ => tree(addresses).and_then(|tree| way(command, asked, &tree)),
    };
    match (result, asked) {
        (Ok(library), _) => Ok(library),
        (Err(why), Sysfs::Auto) => {
            print::say(format_args!(
                "warning: programs that look into /sys/class/infiniband will find nothing: {why}\nhint: {HINT} and this line"
            ));
            Ok(None)
        }
        (Err(why), _) => Err(Failure::new(format!("--sysfs: {why}")).hint(HINT)),
    }
}

fn way(command: &mut Command, asked: Sysfs, tree: &Tree) -> Result<Option<PathBuf>, String> {
    // Whoever was started by `fairlane exec` at the same addresses has them already.
    let has_them = std::env::var_os(VARIABLE).is_some_and(|own| own == tree.folder());
    command.env(VARIABLE, tree.folder());
    if has_them {
        return Ok(None);
    }
    let enter = || namespace::enter(tree.folder()).map_err(|refused| refused.to_string());
    if asked == Sysfs::Namespace {
        return enter().map(|()| None);
    }
    // A user namespace can't be left again: only root can do without a trial, which takes some time.
    let may_enter = || Uid::effective().is_root() || namespaces().is_ok();
    if asked == Sysfs::Auto && may_enter() && enter().is_ok() {
        return Ok(None);
    }
    let library = libraries::folder().join(libraries::SYSFS);
    if !library.exists() {
        return Err(format!("{}: there is no such library", library.display()));
    }
    Ok(Some(library))
}

/// Whether a process here can have a mount namespace; if not, why. Another process tries, since one that has failed halfway isn't what it
/// was.
pub(crate) fn namespaces() -> Result<(), String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut trial = Command::new(&own);
    trial
        .args(["exec", "--sysfs", "namespace", "--"])
        .arg(&own)
        .arg("--version");
    trial.env_remove(VARIABLE);
    let output = trial.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().next().unwrap_or("it ended by a signal");
    Err(line
        .trim_start_matches("error: ")
        .trim_start_matches("--sysfs: ")
        .to_owned())
}

/// The tree of these addresses, with a device for each.
fn tree(addresses: Option<&str>) -> Result<Tree, String> {
    let devices = address::foresee(addresses)?;
    let folder = folder(addresses).map_err(|error| error.to_string())?;
    let tree = Tree::new(&folder);
    let listed = tree.list(&devices, &Settings::of_environment());
    listed.map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(tree)
}

/// A folder for a user's trees. Those of a network namespace and of what names addresses are one, as processes that share a device of a kernel
/// share its counters.
fn folder(addresses: Option<&str>) -> io::Result<PathBuf> {
    let around = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let around = around.filter(|folder| folder.is_dir());
    let user = Uid::effective();
    let own = around
        .unwrap_or_else(std::env::temp_dir)
        .join(format!("fairlane-{user}"));
    make_own(&own, user)?;
    let namespace = fs::metadata("/proc/self/ns/net")?.ino();
    let name = addresses.unwrap_or("interfaces").replace('/', "-");
    Ok(own.join(namespace.to_string()).join(name))
}

/// Makes a folder where anybody could have made one of the same name.
fn make_own(folder: &Path, user: Uid) -> io::Result<()> {
    match DirBuilder::new().mode(0o755).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && found.uid() == user.as_raw() {
        return Ok(());
    }
    let message = format!("{}: it is no folder of this user's", folder.display());
    Err(io::Error::other(message))
}
