//! `--set key.path=value`, and laying one table over another.

use toml::{Table, Value};

use crate::error::{Error, bail, ensure, mistake};
use crate::keypath::{EACH, KeyPath, NEW, Segment};

/// One value that replaces what the scenario says.
pub(crate) struct Override {
    /// As the user wrote it.
    pub(crate) text: String,
    pub(crate) path: KeyPath,
    pub(crate) value: Value,
}

impl Override {
    /// Reads `workload.0.load=0.7`; a value that isn't TOML is taken as text.
    pub(crate) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |message: &str| {
            mistake!(format!("--set {text}"), "{message}";
                "write --set key.path=value, as in --set workload.0.load=0.7")
        };
        let (path, value) = text.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
        let path = KeyPath::from_dotted(path);
        if path.0.contains(&Segment::Key(String::new())) {
            return Err(wrong("has an empty key"));
        }
        Ok(Self {
            text: text.into(),
            path,
            value: parse_value(value.trim()),
        })
    }

    /// One that nobody wrote.
    pub(crate) const fn silent(path: KeyPath, value: Value) -> Self {
        Self {
            text: String::new(),
            path,
            value,
        }
    }

    /// Writes the value into `table`.
    pub(crate) fn apply(&self, table: &mut Table) -> Result<(), Error> {
        match self.path.0.first() {
            Some(Segment::Key(first)) => self.write(inside(table, first), 1),
            _ => Ok(()),
        }
    }

    /// Writes it to what the path names inside of `value`, which the first `depth` segments lead to.
    fn write(&self, value: &mut Value, depth: usize) -> Result<(), Error> {
        let Some(segment) = self.path.0.get(depth) else {
            *value = self.value.clone();
            return Ok(());
        };
        let parent = KeyPath(self.path.0[..depth].to_vec());
        match (value, segment) {
            (Value::Table(table), Segment::Key(key)) => self.write(inside(table, key), depth + 1),
            (Value::Table(_), Segment::Index(_)) => {
                bail!(self.place(), "`{parent}` is a table, expected one of its keys";
                    "numbers count elements of lists")
            }
            (Value::Array(items), Segment::Index(index)) => {
                let length = items.len();
                let item = items.get_mut(*index).ok_or_else(|| {
                    mistake!(self.place(),
                        "`{parent}` has {length} elements, expected a number below";
                        "elements are counted from 0")
                })?;
                self.write(item, depth + 1)
            }
            (Value::Array(items), Segment::Key(key)) if key == EACH => {
                ensure!(!items.is_empty(), self.place(),
                    "`{parent}` has no elements that could be set"; "`{parent}.+` adds one");
                let mut items = items.iter_mut();
                items.try_for_each(|item| self.write(item, depth + 1))
            }
            (Value::Array(items), Segment::Key(key))
                if key == NEW && depth + 1 == self.path.0.len() =>
            {
                items.push(self.value.clone());
                Ok(())
            }
            (Value::Array(_), Segment::Key(_)) => {
                bail!(self.place(), "`{parent}` is a list, expected the number of an element";
                    "its first element is `{parent}.0`, all are `{parent}.*`")
            }
            _ => {
                bail!(self.place(), "`{parent}` is a single value and has nothing inside";
                    "set `{parent}` itself")
            }
        }
    }

    fn place(&self) -> String {
        format!("--set {}", self.text)
    }
}

/// The value of a key, an empty table if there is none.
fn inside<'t>(table: &'t mut Table, key: &str) -> &'t mut Value {
    table.entry(key).or_insert_with(|| Table::new().into())
}

fn parse_value(text: &str) -> Value {
    let wrapped = toml::from_str::<Table>(&format!("value = {text}"));
    let single = wrapped.ok().filter(|table| table.len() == 1);
    let value = single.and_then(|mut table| table.remove("value"));
    value.unwrap_or_else(|| text.into())
}

/// Lays `over` over `base`: tables key by key, anything else replaces. A table that states its
/// `kind` replaces too, since kinds have different keys.
pub(crate) fn overlay(base: &mut Table, over: &Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(Value::Table(below)), Value::Table(above)) if !above.contains_key("kind") => {
                overlay(below, above);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}
