//! `fairlane import`.

use std::path::Path;
use std::process::ExitCode;

use crate::args::Import;
use crate::backend;
use crate::command::export::refuse_existing;
use crate::failure::Failure;
use crate::print;

/// Writes a scenario from the files of another simulator.
///
/// # Errors
/// If a file is missing, unreadable or says something that can't be honoured.
pub(crate) fn import(from: &Import) -> Result<ExitCode, Failure> {
    let output = from.output();
    let mut written = output.to_path_buf().into_os_string();
    if output
        .extension()
        .is_none_or(|extension| extension != "toml")
    {
        written.push(".toml");
    }
    refuse_existing(Path::new(&written), from.force())?;
    for note in backend::import(from)? {
        print::say(format_args!("note: {note}"));
    }
    let written = written.display();
    print::say(format_args!(
        "wrote {written}; run it with: fairlane run {written} --out DIR"
    ));
    Ok(ExitCode::SUCCESS)
}
