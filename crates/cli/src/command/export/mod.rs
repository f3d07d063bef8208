//! `fairlane export`.

mod hpcc_fct;
mod pcap;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

pub(crate) use hpcc_fct::hpcc_fct;
pub(crate) use pcap::pcap;

/// Writes a file through a temporary one beside it, so that it appears complete or not at all.
fn replace(
    (path, force): (&Path, bool),
    fill: &mut dyn FnMut(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let partial = partial_name(path)?;
    refuse_existing(path, force)?;
    let file = File::create(&partial).map_err(|error| {
        Failure::at(path, error).hint("-o names a file in a folder that exists and can be written")
    })?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let done = fill(&mut out)
        .and_then(|()| out.flush().map_err(|error| Failure::at(path, error)))
        .and_then(|()| fs::rename(&partial, path).map_err(|error| Failure::at(path, error)));
    if done.is_err() {
        // The failure that is already on its way says more than one about the temporary file.
        let _ = fs::remove_file(&partial);
    }
    done
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

fn partial_name(path: &Path) -> Result<PathBuf, Failure> {
    if path.is_dir() {
        return Err(Failure::at(path, "is a directory").hint("-o names a file"));
    }
    let name = path
        .file_name()
        .ok_or_else(|| Failure::at(path, "not a name for a file"))?;
    let name = format!(".{}.partial-{}", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(name))
}
