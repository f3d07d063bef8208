//! Earlier answers, from whose prices a solver starts.

use std::collections::BTreeMap;
use std::path::Path;

use fairlane_drum_file::{Problem, Start};

use crate::command::drum::input::{self, Input, Line};
use crate::failure::Failure;

/// One answer for all problems, or those of problems by name.
pub(crate) enum Starts {
    All(Start),
    Named(BTreeMap<String, Start>),
}

impl Starts {
    /// Reads answers, of which each line and a file with a single one is `longest` bytes at most; an error if the file can't
    /// be read or holds something else.
    pub(crate) fn read(path: &Path, longest: usize) -> Result<Self, Failure> {
        let name = input::name(path);
        let lines = match input::open(path, longest, false)? {
            Input::One(text) => return Ok(Self::All(start(&name, &text)?)),
            Input::Lines(lines) => lines,
        };
        let mut named = BTreeMap::new();
        for line in lines {
            let Line { number, text } =
                line.map_err(|error| Failure::new(format!("{name}: {error}")))?;
            let place = format!("{name}: line {number}");
            let start = start(&place, &text.map_err(|failure| failure.within(&place))?)?;
            let key = start.name.clone().ok_or_else(|| {
                let hint = "of several answers each must have the name of its problem";
                Failure::new("has no name").within(&place).hint(hint)
            })?;
            named.insert(key, start);
        }
        Ok(Self::Named(named))
    }

    /// The problem with where to start from, if that is known.
    pub(crate) fn apply(&self, problem: Problem) -> Problem {
        let start = match self {
            Self::All(start) => Some(start),
            Self::Named(named) => problem.name().and_then(|name| named.get(name)),
        };
        problem.with_start(start)
    }
}

fn start(place: &str, text: &str) -> Result<Start, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let hint = "give what `fairlane drum solve` printed as JSON";
        Failure::new(error.to_string()).within(place).hint(hint)
    })
}
