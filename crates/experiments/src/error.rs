//! Why an experiment couldn't be run.

use std::fmt;

/// An experiment that could not be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong and where.
    pub message: String,
    /// What to do about it; empty if nothing sensible can be said.
    pub hint: String,
    /// Whether someone asked it to end.
    pub stopped: bool,
}

impl Error {
    /// A mistake.
    pub fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: hint.into(),
            stopped: false,
        }
    }

    /// Someone asked it to end.
    pub(crate) fn stopped() -> Self {
        Self {
            stopped: true,
            ..Self::new("stopped", "")
        }
    }

    /// Puts a place in front of the error's message.
    #[must_use]
    pub(crate) fn within(mut self, place: &str) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<fairlane_scenario::Error> for Error {
    fn from(error: fairlane_scenario::Error) -> Self {
        Self::new(format!("{}: {}", error.place, error.message), error.hint)
    }
}

impl From<fairlane_results::Error> for Error {
    fn from(error: fairlane_results::Error) -> Self {
        Self::new(error.message, error.hint.unwrap_or_default())
    }
}

impl From<fairlane_drum::Error> for Error {
    fn from(error: fairlane_drum::Error) -> Self {
        Self::new(error.to_string(), error.hint().unwrap_or_default())
    }
}
