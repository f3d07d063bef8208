//! `--set key.path=value`, and laying one table over another.

use toml::{Table, Value};

use crate::error::Error;
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
        let fail = |message: &str| {
            let hint = "write --set key.path=value, as in --set workload.0.load=0.7";
            Error::new(format!("--set {text}"), message, hint)
        };
        let (path, value) = text.split_once('=').ok_or_else(|| fail("has no `=`"))?;
        let path = KeyPath::from_dotted(path);
        let empty = |segment: &Segment| matches!(segment, Segment::Key(key) if key.is_empty());
        if path.0.iter().any(empty) {
            return Err(fail("has an empty key"));
        }
        Ok(Self {
            text: text.into(),
            path,
            value: parse_value(value.trim()),
        })
    }

    /// The value if this override sets the top-level key `name`.
    pub(crate) fn top_level(&self, name: &str) -> Option<&Value> {
        match self.path.0.as_slice() {
            [Segment::Key(key)] if key == name => Some(&self.value),
            _ => None,
        }
    }

    /// Writes the value into `table`.
    pub(crate) fn apply(&self, table: &mut Table) -> Result<(), Error> {
        let Some((Segment::Key(first), rest)) = self.path.0.split_first() else {
            return Ok(());
        };
        let top = table
            .entry(first.clone())
            .or_insert_with(|| Value::Table(Table::new()));
        self.write(top, rest)
    }

    /// Writes it to what `rest` names inside of `value`.
    fn write(&self, value: &mut Value, rest: &[Segment]) -> Result<(), Error> {
        let Some((segment, rest)) = rest.split_first() else {
            *value = self.value.clone();
            return Ok(());
        };
        match value {
            Value::Table(table) => {
                let Segment::Key(key) = segment else {
                    let parent = self.parent(rest);
                    let message = format!("`{parent}` is a table, expected one of its keys");
                    return Err(self.wrong(message, "numbers count elements of lists"));
                };
                let inner = table
                    .entry(key.clone())
                    .or_insert_with(|| Value::Table(Table::new()));
                self.write(inner, rest)
            }
            Value::Array(items) => match segment {
                Segment::Key(key) if key == EACH && !items.is_empty() => {
                    items.iter_mut().try_for_each(|item| self.write(item, rest))
                }
                Segment::Key(key) if key == NEW && rest.is_empty() => {
                    items.push(self.value.clone());
                    Ok(())
                }
                segment => self.write(self.element(items, segment, rest)?, rest),
            },
            _ => {
                let parent = self.parent(rest);
                let message = format!("`{parent}` is a single value and has nothing inside");
                Err(self.wrong(message, format!("set `{parent}` itself")))
            }
        }
    }

    /// The element of a list that `segment` counts.
    fn element<'v>(
        &self,
        items: &'v mut [Value],
        segment: &Segment,
        rest: &[Segment],
    ) -> Result<&'v mut Value, Error> {
        let (parent, length) = (self.parent(rest), items.len());
        if *segment == Segment::Key(EACH.into()) {
            let message = format!("`{parent}` has no elements that could be set");
            return Err(self.wrong(message, format!("`{parent}.+` adds one")));
        }
        let Segment::Index(index) = segment else {
            let message = format!("`{parent}` is a list, expected the number of an element");
            let hint = format!("its first element is `{parent}.0`, all are `{parent}.*`");
            return Err(self.wrong(message, hint));
        };
        items.get_mut(*index).ok_or_else(|| {
            let message = format!("`{parent}` has {length} elements, expected a number below");
            self.wrong(message, "elements are counted from 0")
        })
    }

    /// What the segment before `rest` is inside of.
    fn parent(&self, rest: &[Segment]) -> KeyPath {
        let depth = self.path.0.len() - rest.len() - 1;
        KeyPath(self.path.0[..depth].to_vec())
    }

    fn wrong(&self, message: String, hint: impl Into<String>) -> Error {
        Error::new(format!("--set {}", self.text), message, hint)
    }
}

fn parse_value(text: &str) -> Value {
    let wrapped = toml::from_str::<Table>(&format!("value = {text}"));
    match wrapped
        .ok()
        .filter(|table| table.len() == 1)
        .and_then(|mut table| table.remove("value"))
    {
        Some(value) => value,
        None => Value::String(text.into()),
    }
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
