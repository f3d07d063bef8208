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
    let mut written = arguments.output.clone().into_os_string();
    if arguments
        .output
        .extension()
        .is_none_or(|extension| extension != "toml")
    {
        written.push(".toml");
    }
    let written = written.display();
    print::say(format_args!(
        "wrote {written}; run it with: fairlane run {written} --out DIR"
    ));
    Ok(ExitCode::SUCCESS)
}
