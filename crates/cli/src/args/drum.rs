//! The command line of `drum` and `reproduce`.

use std::fs;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Format;

/// What to do with a problem.
#[derive(Debug, Subcommand)]
pub(crate) enum Drum {
    /// Find the rates of greatest value, and a bound that says how far they can be from the best
    Solve(Solve),
    /// Write random problems, one per line
    Random(Random),
    /// Lay out who is active when, so that nobody starves
    Schedule(Schedule),
}

/// Where a problem comes from, with which changes.
#[derive(Args, Debug)]
pub(crate) struct Instance {
    /// Problem; - for standard input. `fairlane schema drum` has its keys
    #[arg(value_name = "FILE.json|-")]
    pub(crate) file: PathBuf,
    /// A list of the inputs from an array that numpy.save wrote; can be repeated
    #[arg(long = "column", value_name = "NAME=FILE.npy", value_parser = column)]
    pub(crate) columns: Vec<Column>,
    /// How applications are selected, or the method, instead of the file's
    #[arg(long, value_enum)]
    pub(crate) mode: Option<Mode>,
    /// Queue pairs that may be active at a time, instead of the file's
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) k: Option<f64>,
    /// Relative gap between value and bound at which the solver stops
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(crate) tolerance: Option<f64>,
    /// Longest line, and longest file of one problem, in bytes; a longer one is refused before it is held
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 28)]
    pub(crate) longest_line: usize,
}

/// The name of a list of the inputs, the file that has it, and what that holds.
type Column = (String, String, Vec<u8>);

fn column(text: &str) -> Result<Column, String> {
    let parts = text.split_once('=');
    let (name, file) = parts.ok_or("expected NAME=FILE.npy, such as weight=weight.npy")?;
    let bytes = fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    Ok((name.into(), file.into(), bytes))
}

/// Arguments of `drum solve`.
#[derive(Args, Debug)]
#[command(
    after_help = "Several problems, one per line, are solved as they come, in bounded memory; \
    the answers keep their order.\n\n\
    Exit status: 0 success, 1 an answer with a larger gap than required, 2 error."
)]
pub(crate) struct Solve {
    #[command(flatten)]
    pub(crate) instance: Instance,
    /// Form of the answer
    #[arg(long, value_enum, default_value_t = Format::Json)]
    pub(crate) format: Format,
    /// Threads, by default one for each processor; answers don't depend on them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// Start from the prices of an earlier answer; of several answers, from that of the same name. Networks start anew
    #[arg(long, value_name = "ANSWERS.json")]
    pub(crate) start: Option<PathBuf>,
    /// Exit with status 1 if a relative gap is larger than G
    #[arg(long, value_name = "G", allow_negative_numbers = true)]
    pub(crate) require_gap: Option<f64>,
    /// Take each line for a problem; report one that is wrong or has no solution, and go on with the next
    #[arg(long)]
    pub(crate) keep_going: bool,
}

/// Arguments of `drum random`.
#[derive(Args, Debug)]
pub(crate) struct Random {
    /// Hosts: one line each, unless they are coupled
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) hosts: u32,
    /// Applications of each host
    #[arg(long, value_name = "M", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) apps: u32,
    /// Seed of the random numbers
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = super::seed)]
    pub(crate) seed: u64,
    /// Fairness exponent
    #[arg(
        long,
        value_name = "A",
        default_value_t = 0.5,
        allow_negative_numbers = true
    )]
    pub(crate) alpha: f64,
    /// How much latency counts against throughput
    #[arg(
        long,
        value_name = "B",
        default_value_t = 0.01,
        allow_negative_numbers = true
    )]
    pub(crate) beta: f64,
    /// How applications are selected
    #[arg(long, value_enum, default_value_t = Mode::Fixed)]
    pub(crate) mode: Mode,
    /// Queue pairs that may be active at a time; needed by modes that select
    #[arg(long, value_name = "N")]
    pub(crate) k: Option<u32>,
    /// One network of the hosts, with ingress, polling of arrivals, and core links
    #[arg(long)]
    pub(crate) coupled: bool,
}

/// Arguments of `drum schedule`.
#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 success, 1 a minimum rate can't be kept, 2 error.")]
pub(crate) struct Schedule {
    #[command(flatten)]
    pub(crate) instance: Instance,
    /// Epochs of the frame, by default about the fewest with which rates are near the best
    #[arg(long, value_name = "F", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frame: Option<u64>,
    /// How applications take turns
    #[arg(long, value_enum, default_value_t = Policy::Frame)]
    pub(crate) policy: Policy,
    /// Slots that go to whoever has waited longest, policy reserve
    #[arg(long, value_name = "R", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) reserved: u16,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
}

/// How applications take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Policy {
    /// A frame that repeats, with the epochs and rates that are worth most
    Frame,
    /// Most slots by what applications gain, the rest by how long they have waited
    Reserve,
}

/// How applications are selected, or the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Mode {
    /// Every application takes part
    Fixed,
    /// The k largest throughput utilities count; all send
    TopkUtility,
    /// At most k applications send
    ActiveSet,
    /// Long-run rates of all, at most k active at a time
    Timeshare,
    /// The paper's problem as it is printed, as far as that goes: a stationary point
    Paper,
    /// As fixed, by the paper's ADMM with its errors corrected
    Admm,
    /// Dual decomposition, the paper's baseline
    DualDecomposition,
}

/// Arguments of `reproduce`.
#[derive(Args, Debug)]
#[command(after_help = "Exit status: 0 every check passes, 1 some check doesn't, 2 error.")]
pub(crate) struct Reproduce {
    /// Experiment, all of them, or a folder with an experiment.toml of your own
    #[arg(value_name = "NAME|all|./FOLDER", required_unless_present = "list")]
    pub(crate) name: Option<String>,
    /// Name every experiment with its source and figure
    #[arg(long, conflicts_with_all = ["name", "out", "quick"])]
    pub(crate) list: bool,
    /// Directory for rows and plots, in a folder for each experiment
    #[arg(long, alias = "output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Replace the results that the folders hold; other files in them stay
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// In a reduced size, to see that everything works
    #[arg(long)]
    pub(crate) quick: bool,
    /// Threads, by default one for each processor
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Option<u16>,
    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}
