//! Measured values beside published ones, and against targets.

use crate::condition::{Condition, PUBLISHED, Published, Verdict, Wanted};
use crate::error::Error;
use crate::outcome::{Cell, Check, Outcome, Rows};

/// Adds a column of published numbers behind each column that has some.
pub(crate) fn published(
    rows: &mut Rows,
    numbers: &[Published],
    partial: bool,
) -> Result<(), Error> {
    for number in numbers {
        if rows.cell(&number.run, &number.metric).is_none() && !partial {
            return Err(unknown(&format!("{}/{}", number.run, number.metric)));
        }
    }
    for column in (1..rows.columns.len()).rev() {
        let name = rows.columns[column].clone();
        let of_column: Vec<_> = numbers
            .iter()
            .filter(|number| number.metric == name)
            .collect();
        if of_column.is_empty() {
            continue;
        }
        rows.columns.insert(column + 1, beside(&name));
        for row in &mut rows.rows {
            let number = of_column
                .iter()
                .find(|number| row[0] == Cell::Text(number.run.clone()));
            row.insert(column + 1, Cell::from(number.map(|number| number.value)));
        }
    }
    Ok(())
}

/// The column of the published numbers of another one.
fn beside(column: &str) -> String {
    format!("{column}_published")
}

/// In the name of a run or a metric: any text. Of those that have such names the worst counts.
const ANY: char = '*';

/// Whether a run or a metric is one that a check means.
pub(crate) fn means(pattern: &str, name: &str) -> bool {
    let Some((before, behind)) = pattern.split_once(ANY) else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(before) else {
        return false;
    };
    let (middle, last) = behind.rsplit_once(ANY).unwrap_or(("", behind));
    for part in middle.split(ANY) {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The runs whose figures a condition is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// The runs that the condition names.
    Named,
    /// The named runs at a value of an open setting, with which their names begin.
    At(&'a str),
}

impl Place<'_> {
    /// A `run/metric` there.
    fn of(self, place: &str) -> String {
        match self {
            Self::Named => place.to_owned(),
            Self::At(value) => format!("{value}-{place}"),
        }
    }
}

/// Checks the conditions. Under `--quick` those of the full size are left out, and if the rows are partial, those
/// of missing runs. A figure that isn't defined passes nothing.
pub(crate) fn check(
    outcome: &mut Outcome,
    conditions: &[Condition],
    (partial, quick): (bool, bool),
) -> Result<(), Error> {
    let mut left_out = 0;
    for condition in conditions {
        if quick && condition.full {
            left_out += 1;
            continue;
        }
        let measured = match measured(&outcome.rows, condition, Place::Named) {
            Ok(measured) => measured,
            Err(_) if partial => {
                left_out += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        outcome.checks.push(Check {
            name: condition.name.clone(),
            published: condition.published,
            measured,
            wanted: condition.wanted,
            verdict: Verdict::of(condition.wanted, measured),
            deviates: condition.deviates.clone(),
        });
    }
    if left_out > 0 {
        outcome
            .notes
            .push(format!("{left_out} checks of the full size are left out"));
    }
    Ok(())
}

/// What a condition is about, if it is defined.
pub(crate) fn measured(
    rows: &Rows,
    condition: &Condition,
    at: Place<'_>,
) -> Result<Option<f64>, Error> {
    let wanted = condition.wanted;
    let meant = places(rows, &at.of(&condition.value))?;
    let ratio = |value: f64, over: f64| Some(value / over).filter(|ratio| ratio.is_finite());
    match condition.over.as_deref() {
        None => Ok(of_several(rows, condition, &meant)),
        Some(PUBLISHED) => {
            let published = |(row, column): (usize, usize)| {
                let name = beside(&rows.columns[column]);
                let number = rows.columns.iter().position(|other| *other == name)?;
                ratio(
                    rows.rows[row][column].value()?,
                    rows.rows[row][number].value()?,
                )
            };
            Ok(least_likely(meant.into_iter().map(published), wanted))
        }
        Some(over) => {
            let over = places(rows, &at.of(over))?;
            let value = |meant: &[(usize, usize)]| least_likely(values(rows, meant), wanted);
            Ok(value(&meant)
                .zip(value(&over))
                .and_then(|(value, over)| ratio(value, over)))
        }
    }
}

/// The figures in some places.
fn values(rows: &Rows, places: &[(usize, usize)]) -> impl Iterator<Item = Option<f64>> {
    let value = |(row, column): &(usize, usize)| rows.rows[*row][*column].value();
    places.iter().map(value)
}

/// The least likely of the values that are meant, or the part of them that is `within`; those that aren't defined don't count if
/// `defined` is set.
fn of_several(rows: &Rows, condition: &Condition, meant: &[(usize, usize)]) -> Option<f64> {
    let counted = values(rows, meant).filter(|value| value.is_some() || !condition.defined);
    match condition.within {
        None => least_likely(counted, condition.wanted),
        Some(limit) => {
            let counted: Vec<_> = counted.collect();
            let within = counted.iter().flatten().filter(|value| **value <= limit);
            let part = within.count() as f64 / counted.len() as f64;
            Some(part).filter(|part| part.is_finite())
        }
    }
}

/// Rows and columns that `run/metric` means, at least one.
fn places(rows: &Rows, place: &str) -> Result<Vec<(usize, usize)>, Error> {
    let (run, metric) = place.rsplit_once('/').ok_or_else(|| unknown(place))?;
    let is_run = |row: &[Cell]| matches!(&row[0], Cell::Text(name) if means(run, name));
    let is_metric =
        |name: &str| means(metric, name) && (name == metric || !is_published(rows, name));
    let runs = (0..rows.rows.len()).filter(|row| is_run(&rows.rows[*row]));
    let metrics = |row| {
        let columns = rows.columns.iter().enumerate().skip(1);
        columns
            .filter(|(_, name)| is_metric(name))
            .map(move |(column, _)| (row, column))
    };
    let places: Vec<_> = runs.flat_map(metrics).collect();
    if places.is_empty() {
        return Err(unknown(place));
    }
    Ok(places)
}

/// Whether a column has the published numbers of another one.
fn is_published(rows: &Rows, name: &str) -> bool {
    rows.columns.iter().any(|column| beside(column) == name)
}

/// The value that is the least likely to be as it must be, if all are defined.
fn least_likely(values: impl Iterator<Item = Option<f64>>, wanted: Wanted) -> Option<f64> {
    let values: Option<Vec<f64>> = values.collect();
    let worse = |one, other| wanted.worse(one, other);
    values.and_then(|values| values.into_iter().reduce(worse))
}

pub(crate) fn unknown(place: &str) -> Error {
    Error::new(
        format!("{place} is no run and metric of this experiment"),
        "write <run>/<metric>",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::Relation;

    const fn target(relation: Relation) -> Wanted {
        Wanted::Target {
            relation,
            target: 0.5,
        }
    }

    /// A check of `over` in the denominator.
    fn condition(over: &str, full: bool) -> Condition {
        Condition {
            name: over.into(),
            value: "run/one".into(),
            over: Some(format!("run/{over}")),
            wanted: target(Relation::AtLeast),
            published: None,
            deviates: None,
            full,
            within: None,
            defined: false,
        }
    }

    /// Names of checks that were made, with what was measured and whether it passes.
    fn made(conditions: &[Condition], quick: bool) -> Vec<(String, Option<f64>, bool)> {
        let mut rows = Rows::new(&["one", "zero", "none"]);
        rows.push("run", [1.0, 0.0, f64::NAN].map(Cell::from));
        let mut outcome = Outcome {
            rows,
            ..Outcome::default()
        };
        check(&mut outcome, conditions, (false, quick)).expect("runs that there are");
        assert_eq!(
            outcome.notes.is_empty(),
            outcome.checks.len() == conditions.len()
        );
        let checks = outcome.checks.into_iter();
        checks
            .map(|it| (it.name, it.measured, it.verdict.holds()))
            .collect()
    }

    #[test]
    fn all_runs_pass_if_the_worst_does() {
        let mut rows = Rows::new(&["one"]);
        for (run, value) in [("a-x", 1.0), ("a-y", 3.0), ("b-x", 2.0)] {
            rows.push(run, [Cell::from(value)]);
        }
        rows.push("c", [Cell::None]);
        let worst = |place, relation| {
            let places = places(&rows, place).expect("a column");
            least_likely(values(&rows, &places), target(relation))
        };
        assert_eq!(worst("a-*/one", Relation::AtLeast), Some(1.0));
        assert_eq!(worst("a-*/one", Relation::AtMost), Some(3.0));
        assert_eq!(worst("*-x/one", Relation::Below), Some(2.0));
        assert_eq!(worst("*/one", Relation::Below), None);
        assert!(means("a*a", "aa") && !means("a*a", "a") && !means("a*", "b"));
        assert!(means("*-b-*-c", "a-b-x-c") && means("a*b*", "ab") && means("**", ""));
        assert!(!means("*-b-*-c", "a-b-c") && !means("*b*b*", "b") && !means("a*b*c", "acb"));
    }

    #[test]
    fn a_part_of_the_runs_is_enough_where_a_check_says_so() {
        let mut rows = Rows::new(&["one"]);
        for (run, value) in [
            ("a", Some(1.0)),
            ("b", Some(1.2)),
            ("c", Some(3.0)),
            ("d", None),
        ] {
            rows.push(run, [Cell::from(value)]);
        }
        let measured = |value: &str, within, defined| {
            let all = Condition {
                value: value.into(),
                over: None,
                wanted: target(Relation::AtMost),
                within,
                defined,
                ..condition("one", false)
            };
            measured(&rows, &all, Place::Named).expect("runs that there are")
        };
        assert_eq!(measured("*/one", Some(1.2), true), Some(2.0 / 3.0));
        assert_eq!(measured("*/one", Some(1.2), false), Some(0.5));
        assert_eq!(measured("*/one", None, true), Some(3.0));
        assert_eq!(measured("*/one", None, false), None);
        // Nothing that is defined is no reason to pass.
        assert_eq!(measured("d/one", Some(1.2), true), None);
        assert_eq!(measured("d/one", None, true), None);
    }

    #[test]
    fn published_numbers_may_be_the_denominator() {
        let mut rows = Rows::new(&["p_a", "p_b", "p_c"]);
        rows.push("x", [1.0, 6.0, 9.0].map(Cell::from));
        let number = |metric: &str, value| Published {
            run: "x".into(),
            metric: metric.into(),
            value,
            tolerance: None,
            deviates: None,
            full: false,
        };
        let numbers = [number("p_a", 2.0), number("p_b", 4.0)];
        published(&mut rows, &numbers, false).expect("runs and columns that there are");
        let over = |place: &str, relation| {
            let mut condition = condition("one", false);
            (condition.value, condition.wanted) = (place.into(), target(relation));
            condition.over = Some(PUBLISHED.into());
            measured(&rows, &condition, Place::Named).expect("a place that there is")
        };
        assert_eq!(over("x/p_a", Relation::AtMost), Some(0.5));
        // A metric without a published number is no reason to pass.
        assert_eq!(over("x/p_*", Relation::AtLeast), None);
        rows.rows[0].truncate(5);
        rows.columns.truncate(5);
        let all = |relation| {
            let places = places(&rows, "x/p_*").expect("columns");
            least_likely(values(&rows, &places), target(relation))
        };
        assert_eq!(
            (all(Relation::AtLeast), all(Relation::AtMost)),
            (Some(1.0), Some(6.0))
        );
        assert!(places(&rows, "x/q_*").is_err());
    }

    #[test]
    fn quick_leaves_out_what_is_marked_and_nothing_else() {
        let all = ["one", "zero", "none"];
        let unmarked = all.map(|over| condition(over, false));
        let expected = [
            ("one".to_owned(), Some(1.0), true),
            ("zero".to_owned(), None, false),
            ("none".to_owned(), None, false),
        ];
        // A ratio to nothing is no reason to leave a check out.
        assert_eq!(made(&unmarked, true), expected);
        assert_eq!(made(&unmarked, false), expected);
        let marked = all.map(|over| condition(over, over != "one"));
        assert_eq!(made(&marked, true), expected[..1]);
        assert_eq!(made(&marked, false), expected);
    }
}
