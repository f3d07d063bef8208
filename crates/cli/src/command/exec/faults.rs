//! `fairlane exec --faults`: a file that says what goes wrong on purpose.

use std::fs;
use std::ops::Range;
use std::path::Path;

use fairlane_scenario::nearest;
use fairlane_softnic::Faults;
use fairlane_units::Mistake;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::failure::Failure;

/// Reads and checks a file.
///
/// # Errors
/// If it can't be read, or something in it is wrong; the place is its line and column.
pub(super) fn read(path: &Path) -> Result<Faults, Failure> {
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::at(path, error).hint("docs/verbs-programs.md has an example of such a file")
    })?;
    let place = path.display().to_string();
    let file = File {
        text: text.strip_prefix('\u{feff}').unwrap_or(&text),
        place: &place,
    };
    file.faults().map_err(|mistake| {
        Failure::new(mistake.message)
            .within(&mistake.place)
            .hint(mistake.hint)
    })
}

/// A text, and what messages call it.
struct File<'a> {
    text: &'a str,
    place: &'a str,
}

type Key<'a> = Spanned<std::borrow::Cow<'a, str>>;

impl File<'_> {
    /// A mistake at a part of the text; of those that have a place of their own, that is a key.
    fn at(&self, span: &Range<usize>, mistake: Mistake) -> Mistake {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        let line = before.split(|byte| *byte == b'\n').count();
        let begun = before.rsplit(|byte| *byte == b'\n').next();
        let column = String::from_utf8_lossy(begun.unwrap_or_default());
        let column = column.chars().count() + 1;
        mistake.at(format!("{}:{line}:{column}", self.place))
    }

    fn faults(&self) -> Result<Faults, Mistake> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let message = format!("not TOML: {}", error.message().replace('\n', ", "));
            let hint = "write [packets] or [[port]], and below it `key = value`; times and names go in quotes, as in at = \"2s\"";
            let span = error.span().unwrap_or_default();
            self.at(&span, Mistake::new("", message, hint))
        })?;
        let mut faults = Faults::default();
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            match value.get_ref() {
                DeValue::Table(part) => self.add(&mut faults, key, part)?,
                DeValue::Array(parts) => self.add_all(&mut faults, key, parts)?,
                other if Faults::parts().any(|part| part == name) => {
                    self.add_value(&mut faults, key, other)?;
                }
                _ => return Err(self.unknown(key)),
            }
        }
        Ok(faults)
    }

    /// Adds a value that is in no part: the seed is the only one.
    fn add_value(
        &self,
        faults: &mut Faults,
        key: &Key<'_>,
        value: &DeValue<'_>,
    ) -> Result<(), Mistake> {
        let name: &str = key.get_ref();
        if Faults::keys(name).is_empty() {
            let set = faults.set_seed(&words(value));
            return set.map_err(|mistake| self.at(&key.span(), mistake));
        }
        let message = format!("`{name}` is {}, expected a table", words(value));
        let brackets = if Faults::repeats(name) {
            "[[..]]"
        } else {
            "[..]"
        };
        let brackets = brackets.replace("..", name);
        let hint = format!("write {brackets}, and its keys below it");
        Err(self.at(&key.span(), Mistake::new("", message, hint)))
    }

    /// Adds each of several parts.
    fn add_all(
        &self,
        faults: &mut Faults,
        key: &Key<'_>,
        parts: &DeArray<'_>,
    ) -> Result<(), Mistake> {
        let name: &str = key.get_ref();
        if Faults::parts().all(|part| part != name) {
            return Err(self.unknown(key));
        }
        for part in parts {
            match part.get_ref() {
                DeValue::Table(part) if Faults::repeats(name) => self.add(faults, key, part)?,
                _ => {
                    let message = format!("`{name}` is a list, of which there is none");
                    let hint = format!("write [{name}] once, and its keys below it");
                    return Err(self.at(&part.span(), Mistake::new("", message, hint)));
                }
            }
        }
        Ok(())
    }

    /// Adds a part.
    fn add(&self, faults: &mut Faults, key: &Key<'_>, part: &DeTable<'_>) -> Result<(), Mistake> {
        let name: &str = key.get_ref();
        let values: Vec<String> = part.values().map(|value| words(value.get_ref())).collect();
        let entries = part.keys().zip(&values);
        let entries: Vec<(&str, &str)> = entries
            .map(|(key, value)| (key.get_ref().as_ref(), value.as_str()))
            .collect();
        if Faults::keys(name).is_empty() {
            return Err(self.unknown(key));
        }
        faults.add(name, &entries).map_err(|mut mistake| {
            let meant = match Faults::keys(name).contains(&mistake.place.as_str()) {
                true => None,
                false => nearest(&mistake.place, Faults::keys(name).iter().copied()),
            };
            if let Some(meant) = meant {
                mistake.hint = format!("did you mean `{meant}`?");
            }
            let at = part.keys().find(|key| *key.get_ref() == mistake.place);
            // What is missing is missing in the part.
            let first = || part.keys().map(Spanned::span).min_by_key(|span| span.start);
            let span = at.map(Spanned::span).or_else(first);
            self.at(&span.unwrap_or_else(|| key.span()), mistake)
        })
    }

    /// The mistake of a name that there isn't.
    fn unknown(&self, key: &Key<'_>) -> Mistake {
        let name: &str = key.get_ref();
        let owner = Faults::parts().find(|part| Faults::keys(part).contains(&name));
        let hint = match (owner, nearest(name, Faults::parts())) {
            (Some(part), _) => format!("it belongs below [{part}]"),
            (None, Some(meant)) => format!("did you mean `{meant}`?"),
            (None, None) => {
                let all: Vec<_> = Faults::parts().collect();
                format!("there are {}", all.join(", "))
            }
        };
        let message = format!("there is no `{name}`");
        self.at(&key.span(), Mistake::new("", message, hint))
    }
}

/// A value as it is read and named in messages.
fn words(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        DeValue::Boolean(own) => own.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Faults, Mistake> {
        let place = "faults.toml";
        File { text, place }.faults()
    }

    #[test]
    fn a_file_says_what_a_line_of_words_says() {
        let text = r#"
            seed = 7
            [packets]
            loss = 0.01
            delay = "50 us"
            [[port]]
            at = "2s"
            down = "500ms"
            [[port]]
            at = "10s"
            [[gid]]
            at = "3s"
            to = 4
            [[request]]
            number = 100
            status = "IBV_WC_RETRY_EXC_ERR"
            [queue]
            send = 1_6
            [mtu]
            path = 1024
        "#;
        let line = "seed=7 packets=loss:0.01,delay:50us queue=send:16 mtu=path:1024 port=at:2s,down:500ms port=at:10s gid=at:3s,to:4 \
             request=number:100,status:IBV_WC_RETRY_EXC_ERR";
        assert_eq!(read(text).unwrap().to_string(), line);
        assert_eq!(read(""), Ok(Faults::default()));
    }

    /// Texts, the places of their mistakes, and what messages and hints say.
    const MISTAKES: &[[&str; 4]] = &[
        [
            "seed = 1\n[packets]\nlost = 1",
            "3:1",
            "`packets` has no `lost`",
            "did you mean `loss`?",
        ],
        [
            "[packets]\nloss = 2",
            "2:1",
            "is 2, expected a part of 1",
            "docs/",
        ],
        [
            "[packets]\ndelay = 200",
            "2:1",
            "is 200, expected a time",
            "docs/",
        ],
        [
            "[packets]\nloss = [1]",
            "2:1",
            "is a list, expected",
            "docs/",
        ],
        [
            "\n[packet]\nloss = 1",
            "2:2",
            "there is no `packet`",
            "did you mean `packets`?",
        ],
        [
            "loss = 1",
            "1:1",
            "there is no `loss`",
            "it belongs below [packets]",
        ],
        [
            "nonsense = 1",
            "1:1",
            "there is no `nonsense`",
            "there are packets",
        ],
        [
            "port = 1",
            "1:1",
            "`port` is 1, expected a table",
            "write [[port]]",
        ],
        [
            "queue = 1",
            "1:1",
            "`queue` is 1, expected a table",
            "write [queue]",
        ],
        [
            "[[packets]]\nloss = 1",
            "1:1",
            "`packets` is a list",
            "write [packets] once",
        ],
        [
            "[[port]]\ndown = \"1s\"",
            "2:1",
            "`port` needs `at`",
            "at = ...",
        ],
        ["[[port]]", "1:3", "`port` needs `at`", "at = ..."],
        [
            "seed = \"x\"",
            "1:1",
            "is x, expected a whole number",
            "seed = 7",
        ],
        ["[seed]\na = 1", "1:2", "there is no `seed`", ""],
        [
            "[packets]\nloss = 0.1\nloss = 0.2",
            "3:1",
            "not TOML",
            "write [packets]",
        ],
        ["loss", "1:5", "not TOML", "write [packets]"],
    ];

    #[test]
    fn mistakes_have_a_line_what_was_expected_and_a_hint() {
        for [text, place, says, hint] in MISTAKES {
            let mistake = read(text).unwrap_err();
            assert_eq!(mistake.place, format!("faults.toml:{place}"), "{mistake}");
            assert!(mistake.message.contains(says), "{mistake}");
            assert!(
                !mistake.hint.is_empty() && mistake.hint.contains(hint),
                "{mistake}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_with_a_place_and_a_hint(text in "(\\[packets\\]\n|\\[\\[port\\]\\]\n|seed|port|gid|mtu|loss|at|status| = |\"2s\"|1|0.5|\n|[\\[\\]{}=\"., a-z0-9]|\\PC){0,30}") {
            match read(&text) {
                Ok(faults) => prop_assert_eq!(faults.to_string().parse(), Ok(faults)),
                Err(mistake) => {
                    prop_assert!(mistake.place.starts_with("faults.toml:"));
                    prop_assert!(!mistake.message.is_empty() && !mistake.hint.is_empty());
                }
            }
        }
    }
}
