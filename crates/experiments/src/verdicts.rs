//! Verdicts on attacks: each under every scope and congestion control.

use std::path::Path;

use fairlane_attacks::{Plan, Row, Run, Suite};
use fairlane_fabric::Results;
use fairlane_scenario::{Attack, Loaded};

use crate::error::Error;
use crate::manifest::{Manifest, SuiteSettings};
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::{Settings, Watch};

/// Columns behind the name of a row.
const COLUMNS: [&str; 17] = [
    "gain",
    "gain_ci",
    "victims_p50_ratio",
    "victims_p99_ratio",
    "victims_p99_ratio_ci",
    "victims_p999_ratio",
    "victims_p999_ratio_ci",
    "victims_p50_vs_paced",
    "victims_p99_vs_paced",
    "victims_p99_vs_paced_ci",
    "victims_p999_vs_paced",
    "short_flow_penalty_p99",
    "short_flow_penalty",
    "short_flow_penalty_ci",
    "victims_p99",
    "victim_messages",
    "secure",
];

/// Runs a suite; a row for each congestion control, scope and attack. `secure` is 1 or 0.
pub(crate) fn run(
    (manifest, asked): (&Manifest, &SuiteSettings),
    scenario: &str,
    settings: Settings,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let quick = settings.quick;
    let (first_scope, attacks) = match quick {
        true => (
            asked.scopes.len().saturating_sub(asked.quick_scopes),
            asked.quick_attacks.min(asked.attacks.len()),
        ),
        false => (0, asked.attacks.len()),
    };
    let suite = Suite {
        scenarios: scenarios(manifest, asked, scenario, quick)?,
        attacker: asked.attacker.clone(),
        attacks: asked.attacks[..attacks].to_vec(),
        scopes: asked.scopes[first_scope..].to_vec(),
        seeds: if quick { 1 } else { manifest.seeds },
    };
    let verdicts = suite.run(settings.threads, &Waiting(watch, &suite.attacks));
    if watch.stopped() {
        return Err(Error::stopped());
    }
    let verdicts = verdicts?;
    let mut rows = Rows::new(&COLUMNS);
    for (index, row) in verdicts.iter().enumerate() {
        let attack = index.checked_rem(attacks).unwrap_or(0);
        rows.push(name(row, &suite.attacks[..attack]), cells(row));
    }
    Ok(Outcome {
        rows,
        plots: vec![plot(manifest, &verdicts, attacks)],
        ..Outcome::default()
    })
}

/// The scenario under each congestion control.
fn scenarios(
    manifest: &Manifest,
    asked: &SuiteSettings,
    scenario: &str,
    quick: bool,
) -> Result<Vec<Loaded>, Error> {
    let reductions = quick.then_some(&manifest.quick).into_iter().flatten();
    let reductions: Vec<String> = reductions.cloned().collect();
    let under = |controller: &String| {
        let mut overrides = vec![format!("congestion.algorithm={controller}")];
        overrides.extend_from_slice(&reductions);
        // The scenarios of experiments name no files, so the folder doesn't matter.
        let folder = Path::new(".");
        fairlane_scenario::parse(scenario, &manifest.scenario, folder, &overrides, None)
    };
    let loaded: Result<_, _> = asked.controllers.iter().map(under).collect();
    Ok(loaded?)
}

/// The name of a row; a further attack of a kind has its number behind it.
fn name(row: &Row, before: &[Attack]) -> String {
    let name = format!("{}-{}-{}", row.controller, row.scope, row.attack);
    let same = before
        .iter()
        .filter(|attack| attack.kind.name() == row.attack);
    match same.count() {
        0 => name,
        same => format!("{name}-{}", same + 1),
    }
}

fn cells(row: &Row) -> [Cell; COLUMNS.len()] {
    [
        Cell::number(row.gain),
        Cell::number(row.gain_ci),
        Cell::number(row.victims_p50_ratio),
        Cell::number(row.victims_p99_ratio),
        Cell::number(row.victims_p99_ratio_ci),
        Cell::number(row.victims_p999_ratio),
        Cell::number(row.victims_p999_ratio_ci),
        Cell::number(row.victims_p50_vs_paced),
        Cell::number(row.victims_p99_vs_paced),
        Cell::number(row.victims_p99_vs_paced_ci),
        Cell::number(row.victims_p999_vs_paced),
        Cell::number(row.short_flow_penalty_p99),
        Cell::number(row.short_flow_penalty),
        Cell::number(row.short_flow_penalty_ci),
        Cell::number(row.victims_p99),
        Cell::count(Some(row.victim_messages)),
        Cell::Count(row.secure.into()),
    ]
}

/// The gain over the number of the attack, a line for each congestion control and scope.
fn plot(manifest: &Manifest, rows: &[Row], attacks: usize) -> Plot {
    let curve = |rows: &[Row]| {
        let points = (1u32..).zip(rows);
        Curve {
            name: format!("{}-{}", rows[0].controller, rows[0].scope),
            points: points
                .filter_map(|(place, row)| Some((f64::from(place), row.gain?)))
                .collect(),
            published: false,
        }
    };
    Plot {
        file: "gain".into(),
        title: manifest.title.clone(),
        x: "attack, in the order of the rows".into(),
        y: "gain".into(),
        log: true,
        curves: rows.chunks(attacks.max(1)).map(curve).collect(),
    }
}

/// Tells who waits for an experiment what a suite does.
struct Waiting<'a>(&'a dyn Watch, &'a [Attack]);

impl fairlane_attacks::Watch for Waiting<'_> {
    fn begin(&self, run: &Run, number: usize, of: usize) {
        let attack = run.attack.and_then(|number| self.1.get(number));
        let attack = attack.map_or("none", |attack| attack.kind.name());
        let part = format!("{} {attack} {:?}", run.scope.name(), run.role).to_lowercase();
        self.0.begin(&part, number, of);
    }

    fn ended(&self, _: &Run, _: &Plan, _: &Results) {}

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}
