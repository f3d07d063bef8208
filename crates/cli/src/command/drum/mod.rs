//! `fairlane drum`.

mod input;
mod random;
mod schedule;
mod solve;
mod start;
mod text;

use fairlane_drum_file::{Document, Error, Request};
use fairlane_threads::Threads;

use crate::args::{Instance, Mode};
use crate::failure::Failure;

pub(crate) use random::random;
pub(crate) use schedule::schedule;
pub(crate) use solve::solve;

impl From<Mode> for fairlane_drum_file::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Fixed => Self::Fixed,
            Mode::TopkUtility => Self::TopkUtility,
            Mode::ActiveSet => Self::ActiveSet,
            Mode::Timeshare => Self::Timeshare,
            Mode::Paper => Self::Paper,
            Mode::Admm => Self::Admm,
            Mode::DualDecomposition => Self::DualDecomposition,
        }
    }
}

/// The problem of a text, with columns from beside it.
fn document(place: &str, text: &str, instance: &Instance) -> Result<Document, Failure> {
    let mut document = Document::read(text).map_err(|error| failure(place, error))?;
    for (name, _, bytes) in &instance.columns {
        let set = document.set_column(name, bytes);
        set.map_err(|error| failure("--column", error))?;
    }
    Ok(document)
}

/// What the command line asks beyond the file.
fn request(instance: &Instance) -> Request {
    Request {
        mode: instance.mode.map(Into::into),
        k: instance.k,
        tolerance: instance.tolerance,
    }
}

/// A mistake in a problem; one in a column names the file that has it, too.
fn mistake(place: &str, mut error: Error, instance: &Instance) -> Failure {
    let list = error.place.strip_prefix("inputs.");
    let list = list.and_then(|list| list.split('[').next());
    let mut columns = instance.columns.iter();
    if let Some((_, file, _)) = columns.find(|(name, ..)| Some(name.as_str()) == list) {
        error.place = format!("{file}: {}", error.place);
    }
    failure(place, error)
}

/// A mistake in a problem, with the file or the line that has it; one of a flag stands there alone.
fn failure(place: &str, error: Error) -> Failure {
    let failure = Failure::new(error.message).within(&error.place);
    let failure = failure.hint(error.hint);
    match error.place.starts_with("--") {
        true => failure,
        false => failure.within(place),
    }
}

/// The wanted number of threads, or one for each processor.
pub(crate) fn threads(wanted: Option<u16>) -> Threads {
    wanted.map_or_else(Threads::available, |count| Threads::new(count.into()))
}
