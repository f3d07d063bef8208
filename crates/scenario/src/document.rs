//! The user's text: its table, and the line and column of every key.

use serde::Deserialize;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};

use crate::blame;
use crate::error::Error;
use crate::keypath::{KeyPath, Segment};
use crate::overrides::Override;
use crate::types::Scenario;

/// A scenario text that is valid TOML.
pub(crate) struct Document<'a> {
    place: &'a str,
    text: &'a str,
    tree: Spanned<DeTable<'a>>,
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
        let syntax = |error: toml::de::Error| syntax_error(text, place, &error);
        let tree = DeTable::parse(text).map_err(syntax)?;
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
            let message = error.message();
            let path = blame::culprit(table, message);
            let (found, hint) = blame::explain(message);
            let place = self.locate(&path);
            let subject = if path.0.is_empty() || place == path.to_string() {
                String::new()
            } else {
                format!("`{path}`: ")
            };
            Error::new(place, format!("{subject}{found}"), hint)
        })
    }

    /// Replaces the key path of an error by the place where the user wrote it, or what it would be inside of;
    /// a place that is no key is that of a file and stays.
    pub(crate) fn place(&self, error: Error, resolved: &Table) -> Error {
        let path = KeyPath::from_place(&error.place);
        if !is_key(resolved, &path) {
            return error;
        }
        if self.locate(&path) == error.place {
            return error;
        }
        let message = format!("`{}`: {}", error.place, error.message);
        Error {
            place: self.locate(&path),
            message,
            hint: error.hint,
        }
    }

    /// Where the value at `path` comes from: an override, or the nearest key in the text. Of a text that
    /// nobody has seen, the key itself.
    fn locate(&self, path: &KeyPath) -> String {
        let covers = |set: &&Override| path.starts_with(&set.path) || set.path.starts_with(path);
        if let Some(set) = self.overrides.iter().rev().find(covers) {
            return format!("--set {}", set.text);
        }
        if self.place.is_empty() {
            return match path.0.is_empty() {
                true => "scenario".into(),
                false => path.to_string(),
            };
        }
        match self.offset(path) {
            Some(offset) => {
                let (line, column) = line_and_column(self.text, offset);
                format!("{}:{line}:{column}", self.place)
            }
            None => self.place.into(),
        }
    }

    /// The offset of the deepest part of `path` that is in the text.
    fn offset(&self, path: &KeyPath) -> Option<usize> {
        let mut segments = path.0.iter();
        let Some(Segment::Key(first)) = segments.next() else {
            return None;
        };
        let (mut offset, mut value) = entry(self.tree.get_ref(), first)?;
        for segment in segments {
            let next = match segment {
                Segment::Key(key) => value.as_table().and_then(|table| entry(table, key)),
                Segment::Index(index) => value.as_array().and_then(|array| {
                    array
                        .get(*index)
                        .map(|item| (item.span().start, item.get_ref()))
                }),
            };
            let Some(found) = next else { break };
            (offset, value) = found;
        }
        Some(offset)
    }
}

fn entry<'t, 'a>(table: &'t DeTable<'a>, key: &str) -> Option<(usize, &'t DeValue<'a>)> {
    table
        .iter()
        .find(|(name, _)| name.get_ref() == key)
        .map(|(name, value)| (name.span().start, value.get_ref()))
}

/// Whether a scenario such as the `resolved` one has this key, stated or not: a value there is not found unknown.
fn is_key(resolved: &Table, path: &KeyPath) -> bool {
    let mut table = resolved.clone();
    let set = Override {
        text: String::new(),
        path: path.clone(),
        value: Value::Boolean(true),
    };
    if set.apply(&mut table).is_err() {
        return false;
    }
    let wrong = Scenario::deserialize(table).err();
    wrong.is_none_or(|error| blame::unknown_key(error.message()).is_none())
}

fn syntax_error(text: &str, place: &str, error: &toml::de::Error) -> Error {
    let offset = error.span().map_or(0, |span| span.start);
    let (line, column) = line_and_column(text, offset);
    let message = format!("not TOML: {}", error.message().replace('\n', ", "));
    let hint =
        "write `key = value`; text and values with a unit go in quotes, as in rate = \"100Gbps\"";
    Error::new(format!("{place}:{line}:{column}"), message, hint)
}

/// Line and column of a byte offset, both from 1; columns count characters.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..offset.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    (
        line,
        String::from_utf8_lossy(&before[start..]).chars().count() + 1,
    )
}
