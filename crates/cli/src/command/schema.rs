//! `fairlane schema`.

use std::process::ExitCode;

use crate::backend;
use crate::failure::Failure;
use crate::print;

/// Prints the JSON Schema of the scenario.
///
/// # Errors
/// If standard output can't be written.
pub(crate) fn schema() -> Result<ExitCode, Failure> {
    print::json(&backend::schema())?;
    Ok(ExitCode::SUCCESS)
}
