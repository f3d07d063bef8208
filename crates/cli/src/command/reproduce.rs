//! `fairlane reproduce`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use fairlane_experiments::{
    Cell, Check, Experiment, Map, Open, OpenCheck, Outcome, Plot, Rows, Settings, Verdict, Wanted,
    Watch,
};
use fairlane_results::to_json;
use serde::Serialize;

use crate::args::{Format, Reproduce};
use crate::command::drum::threads;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use fairlane_results::staging::Staging;
use fairlane_results::table;

/// Files of an experiment's folder; plots and curves are listed by the experiment itself.
const NAMES: [&str; 2] = ["outcome.json", "rows.csv"];

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
        return list(arguments.format).map(|()| ExitCode::SUCCESS);
    };
    let experiments = fairlane_experiments::select(name)?;
    let interrupt = Interrupt::listen()?;
    let mut outcomes = Vec::new();
    for experiment in &experiments {
        let done = run(experiment, arguments, &interrupt);
        let done = done.map_err(|failure| {
            kept(
                failure,
                arguments.out.as_deref().filter(|_| !outcomes.is_empty()),
            )
        })?;
        outcomes.push(done);
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
    Ok(ExitCode::from(u8::from(!passes)))
}

/// A failure; an interruption says where folders of experiments before it stay, if there are any.
fn kept(failure: Failure, written: Option<&Path>) -> Failure {
    let Some(out) = written else {
        return failure;
    };
    let out = out.display();
    failure.kept(format!(
        "interrupted: the experiments before this one are kept in {out}"
    ))
}

/// An experiment as the list has it.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    source: String,
    figure: Option<String>,
    title: String,
}

fn list(format: Format) -> Result<(), Failure> {
    let listed = |experiment: &'static Experiment| {
        let manifest = experiment.manifest()?;
        Ok(Listed {
            name: &experiment.name,
            source: manifest.source,
            figure: manifest.figure,
            title: manifest.title,
        })
    };
    let all = fairlane_experiments::all().iter().map(listed);
    let all = all.collect::<Result<Vec<_>, Failure>>()?;
    print::either(format, &all, |all| {
        table::columns_of(
            all,
            &[
                ("name", &|listed| listed.name.to_owned()),
                ("source", &|listed| listed.source.clone()),
                ("figure", &|listed| {
                    table::dash(listed.figure.clone(), |figure| figure)
                }),
                ("shows", &|listed| listed.title.clone()),
            ],
        )
    })
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
    save("outcome.json", &to_json(outcome)?)?;
    save("rows.csv", &outcome.rows.csv()?)?;
    for open in &outcome.open {
        let name = format!("open-{}.csv", open.name);
        save(&name, &open.rows.csv()?)?;
        others.push(name);
    }
    let drawn = outcome.plots.iter().map(|plot| {
        let svg = fairlane_experiments::svg(plot);
        (&plot.file, svg, points(plot))
    });
    let coloured = outcome.maps.iter().map(|map| {
        let svg = fairlane_experiments::map_svg(map);
        (&map.file, svg, cells(map))
    });
    for (file, svg, text) in drawn.chain(coloured) {
        let svg = svg.map(|svg| (format!("{file}.svg"), svg));
        for (name, text) in svg.into_iter().chain([(format!("{file}.csv"), text)]) {
            save(&name, &text)?;
            others.push(name);
        }
    }
    Ok(others)
}

/// The points of a plot's curves, a line each.
fn points(plot: &Plot) -> String {
    let mut text = String::from("curve,x,y\n");
    for curve in &plot.curves {
        for (x, y) in &curve.points {
            let _ = writeln!(text, "{},{x},{y}", curve.name.replace(',', ";"));
        }
    }
    text
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

/// An outcome as tables.
fn text(outcome: &Outcome) -> String {
    let size = if outcome.quick { " (reduced size)" } else { "" };
    let heading = format!(
        "{}: {}{size}\n{}",
        outcome.name, outcome.title, outcome.source
    );
    let mut parts = vec![heading, grid(&outcome.rows)];
    if !outcome.checks.is_empty() {
        parts.push(checks(&outcome.checks));
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
        grid(&open.rows),
        table::grid(&columns, &checks)
    )
}

fn grid(rows: &Rows) -> String {
    let header: Vec<_> = rows.columns.iter().map(String::as_str).collect();
    let cells = |row: &Vec<Cell>| row.iter().map(cell).collect::<Vec<_>>();
    let rows: Vec<_> = rows.rows.iter().map(cells).collect();
    table::grid(&header, &rows)
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
    table::dash(value, table::number)
}

fn wanted(wanted: Wanted) -> String {
    match wanted {
        Wanted::Target { relation, target } => format!("{relation} {}", table::number(target)),
        Wanted::Published { tolerance, .. } => {
            format!("within {} %", table::number(tolerance * 100.0))
        }
    }
}

/// Checks; what ends otherwise than the experiment says is in capitals.
fn checks(checks: &[Check]) -> String {
    let verdict = |check: &Check| match check.is_expected() {
        true => check.verdict.to_string(),
        false => check.verdict.to_string().to_uppercase(),
    };
    table::grid_of(
        checks,
        &[
            ("check", &|check| check.name.clone()),
            ("published", &|check| number(check.published)),
            ("measured", &|check| number(check.measured)),
            ("wanted", &|check| wanted(check.wanted)),
            ("verdict", &|check| verdict(check)),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(written: Option<&Path>) -> String {
        let interrupted = Failure::Interrupted {
            signal: 2,
            words: "interrupted: nothing was written".into(),
        };
        match kept(interrupted, written) {
            Failure::Interrupted { words, .. } => words,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_interruption_names_the_folder_of_what_is_written() {
        assert!(words(None).ends_with("nothing was written"));
        assert!(words(Some(Path::new("out"))).ends_with("kept in out"));
    }
}
