//! What the command can do, one file each.

mod attack;
mod check;
mod compare;
mod completions;
mod doctor;
mod drum;
mod exec;
mod explain;
mod export;
mod flatten;
mod import;
mod init;
mod lab;
mod overview;
mod paths;
mod reproduce;
mod run;
mod schema;
mod stat;
mod sweep;
mod topology;

use std::process::ExitCode;

use crate::args::{Command, Drum, Export};
use crate::failure::Failure;

/// Does what the command line says.
pub(crate) fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run(arguments) => return run::run(&arguments),
        Command::Lab(arguments) => return lab::lab(&arguments),
        Command::Check(scenario) => check::check(&scenario),
        Command::Init { name } => init::init(&name),
        Command::Sweep(arguments) => return sweep::sweep(&arguments),
        Command::Import(from) => import::import(&from),
        Command::Export(Export::HpccFct(arguments)) => export::hpcc_fct(&arguments),
        Command::Export(Export::Pcap(arguments)) => export::pcap(&arguments),
        Command::Topology(arguments) => topology::topology(&arguments),
        Command::Paths(arguments) => paths::paths(&arguments),
        Command::Compare(arguments) => compare::compare(&arguments),
        Command::Explain { results, format } => explain::explain(&results, format),
        Command::Drum(Drum::Solve(arguments)) => return drum::solve(&arguments),
        Command::Drum(Drum::Random(arguments)) => drum::random(&arguments),
        Command::Drum(Drum::Schedule(arguments)) => return drum::schedule(&arguments),
        Command::Attack(arguments) => attack::attack(&arguments),
        Command::Reproduce(arguments) => return reproduce::reproduce(&arguments),
        Command::Exec(arguments) => exec::exec(&arguments),
        Command::Doctor => return doctor::doctor(),
        Command::Stat(arguments) => return stat::stat(&arguments),
        Command::Schema { of } => schema::schema(of),
        Command::Completions { shell } => completions::completions(shell),
    }
    .map(|()| ExitCode::SUCCESS)
}
