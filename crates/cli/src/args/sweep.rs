//! Arguments of `sweep`.

use std::path::PathBuf;

use clap::Args;

use super::TableFormat;

/// Arguments of `sweep`.
#[derive(Args, Debug)]
#[command(
    after_help = "Exit status: 0 success, 1 some run stalled or failed, 2 error.\nThe same command again goes on where it was interrupted. docs/sweeps.md describes FILE and DIR."
)]
pub(crate) struct Sweep {
    /// What is varied and measured
    #[arg(value_name = "FILE.toml")]
    pub(crate) file: PathBuf,
    /// Directory for runs, tables and page; by default out/FILE-sweep
    #[arg(long, alias = "output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Form of the output: the means, or as CSV a row for each run and metric
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,
    /// Threads, by default one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Make DIR, which holds another sweep, this one's; runs that both have aren't run again
    #[arg(long)]
    pub(crate) extend: bool,
    /// However many runs there are
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Say how many runs there are and what is measured, and run none
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
