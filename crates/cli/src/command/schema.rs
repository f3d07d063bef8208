//! `fairlane schema`.

use crate::args::{Schema, SchemaOf};
use crate::backend;
use crate::failure::Failure;
use crate::print;

/// Prints the JSON Schema of the scenario, or of a problem of `drum`.
///
/// # Errors
/// If standard output can't be written.
pub(crate) fn schema(arguments: &Schema) -> Result<(), Failure> {
    print::json(&match arguments.of {
        SchemaOf::Scenario => backend::schema(),
        SchemaOf::Drum => fairlane_drum_file::schema(),
    })
}
