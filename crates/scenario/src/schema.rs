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
        let place = format!("/$defs/Congestion/properties/{section}/$ref");
        let table = schema.pointer(&place).and_then(Value::as_str);
        let table = table.map(|path| format!("{}/properties", path.trim_start_matches('#')));
        if let Some(Value::Object(keys)) = table.and_then(|table| schema.pointer_mut(&table)) {
            let says = limits
                .iter()
                .map(|limit| (limit.key, rules::text(&limit.rule)));
            rules::annotate_all(keys, says);
        }
    }
    if let Some(Value::Object(keys)) = schema.pointer_mut("/$defs/Multipath/properties") {
        let settings = Settings::default();
        let says = settings
            .ranges()
            .map(|range| (range.key, range.to_string()));
        rules::annotate_all(keys, says);
    }
    drop_nulls(&mut schema);
    schema
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
