//! `fairlane drum schedule`.

use std::process::ExitCode;

use fairlane_drum_file::{Document, Plan, RowUse, Turn};

use crate::args::{Format, Policy, Schedule};
use crate::command::drum::{failure, input, request};
use crate::failure::Failure;
use crate::table::number;
use crate::{print, table};

/// Epochs and applications that a text lists; JSON has them all.
const MOST_LINES: usize = 50;

/// Prints who is active when.
///
/// # Errors
/// If the problem is wrong or has no solution, or there is no such frame.
pub(crate) fn schedule(arguments: &Schedule) -> Result<ExitCode, Failure> {
    let path = &arguments.instance.file;
    let problem = input::one(path, arguments.instance.longest_line)?;
    let wrong = |error| failure(&input::name(path), error);
    let document = Document::read(&problem).map_err(wrong)?;
    let request = request(&arguments.instance);
    let policy = match arguments.policy {
        Policy::Frame => fairlane_drum_file::Policy::Frame,
        Policy::Reserve => fairlane_drum_file::Policy::Reserve {
            reserved: arguments.reserved.into(),
        },
    };
    let plan = fairlane_drum_file::schedule(document, &request, policy, arguments.frame);
    let plan = plan.map_err(wrong)?;
    match arguments.format {
        Format::Json => print::json(&plan)?,
        Format::Text => print::text(&text(&plan))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// A schedule for readers.
fn text(plan: &Plan) -> String {
    let mut facts = vec![
        ("policy", plan.policy.to_owned()),
        ("slots", plan.k.to_string()),
        ("epochs", table::count(plan.epochs)),
        ("most active", plan.most_active.to_string()),
        (
            "longest wait",
            format!(
                "{} epochs, proven at most {}",
                plan.longest_wait, plan.longest_wait_bound
            ),
        ),
    ];
    let error = plan.largest_share_error.map(number);
    facts.extend(error.map(|error| ("share error", format!("{error} epochs at most"))));
    let value = |value: Option<f64>| value.map_or_else(|| "-".into(), number);
    facts.push(("objective", value(plan.objective)));
    facts.extend(plan.dual_bound.map(|bound| ("at most", number(bound))));
    let mut parts = vec![table::list(&facts), rows(plan), turns(plan), calendar(plan)];
    parts.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    if plan.active.len() > MOST_LINES || plan.applications.len() > MOST_LINES {
        parts.push("Everything: --format json.".into());
    }
    parts.join("\n\n")
}

fn rows(plan: &Plan) -> String {
    let row = |row: &RowUse| {
        let capacity = row.capacity.map_or_else(|| "-".into(), number);
        vec![
            row.name.clone(),
            capacity,
            number(row.usage),
            number(row.most),
        ]
    };
    let rows: Vec<_> = plan.rows.iter().map(row).collect();
    table::grid(&["row", "capacity", "usage", "most in an epoch"], &rows)
}

fn turns(plan: &Plan) -> String {
    let header = [
        "application",
        "share",
        "rate",
        "while active",
        "epochs",
        "first",
        "longest wait",
        "share error",
    ];
    let whole = |value: Option<u64>| value.map_or_else(|| "-".into(), table::count);
    let real = |value: Option<f64>| value.map_or_else(|| "-".into(), number);
    let row = |turn: &Turn| {
        let (wait, error) = (whole(turn.longest_wait), real(turn.share_error));
        let (epochs, first) = (table::count(turn.active_epochs), whole(turn.first_epoch));
        vec![
            turn.application.to_string(),
            real(turn.tau),
            number(turn.rate),
            number(turn.active_rate),
            epochs,
            first,
            wait,
            error,
        ]
    };
    let rows: Vec<_> = plan.applications.iter().take(MOST_LINES).map(row).collect();
    table::grid(&header, &rows)
}

/// Epochs in which the same applications are active are joined.
fn calendar(plan: &Plan) -> String {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut first = 0;
    for run in plan.active.chunk_by(|a, b| a == b).take(MOST_LINES) {
        let last = first + run.len() - 1;
        let epochs = if last > first {
            format!("{first}-{last}")
        } else {
            first.to_string()
        };
        let active: Vec<u32> = run[0]
            .iter()
            .map(|index| u32::try_from(*index).unwrap_or(u32::MAX))
            .collect();
        rows.push(vec![epochs, table::ranges(&active)]);
        first = last + 1;
    }
    table::columns(&["epochs", "active"], &rows)
}
