//! Numbered lines of fields: what all side files are made of.

use fairlane_units::{Bytes, Decimal, Mistake};

/// One line that isn't blank.
pub struct Line<'a> {
    file: &'a str,
    /// Counted from 1.
    pub number: usize,
    /// Without spaces around it.
    pub text: &'a str,
}

/// The lines of `text` that aren't blank. It may begin with a byte order mark, as some editors write.
pub fn lines<'a>(text: &'a str, file: &'a str) -> impl Iterator<Item = Line<'a>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
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

    /// The whole number in the field called `name`.
    ///
    /// # Errors
    /// If it isn't what is expected.
    pub fn whole<T: TryFrom<u64>>(
        &self,
        field: &str,
        name: &str,
        expected: &str,
    ) -> Result<T, Mistake> {
        let number = Decimal::read(field).and_then(Decimal::whole);
        number
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| self.unreadable(field, name, expected))
    }

    /// The number in the field called `name`.
    ///
    /// # Errors
    /// If it isn't what is expected.
    pub fn number(&self, field: &str, name: &str, expected: &str) -> Result<f64, Mistake> {
        let number = Decimal::read(field).map(Decimal::as_f64);
        number.ok_or_else(|| self.unreadable(field, name, expected))
    }

    /// The size in the field called `name`: a number of bytes, or one with a unit.
    ///
    /// # Errors
    /// If it isn't what is expected.
    pub fn size(&self, field: &str, name: &str, expected: &str) -> Result<Bytes, Mistake> {
        let size = field.parse();
        size.map_err(|_| self.unreadable(field, name, expected))
    }

    fn unreadable(&self, field: &str, name: &str, expected: &str) -> Mistake {
        let message = format!("{name} is \"{}\", expected {expected}", shorten(field));
        self.error(message, format!("write {expected}"))
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
