//! `fairlane sweep`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use fairlane_experiments::sweep::{self, Extend, Failed, Local, MANY_RUNS, Record, Store, Told};

use crate::args::{Sweep, TableFormat};
use crate::command::drum::threads;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use crate::progress::Runs;
use fairlane_results::table;

/// Runs what is missing of a sweep, and writes its tables and its page.
///
/// # Errors
/// If the file is wrong, the directory belongs to something else or can't be written, runs can't be simulated, or a
/// signal arrives. Runs that have ended are kept whatever happens.
pub(crate) fn sweep(arguments: &Sweep) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::listen()?;
    let most = if arguments.yes { u64::MAX } else { MANY_RUNS };
    let stopped = || interrupt.arrived();
    let local = Local {
        threads: threads(arguments.threads),
        stopped: &stopped,
    };
    let read = sweep::Sweep::read(&arguments.file, most, local);
    interrupt.check()?;
    let sweep = read?;
    let folder = folder(arguments);
    if arguments.dry_run {
        return dry_run(&sweep);
    }
    let extend = if arguments.extend {
        Extend::Yes
    } else {
        Extend::No
    };
    let mut store = Store::open(&folder, &sweep, extend)?;
    let failed = measure(&sweep, &mut store, local, arguments.quiet)?;
    let records = store.records(&sweep);
    let kept = records.iter().flatten().count();
    if let Err(failure) = interrupt.check() {
        let runs = records.len();
        let command = go_on(arguments);
        let words = format!(
            "interrupted: {kept} of {runs} runs are kept in {}\nhint: go on with `{command}`",
            folder.display()
        );
        return Err(failure.kept(words));
    }
    sweep.write(&folder, &records)?;
    if !arguments.quiet {
        print::say(format_args!("results in {}", folder.display()));
    }
    show(&sweep, &records, arguments.format)?;
    end(&sweep, &records, &failed)
}

/// Runs what is missing.
fn measure(
    sweep: &sweep::Sweep,
    store: &mut Store,
    local: Local<'_>,
    quiet: bool,
) -> Result<Vec<Failed>, Failure> {
    let mut bar = Runs::begin(quiet);
    let mut watch = |told: Told| bar.update(&told, told.run.map(|run| sweep.name(run)));
    Ok(sweep::complete(sweep, store, &local, &mut watch)?)
}

/// The directory of the results.
fn folder(arguments: &Sweep) -> PathBuf {
    arguments.out.clone().unwrap_or_else(|| {
        let stem = arguments.file.file_stem().unwrap_or_default();
        Path::new("out").join(format!("{}-sweep", stem.to_string_lossy()))
    })
}

/// The command that goes on.
fn go_on(arguments: &Sweep) -> String {
    let mut command = format!("fairlane sweep {}", arguments.file.display());
    if let Some(out) = &arguments.out {
        let _ = write!(command, " --out {}", out.display());
    }
    if arguments.yes {
        command.push_str(" --yes");
    }
    command
}

fn dry_run(sweep: &sweep::Sweep) -> Result<ExitCode, Failure> {
    let runs = sweep.runs().len();
    let points = sweep.points().len();
    let metrics: Vec<_> = sweep.metrics().collect();
    let axes = sweep.axes();
    let axes: Vec<_> = axes
        .iter()
        .map(|axis| format!("{} ({})", axis.name, axis.values.join(", ")))
        .collect();
    print::text(&table::list(&[
        (
            "runs",
            format!("{runs}: {points} combinations, {} seeds", sweep.seeds()),
        ),
        ("axes", axes.join("; ")),
        ("metrics", metrics.join(", ")),
    ]))?;
    Ok(ExitCode::SUCCESS)
}

fn show(
    sweep: &sweep::Sweep,
    records: &[Option<Record>],
    format: TableFormat,
) -> Result<(), Failure> {
    match format {
        TableFormat::Text => print::text(&format!("{}\n\n{}", sweep.title, sweep.grid(records))),
        TableFormat::Csv => print::text(&sweep.table(records).csv()?),
        TableFormat::Json => print::json(&serde_json::json!({
            "title": sweep.title, "means": sweep.means(records).by_rows(),
            "table": sweep.table(records).by_rows(),
        })),
    }
}

/// Says which runs have no or a bad end.
fn end(
    sweep: &sweep::Sweep,
    records: &[Option<Record>],
    failed: &[Failed],
) -> Result<ExitCode, Failure> {
    if let Some(first) = failed.first() {
        let count = failed.len();
        let others = match count {
            1 => String::new(),
            _ => format!(" (and {} others)", count - 1),
        };
        return Err(Failure::from(first.error.clone())
            .within(&format!("{count} of {} runs failed{others}", records.len())));
    }
    let bad: Vec<usize> = (0..records.len())
        .filter(|run| {
            let ending = records[*run].as_ref().map(|record| record.ending.as_str());
            ending.is_some_and(|ending| matches!(ending, "stalled" | "failed"))
        })
        .collect();
    let Some(first) = bad.first() else {
        return Ok(ExitCode::SUCCESS);
    };
    print::say(format_args!(
        "{} of {} runs stalled or failed, the first is {}; column `ending` says which",
        bad.len(),
        records.len(),
        sweep.name(*first)
    ));
    Ok(ExitCode::from(1))
}
