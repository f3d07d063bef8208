//! The libraries that programs run on instead of those of rdma-core.

use std::path::{Path, PathBuf};

/// The variable that names the address of a device.
pub(crate) use fairlane_softnic::address::VARIABLE as ADDRESS;

/// What builds them.
pub(crate) const HINT: &str = "`make verbs` builds it, `make install` puts it beside an installed command; FAIRLANE_VERBS names the folder if it is elsewhere";
/// The variable that names their folder.
pub(crate) const FOLDER: &str = "FAIRLANE_VERBS";
/// Addresses of programs that nobody has given one.
pub(crate) const PREFIX: &str = "127.76.0.0/16";
/// The library that everything is in.
pub(crate) const VERBS: &str = "libibverbs.so.1";
/// The one for connections by address.
pub(crate) const MANAGER: &str = "librdmacm.so.1";
/// The one that shows folders of devices where there is no mount namespace for them.
pub(crate) const SYSFS: &str = "libfairlane-sysfs.so";

/// Their folder: the one that the environment names, else where the first of them is: `verbs` beside the folder of this program, where
/// `make verbs` puts them, or `lib/fairlane` there, where `make install` does.
pub(crate) fn folder() -> PathBuf {
    if let Some(named) = std::env::var_os(FOLDER) {
        return named.into();
    }
    let own = std::env::current_exe().unwrap_or_default();
    let around = own.parent().and_then(Path::parent);
    let around = around.unwrap_or_else(|| Path::new("."));
    let folders = ["verbs", "lib/fairlane"].map(|name| around.join(name));
    let found = folders.iter().find(|folder| folder.join(VERBS).exists());
    found.unwrap_or(&folders[0]).clone()
}
