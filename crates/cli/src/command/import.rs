//! `fairlane import hpcc`.

use std::process::ExitCode;

use crate::args::ImportHpcc;
use crate::backend;
use crate::failure::Failure;
use crate::print;

/// Writes a scenario from the files of HPCC's simulator.
///
/// # Errors
/// If a file is missing, unreadable or says something that can't be honoured.
pub(crate) fn hpcc(arguments: &ImportHpcc) -> Result<ExitCode, Failure> {
    for note in backend::import_hpcc(&arguments.config, &arguments.output)? {
        print::say(format_args!("note: {note}"));
    }
    print::say(format_args!(
        "wrote {0}; run it with: fairlane run {0} --out DIR",
        arguments.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}
