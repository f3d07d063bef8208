//! What went wrong, in words for a person, with the remedy if one is known.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::process::ExitCode;

/// An error that ends the command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something is wrong outside of this program.
    Error {
        /// What, where, and what was expected.
        message: String,
        /// What to do about it; empty if that isn't known.
        hint: String,
    },
    /// The reader of standard output went away: it has what it wanted.
    BrokenPipe,
    /// The user or the system asked the process to end.
    Interrupted {
        /// The signal's number.
        signal: i32,
        /// What that means for what was to be done.
        words: String,
    },
}

impl Failure {
    /// An error without a known remedy.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self::Error {
            message: message.into(),
            hint: String::new(),
        }
    }

    /// Puts a place in front of the error's message.
    #[must_use]
    pub(crate) fn within(mut self, place: &str) -> Self {
        if let Self::Error { message, .. } = &mut self {
            *message = format!("{place}: {message}");
        }
        self
    }

    /// Adds a remedy to the error; one that it already has is kept.
    #[must_use]
    pub(crate) fn hint(mut self, text: impl Into<String>) -> Self {
        if let Self::Error { hint, .. } = &mut self
            && hint.is_empty()
        {
            *hint = text.into();
        }
        self
    }

    /// Replaces the words of an interruption: something is kept.
    #[must_use]
    pub(crate) fn kept(mut self, text: String) -> Self {
        if let Self::Interrupted { words, .. } = &mut self {
            *words = text;
        }
        self
    }

    /// An error at a file.
    pub(crate) fn at(path: &Path, error: impl Display) -> Self {
        Self::new(format!("{}: {error}", path.display()))
    }

    /// Says what went wrong on standard error.
    pub(crate) fn report(&self) {
        let mut stderr = io::stderr().lock();
        // Nobody is left to tell when standard error is closed.
        let _ = match self {
            Self::Error { message, hint } if hint.is_empty() => {
                writeln!(stderr, "error: {message}")
            }
            Self::Error { message, hint } => {
                writeln!(stderr, "error: {message}\nhint: {hint}")
            }
            Self::BrokenPipe => Ok(()),
            Self::Interrupted { words, .. } => writeln!(stderr, "{words}"),
        };
    }

    /// The exit status; for an interruption this doesn't return but dies of the signal, so that a
    /// shell loop around the command ends too.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::BrokenPipe => ExitCode::SUCCESS,
            Self::Error { .. } => ExitCode::from(2),
            Self::Interrupted { signal, .. } => {
                let _ = signal_hook::low_level::emulate_default_handler(*signal);
                ExitCode::from(2)
            }
        }
    }
}

impl From<fairlane_results::Error> for Failure {
    fn from(error: fairlane_results::Error) -> Self {
        Self::new(error.message).hint(error.hint.unwrap_or_default())
    }
}

impl From<fairlane_scenario::Error> for Failure {
    fn from(error: fairlane_scenario::Error) -> Self {
        Self::new(error.message)
            .within(&error.place)
            .hint(error.hint)
    }
}

impl From<fairlane_experiments::Error> for Failure {
    fn from(error: fairlane_experiments::Error) -> Self {
        Self::new(error.message).hint(error.hint)
    }
}

/// A broken invariant of this program, described by the message of the panic before.
pub(crate) fn bug() -> Failure {
    Failure::new("this is a bug in fairlane")
        .hint("please report it with the message above, the scenario and its side files")
}

/// Writing to standard output failed.
pub(crate) fn from_stdout(error: &io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        return Failure::BrokenPipe;
    }
    Failure::new(format!("standard output: {error}"))
}
