//! Measured values beside published ones, and against targets.

use crate::error::Error;
use crate::manifest::{Condition, Published, Relation};
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
        rows.columns.insert(column + 1, format!("{name}_published"));
        for row in &mut rows.rows {
            let number = of_column
                .iter()
                .find(|number| row[0] == Cell::Text(number.run.clone()));
            row.insert(column + 1, Cell::number(number.map(|number| number.value)));
        }
    }
    Ok(())
}

/// In a run's name, once: any text. Of the runs that have such names the worst counts.
const ANY: char = '*';

/// Whether a run is one that a check means.
pub(crate) fn means(pattern: &str, run: &str) -> bool {
    match pattern.split_once(ANY) {
        Some((before, behind)) => {
            let rest = run.strip_prefix(before);
            rest.is_some_and(|rest| rest.ends_with(behind))
        }
        None => pattern == run,
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
        let operands = std::iter::once(&condition.value).chain(&condition.over);
        let values = operands.map(|place| value(&outcome.rows, place, condition.relation));
        let values: Result<Vec<_>, _> = values.collect();
        let values = match values {
            Ok(values) => values,
            Err(_) if partial => {
                left_out += 1;
                continue;
            }
            Err(error) => return Err(error),
        };
        let measured = match values[..] {
            [Some(value)] => Some(value),
            [Some(value), Some(over)] => Some(value / over).filter(|ratio| ratio.is_finite()),
            _ => None,
        };
        outcome.checks.push(Check {
            name: condition.name.clone(),
            published: condition.published,
            measured,
            relation: condition.relation,
            target: condition.target,
            pass: measured.is_some_and(|value| condition.relation.holds(value, condition.target)),
        });
    }
    if left_out > 0 {
        outcome
            .notes
            .push(format!("{left_out} checks of the full size are left out"));
    }
    Ok(())
}

/// The value at `run/metric`, if it is defined.
fn value(rows: &Rows, place: &str, relation: Relation) -> Result<Option<f64>, Error> {
    let cell = match place.rsplit_once('/') {
        Some((runs, metric)) if runs.contains(ANY) => {
            return worst(rows, (runs, metric), relation).ok_or_else(|| unknown(place));
        }
        Some((run, metric)) => rows.cell(run, metric),
        None => None,
    };
    cell.map(Cell::value).ok_or_else(|| unknown(place))
}

/// The value of some runs in a column that is the least likely to be in a relation, if all of them have one.
fn worst(rows: &Rows, (runs, metric): (&str, &str), relation: Relation) -> Option<Option<f64>> {
    let worse = match relation {
        Relation::AtLeast | Relation::Above => f64::min,
        Relation::AtMost | Relation::Below => f64::max,
    };
    let column = rows.columns.iter().position(|name| name == metric)?;
    let meant = |row: &&Vec<Cell>| matches!(&row[0], Cell::Text(run) if means(runs, run));
    let meant = rows.rows.iter().filter(meant);
    let values: Option<Vec<f64>> = meant.map(|row| row[column].value()).collect();
    Some(values.and_then(|values| values.into_iter().reduce(worse)))
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

    /// A check of `over` in the denominator.
    fn condition(over: &str, full: bool) -> Condition {
        Condition {
            name: over.into(),
            value: "run/one".into(),
            over: Some(format!("run/{over}")),
            relation: Relation::AtLeast,
            target: 0.5,
            published: None,
            full,
        }
    }

    /// Names of checks that were made, with what was measured and whether it passes.
    fn made(conditions: &[Condition], quick: bool) -> Vec<(String, Option<f64>, bool)> {
        let mut rows = Rows::new(&["one", "zero", "none"]);
        rows.push(
            "run",
            [1.0, 0.0, f64::NAN].map(|cell| Cell::number(Some(cell))),
        );
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
        checks.map(|it| (it.name, it.measured, it.pass)).collect()
    }

    #[test]
    fn all_runs_pass_if_the_worst_does() {
        let mut rows = Rows::new(&["one"]);
        for (run, value) in [("a-x", 1.0), ("a-y", 3.0), ("b-x", 2.0)] {
            rows.push(run, [Cell::number(Some(value))]);
        }
        rows.push("c", [Cell::number(None)]);
        let worst = |place, relation| value(&rows, place, relation).expect("a column");
        assert_eq!(worst("a-*/one", Relation::AtLeast), Some(1.0));
        assert_eq!(worst("a-*/one", Relation::AtMost), Some(3.0));
        assert_eq!(worst("*-x/one", Relation::Below), Some(2.0));
        assert_eq!(worst("*/one", Relation::Below), None);
        assert!(means("a*a", "aa") && !means("a*a", "a") && !means("a*", "b"));
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
