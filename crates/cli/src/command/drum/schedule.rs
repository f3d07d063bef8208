//! `fairlane drum schedule`.

use std::process::ExitCode;

use fairlane_drum_file::{Plan, Shortfall, Turn};

use crate::args::{Policy, Schedule};
use crate::command::drum::{document, input, mistake, request};
use crate::failure::Failure;
use crate::print;
use fairlane_results::table;
use fairlane_results::table::{dash, number};

/// Epochs and applications that a text lists; JSON has them all.
const MOST_LINES: usize = 50;

/// Applications without their minimum that a message names.
const NAMED: usize = 5;

/// Prints who is active when. The status is 1 if a minimum can't be kept.
///
/// # Errors
/// If the problem is wrong or has no solution, or there is no such frame.
pub(crate) fn schedule(arguments: &Schedule) -> Result<ExitCode, Failure> {
    let path = &arguments.instance.file;
    let problem = input::one(path, arguments.instance.longest_line)?;
    let place = input::name(path);
    let document = document(&place, &problem, &arguments.instance)?;
    let request = request(&arguments.instance);
    let policy = match arguments.policy {
        Policy::Frame => fairlane_drum_file::Policy::Frame,
        Policy::Reserve => fairlane_drum_file::Policy::Reserve {
            reserved: arguments.reserved.into(),
        },
    };
    let plan = fairlane_drum_file::schedule(document, &request, policy, arguments.frame);
    let plan = plan.map_err(|error| mistake(&place, error, &arguments.instance))?;
    print::either(arguments.format, &plan, text)?;
    if plan.unmet.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    print::say(unmet(&plan.unmet));
    Ok(ExitCode::from(1))
}

/// Who can't have what.
fn unmet(unmet: &[Shortfall]) -> String {
    let one = |short: &Shortfall| {
        let (rate, minimum) = (number(short.rate), number(short.minimum));
        let name = short.name.as_ref().map(|name| format!(" ({name})"));
        let number = short.application;
        format!(
            "application {number}{} gets {rate} of {minimum}",
            name.unwrap_or_default()
        )
    };
    let mut names: Vec<String> = unmet.iter().take(NAMED).map(one).collect();
    if unmet.len() > NAMED {
        names.push(format!(
            "{} more",
            table::count((unmet.len() - NAMED) as u64)
        ));
    }
    format!(
        "minimums that can't be kept together: {} (WQE/s)",
        names.join(", ")
    )
}

/// A schedule for readers.
fn text(plan: &Plan) -> String {
    let (wait, bound) = (plan.longest_wait, plan.longest_wait_bound);
    let mut facts = vec![
        ("policy", plan.policy.to_owned()),
        ("slots", plan.k.to_string()),
        ("epochs", table::count(plan.epochs)),
        ("most active", plan.most_active.to_string()),
        (
            "longest wait",
            format!("{wait} epochs, proven at most {bound}"),
        ),
    ];
    facts.push(("objective", dash(plan.objective, number)));
    facts.extend(plan.dual_bound.map(|bound| ("at most", number(bound))));
    facts.extend(
        plan.rate_gap
            .map(|gap| ("rate gap", format!("{} %", number(100.0 * gap)))),
    );
    let mut parts = vec![table::list(&facts), rows(plan), turns(plan), calendar(plan)];
    if plan.active.len() > MOST_LINES || plan.applications.len() > MOST_LINES {
        parts.push("Everything: --format json.".into());
    }
    parts.join("\n\n")
}

fn rows(plan: &Plan) -> String {
    table::grid_of(
        &plan.rows,
        &[
            ("row", &|row| row.name.clone()),
            ("capacity", &|row| dash(row.capacity, number)),
            ("usage", &|row| number(row.usage)),
            ("most in an epoch", &|row| number(row.most)),
        ],
    )
}

fn turns(plan: &Plan) -> String {
    let count = table::count;
    let called = |turn: &&Turn| match &turn.name {
        Some(name) => format!("{} {name}", turn.application),
        None => turn.application.to_string(),
    };
    table::grid_of(
        plan.applications.iter().take(MOST_LINES),
        &[
            ("application", &called),
            ("rate", &|turn| number(turn.rate)),
            ("while active", &|turn| number(turn.active_rate)),
            ("epochs", &|turn| count(turn.active_epochs)),
            ("first", &|turn| dash(turn.first_epoch, count)),
            ("longest wait", &|turn| dash(turn.longest_wait, count)),
        ],
    )
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
