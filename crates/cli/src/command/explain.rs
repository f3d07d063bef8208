//! `fairlane explain`.

use std::path::Path;

use crate::args::Format;
use crate::failure::Failure;
use crate::{backend, print, read};

/// Says why a run went as it did.
///
/// # Errors
/// If the directory doesn't hold the results of a run.
pub(crate) fn explain(results: &Path, format: Format) -> Result<(), Failure> {
    let run = read::run(results)?;
    let report = backend::explain(&run);
    print::either(format, &report, |report| report.text())
}
