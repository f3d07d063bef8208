//! `fairlane check`.

use crate::args::Scenario;
use crate::backend;
use crate::failure::Failure;
use crate::prepared::refuse_idleness;
use crate::print;

/// Does what a run does before it starts: reads, checks and builds the scenario, and says what a reader of the results
/// should know beforehand.
///
/// # Errors
/// If a run would refuse the scenario.
pub(crate) fn check(scenario: &Scenario) -> Result<(), Failure> {
    let loaded = backend::load(scenario)?;
    // Programs of a lab are traffic, too.
    if loaded.scenario.lab.is_none() {
        refuse_idleness(&loaded)?;
    }
    for note in backend::notes(&loaded)? {
        print::say(note);
    }
    backend::build(&loaded)?;
    print::text(&format!("{}: can be run", loaded.scenario.name))
}
