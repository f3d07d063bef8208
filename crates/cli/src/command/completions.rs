//! `fairlane completions`.

use clap::CommandFactory as _;

use crate::args::{Arguments, Completions};
use crate::failure::Failure;
use crate::print;

/// Prints a script that makes a shell complete the arguments of this command.
///
/// # Errors
/// If standard output can't be written.
pub(crate) fn completions(arguments: &Completions) -> Result<(), Failure> {
    // The generator panics where it can't write, so that it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "fairlane",
        &mut script,
    );
    print::text(&String::from_utf8_lossy(&script))
}
