//! The user's text: its table, and the line and column of every key.

use std::ops::Range;

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::error::{Error, mistake};
use crate::keypath::{KeyPath, Segment};
use crate::locate;
use crate::overrides::Override;
use crate::types::Scenario;

/// A scenario text that is valid TOML.
pub(crate) struct Document<'a> {
    place: &'a str,
    text: &'a str,
    tree: DeValue<'a>,
    overrides: &'a [Override],
    pub(crate) table: Table,
}

impl<'a> Document<'a> {
    /// Reads `text`, which messages call `place`; if that is empty, they name keys instead of lines.
    pub(crate) fn parse(
        text: &'a str,
        place: &'a str,
        overrides: &'a [Override],
    ) -> Result<Self, Error> {
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let syntax = |error: toml::de::Error| syntax(text, place, &error);
        let tree = tree(text).map_err(syntax)?;
        let table = toml::from_str(text).map_err(syntax)?;
        Ok(Self {
            place,
            text,
            tree,
            overrides,
            table,
        })
    }

    /// Turns `table` into a scenario; a mistake is placed at the key that holds it.
    pub(crate) fn read(&self, table: &Table) -> Result<Scenario, Error> {
        Scenario::deserialize(table.clone()).map_err(|error| {
            let path = locate::culprit(table, error.message());
            let (found, hint) = locate::explain(error.message());
            let hint = match error.message().starts_with("invalid type") {
                true => locate::brackets(table, &path, error.message()).unwrap_or(hint),
                false => hint,
            };
            self.at(&path, Error::new(path.to_string(), found, hint))
        })
    }

    /// Places an error at the key that it names, as [`Document::at`] does; a place that is no key is that of a file and stays.
    pub(crate) fn place(&self, error: Error, resolved: &Table) -> Error {
        let path = KeyPath::from_place(&error.place);
        match is_key(resolved, &path) {
            true => self.at(&path, error),
            false => error,
        }
    }

    /// Places an error about the key at `path` where the user wrote that, or what it would be inside of.
    fn at(&self, path: &KeyPath, error: Error) -> Error {
        let place = self.locate(path);
        if path.0.is_empty() || place == error.place {
            return error.at(place);
        }
        mistake!(place, "`{path}`: {}", error.message; "{}", error.hint)
    }

    /// Where the value at `path` comes from: an override, or the nearest key in the text. Of a text that
    /// nobody has seen, the key itself.
    fn locate(&self, path: &KeyPath) -> String {
        let covers = |set: &&Override| path.starts_with(&set.path) || set.path.starts_with(path);
        if let Some(set) = self.overrides.iter().rev().find(covers) {
            return format!("--set {}", set.text);
        }
        match (self.place.is_empty(), self.span(path)) {
            (true, _) if path.0.is_empty() => "scenario".into(),
            (true, _) => path.to_string(),
            (false, None) => self.place.into(),
            (false, span) => position(self.text, self.place, span),
        }
    }

    /// The deepest part of `path` that is in the text: the key, or the element of a list.
    fn span(&self, path: &KeyPath) -> Option<Range<usize>> {
        along(&self.tree, path).last().map(|(at, _)| at)
    }
}

/// The mistake of a text that isn't TOML. A key that is stated twice is named, since the message doesn't.
fn syntax(text: &str, place: &str, error: &toml::de::Error) -> Error {
    let message = error.message().replace('\n', ", ");
    let at = position(text, place, error.span());
    let key = error.span().and_then(|span| text.get(span));
    match key.filter(|_| message == "duplicate key") {
        Some(key) => mistake!(at, "`{key}` is stated twice";
            "keep one of them; of lists of tables each begins with its name in double brackets, as in [[workload]]"),
        None => mistake!(at, "not TOML: {message}";
            "write `key = value`; text and values with a unit go in quotes, as in rate = \"100Gbps\""),
    }
}

/// The tree of a text, with the place of everything.
pub(crate) fn tree(text: &str) -> Result<DeValue<'_>, toml::de::Error> {
    DeTable::parse(text).map(|tree| DeValue::Table(tree.into_inner()))
}

/// What the segments of a path name in a tree, as far as it has them: where the key or element is, and its value.
pub(crate) fn along<'t, 'a>(
    tree: &'t DeValue<'a>,
    path: &KeyPath,
) -> impl Iterator<Item = (Range<usize>, &'t Spanned<DeValue<'a>>)> {
    let mut value = tree;
    path.0.iter().map_while(move |segment| {
        let (at, found) = match (value, segment) {
            (DeValue::Table(table), Segment::Key(key)) => {
                let (name, found) = table.get_key_value(key.as_str())?;
                (name.span(), found)
            }
            (DeValue::Array(items), Segment::Index(index)) => {
                let item = items.get(*index)?;
                (item.span(), item)
            }
            _ => return None,
        };
        value = found.get_ref();
        Some((at, found))
    })
}

/// Whether a scenario such as the `resolved` one has this key, stated or not: a value there is not found unknown.
fn is_key(resolved: &Table, path: &KeyPath) -> bool {
    let mut table = resolved.clone();
    let set = Override::silent(path.clone(), Value::Boolean(true));
    if set.apply(&mut table).is_err() {
        return false;
    }
    let wrong = Scenario::deserialize(table).err();
    wrong.is_none_or(|error| locate::named(error.message(), "unknown field").is_none())
}

/// `place`, and the line and column where something in its text begins, both from 1; columns count characters.
pub(crate) fn position(text: &str, place: &str, span: Option<Range<usize>>) -> String {
    let offset = span.map_or(0, |span| span.start).min(text.len());
    let before = &text.as_bytes()[..offset];
    let line = before.split(|byte| *byte == b'\n').count();
    let start = before.rsplit(|byte| *byte == b'\n').next().unwrap_or(&[]);
    let column = String::from_utf8_lossy(start).chars().count() + 1;
    format!("{place}:{line}:{column}")
}
