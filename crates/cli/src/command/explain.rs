//! `fairlane explain`.

use crate::args::Explain;
use crate::failure::Failure;
use crate::{backend, print, read};

/// Says why a run went as it did.
///
/// # Errors
/// If the directory doesn't hold the results of a run.
pub(crate) fn explain(arguments: &Explain) -> Result<(), Failure> {
    let run = read::run(&arguments.results)?;
    let report = backend::explain(&run);
    print::either(arguments.format, &report, |report| report.text())
}
