//! `fairlane export`.

mod hpcc_fct;
mod pcap;

use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use fairlane_results::staging;

pub(crate) use hpcc_fct::hpcc_fct;
pub(crate) use pcap::pcap;

/// Writes a file so that it appears complete or not at all.
fn replace(
    (path, force): (&Path, bool),
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    if path.is_dir() {
        return Err(Failure::at(path, "is a directory").hint("-o names a file"));
    }
    refuse_existing(path, force)?;
    staging::replace_with(path, fill)
}

/// What exists isn't replaced unless that is asked for.
///
/// # Errors
/// If there is a file, and `force` is false.
pub(crate) fn refuse_existing(path: &Path, force: bool) -> Result<(), Failure> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(Failure::at(path, "exists").hint("name another file, or replace it with --force"))
}
