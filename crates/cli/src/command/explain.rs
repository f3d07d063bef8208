//! `fairlane explain`.

use std::process::ExitCode;

use crate::args::{Explain, Format};
use crate::failure::Failure;
use crate::{backend, print, read};

/// Says why a run went as it did.
///
/// # Errors
/// If the directory doesn't hold the results of a run.
pub(crate) fn explain(arguments: &Explain) -> Result<ExitCode, Failure> {
    let run = read::run(&arguments.results)?;
    let report = backend::explain(&run);
    match arguments.format {
        Format::Text => print::text(&report.text())?,
        Format::Json => print::json(&report)?,
    }
    Ok(ExitCode::SUCCESS)
}
