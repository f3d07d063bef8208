//! Nested documents as lists of key paths and values.

use serde_json::Value;

/// The leaves of a document by key path, in the document's order.
pub(crate) type Leaves = Vec<(String, Value)>;

/// All leaves of a document. Elements of an array of tables are named by their place, such as
/// `workload[0].load`; other arrays are leaves.
pub(crate) fn leaves(document: &Value) -> Leaves {
    let mut found = Vec::new();
    collect(document, &mut String::new(), &mut found);
    found
}

/// The value of a key path, or `null`.
pub(crate) fn get(leaves: &Leaves, name: &str) -> Value {
    let found = leaves.iter().find(|(known, _)| known == name);
    found.map_or(Value::Null, |(_, value)| value.clone())
}

fn collect(value: &Value, path: &mut String, found: &mut Leaves) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let dot = if path.is_empty() { "" } else { "." };
                within(path, &format!("{dot}{name}"), |path| {
                    collect(field, path, found)
                });
            }
        }
        Value::Array(elements) if elements.iter().any(|element| element.is_object()) => {
            for (place, element) in elements.iter().enumerate() {
                within(path, &format!("[{place}]"), |path| {
                    collect(element, path, found)
                });
            }
        }
        leaf => found.push((path.clone(), leaf.clone())),
    }
}

/// Does something with a longer path.
fn within(path: &mut String, more: &str, act: impl FnOnce(&mut String)) {
    let length = path.len();
    path.push_str(more);
    act(path);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_are_named_by_their_path() {
        let document = serde_json::json!({
            "a": {"b": 1, "c": [1, 2]},
            "d": [{"e": "x"}, {"e": "y"}],
        });
        let names: Vec<_> = leaves(&document)
            .into_iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        assert_eq!(
            names,
            ["a.b = 1", "a.c = [1,2]", "d[0].e = \"x\"", "d[1].e = \"y\""]
        );
    }
}
