//! Arguments of `attack`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, Scenario};

/// Arguments of `attack`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 whatever the verdict, 2 error.\ndocs/attacks.md says what each attack does and how every figure is defined."
)]
pub(crate) struct Attack {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Attack, or every one that the scenario can have
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub(crate) attack: String,
    /// Which traffic shares one controller, or every choice
    #[arg(long, value_name = "NAME|all", default_value = "all")]
    pub(crate) scope: String,
    /// Tenant that attacks, by default that of the scenario's attack, else the first
    #[arg(long, value_name = "TENANT")]
    pub(crate) attacker: Option<String>,
    /// Congestion control, instead of the scenario's
    #[arg(long, value_name = "NAME")]
    pub(crate) controller: Option<String>,
    /// Runs of everything, each with the next seed
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) seeds: u16,
    /// Directory for the verdict and a report of each attack under each scope
    #[arg(long, alias = "output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the results that DIR holds; other files in it stay
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Threads, by default one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
