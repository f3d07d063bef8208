//! The JSON Schema, and the page that describes every key.

use std::collections::BTreeSet;

use fairlane_scenario::schema;
use serde_json::Value;

/// The names of all properties, wherever they are, with whether each says what it means.
fn properties(value: &Value, found: &mut BTreeSet<String>, silent: &mut Vec<String>) {
    if let Some(Value::Object(properties)) = value.get("properties") {
        for (name, schema) in properties {
            found.insert(name.clone());
            let refers = schema.get("$ref").is_some() || schema.get("const").is_some();
            if schema.get("description").is_none() && !refers {
                silent.push(name.clone());
            }
        }
    }
    match value {
        Value::Object(fields) => fields
            .values()
            .for_each(|value| properties(value, found, silent)),
        Value::Array(items) => items
            .iter()
            .for_each(|value| properties(value, found, silent)),
        _ => {}
    }
}

#[test]
fn every_key_has_a_description() {
    let (mut found, mut silent) = (BTreeSet::new(), Vec::new());
    properties(&schema(), &mut found, &mut silent);
    assert!(silent.is_empty(), "{silent:?}");
    for key in [
        "trace_nodes",
        "kmin_per_gbps",
        "hosts_per_tor",
        "destination_port",
        "percent",
        "gain",
    ] {
        assert!(found.contains(key), "{key} in {found:?}");
    }
}

#[test]
fn defaults_are_stated() {
    let schema = schema();
    let default =
        |section: &str, key: &str| schema["$defs"][section]["properties"][key]["default"].clone();
    assert_eq!(default("PacketSizes", "mtu"), "1KiB");
    assert_eq!(default("Pfc", "headroom_delays"), "lossless");
    assert_eq!(default("Transport", "retry_limit"), 7);
    assert_eq!(default("Switch", "forwarding"), "ecmp");
    assert_eq!(default("Pfc", "xoff"), Value::Null);
    assert_eq!(schema["properties"]["stop"]["default"], "never");
    assert_eq!(schema["properties"]["seed"]["default"], 1);
}

#[test]
fn ranges_are_stated() {
    let schema = schema();
    let range = |section: &str, key: &str| {
        let key = &schema["$defs"][section]["properties"][key];
        [key["minimum"].clone(), key["maximum"].clone()]
    };
    assert_eq!(range("Costs", "cache_entries"), [1, 1 << 24]);
    assert_eq!(range("Ecn", "pmax"), [0.0, 1.0]);
}

#[test]
fn ranges_without_a_word_in_json_schema_are_text() {
    let schema = schema();
    let range = |section: &str, key: &str| &schema["$defs"][section]["properties"][key]["x-range"];
    assert_eq!(range("PacketSizes", "mtu"), "1B to 9KiB");
    assert_eq!(range("Pfc", "watchdog"), "above 0");
    assert_eq!(range("Params", "draining"), "0.1 to 1; at most eta");
    assert_eq!(*range("Costs", "doorbell"), Value::Null);
}

#[test]
fn the_page_describes_every_key() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (mut found, mut silent) = (BTreeSet::new(), Vec::new());
    properties(&schema(), &mut found, &mut silent);
    let mentioned = |key: &str| {
        page.contains(&format!("`{key}`"))
            || page.contains(&format!("[{key}]"))
            || page.contains(&format!(".{key}]"))
    };
    let missing: Vec<_> = found.iter().filter(|key| !mentioned(key)).collect();
    assert!(
        missing.is_empty(),
        "docs/scenario.md says nothing about {missing:?}"
    );
}

#[test]
fn the_example_of_the_page_loads() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
    let page = std::fs::read_to_string(page).unwrap();
    let example = page
        .split("```toml")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .unwrap();
    fairlane_scenario::parse(example, "example", std::path::Path::new("."), &[], None).unwrap();
}
