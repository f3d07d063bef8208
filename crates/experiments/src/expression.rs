//! Sums, products and a few functions of named numbers: `4000000 / degree`.

/// How deep parentheses may be nested.
const DEEPEST: u32 = 64;

/// The value of an expression; `name` knows what its names are.
///
/// # Errors
/// What is wrong with it, or which name there isn't.
pub(crate) fn evaluate(
    text: &str,
    name: &dyn Fn(&str) -> Result<f64, String>,
) -> Result<f64, String> {
    let mut reader = Reader {
        text,
        rest: text,
        name,
        depth: 0,
    };
    let value = reader.sum()?;
    reader.skip();
    match reader.rest.is_empty() {
        true => Ok(value),
        false => Err(reader.unexpected("an operator or the end")),
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    name: &'a dyn Fn(&str) -> Result<f64, String>,
    depth: u32,
}

impl<'a> Reader<'a> {
    fn sum(&mut self) -> Result<f64, String> {
        let mut value = self.product()?;
        loop {
            match () {
                () if self.take('+') => value += self.product()?,
                () if self.take('-') => value -= self.product()?,
                () => return Ok(value),
            }
        }
    }

    fn product(&mut self) -> Result<f64, String> {
        let mut value = self.factor()?;
        loop {
            match () {
                () if self.take('*') => value *= self.factor()?,
                () if self.take('/') => value /= self.factor()?,
                () => return Ok(value),
            }
        }
    }

    fn factor(&mut self) -> Result<f64, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("`{}` is nested too deep", self.text));
        }
        let value = if self.take('-') {
            -self.factor()?
        } else if self.take('(') {
            let value = self.sum()?;
            self.expect(')')?;
            value
        } else {
            self.atom()?
        };
        self.depth -= 1;
        Ok(value)
    }

    /// A number, a name or a function.
    fn atom(&mut self) -> Result<f64, String> {
        self.skip();
        let word = self.word();
        if word.is_empty() {
            return Err(self.unexpected("a number or a name"));
        }
        if word.starts_with(|letter: char| letter.is_ascii_digit() || letter == '.') {
            return word.parse().map_err(|_| format!("`{word}` is no number"));
        }
        if !self.take('(') {
            return (self.name)(word);
        }
        let mut arguments = vec![self.sum()?];
        while self.take(',') {
            arguments.push(self.sum()?);
        }
        self.expect(')')?;
        call(word, &arguments)
    }

    fn word(&mut self) -> &'a str {
        let is_number = self
            .rest
            .starts_with(|letter: char| letter.is_ascii_digit());
        let mut former = ' ';
        let part = |letter: char| {
            let exponent = is_number && matches!(former, 'e' | 'E') && matches!(letter, '+' | '-');
            former = letter;
            exponent || letter.is_alphanumeric() || matches!(letter, '_' | '.' | '[' | ']')
        };
        let rest = self.rest.trim_start_matches(part);
        let word = &self.rest[..self.rest.len() - rest.len()];
        self.rest = rest;
        word
    }

    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(mark);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, mark: char) -> Result<(), String> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("`{mark}`"))),
        }
    }

    fn unexpected(&self, expected: &str) -> String {
        let found = match self.rest.is_empty() {
            true => "it ends".to_owned(),
            false => format!("found `{}`", self.rest),
        };
        format!("`{}`: expected {expected}, {found}", self.text)
    }
}

fn call(function: &str, arguments: &[f64]) -> Result<f64, String> {
    match (function, arguments) {
        ("round", [value]) => Ok(value.round()),
        ("floor", [value]) => Ok(value.floor()),
        ("ceil", [value]) => Ok(value.ceil()),
        ("sqrt", [value]) => Ok(libm::sqrt(*value)),
        ("log2", [value]) => Ok(libm::log2(*value)),
        ("min", [first, rest @ ..]) => Ok(rest.iter().copied().fold(*first, f64::min)),
        ("max", [first, rest @ ..]) => Ok(rest.iter().copied().fold(*first, f64::max)),
        _ => Err(format!(
            "there is no function `{function}` of {} values, expected round, floor, ceil, sqrt, log2, min or max",
            arguments.len()
        )),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(text: &str) -> Result<f64, String> {
        evaluate(text, &|name| match name {
            "degree" => Ok(8.0),
            "slowdown.p99" => Ok(3.0),
            other => Err(format!("no {other}")),
        })
    }

    #[test]
    fn expressions_are_those_of_school() {
        for (text, expected) in [
            ("4000000 / degree", 500_000.0),
            ("1 + 2 * 3 - 4 / 2", 5.0),
            ("(1 + 2) * -3", -9.0),
            ("max(1, degree, 2) * slowdown.p99", 24.0),
            ("round(10 / 3) + log2(degree) + 1.5e-1 * 2e+1", 9.0),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, words) in [
            ("", "expected a number"),
            ("1 +", "it ends"),
            ("(1", "expected `)`"),
            ("1 2", "found `2`"),
            ("size", "no size"),
            ("sin(1)", "no function `sin`"),
        ] {
            let error = value(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[-+*/(),a-z0-9. ]{0,80}") {
            let _ = value(&text);
            let _ = value(&"(".repeat(100_000));
        }
    }
}
