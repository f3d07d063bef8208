//! `fairlane reproduce`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fairlane_experiments::{
    Cell, Check, Experiment, Map, Open, OpenCheck, Outcome, Rows, Settings, Verdict, Wanted, Watch,
};
use serde_json::json;

use crate::args::{Format, Reproduce};
use crate::command::drum::threads;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::staging::Staging;
use crate::{print, table};

/// Files of an experiment's folder; plots and curves are listed by the experiment itself.
const NAMES: [&str; 2] = ["outcome.json", "rows.csv"];

impl From<fairlane_experiments::Error> for Failure {
    fn from(error: fairlane_experiments::Error) -> Self {
        let failure = Self::new(error.message);
        if error.hint.is_empty() {
            failure
        } else {
            failure.hint(error.hint)
        }
    }
}

/// Says what is going on, and hears of signals.
struct Reporter<'a> {
    name: &'a str,
    interrupt: &'a Interrupt,
    quiet: bool,
}

impl Watch for Reporter<'_> {
    fn begin(&self, part: &str, number: usize, parts: usize) {
        if !self.quiet && !self.stopped() {
            print::say(format_args!("{}: {number} of {parts}: {part}", self.name));
        }
    }

    fn stopped(&self) -> bool {
        self.interrupt.arrived()
    }
}

/// Runs experiments, or lists them.
///
/// # Errors
/// If there is no such experiment, the directory can't be written, or a signal arrives.
pub(crate) fn reproduce(arguments: &Reproduce) -> Result<ExitCode, Failure> {
    let Some(name) = arguments.name.as_deref() else {
        return list(arguments.format);
    };
    let experiments = fairlane_experiments::select(name)?;
    let interrupt = Interrupt::listen()?;
    let mut outcomes = Vec::new();
    for experiment in &experiments {
        outcomes.push(run(experiment, arguments, &interrupt)?);
        if arguments.format == Format::Text
            && let Some(outcome) = outcomes.last()
        {
            print::text(&(text(outcome) + if experiments.len() > 1 { "\n\n" } else { "" }))?;
        }
    }
    if arguments.format == Format::Json {
        match (name, &outcomes[..]) {
            ("all", outcomes) => print::json(&outcomes)?,
            (_, [outcome]) => print::json(outcome)?,
            (_, outcomes) => print::json(&outcomes)?,
        }
    }
    let passes = outcomes.iter().all(Outcome::passes);
    Ok(if passes {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn list(format: Format) -> Result<ExitCode, Failure> {
    let mut rows = Vec::new();
    let mut objects = Vec::new();
    for experiment in fairlane_experiments::all() {
        let manifest = experiment.manifest()?;
        let figure = manifest.figure.clone().unwrap_or_else(|| "-".into());
        objects.push(json!({
            "name": experiment.name, "source": manifest.source, "figure": manifest.figure,
            "title": manifest.title,
        }));
        rows.push(vec![
            experiment.name.to_string(),
            manifest.source,
            figure,
            manifest.title,
        ]);
    }
    match format {
        Format::Text => print::text(&table::columns(
            &["name", "source", "figure", "shows"],
            &rows,
        ))?,
        Format::Json => print::json(&objects)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Runs one experiment and writes its folder.
fn run(
    experiment: &Experiment,
    arguments: &Reproduce,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    let folder = arguments
        .out
        .as_ref()
        .map(|out| out.join(&*experiment.name));
    let staging = folder
        .map(|folder| Staging::begin(&folder, arguments.force))
        .transpose()?;
    let settings = Settings {
        quick: arguments.quick,
        threads: threads(arguments.threads),
    };
    let watch = Reporter {
        name: &experiment.name,
        interrupt,
        quiet: arguments.quiet,
    };
    let done = experiment.run(settings, &watch);
    interrupt.check()?;
    let outcome = done?;
    if let Some(staging) = staging {
        let written = write(staging.path(), &outcome)?;
        let ours: Vec<&str> = NAMES
            .into_iter()
            .chain(written.iter().map(String::as_str))
            .collect();
        let directory = staging.publish(&ours)?;
        print::say(format_args!("results in {}", directory.display()));
    }
    Ok(outcome)
}

/// Writes the files of an outcome and returns the names of those that not every experiment has.
fn write(folder: &Path, outcome: &Outcome) -> Result<Vec<String>, Failure> {
    let mut others = Vec::new();
    let save = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| Failure::at(&path, error))
    };
    save("outcome.json", &print::to_json(outcome)?)?;
    save("rows.csv", &csv(&outcome.rows)?)?;
    for open in &outcome.open {
        let name = format!("open-{}.csv", open.name);
        save(&name, &csv(&open.rows)?)?;
        others.push(name);
    }
    for plot in &outcome.plots {
        if let Some(svg) = fairlane_experiments::svg(plot) {
            others.push(format!("{}.svg", plot.file));
            save(&format!("{}.svg", plot.file), &svg)?;
        }
        let mut points = String::from("curve,x,y\n");
        for curve in &plot.curves {
            for (x, y) in &curve.points {
                let _ = writeln!(points, "{},{x},{y}", curve.name.replace(',', ";"));
            }
        }
        others.push(format!("{}.csv", plot.file));
        save(&format!("{}.csv", plot.file), &points)?;
    }
    for map in &outcome.maps {
        if let Some(svg) = fairlane_experiments::map_svg(map) {
            others.push(format!("{}.svg", map.file));
            save(&format!("{}.svg", map.file), &svg)?;
        }
        others.push(format!("{}.csv", map.file));
        save(&format!("{}.csv", map.file), &cells(map))?;
    }
    Ok(others)
}

/// The cells of a map that are defined, a line each.
fn cells(map: &Map) -> String {
    let mut text = String::from("row,column,value\n");
    for (row, cells) in &map.rows {
        for (column, cell) in map.columns.iter().zip(cells) {
            if let Some(value) = cell {
                let _ = writeln!(text, "{row},{column},{value}");
            }
        }
    }
    text
}

fn csv(rows: &Rows) -> Result<String, Failure> {
    let broken = |error: &dyn std::fmt::Display| Failure::new(format!("CSV: {error}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer
        .write_record(&rows.columns)
        .map_err(|error| broken(&error))?;
    for row in &rows.rows {
        let cells = row.iter().map(|cell| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Count(count) => count.to_string(),
            Cell::Number(number) => number.to_string(),
            Cell::None => String::new(),
        });
        writer.write_record(cells).map_err(|error| broken(&error))?;
    }
    let bytes = writer.into_inner().map_err(|error| broken(&error))?;
    String::from_utf8(bytes).map_err(|error| broken(&error))
}

/// An outcome as tables.
fn text(outcome: &Outcome) -> String {
    let size = if outcome.quick { " (reduced size)" } else { "" };
    let heading = format!(
        "{}: {}{size}\n{}",
        outcome.name, outcome.title, outcome.source
    );
    let header: Vec<_> = outcome.rows.columns.iter().map(String::as_str).collect();
    let cells = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>();
    let rows: Vec<_> = outcome.rows.rows.iter().map(cells).collect();
    let mut parts = vec![heading, table::grid(&header, &rows)];
    if !outcome.checks.is_empty() {
        let header = ["check", "published", "measured", "wanted", "verdict"];
        let rows: Vec<_> = outcome.checks.iter().map(check).collect();
        parts.push(table::grid(&header, &rows));
        parts.push(summary(outcome));
    }
    parts.extend(outcome.open.iter().map(open));
    let mut notes = deviations(&outcome.checks);
    notes.extend(outcome.notes.iter().map(|note| format!("note: {note}")));
    parts.extend((!notes.is_empty()).then(|| notes.join("\n")));
    parts.join("\n\n")
}

/// How many targets are met, and how many published values reproduced.
fn summary(outcome: &Outcome) -> String {
    let [met, missed] = [Verdict::Pass, Verdict::Fail].map(|it| outcome.count(it));
    let [same, other] = [Verdict::Reproduced, Verdict::NotReproduced].map(|it| outcome.count(it));
    let mut parts = Vec::new();
    if met + missed > 0 {
        parts.push(format!("{met} of {} targets met", met + missed));
    }
    if same + other > 0 {
        parts.push(format!(
            "{same} of {} published values reproduced",
            same + other
        ));
    }
    parts.join("; ")
}

/// Why published values aren't reproduced, a line for each reason; and what is reproduced although it is said not to be.
fn deviations(checks: &[Check]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut lines = Vec::new();
    for check in checks {
        let Some(reason) = check.deviates.as_deref() else {
            continue;
        };
        if check.verdict.holds() {
            lines.push(format!(
                "{}: reproduced, although its `deviates` says otherwise",
                check.name
            ));
            continue;
        }
        match reasons.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, names)) => names.push(&check.name),
            None => reasons.push((reason, vec![&check.name])),
        }
    }
    let told = reasons.iter().map(|(reason, names)| {
        let names = names.join("; ");
        format!("not reproduced: {names}. {reason}")
    });
    told.chain(lines).collect()
}

/// What depends on a setting that the source leaves open: its runs, and where each check holds.
fn open(open: &Open) -> String {
    let header: Vec<_> = open.rows.columns.iter().map(String::as_str).collect();
    let cells = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>();
    let rows: Vec<_> = open.rows.rows.iter().map(cells).collect();
    let values = open.values.iter().map(String::as_str);
    let columns = ["check", "published", "wanted"].into_iter();
    let columns: Vec<_> = columns.chain(values).chain(["holds at"]).collect();
    let line = |check: &OpenCheck| {
        let held = check.holds_at(&open.values);
        let held = match held.len() {
            0 => "no value".to_owned(),
            count if count == open.values.len() => "every value".to_owned(),
            _ => held.join(", "),
        };
        let mut line = vec![
            check.name.clone(),
            number(check.published),
            wanted(check.wanted),
        ];
        line.extend(check.measured.iter().map(|figure| number(*figure)));
        line.push(held);
        line
    };
    let checks: Vec<_> = open.checks.iter().map(line).collect();
    format!(
        "left open by the source: {}\n\n{}\n\n{}",
        open.name,
        table::grid(&header, &rows),
        table::grid(&columns, &checks)
    )
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => table::count(*count),
        Cell::Number(value) => table::number(*value),
        Cell::None => "-".into(),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), table::number)
}

fn wanted(wanted: Wanted) -> String {
    match wanted {
        Wanted::Target { relation, target } => format!("{relation} {}", table::number(target)),
        Wanted::Published { tolerance, .. } => {
            format!("within {} %", table::number(tolerance * 100.0))
        }
    }
}

/// A check; what ends otherwise than the experiment says is in capitals.
fn check(check: &Check) -> Vec<String> {
    let verdict = check.verdict.to_string();
    vec![
        check.name.clone(),
        number(check.published),
        number(check.measured),
        wanted(check.wanted),
        match check.is_expected() {
            true => verdict,
            false => verdict.to_uppercase(),
        },
    ]
}
