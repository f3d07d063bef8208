//! The `fairlane` command.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    fairlane_cli::main()
}
