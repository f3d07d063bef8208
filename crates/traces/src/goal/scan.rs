//! The words of a GOAL schedule.

use crate::Error;

/// A word, and where it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Word<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) place: Place,
}

/// Line and column, counted from 1; columns are bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind<'a> {
    /// A keyword or label.
    Name(&'a str),
    /// Digits, perhaps after a minus.
    Number(&'a str),
    Open,
    Close,
    Colon,
    LineEnd,
    End,
}

impl Kind<'_> {
    /// As a message says it.
    pub(super) fn quoted(self) -> String {
        match self {
            Self::Name(text) | Self::Number(text) => format!("\"{text}\""),
            Self::Open => "\"{\"".into(),
            Self::Close => "\"}\"".into(),
            Self::Colon => "\":\"".into(),
            Self::LineEnd => "the end of the line".into(),
            Self::End => "the end of the file".into(),
        }
    }
}

pub(super) struct Scanner<'a> {
    pub(super) file: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: usize,
    /// Where the line begins.
    line_at: usize,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(file: &'a str, bytes: &'a [u8]) -> Self {
        // Some editors begin a file with a byte order mark.
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        Self {
            file,
            bytes,
            at: 0,
            line: 1,
            line_at: 0,
        }
    }

    pub(super) fn error(
        &self,
        place: Place,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        let place = format!("{}:{}:{}", self.file, place.line, place.column);
        Error::new(place, message, hint)
    }

    /// The next word; at the end of the file [`Kind::End`], again and again.
    pub(super) fn next(&mut self) -> Result<Word<'a>, Error> {
        self.skip()?;
        let place = self.place();
        let Some(&first) = self.bytes.get(self.at) else {
            return Ok(Word {
                kind: Kind::End,
                place,
            });
        };
        let kind = match first {
            b'{' => self.mark(Kind::Open),
            b'}' => self.mark(Kind::Close),
            b':' => self.mark(Kind::Colon),
            b'\n' => {
                let kind = self.mark(Kind::LineEnd);
                self.line += 1;
                self.line_at = self.at;
                kind
            }
            b'-' | b'0'..=b'9' => Kind::Number(self.run(|byte| byte.is_ascii_digit())),
            b'a'..=b'z' | b'A'..=b'Z' => {
                Kind::Name(self.run(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
            }
            _ => {
                let text = self.bytes[self.at..].utf8_chunks().next();
                let found = text.and_then(|chunk| chunk.valid().chars().next());
                let found =
                    found.map_or_else(|| format!("byte {first:#04x}"), |it| format!("{it:?}"));
                let message = format!("{found}, expected a word or a number");
                return Err(self.error(place, message, "a statement ends with its line"));
            }
        };
        Ok(Word { kind, place })
    }

    fn place(&self) -> Place {
        Place {
            line: self.line,
            column: self.at - self.line_at + 1,
        }
    }

    fn mark(&mut self, kind: Kind<'a>) -> Kind<'a> {
        self.at += 1;
        kind
    }

    /// The byte here and those behind it that `goes_on` takes; ASCII all of them.
    fn run(&mut self, goes_on: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.bytes[self.at..];
        let more = rest[1..].iter().position(|&byte| !goes_on(byte));
        let text = &rest[..more.map_or(rest.len(), |more| more + 1)];
        self.at += text.len();
        std::str::from_utf8(text).unwrap_or_default()
    }

    /// Goes over blanks and comments. The line end behind `//` is a word.
    fn skip(&mut self) -> Result<(), Error> {
        loop {
            let rest = &self.bytes[self.at..];
            match rest {
                [b' ' | b'\t' | b'\r', ..] => self.at += 1,
                [b'/', b'/', ..] => {
                    let end = rest.iter().position(|&byte| byte == b'\n');
                    self.at += end.unwrap_or(rest.len());
                }
                [b'/', b'*', ..] => self.skip_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_comment(&mut self) -> Result<(), Error> {
        let place = self.place();
        self.at += 2;
        loop {
            match &self.bytes[self.at..] {
                [] => {
                    let message = "a comment without end, expected \"*/\"";
                    return Err(self.error(place, message, "comments aren't nested"));
                }
                [b'*', b'/', ..] => {
                    self.at += 2;
                    return Ok(());
                }
                [first, ..] => {
                    self.at += 1;
                    if *first == b'\n' {
                        self.line += 1;
                        self.line_at = self.at;
                    }
                }
            }
        }
    }
}
