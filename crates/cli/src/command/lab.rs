//! `fairlane lab`.

use std::process::ExitCode;

use crate::args::Lab;
use crate::backend;
use crate::failure::Failure;
use crate::prepared::{Prepared, measured};

/// Runs a scenario with software NICs at its hosts, and writes its results.
///
/// # Errors
/// As `run`; and if software NICs can't carry its messages, or payload is wrong.
pub(crate) fn lab(arguments: &Lab) -> Result<ExitCode, Failure> {
    let prepared = Prepared::new(&arguments.scenario, &arguments.output)?;
    let (results, host) = measured(arguments.output.quiet, |reporter| {
        backend::replay(&prepared.loaded, &arguments.real, &mut |progress| {
            reporter.update(progress);
            prepared.control()
        })
    })?;
    prepared.conclude(&results, &host, &arguments.output)
}
