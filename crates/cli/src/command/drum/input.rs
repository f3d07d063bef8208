//! Problems from a file or standard input: one, or one per line.

use std::collections::VecDeque;
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

/// A line with its number, unless it can't be read.
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) text: Result<String, Failure>,
}

/// The lines of a file, blank ones left out.
pub(crate) struct Lines {
    reader: Box<dyn BufRead + Send>,
    longest: usize,
    /// Lines that have been read already.
    pending: VecDeque<Line>,
    number: usize,
    /// The rest of a line that is too long comes next.
    within: bool,
}

/// What messages call a file.
pub(crate) fn name(path: &Path) -> String {
    if is_stdin(path) {
        "standard input".into()
    } else {
        path.display().to_string()
    }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a file and finds out what it holds: `longest` is the longest line, and the longest file of one problem, in
/// bytes; with `by_line` each line is a problem, whatever is on the first.
///
/// # Errors
/// If it can't be read, or holds nothing.
pub(crate) fn open(path: &Path, longest: usize, by_line: bool) -> Result<Input, Failure> {
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
        longest,
        pending: VecDeque::new(),
        number: 0,
        within: false,
    };
    let Some(first) = lines.next() else {
        return Err(Failure::new(format!("{}: holds no problem", name(path)))
            .hint("a problem is a JSON object: see `fairlane schema drum`"));
    };
    let first = first.map_err(wrong)?;
    if by_line {
        lines.pending.push_back(first);
        return Ok(Input::Lines(lines));
    }
    let number = first.number;
    let place = || format!("{}: line {number}", name(path));
    let text = first.text.map_err(|failure| failure.within(&place()))?;
    // A first line that isn't a whole value by itself is the beginning of one.
    if serde_json::from_str::<IgnoredAny>(&text).is_err() {
        let whole = lines.rest(text).map_err(wrong)?;
        let whole = whole.map_err(|failure| failure.within(&name(path)))?;
        return Ok(Input::One(whole));
    }
    match lines.next().transpose().map_err(wrong)? {
        None => Ok(Input::One(text)),
        Some(second) => {
            let text = Ok(text);
            lines.pending.extend([Line { number, text }, second]);
            Ok(Input::Lines(lines))
        }
    }
}

/// Reads a file that holds one problem, of so many bytes at most.
///
/// # Errors
/// If it can't be read, or doesn't hold one problem.
pub(crate) fn one(path: &Path, longest: usize) -> Result<String, Failure> {
    match open(path, longest, false)? {
        Input::One(text) => Ok(text),
        Input::Lines(_) => Err(
            Failure::new(format!("{}: holds several problems", name(path)))
                .hint("give a file with one problem"),
        ),
    }
}

impl Lines {
    /// All that follows the first line, behind it; an error of the file, or of what is in it.
    fn rest(&mut self, first: String) -> io::Result<Result<String, Failure>> {
        let mut bytes = first.into_bytes();
        let room = self.longest.saturating_sub(bytes.len());
        // A byte beyond what there is room for shows that there is too much.
        let limit = (room as u64).saturating_add(1);
        if (&mut self.reader).take(limit).read_to_end(&mut bytes)? > room {
            return Ok(Err(too_long(self.longest)));
        }
        Ok(text(bytes))
    }

    /// The next line with its end, if any is left; one that is too long isn't held.
    fn read(&mut self) -> io::Result<Option<Result<String, Failure>>> {
        if std::mem::take(&mut self.within) {
            self.reader.skip_until(b'\n')?;
        }
        let mut line = Vec::new();
        // A byte beyond what there is room for shows that there is too much.
        let limit = (self.longest as u64).saturating_add(1);
        (&mut self.reader)
            .take(limit)
            .read_until(b'\n', &mut line)?;
        if line.len() > self.longest {
            self.within = !line.ends_with(b"\n");
            return Ok(Some(Err(too_long(self.longest))));
        }
        Ok((!line.is_empty()).then(|| text(line)))
    }
}

fn text(mut bytes: Vec<u8>) -> Result<String, Failure> {
    // The byte order mark with which some editors begin a file.
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(format!("not UTF-8 from byte {at} on")).hint("JSON is written in UTF-8")
    })
}

fn too_long(longest: usize) -> Failure {
    Failure::new(format!("longer than {longest} bytes"))
        .hint("split the problem, or allow more with --longest-line")
}

impl Iterator for Lines {
    type Item = io::Result<Line>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(line) = self.pending.pop_front() {
            return Some(Ok(line));
        }
        loop {
            let text = match self.read() {
                Ok(text) => text?,
                Err(error) => return Some(Err(error)),
            };
            self.number += 1;
            if !text.as_ref().is_ok_and(|text| text.trim().is_empty()) {
                let number = self.number;
                return Some(Ok(Line { number, text }));
            }
        }
    }
}
