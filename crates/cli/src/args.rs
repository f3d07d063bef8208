//! The command line.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fairlane_scenario::LARGEST_SEED;

mod attack;
mod drum;
mod suggestion;
mod sweep;
mod verbs;

pub(crate) use attack::Attack;
pub(crate) use drum::{Drum, Instance, Mode, Policy, Random, Reproduce, Schedule, Solve};
pub(crate) use suggestion::parse;
pub(crate) use sweep::Sweep;
pub(crate) use verbs::{Exec, Stat, StatFormat, Sysfs};

/// RDMA traffic management for shared data centres: packet-level simulation.
#[derive(Debug, Parser)]
#[command(
    name = "fairlane",
    version,
    arg_required_else_help = true,
    after_help = "Exit status: 0 success, 1 negative result (the run stalled or queue pairs failed), 2 error."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario, packet by packet
    Run(Run),
    /// Run a scenario with software NICs, memory and payload at its hosts
    Lab(Lab),
    /// Say what a run of a scenario would say before it starts, and run nothing
    Check(Scenario),
    /// Write a scenario to begin with
    Init {
        /// Scenario to write; .toml is added where it is missing
        #[arg(value_name = "NAME", default_value = "scenario")]
        name: PathBuf,
    },
    /// Run a scenario in many variants and put them into tables and pictures
    Sweep(Sweep),
    /// Turn another simulator's files into a scenario
    #[command(subcommand, arg_required_else_help = true)]
    Import(Import),
    /// Turn results into another program's format
    #[command(subcommand, arg_required_else_help = true)]
    Export(Export),
    /// Describe the fabric that a scenario builds
    Topology(Topology),
    /// Show which source port takes which path
    Paths(Paths),
    /// Put the results of several runs side by side
    Compare(Compare),
    /// Say why a run went as it did: what its messages waited for
    Explain {
        /// Directory that `run` has written
        #[arg(value_name = "DIR")]
        results: PathBuf,
        /// Form of the output
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Share queue pairs and completion queues among applications
    #[command(subcommand, arg_required_else_help = true)]
    Drum(Drum),
    /// Try what a tenant could do to take more than its share
    Attack(Attack),
    /// Run published experiments again and put both results side by side
    Reproduce(Reproduce),
    /// Run a program that uses verbs on the software NIC
    Exec(Exec),
    /// Say what a program that uses verbs would find here, and what is missing
    Doctor,
    /// Show what software NICs of running programs have counted
    Stat(Stat),
    /// Print a JSON Schema
    Schema {
        /// Of what
        #[arg(value_enum, default_value_t = SchemaOf::Scenario)]
        of: SchemaOf,
    },
    /// Print what makes a shell complete this command's arguments
    Completions {
        /// Of which shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// What has a JSON Schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    /// The scenario
    Scenario,
    /// A problem that `drum solve` reads
    Drum,
}

/// Which scenario, with which changes.
#[derive(Args, Clone, Debug)]
pub(crate) struct Scenario {
    /// Scenario file, or - for standard input
    #[arg(value_name = "SCENARIO.toml")]
    pub(crate) scenario: PathBuf,
    /// Seed of every random stream, instead of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = seed)]
    pub(crate) seed: Option<u64>,
    /// Change one setting, such as congestion.algorithm=hpcc; may be repeated
    #[arg(long = "set", value_name = "KEY.PATH=VALUE")]
    pub(crate) overrides: Vec<String>,
}

/// The value of `--seed`: what the key `seed` of a scenario may be.
fn seed(text: &str) -> Result<u64, String> {
    let found = match text.trim().starts_with('-') {
        true => "negative",
        false => "no such number",
    };
    let seed = text
        .trim()
        .parse()
        .ok()
        .filter(|seed| *seed <= LARGEST_SEED);
    seed.ok_or_else(|| format!("{found}, expected a whole number from 0 to {LARGEST_SEED}"))
}

/// What is written and shown of a run.
#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Directory for the results, by default out/NAME, where NAME is the scenario's; appears when they are complete
    #[arg(long, alias = "output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Form of the summary on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,
    /// Replace the results that DIR holds; other files in it stay
    #[arg(long)]
    pub(crate) force: bool,
    /// Also say of each signal that the run didn't see why
    #[arg(long)]
    pub(crate) signals: bool,
    /// No progress on standard error
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Arguments of `lab`.
#[derive(Args, Debug)]
pub(crate) struct Lab {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Hosts whose messages software NICs carry, such as 0-7,12, instead of all; those of others are simulated
    #[arg(long, value_name = "HOSTS")]
    pub(crate) real: Option<String>,
    /// Run in real time, so many times slower, for programs at its hosts: those of [lab], and of `fairlane exec --lab`; left out, as
    /// [lab] says
    #[arg(long, value_name = "N", conflicts_with = "real", value_parser = scale)]
    pub(crate) scale: Option<f64>,
}

/// The value of `--scale`.
fn scale(text: &str) -> Result<f64, String> {
    let scale = text.trim().parse().ok();
    let scale = scale.filter(|scale| (1.0..=1e6).contains(scale));
    scale.ok_or_else(|| "expected a number from 1 to 1000000".to_owned())
}

/// Arguments of `run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    #[command(flatten)]
    pub(crate) output: Output,
    /// Also say how threads shared the run
    #[arg(long, short, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Show the report on a page of this machine while the run goes on
    #[arg(long)]
    pub(crate) live: bool,
    /// Port of that page; left out, one that is free
    #[arg(long, value_name = "N", requires = "live")]
    pub(crate) port: Option<u16>,
    /// Threads that share the run, which change no result; left out, as many as there are cores if the run is
    /// large enough to gain
    #[arg(long, value_name = "N", value_parser = threads)]
    pub(crate) threads: Option<usize>,
}

/// The value of `--threads`.
fn threads(text: &str) -> Result<usize, String> {
    match text.trim().parse::<usize>() {
        Ok(0) | Err(_) => Err("expected a number of threads, at least 1".to_owned()),
        Ok(count) => Ok(count),
    }
}

/// Formats that can be read.
#[derive(Debug, Subcommand)]
pub(crate) enum Import {
    /// Config, topology, flow and trace text of HPCC's ns-3 simulator
    Hpcc(ImportCase),
    /// Config, topology and flow text of ConWeave's ns-3 simulator
    Conweave(ImportCase),
    /// Connection matrix and fat tree of htsim
    Htsim(ImportMatrix),
}

impl Import {
    /// Where to write.
    pub(crate) const fn target(&self) -> &ImportTarget {
        match self {
            Self::Hpcc(it) | Self::Conweave(it) => &it.target,
            Self::Htsim(it) => &it.target,
        }
    }
}

/// Arguments of `import` of a case with a config file.
#[derive(Args, Debug)]
pub(crate) struct ImportCase {
    /// Config file of the simulator
    #[arg(value_name = "CONFIG.txt")]
    pub(crate) config: PathBuf,
    #[command(flatten)]
    pub(crate) target: ImportTarget,
}

/// Arguments of `import htsim`.
#[derive(Args, Debug)]
pub(crate) struct ImportMatrix {
    /// Connection matrix
    #[arg(value_name = "MATRIX.cm")]
    pub(crate) matrix: PathBuf,
    /// Fat tree; left out, the one that htsim builds for as many nodes
    #[arg(short, long, value_name = "TREE.topo")]
    pub(crate) topology: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) target: ImportTarget,
}

/// Where `import` writes.
#[derive(Args, Debug)]
pub(crate) struct ImportTarget {
    /// Scenario to write; its side files go beside it
    #[arg(short, long, alias = "out", value_name = "CASE.toml")]
    pub(crate) output: PathBuf,
    /// Replace files of these names
    #[arg(long)]
    pub(crate) force: bool,
}

/// Formats that can be written.
#[derive(Debug, Subcommand)]
pub(crate) enum Export {
    /// Completion times in the text format of HPCC's ns-3 simulator, in completion order
    #[command(mut_arg("output", |output| output.value_name("FCT.txt")))]
    HpccFct(ExportFile),
    /// Packets at captured ports as pcapng, for Wireshark
    #[command(
        mut_arg("results", |it| it.help("Directory that `run` has written, of a scenario that captures")),
        mut_arg("output", |output| output.value_name("CAPTURE.pcapng"))
    )]
    Pcap(ExportFile),
}

/// Arguments of `export`.
#[derive(Args, Debug)]
pub(crate) struct ExportFile {
    /// Directory that `run` has written
    #[arg(value_name = "DIR")]
    pub(crate) results: PathBuf,
    /// File to write
    #[arg(short, long, alias = "out")]
    pub(crate) output: PathBuf,
    /// Replace a file of that name
    #[arg(long)]
    pub(crate) force: bool,
}

/// Arguments of `topology`.
#[derive(Args, Debug)]
pub(crate) struct Topology {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Also list all switches and links
    #[arg(long)]
    pub(crate) links: bool,
    /// Form of the output; CSV has the links
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,
}

/// Arguments of `paths`.
#[derive(Args, Debug)]
pub(crate) struct Paths {
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Node number of the sender
    #[arg(value_name = "SRC")]
    pub(crate) source: u32,
    /// Node number of the receiver
    #[arg(value_name = "DST")]
    pub(crate) destination: u32,
    /// Source ports to try, inclusive
    #[arg(long, value_name = "A-B", default_value = "10000-10031", value_parser = ports)]
    pub(crate) ports: RangeInclusive<u16>,
    /// Destination port of the messages; profile hpcc-ns3 hashes it
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) destination_port: u16,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,
}

/// Arguments of `compare`.
#[derive(Args, Debug)]
pub(crate) struct Compare {
    /// Directories that `run` has written
    #[arg(value_name = "DIR", num_args = 2.., required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// Form of the output; as CSV and JSON a row for each run with all figures
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,
    /// Also write a page with the runs over each other; those that differ in the seed alone are one line
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Replace FILE.html
    #[arg(long, requires = "report")]
    pub(crate) force: bool,
}

/// Form of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables for people
    Text,
    /// JSON
    Json,
}

/// Form of an output that is a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// Tables for people
    Text,
    /// JSON
    Json,
    /// Comma-separated values with a header
    Csv,
}

/// Reads `A-B` or a single port.
fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| {
        text.trim().parse::<u16>().map_err(|_| {
            format!("expected ports from 0 to 65535 such as 10000-10031, not \"{text}\"")
        })
    };
    let (first, last) = (port(first)?, port(last)?);
    if last < first {
        return Err(format!("the range is empty: {last} is below {first}"));
    }
    Ok(first..=last)
}
