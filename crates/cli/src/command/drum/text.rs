//! Answers for people.

use fairlane_drum_file::Answer;

use fairlane_results::table::{self, dash, number};

/// Applications that a text lists; JSON has them all.
const MOST_APPLICATIONS: usize = 50;

/// An answer as a list and tables.
pub(crate) fn answer(answer: &Answer) -> String {
    let mut parts = vec![
        table::list(&facts(answer)),
        rows(answer),
        applications(answer),
    ];
    let hidden = answer.x.len().saturating_sub(MOST_APPLICATIONS);
    if hidden > 0 {
        parts.push(format!(
            "and {} more: --format json",
            table::count(hidden as u64)
        ));
    }
    parts.extend(answer.notes.iter().map(|note| format!("note: {note}")));
    parts.join("\n\n")
}

fn facts(answer: &Answer) -> Vec<(&'static str, String)> {
    let maybe = |value: Option<f64>| dash(value, number);
    let (gap, relative) = (maybe(answer.gap), maybe(answer.relative_gap));
    let (selected, all) = (answer.selected.len(), answer.x.len());
    let mut facts = Vec::new();
    facts.extend(answer.name.clone().map(|name| ("name", name)));
    facts.extend([
        ("kind", answer.kind.clone()),
        ("mode", answer.mode.name().to_owned()),
        ("status", answer.status.name().to_owned()),
        ("objective", maybe(answer.objective)),
        ("dual bound", maybe(answer.dual_bound)),
        ("proven bound", maybe(answer.proven_bound)),
        ("gap", format!("{gap} ({relative} relative)")),
        ("selected", format!("{selected} of {all}")),
        ("passes", table::count(answer.iterations as u64)),
    ]);
    let time = answer.seconds.map(table::seconds);
    facts.extend(time.map(|time| ("time", time)));
    facts
}

fn rows(answer: &Answer) -> String {
    let cell = |column: &[f64], row: usize| dash(column.get(row).copied(), number);
    table::grid_of(
        0..answer.rows.len(),
        &[
            ("row", &|row| answer.rows[*row].clone()),
            ("usage", &|row| cell(&answer.usage, *row)),
            ("price", &|row| cell(&answer.prices, *row)),
        ],
    )
}

fn applications(answer: &Answer) -> String {
    let mut header = vec!["application", "x", "z", "selected"];
    header.extend(answer.tau.as_ref().map(|_| "tau"));
    let row = |index: usize| {
        let chosen = answer.selected.binary_search(&index).is_ok();
        let called = match answer.names.as_ref().and_then(|names| names.get(index)) {
            Some(name) => format!("{index} {name}"),
            None => index.to_string(),
        };
        let mut cells = vec![called, number(answer.x[index]), number(answer.z[index])];
        cells.push(if chosen { "yes" } else { "no" }.to_owned());
        cells.extend(answer.tau.as_ref().map(|tau| number(tau[index])));
        cells
    };
    let rows: Vec<_> = (0..answer.x.len().min(MOST_APPLICATIONS))
        .map(row)
        .collect();
    table::grid(&header, &rows)
}
