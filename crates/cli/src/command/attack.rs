//! `fairlane attack`.

mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use fairlane_attacks::{Asked, Job, Plan, Role, Row, Run, Suite, Watch, notes_of};
use fairlane_fabric::Results;
use fairlane_results::to_json;
use fairlane_units::Time;
use serde_json::json;

use crate::args;
use crate::backend::{self, AttackKind, Scope};
use crate::command::drum::threads;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use fairlane_results::report::{Throughput, Timeline};
use fairlane_results::staging::Staging;

/// Names in a result directory; reports are listed apart.
const VERDICT: &str = "verdict.json";
const INDEX: &str = "index.html";

/// Tries attacks on a scenario and prints the verdict.
///
/// # Errors
/// If there is no such attack, scope, tenant or congestion control, if the scenario can't have the attack,
/// if the directory can't be written, or a signal arrives.
pub(crate) fn attack(arguments: &args::Attack) -> Result<(), Failure> {
    let interrupt = Interrupt::listen()?;
    let suite = suite(arguments)?;
    let out = arguments.out.as_deref();
    let staging = out.map(|out| Staging::begin(out, arguments.force));
    let staging = staging.transpose()?;
    let reporter = Reporter {
        suite: &suite,
        interrupt: &interrupt,
        quiet: arguments.quiet,
        folder: staging.as_ref().map(Staging::path),
        failure: Mutex::new(None),
        open: Mutex::default(),
    };
    let done = suite.run(threads(arguments.threads), &reporter);
    interrupt.check()?;
    let failure = reporter.failure.into_inner();
    if let Some(failure) = failure.unwrap_or_else(PoisonError::into_inner) {
        return Err(failure);
    }
    let rows = done?;
    let verdict = json!({ "rows": rows });
    if let Some(staging) = staging {
        write(&staging.path().join(VERDICT), &to_json(&verdict)?)?;
        write(&staging.path().join(INDEX), &verdict::page(&suite, &rows)?)?;
        let reports = reports();
        let ours = reports.iter().map(String::as_str).chain([VERDICT, INDEX]);
        let directory = staging.publish(&Vec::from_iter(ours))?;
        print::say(format_args!("results in {}", directory.display()));
    }
    say_basis(&rows);
    for note in notes_of(&rows) {
        print::say(format_args!("note: {note}"));
    }
    print::either(arguments.format, &verdict, |_| verdict::text(&rows))
}

/// What the command line asks for, without scopes and attacks that the scenario can't have.
fn suite(arguments: &args::Attack) -> Result<Suite, Failure> {
    let mut scenario = arguments.scenario.clone();
    if let Some(name) = &arguments.controller {
        let algorithm = backend::algorithm(name).map_err(|error| error.within("--controller"))?;
        scenario
            .overrides
            .push(format!("congestion.algorithm=\"{algorithm}\""));
    }
    let asked = Asked {
        attack: &arguments.attack,
        scope: &arguments.scope,
        attacker: arguments.attacker.as_deref(),
        seeds: arguments.seeds.into(),
    };
    let (suite, left_out) = asked.suite(backend::load(&scenario)?)?;
    for words in left_out {
        print::say(format_args!("left out: {words}"));
    }
    Ok(suite)
}

/// Says what is going on, hears of signals, and writes reports.
struct Reporter<'a> {
    suite: &'a Suite,
    interrupt: &'a Interrupt,
    quiet: bool,
    folder: Option<&'a Path>,
    /// The first report that couldn't be written.
    failure: Mutex<Option<Failure>>,
    /// What reports wait for.
    open: Mutex<Open>,
}

/// Runs with the first seed that others are drawn beside, whichever ends first.
#[derive(Default)]
struct Open {
    /// Throughput by tenant of honest runs, by scope and attack; without attack, of the scenario as it is.
    honest: BTreeMap<(&'static str, Option<usize>), Arc<Throughput>>,
    /// Attacks whose honest run hasn't ended.
    attacks: Vec<(Run, Plan, Results)>,
}

impl Reporter<'_> {
    fn kind(&self, run: &Run) -> Option<AttackKind> {
        run.attack.map(|number| self.suite.attacks[number].kind)
    }

    fn words(&self, run: &Run) -> String {
        let what = match (run.role, self.kind(run)) {
            (Role::Attack, Some(attack)) => attack.to_string(),
            (Role::Honest, Some(attack)) => format!("{attack} honestly"),
            (Role::Paced, Some(attack)) => format!("{attack} paced"),
            _ => "no attack".to_owned(),
        };
        format!("{what}, scope {}, seed {}", run.scope, run.seed + 1)
    }

    /// The honest run that an attack is drawn beside, if it has ended.
    fn honest_beside(&self, open: &Open, run: &Run) -> Option<Arc<Throughput>> {
        let cuts = run
            .attack
            .is_some_and(|number| self.suite.attacks[number].is_transform());
        let of = run.attack.filter(|_| !cuts);
        open.honest.get(&(run.scope.name(), of)).cloned()
    }

    fn write_report(
        &self,
        folder: &Path,
        run: &Run,
        plan: &Plan,
        results: &Results,
        honest: &Throughput,
    ) -> Result<(), Failure> {
        let Some((kind, attacker)) = self.kind(run).zip(plan.attacker) else {
            return Ok(());
        };
        let timeline = Timeline {
            title: format!("{kind} under scope {}", run.scope),
            attacker,
            window: window(plan, results),
            honest,
        };
        let figures = backend::figures(results);
        let scenario = plan.loaded.to_toml()?;
        let drawn = (results, Some(&timeline));
        let page = backend::page(&plan.loaded, &scenario, drawn, &figures);
        write(&folder.join(report_name(kind, run.scope)), &page)
    }
}

impl Watch for Reporter<'_> {
    fn begin(&self, run: &Run, number: usize, of: usize) {
        if !self.quiet && !self.stopped() {
            print::say(format_args!("{number} of {of}: {}", self.words(run)));
        }
    }

    fn ended(&self, run: &Run, plan: &Plan, results: &Results) {
        let Some(folder) = self.folder.filter(|_| run.seed == 0) else {
            return;
        };
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        match run.role {
            Role::Paced => return,
            Role::Attack => open.attacks.push((*run, plan.clone(), results.clone())),
            Role::Plain | Role::Honest => {
                let throughput = Arc::new(Throughput::of(results));
                open.honest
                    .insert((run.scope.name(), run.attack), throughput);
            }
        }
        let mut ready = Vec::new();
        let mut at = 0;
        while at < open.attacks.len() {
            match self.honest_beside(&open, &open.attacks[at].0) {
                Some(honest) => ready.push((open.attacks.swap_remove(at), honest)),
                None => at += 1,
            }
        }
        drop(open);
        for ((run, plan, results), honest) in ready {
            if let Err(failure) = self.write_report(folder, &run, &plan, &results, &honest) {
                let mut first = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(failure);
            }
        }
    }

    fn stopped(&self) -> bool {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.is_some() || self.interrupt.arrived()
    }
}

/// When an attack lasts: as long as it sends traffic of its own, else from the first post of a piece of what it
/// has cut to the last arrival.
fn window(plan: &Plan, results: &Results) -> (Time, Time) {
    if let Some(window) = plan.window {
        return (window.start, window.end);
    }
    let jobs = Job::all(plan, results);
    let cut = || plan.cut.iter().filter_map(|job| jobs.get(job));
    let first = cut().map(|job| job.first).min();
    let last = cut().map(|job| job.last).max();
    (first.unwrap_or_default(), last.unwrap_or_default())
}

fn report_name(kind: AttackKind, scope: Scope) -> String {
    format!("{kind}-{scope}.html")
}

/// The names of all reports that there can be: of a directory that is replaced none must stay behind, since
/// the verdict beside it wouldn't be on it.
fn reports() -> Vec<String> {
    let of_scope = |scope: Scope| AttackKind::ALL.map(|kind| report_name(kind, scope));
    Scope::ALL.into_iter().flat_map(of_scope).collect()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| Failure::at(path, error))
}

/// Says what victims are compared with where it isn't the same hosts' honest traffic.
fn say_basis(rows: &[Row]) {
    let paced = rows.iter().filter(|row| row.decided_by == "paced");
    let kinds: BTreeSet<&str> = paced.map(|row| row.attack).collect();
    if !kinds.is_empty() {
        print::say(format_args!(
            "note: {} change destinations: whether that is secure is decided by victims beside an honest \
             tenant that sends as much to random destinations (paced)",
            Vec::from_iter(kinds).join(", ")
        ));
    }
}
