//! The libraries that programs run on instead of those of rdma-core.

use std::path::{Path, PathBuf};

/// The variable that names their folder.
pub(crate) const FOLDER: &str = "FAIRLANE_VERBS";
/// The variable that names the address of a device.
pub(crate) const ADDRESS: &str = "FAIRLANE_ADDRESS";
/// The library that everything is in.
pub(crate) const VERBS: &str = "libibverbs.so.1";
/// The one for connections by address.
pub(crate) const MANAGER: &str = "librdmacm.so.1";

/// Their folder: the one that the environment names, else `verbs` beside the folder of this program, where `make verbs`
/// puts them.
pub(crate) fn folder() -> PathBuf {
    if let Some(named) = std::env::var_os(FOLDER) {
        return named.into();
    }
    let own = std::env::current_exe().unwrap_or_default();
    let beside = own.parent().and_then(Path::parent);
    beside.unwrap_or_else(|| Path::new(".")).join("verbs")
}
