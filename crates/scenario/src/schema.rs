//! The scenario file as a JSON Schema.

use schemars::schema_for;

use crate::types::Scenario;

/// The JSON Schema of a scenario: every key with its description, type and default.
pub fn schema() -> serde_json::Value {
    schema_for!(Scenario).to_value()
}
