//! Problems from a file or standard input: one, or one per line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::de::IgnoredAny;

use crate::failure::Failure;

/// What a file holds.
pub(crate) enum Input {
    /// One problem.
    One(String),
    /// Problems, one per line.
    Lines(Lines),
}

/// The lines of a file with their numbers, blank ones left out.
pub(crate) struct Lines {
    reader: Box<dyn BufRead + Send>,
    /// Lines that have been read already.
    pending: std::collections::VecDeque<(usize, String)>,
    number: usize,
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file and finds out what it holds.
///
/// # Errors
/// If it can't be read, or holds nothing.
pub(crate) fn open(path: &Path) -> Result<Input, Failure> {
    let wrong = |error: io::Error| {
        Failure::new(format!("{}: {error}", name(path)))
            .hint("name a file, or give - and the problem on standard input")
    };
    let reader: Box<dyn BufRead + Send> = match is_stdin(path) {
        true => Box::new(BufReader::new(io::stdin())),
        false => Box::new(BufReader::with_capacity(
            1 << 20,
            File::open(path).map_err(wrong)?,
        )),
    };
    let mut lines = Lines {
        reader,
        pending: std::collections::VecDeque::new(),
        number: 0,
    };
    let Some(first) = lines.next() else {
        return Err(Failure::new(format!("{}: holds no problem", name(path)))
            .hint("a problem is a JSON object: see `fairlane schema drum`"));
    };
    let (number, first) = first.map_err(wrong)?;
    // A first line that isn't a whole value by itself is the beginning of one.
    if serde_json::from_str::<IgnoredAny>(&first).is_err() {
        let mut text = first;
        lines.reader.read_to_string(&mut text).map_err(wrong)?;
        return Ok(Input::One(text));
    }
    match lines.next().transpose().map_err(wrong)? {
        None => Ok(Input::One(first)),
        Some(second) => {
            lines.pending.extend([(number, first), second]);
            Ok(Input::Lines(lines))
        }
    }
}

/// Reads a file that holds one problem.
///
/// # Errors
/// If it can't be read, or doesn't hold one problem.
pub(crate) fn one(path: &Path) -> Result<String, Failure> {
    match open(path)? {
        Input::One(text) => Ok(text),
        Input::Lines(_) => Err(
            Failure::new(format!("{}: holds several problems", name(path)))
                .hint("give a file with one problem"),
        ),
    }
}

impl Iterator for Lines {
    type Item = io::Result<(usize, String)>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(line) = self.pending.pop_front() {
            return Some(Ok(line));
        }
        loop {
            let mut line = String::new();
            match self.reader.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(error) => return Some(Err(error)),
            }
            if !line.trim().is_empty() {
                return Some(Ok((self.number, line)));
            }
        }
    }
}
