//! `fairlane schema`.

use crate::args::SchemaOf;
use crate::backend;
use crate::failure::Failure;
use crate::print;

/// Prints the JSON Schema of the scenario, or of a problem of `drum`.
pub(crate) fn schema(of: SchemaOf) -> Result<(), Failure> {
    print::json(&match of {
        SchemaOf::Scenario => backend::schema(),
        SchemaOf::Drum => fairlane_drum_file::schema(),
    })
}
