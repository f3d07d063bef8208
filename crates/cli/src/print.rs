//! Data to standard output, talk to standard error.

use std::fmt::Display;
use std::io::{self, Write};

use serde::Serialize;

use crate::args::Format;
use crate::failure::{self, Failure};

/// Writes text to standard output, ending it with a line break.
///
/// # Errors
/// If standard output can't be written; [`Failure::BrokenPipe`] if its reader went away.
pub(crate) fn text(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{}", text.trim_end_matches('\n'))
        .and_then(|()| stdout.flush())
        .map_err(|error| failure::from_stdout(&error))
}

/// Writes a value to standard output as indented JSON.
pub(crate) fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    text(&fairlane_results::to_json(value)?)
}

/// Writes what people read, or the value, to standard output.
pub(crate) fn either<T: Serialize>(
    format: Format,
    value: &T,
    words: impl FnOnce(&T) -> String,
) -> Result<(), Failure> {
    match format {
        Format::Text => text(&words(value)),
        Format::Json => json(value),
    }
}

/// Says something on standard error.
pub(crate) fn say(words: impl Display) {
    // Nobody is left to tell when standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{words}");
}
