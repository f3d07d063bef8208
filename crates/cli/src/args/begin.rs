//! Arguments of what comes before a run.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::Scenario;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
}

/// Arguments of `init`.
#[derive(Args, Debug)]
pub(crate) struct Init {
    /// Scenario to write; .toml is added where it is missing
    #[arg(value_name = "NAME", default_value = "scenario")]
    pub(crate) name: PathBuf,
}

/// Arguments of `completions`.
#[derive(Args, Debug)]
pub(crate) struct Completions {
    /// Of which shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
