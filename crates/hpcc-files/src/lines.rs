//! Numbered lines of fields: what all side files are made of.

use std::str::FromStr;

use fairlane_units::Mistake;

/// One line that isn't blank.
pub struct Line<'a> {
    file: &'a str,
    /// Counted from 1.
    pub number: usize,
    /// Without spaces around it.
    pub text: &'a str,
}

/// The lines of `text` that aren't blank.
pub fn lines<'a>(text: &'a str, file: &'a str) -> impl Iterator<Item = Line<'a>> {
    text.lines()
        .enumerate()
        .map(move |(i, text)| Line {
            file,
            number: i + 1,
            text: text.trim(),
        })
        .filter(|line| !line.text.is_empty())
}

/// The number of the `index`th line that isn't blank, counted from 0.
pub fn number_of(text: &str, index: usize) -> usize {
    lines(text, "").nth(index).map_or(0, |line| line.number)
}

impl<'a> Line<'a> {
    /// File and number, as errors say them.
    pub fn place(&self) -> String {
        format!("{}:{}", self.file, self.number)
    }

    /// A mistake in it.
    pub fn error(&self, message: impl Into<String>, hint: impl Into<String>) -> Mistake {
        Mistake::new(self.place(), message, hint)
    }

    /// Exactly `N` fields, which `expected` describes.
    ///
    /// # Errors
    /// If there are more or fewer.
    pub fn fields<const N: usize>(&self, expected: &str) -> Result<[&'a str; N], Mistake> {
        let mut fields = [""; N];
        let mut found = 0;
        for field in self.text.split_ascii_whitespace() {
            if let Some(slot) = fields.get_mut(found) {
                *slot = field;
            }
            found += 1;
        }
        if found == N {
            return Ok(fields);
        }
        let message = format!("{found} fields, expected {N}: {expected}");
        Err(self.error(message, format!("write `{expected}`")))
    }

    /// Reads the field called `name`.
    ///
    /// # Errors
    /// If it isn't what is expected.
    pub fn parse<T: FromStr>(&self, field: &str, name: &str, expected: &str) -> Result<T, Mistake> {
        field.parse().map_err(|_| {
            let message = format!("{name} is \"{}\", expected {expected}", shorten(field));
            self.error(message, format!("write {expected}"))
        })
    }
}

/// The first characters of a text that may be any length.
pub fn shorten(text: &str) -> String {
    const LONGEST: usize = 40;
    if text.chars().count() <= LONGEST {
        return text.into();
    }
    let start: String = text.chars().take(LONGEST).collect();
    format!("{start}...")
}
