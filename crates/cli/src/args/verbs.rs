//! Arguments of commands about the software NIC.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use fairlane_lab::Place;
use fairlane_units::NodeId;

/// Arguments of `exec`.
#[derive(Args, Debug)]
pub(crate) struct Exec {
    /// Address of the program's device; left out, FAIRLANE_ADDRESS, else a free one of 127.76.0.0/16 for each process
    #[arg(long, value_name = "IP")]
    pub(crate) address: Option<IpAddr>,
    /// Directory for the results of a running `fairlane lab`, whose fabric carries the program's packets, or its socket
    #[arg(
        long,
        value_name = "DIR",
        requires = "host",
        conflicts_with = "address"
    )]
    pub(crate) lab: Option<PathBuf>,
    /// Host of the lab that the program runs at, by node; behind a colon the number of the program among those of the host
    #[arg(long, value_name = "HOST[:N]", requires = "lab", value_parser = place)]
    pub(crate) host: Option<Place>,
    /// What goes wrong on purpose: packets, port, GID, requests, queues, MTU (docs/verbs-programs.md)
    #[arg(long, value_name = "FILE")]
    pub(crate) faults: Option<PathBuf>,
    /// Load the libraries before all others, for programs that look for theirs elsewhere (LD_PRELOAD)
    #[arg(long)]
    pub(crate) preload: bool,
    /// How the program finds devices in /sys/class/infiniband and /dev/infiniband
    #[arg(long, value_enum, default_value_t = Sysfs::Auto, value_name = "HOW")]
    pub(crate) sysfs: Sysfs,
    /// Program and its arguments
    #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM ARGS")]
    pub(crate) program: Vec<OsString>,
}

/// How a program finds the folders of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Sysfs {
    /// By a mount namespace if the kernel lets it, else by LD_PRELOAD
    Auto,
    /// By a mount namespace, and for users but root a user namespace
    Namespace,
    /// By LD_PRELOAD, which statically linked programs ignore
    Preload,
    /// Not at all
    None,
}

/// Arguments of `stat`.
#[derive(Args, Debug)]
pub(crate) struct Stat {
    /// Address of a device; left out, every device of this user, or of all users for root
    #[arg(long, value_name = "IP")]
    pub(crate) address: Option<IpAddr>,
    /// Queue pairs, too
    #[arg(long)]
    pub(crate) qp: bool,
    /// Counters that are 0, too; only text leaves them out
    #[arg(long)]
    pub(crate) all: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = StatFormat::Text)]
    pub(crate) format: StatFormat,
    /// Again every S seconds, until no device is left
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) interval: Option<Duration>,
}

/// Form of the output of `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatFormat {
    /// Tables for people
    Text,
    /// JSON; with --interval a line each time
    Json,
    /// Comma-separated values with a header, a line for each counter
    Csv,
    /// Text format of Prometheus
    Prometheus,
}

/// The value of `--host`.
fn place(text: &str) -> Result<Place, String> {
    let (host, program) = text.split_once(':').unwrap_or((text, "0"));
    let number = |text: &str| text.trim().parse().ok();
    let place = number(host).zip(program.trim().parse().ok());
    let place = place.map(|(host, program)| Place {
        host: NodeId::new(host),
        plane: 0,
        program,
    });
    let place = place.filter(|place| place.address().is_some());
    place
        .ok_or_else(|| "expected the number of a host, as 3, or with one of 0 to 29, as 3:1".into())
}

/// The value of `--interval`.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds: Option<f64> = text.trim().parse().ok();
    let seconds = seconds.filter(|seconds| (0.01..=1e6).contains(seconds));
    let expected = || "expected seconds from 0.01 to 1000000".to_owned();
    seconds.map(Duration::from_secs_f64).ok_or_else(expected)
}
