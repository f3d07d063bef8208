//! The scenario file as a JSON Schema.

use fairlane_multipath::Settings;
use schemars::schema_for;
use serde_json::Value;

use crate::rules;
use crate::types::{Congestion, Scenario};

/// The JSON Schema of a scenario: every key with its description, type, range and default. Ranges that JSON Schema has no
/// word for are text in `x-range`.
pub fn schema() -> Value {
    let mut schema = schema_for!(Scenario).to_value();
    for (section, limits) in Congestion::limits() {
        let table = schema.pointer(&format!("/$defs/Congestion/properties/{section}/$ref"));
        let Some(table) = table.and_then(Value::as_str) else {
            continue;
        };
        let table = table.trim_start_matches('#').to_owned();
        let says = limits
            .iter()
            .map(|limit| (limit.key, rules::text(&limit.rule)));
        annotate(&mut schema, &table, says);
    }
    let settings = Settings::default();
    let says = settings
        .ranges()
        .map(|range| (range.key, range.to_string()));
    annotate(&mut schema, "/$defs/Multipath", says);
    drop_nulls(&mut schema);
    schema
}

/// Annotates those of the keys of a table that others say something of.
fn annotate(schema: &mut Value, table: &str, says: impl Iterator<Item = (&'static str, String)>) {
    for (key, says) in says {
        let key = schema.pointer_mut(&format!("{table}/properties/{key}"));
        if let Some(Value::Object(key)) = key {
            rules::add(key, &says);
        }
    }
}

/// Drops keys without a default, which TOML has no word for.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(keys) => {
            keys.retain(|_, value| !value.is_null());
            keys.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
