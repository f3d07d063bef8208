//! What is wrong, where, and what to do about it.

use std::fmt;

/// A mistake in a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// `file:line:column`, `file: node ID`, `file: byte OFFSET`, or only the file.
    pub place: String,
    /// What was found and what was expected.
    pub message: String,
    /// What to do; empty if nothing sensible can be said.
    pub hint: String,
}

impl Error {
    pub(crate) fn new(
        place: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            message: message.into(),
            hint: hint.into(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error {}: {}", self.place, self.message)?;
        if !self.hint.is_empty() {
            write!(f, "\nhint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
