//! `fairlane completions`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Arguments;
use crate::failure::Failure;
use crate::print;

/// Prints a script that makes a shell complete the arguments of this command.
pub(crate) fn completions(shell: Shell) -> Result<(), Failure> {
    // The generator panics where it can't write, so that it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "fairlane", &mut script);
    print::text(&String::from_utf8_lossy(&script))
}
