//! `fairlane import`.

use crate::args::Import;
use crate::backend;
use crate::command::export::refuse_existing;
use crate::failure::Failure;
use crate::print;

/// Writes a scenario from the files of another simulator.
///
/// # Errors
/// If a file is missing, unreadable or says something that can't be honoured.
pub(crate) fn import(from: &Import) -> Result<(), Failure> {
    let imported = backend::import(from)?;
    let case = from.target();
    let targets = imported.targets(&case.output)?;
    for target in &targets {
        refuse_existing(target, case.force)?;
    }
    imported.write(&case.output)?;
    for note in imported.notes {
        print::say(format_args!("note: {note}"));
    }
    let written = targets[0].display();
    print::say(format_args!(
        "wrote {written}; run it with: fairlane run {written} --out DIR"
    ));
    Ok(())
}
