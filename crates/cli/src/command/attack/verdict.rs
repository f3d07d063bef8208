//! The verdict as a table and as a page.

use fairlane_attacks::{Row, Suite, Verdict, notes_of};

use super::report_name;
use crate::backend::Scope;
use crate::failure::Failure;
use fairlane_results::report::study::Badge;
use fairlane_results::report::verdict::{self, Index, IndexRow};
use fairlane_results::table;

/// A column: its header, and what a row has there.
type Column = (&'static str, fn(&Row) -> String);

const COLUMNS: [Column; 13] = [
    ("attack", |row| row.attack.to_owned()),
    ("scope", |row| row.scope.to_owned()),
    ("control", |row| row.controller.to_owned()),
    ("gain ratio", |row| with_half(row.gain, row.gain_ci)),
    ("victims' Gb/s ratio", |row| {
        with_half(row.victims_goodput_ratio, row.victims_goodput_ratio_ci)
    }),
    ("p99 ratio", |row| {
        with_half(row.victims_p99_ratio, row.victims_p99_ratio_ci)
    }),
    ("p99.9 ratio", |row| {
        with_half(row.victims_p999_ratio, row.victims_p999_ratio_ci)
    }),
    ("p99 ratio to paced", |row| {
        with_half(row.victims_p99_vs_paced, row.victims_p99_vs_paced_ci)
    }),
    ("Gb/s", |row| table::dash(row.rates.goodput_gbps, mean)),
    ("victims' Gb/s", |row| {
        table::dash(row.rates.victims_gbps, mean)
    }),
    ("paced Gb/s", |row| table::dash(row.rates.paced_gbps, mean)),
    ("penalty ratio", |row| {
        with_half(row.short_flow_penalty, row.short_flow_penalty_ci)
    }),
    ("verdict", |row| word(row.scope, row.verdict).to_owned()),
];

/// What the columns are.
const CAPTION: &str = "Ratios: attack over honest; to paced: over an honest tenant that sends as much to random \
                       destinations; penalty: p99.9 of short messages without attack over that under scope qp. Gb/s: \
                       while both sides have something to send. ±: 95 % interval over seeds.";

/// The verdict as a table.
pub(super) fn text(rows: &[Row]) -> String {
    let header = COLUMNS.map(|(name, _)| name);
    let rows: Vec<_> = rows.iter().map(cells).collect();
    format!("{}\n\n{CAPTION}", table::grid(&header, &rows))
}

/// The page of all attacks, with links to their reports.
///
/// # Errors
/// Never: all of it has a JSON form.
pub(super) fn page(suite: &Suite, rows: &[Row]) -> Result<String, Failure> {
    let loaded = &suite.scenarios[0];
    let insecure = rows.iter().filter(|row| row.verdict == Verdict::Insecure);
    let row = |row: &Row| {
        let kind = suite.attacks.iter().find(|it| it.kind.name() == row.attack);
        let scope = suite.scopes.iter().find(|it| it.name() == row.scope);
        IndexRow {
            report: kind
                .zip(scope)
                .map(|(attack, scope)| report_name(attack.kind, *scope)),
            cells: cells(row),
        }
    };
    Ok(verdict::page(&Index {
        eyebrow: "Fairlane attacks",
        title: loaded.scenario.name.clone(),
        badge: Badge {
            text: format!("{} of {} insecure", insecure.count(), rows.len()),
            kind: "complete",
        },
        facts: vec![
            ("Attacker", suite.attacker.clone()),
            ("Attacks", suite.attacks.len().to_string()),
            ("Scopes", suite.scopes.len().to_string()),
            ("Seeds", suite.seeds.to_string()),
        ],
        version: format!("Fairlane {}", env!("CARGO_PKG_VERSION")),
        caption: CAPTION,
        head: COLUMNS.map(|(name, _)| name).to_vec(),
        rows: rows.iter().map(row).collect(),
        notes: notes_of(rows),
    })?)
}

fn cells(row: &Row) -> Vec<String> {
    COLUMNS.iter().map(|(_, cell)| cell(row)).collect()
}

fn mean(value: f64) -> String {
    format!("{value:.2}")
}

fn with_half(figure: Option<f64>, half: Option<f64>) -> String {
    let half = half.map_or_else(String::new, |half| format!(" ±{half:.2}"));
    table::dash(figure, |figure| mean(figure) + &half)
}

/// Scope `none` protects nobody: an attack that brings nothing there is harmless.
fn word(scope: &str, verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Secure if scope == Scope::None.name() => "harmless",
        _ => verdict.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_none_is_never_secure() {
        for scope in Scope::ALL {
            let secure = if scope == Scope::None {
                "harmless"
            } else {
                "secure"
            };
            assert_eq!(word(scope.name(), Verdict::Secure), secure, "{scope}");
            assert_eq!(word(scope.name(), Verdict::Insecure), "insecure", "{scope}");
            assert_eq!(word(scope.name(), Verdict::Unknown), "unknown", "{scope}");
        }
    }

    #[test]
    fn columns_of_ratios_say_so() {
        let ratios = COLUMNS.iter().filter(|(name, _)| name.contains("ratio"));
        assert_eq!(ratios.count(), 6);
        assert!(!CAPTION.contains("  "));
    }
}
