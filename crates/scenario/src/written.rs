//! Sizes as they were written: a unit says something that a number of bytes has lost.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use fairlane_units::Bytes;
use toml::de::DeValue;
use toml::{Table, Value};

use crate::document::{along, tree};
use crate::keypath::KeyPath;

/// By the path of their key, sizes that were written otherwise than they are shown: `250KiB`, which would be `256kB`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenSizes(BTreeMap<String, String>);

impl WrittenSizes {
    /// Those of a scenario's table.
    pub(crate) fn of(table: &Table) -> Self {
        let mut found = Self::default();
        for (key, value) in table {
            found.collect(key.clone(), value);
        }
        found
    }

    fn collect(&mut self, place: String, value: &Value) {
        match value {
            Value::String(text) => {
                let shown = text.parse::<Bytes>().map(|size| size.to_string());
                let is_plain = !text.contains(char::is_control);
                if is_plain && shown.is_ok_and(|shown| shown != *text) {
                    self.0.insert(place, text.clone());
                }
            }
            Value::Table(table) => {
                for (key, value) in table {
                    self.collect(format!("{place}.{key}"), value);
                }
            }
            Value::Array(items) => {
                for (index, value) in items.iter().enumerate() {
                    self.collect(format!("{place}[{index}]"), value);
                }
            }
            _ => {}
        }
    }

    /// How the size at a key was written, if it is still this one.
    pub(crate) fn text(&self, key: &str, size: Bytes) -> Option<&str> {
        let text = self.0.get(key)?;
        (text.parse() == Ok(size)).then_some(text)
    }

    /// The text of the scenario with sizes as they were written, if they are still the same.
    pub(crate) fn restore(&self, mut text: String) -> String {
        let mut places = Vec::new();
        if let Ok(tree) = tree(&text) {
            for (key, written) in &self.0 {
                places.extend(place(&tree, key, written).map(|place| (place, written)));
            }
        }
        // From the end on, so that what is before stays in its place.
        places.sort_unstable_by_key(|(place, _)| Reverse(place.start));
        for (place, written) in places {
            text.replace_range(place, &format!("\"{written}\""));
        }
        text
    }
}

/// Where a text has the size at a key, if it shows the one that was `written`.
fn place(tree: &DeValue<'_>, key: &str, written: &str) -> Option<Range<usize>> {
    let path = KeyPath::from_place(key);
    let (_, found) = along(tree, &path).nth(path.0.len() - 1)?;
    let shown = written.parse::<Bytes>().ok()?.to_string();
    (found.get_ref().as_str() == Some(&*shown)).then(|| found.span())
}
