//! Verdicts on attacks: each under every scope and congestion control.

use std::borrow::Cow;

use fairlane_attacks::{Plan, Row, Run, Suite, notes_of};
use fairlane_fabric::Results;
use fairlane_scenario::{Attack, Files, Loaded};

use crate::design::Base;
use crate::error::Error;
use crate::manifest::{Manifest, SuiteSettings};
use crate::outcome::{Cell, Curve, Outcome, Plot, Rows};
use crate::{Settings, Watch};

/// A column, and what it has of a row.
type Column = (&'static str, fn(&Row) -> Cell);

/// Columns that are called as fields of a row: `gain`; `gain of gain_n`, how many seeds have it; or `x in part`.
macro_rules! columns {
    ($($name:ident $(of $count:ident)? $(in $part:ident)?),* $(,)?) => {
        [$((stringify!($name), |row| columns!(@ row $name $(of $count)? $(in $part)?))),*]
    };
    (@ $row:ident $name:ident in $part:ident) => { Cell::from($row.$part.$name) };
    (@ $row:ident $name:ident of $count:ident) => { of_all($row, $row.$name, $row.$count) };
    (@ $row:ident $name:ident) => { Cell::from($row.$name) };
}

/// Columns behind the name of a row. What a seed lacks the row lacks, too: the seed could be the one that fails.
const COLUMNS: [Column; 45] = columns![
    gain of gain_n,
    gain_ci,
    gain_n,
    jobs,
    jobs_unfinished,
    victims_p50_ratio of victims_p99_ratio_n,
    victims_goodput_ratio of victims_goodput_ratio_n,
    victims_goodput_ratio_ci,
    victims_goodput_ratio_n,
    victims_goodput_vs_paced of victims_goodput_vs_paced_n,
    victims_goodput_vs_paced_ci,
    victims_goodput_vs_paced_n,
    victims_p99_ratio of victims_p99_ratio_n,
    victims_p99_ratio_ci,
    victims_p99_ratio_n,
    victims_p999_ratio of victims_p999_ratio_n,
    victims_p999_ratio_ci,
    victims_p999_ratio_n,
    victims_p50_vs_paced of victims_p99_vs_paced_n,
    victims_p99_vs_paced of victims_p99_vs_paced_n,
    victims_p99_vs_paced_ci,
    victims_p99_vs_paced_n,
    victims_p999_vs_paced of victims_p999_vs_paced_n,
    victims_p999_vs_paced_n,
    short_flow_penalty_p99,
    short_flow_penalty of short_flow_penalty_n,
    short_flow_penalty_ci,
    short_flow_penalty_n,
    honest_goodput_ratio,
    contention_us in rates,
    honest_contention_us in rates,
    goodput_gbps in rates,
    honest_gbps in rates,
    paced_gbps in rates,
    victims_gbps in rates,
    victims_honest_gbps in rates,
    weight_share,
    victims_p99,
    victim_messages,
    pauses,
    drops,
    plain_pauses,
    plain_drops,
    seeds,
    secure,
];

/// A figure that `count` of the seeds of a row have.
fn of_all(row: &Row, figure: Option<f64>, count: usize) -> Cell {
    Cell::from(figure.filter(|_| count == row.seeds))
}

/// Runs suites; a row for each congestion control, scope and attack of each. `secure` is 1 or 0, or nothing where it isn't known.
pub(crate) fn run(
    manifest: &Manifest,
    (file, files): (impl Fn(&str) -> Result<Cow<'static, str>, Error>, Files<'_>),
    settings: Settings,
    watch: &dyn Watch,
) -> Result<Outcome, Error> {
    let mut rows = Rows::new(&columns());
    let (mut plots, mut notes) = (Vec::new(), Vec::new());
    for asked in &manifest.suites {
        let asked = match settings.quick {
            true => reduced(asked),
            false => asked.clone(),
        };
        if asked.attacks.is_empty() || asked.scopes.is_empty() {
            continue;
        }
        let name = asked.scenario.as_ref().unwrap_or(&manifest.scenario);
        let base = Base {
            scenario: &file(name)?,
            place: name,
            files,
        };
        let suite = Suite {
            scenarios: scenarios(manifest, &asked, base, settings.quick)?,
            attacker: asked.attacker.clone(),
            attacks: asked.attacks.clone(),
            scopes: asked.scopes.clone(),
            seeds: if settings.quick { 1 } else { manifest.seeds },
        };
        let waiting = Waiting(watch, &suite.attacks, asked.name.as_deref());
        let verdicts = suite.run(settings.threads, &waiting);
        if watch.stopped() {
            return Err(Error::stopped());
        }
        let verdicts = verdicts?;
        for (name, row) in names(std::slice::from_ref(&asked))
            .into_iter()
            .zip(&verdicts)
        {
            rows.push(name, COLUMNS.iter().map(|(_, pick)| pick(row)));
        }
        plots.push(plot(manifest, &asked, &verdicts));
        let before = asked.name.iter().map(|name| format!("{name}: "));
        let before: String = before.collect();
        notes.extend(
            notes_of(&verdicts)
                .iter()
                .map(|note| format!("{before}{note}")),
        );
    }
    Ok(Outcome {
        rows,
        plots,
        notes,
        ..Outcome::default()
    })
}

/// What the reduced size has of a suite.
fn reduced(asked: &SuiteSettings) -> SuiteSettings {
    let first = asked.scopes.len().saturating_sub(asked.quick_scopes);
    let attacks = asked.quick_attacks.min(asked.attacks.len());
    SuiteSettings {
        scopes: asked.scopes[first..].to_vec(),
        attacks: asked.attacks[..attacks].to_vec(),
        ..asked.clone()
    }
}

/// The scenario under each congestion control.
fn scenarios(
    manifest: &Manifest,
    asked: &SuiteSettings,
    base: Base<'_>,
    quick: bool,
) -> Result<Vec<Loaded>, Error> {
    let reductions = quick.then_some(&manifest.quick).into_iter().flatten();
    let changes: Vec<String> = asked.set.iter().chain(reductions).cloned().collect();
    let under = |controller: &String| {
        let mut overrides = vec![format!("congestion.algorithm={controller}")];
        overrides.extend_from_slice(&changes);
        fairlane_scenario::parse_with(base.scenario, base.place, base.files, &overrides, None)
    };
    let loaded: Result<_, _> = asked.controllers.iter().map(under).collect();
    Ok(loaded?)
}

/// The columns.
pub(crate) fn columns() -> Vec<String> {
    COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect()
}

/// The names of the rows of suites; a further attack of a kind has its number behind it.
pub(crate) fn names(suites: &[SuiteSettings]) -> Vec<String> {
    let mut names = Vec::new();
    for asked in suites {
        let prefix = asked
            .name
            .as_ref()
            .map_or_else(String::new, |name| format!("{name}-"));
        for controller in &asked.controllers {
            for scope in &asked.scopes {
                for (number, attack) in asked.attacks.iter().enumerate() {
                    let before = &asked.attacks[..number];
                    let same = before
                        .iter()
                        .filter(|other| other.kind == attack.kind)
                        .count();
                    let suffix = if same > 0 {
                        format!("-{}", same + 1)
                    } else {
                        String::new()
                    };
                    let kind = attack.kind.name();
                    names.push(format!(
                        "{prefix}{controller}-{}-{kind}{suffix}",
                        scope.name()
                    ));
                }
            }
        }
    }
    names
}

/// The gain over the number of the attack, a line for each congestion control and scope.
fn plot(manifest: &Manifest, asked: &SuiteSettings, rows: &[Row]) -> Plot {
    let title = match &asked.name {
        Some(name) => format!("{}: {name}", manifest.title),
        None => manifest.title.clone(),
    };
    let file = asked
        .name
        .iter()
        .fold("gain".to_owned(), |file, name| format!("{file}-{name}"));
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
        file,
        title,
        x: "attack, in the order of the rows".into(),
        y: "gain".into(),
        log: true,
        curves: rows.chunks(asked.attacks.len().max(1)).map(curve).collect(),
    }
}

/// Tells who waits for an experiment what a suite does.
struct Waiting<'a>(&'a dyn Watch, &'a [Attack], Option<&'a str>);

impl fairlane_attacks::Watch for Waiting<'_> {
    fn begin(&self, run: &Run, number: usize, of: usize) {
        let attack = run.attack.and_then(|number| self.1.get(number));
        let attack = attack.map_or("none", |attack| attack.kind.name());
        let what = format!("{} {attack} {:?}", run.scope.name(), run.role).to_lowercase();
        let part = self
            .2
            .map_or_else(|| what.clone(), |name| format!("{name} {what}"));
        self.0.begin(&part, number, of);
    }

    fn ended(&self, _: &Run, _: &Plan, _: &Results) {}

    fn stopped(&self) -> bool {
        self.0.stopped()
    }
}

#[cfg(test)]
mod tests {
    use fairlane_attacks::{Contention, Measurement, Subject, Tail, Trial, verdict};
    use fairlane_units::{Duration, Rate};

    use super::*;

    const SUBJECT: Subject = Subject {
        attack: "churn",
        scope: "qp",
        controller: "dcqcn",
        rotates: true,
    };

    fn contention(gbps: u64) -> Contention {
        Contention {
            time: Duration::from_us(1),
            attacker: Rate::from_gbps(gbps),
            victims: Rate::from_gbps(gbps),
        }
    }

    #[test]
    fn a_figure_that_a_seed_lacks_is_left_out() {
        let of = |gbps: u64, messages: usize| Measurement {
            goodput: Rate::from_gbps(gbps),
            victims: Tail::of(vec![1.0; messages]),
            short: Tail::of(vec![1.0; messages]),
            weight_share: Some(1.0),
            contention: Some(contention(gbps)),
            ..Measurement::default()
        };
        let (fine, poor, nothing) = (of(40, 1000), of(40, 999), of(0, 0));
        let full = Trial {
            attack: &fine,
            cut: &[],
            honest: &fine,
            paced: Some(&fine),
            unpaced: None,
            plain: &fine,
            plain_qp: &fine,
        };
        let missing = |other: Trial<'_>| -> Vec<&str> {
            let row = verdict(SUBJECT, &[full, other]);
            let cells = COLUMNS
                .iter()
                .filter(|(name, pick)| !name.ends_with("_ci") && pick(&row) == Cell::None);
            cells.map(|(name, _)| *name).collect()
        };
        assert_eq!(missing(full), [""; 0]);
        let tails = ["victims_p999_ratio", "victims_p999_vs_paced"];
        assert_eq!(
            missing(Trial {
                attack: &poor,
                ..full
            }),
            tails
        );
        assert_eq!(
            missing(Trial {
                honest: &nothing,
                ..full
            }),
            [
                "gain",
                "victims_p50_ratio",
                "victims_goodput_ratio",
                "victims_p99_ratio",
                "victims_p999_ratio",
                "secure"
            ]
        );
        assert_eq!(
            missing(Trial {
                paced: None,
                ..full
            }),
            [
                "victims_goodput_vs_paced",
                "victims_p50_vs_paced",
                "victims_p99_vs_paced",
                "victims_p999_vs_paced",
                "secure"
            ]
        );
        assert_eq!(
            missing(Trial {
                plain: &poor,
                ..full
            }),
            ["short_flow_penalty"]
        );
    }
}
