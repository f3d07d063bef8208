//! Methods that are there for comparison: they claim no optimum.

use fairlane_baselines::admm::{AdmmOptions, Iterates, admm};
use fairlane_baselines::decomposition::{DecompositionOptions, decomposition};
use fairlane_baselines::paper::{Diagnostics, Finding, PaperHost, Updates, run, solve_logarithmic};
use fairlane_drum::{
    Dependency, Fairness, Host, Load, Mode as Selection, Options, Solution, Status, Supply,
};

use crate::answer::Answer;
use crate::error::{Error, of_solver};
use crate::inputs::Mode;
use crate::problem::HostProblem;

/// Iterations of the two-block ADMM, and of the paper's updates.
const ITERATIONS: usize = 300;
/// Penalty of the paper's updates; with its own, 1e-3, they don't converge.
const PENALTY: f64 = 1.0;

/// Runs the method of a problem whose mode is one for comparison.
///
/// # Errors
/// If the method doesn't take the problem.
pub(crate) fn answer(problem: &HostProblem) -> Result<Answer, Error> {
    let host = problem.host();
    match problem.mode {
        Mode::Paper => paper(problem, &host),
        Mode::Admm => {
            let options = AdmmOptions {
                iterations: ITERATIONS,
                ..AdmmOptions::default()
            };
            let everyone = vec![true; problem.table.len()];
            iterated(
                problem,
                &host,
                admm(&host, &everyone, &options).map_err(of_solver)?,
            )
        }
        _ => iterated(
            problem,
            &host,
            decomposition(&host, &DecompositionOptions::default()).map_err(of_solver)?,
        ),
    }
}

/// An iterate with the certified bound of the problem that it approaches.
fn iterated(problem: &HostProblem, host: &Host<'_>, found: Iterates) -> Result<Answer, Error> {
    let best =
        fairlane_drum::solve(host, &Selection::All, &Options::default()).map_err(of_solver)?;
    let residual = found.trace.primal_residual.last().copied().unwrap_or(0.0);
    let completions = &problem.table.completions;
    let solution = Solution {
        scale: 0.0,
        objective: found
            .trace
            .objective
            .last()
            .copied()
            .unwrap_or(f64::NEG_INFINITY),
        dual_bound: best.dual_bound,
        proven_bound: best.proven_bound,
        z: found
            .x
            .iter()
            .zip(completions)
            .map(|(x, a)| a * x)
            .collect(),
        dual_prices: best.dual_prices,
        selected: (0..found.x.len()).collect(),
        usage: usage(host, &found.x),
        x: found.x,
        iterations: found.trace.objective.len(),
        ..Solution::default()
    };
    let solution = Solution {
        status: Status::new(solution.relative_gap(), 0.0, true),
        ..solution
    };
    let rows = host
        .rows
        .iter()
        .map(|row| row.name.as_str().to_owned())
        .collect();
    let mut answer = Answer::of(solution, problem.mode, rows);
    answer.notes = vec![format!(
        "for comparison: rates are scaled to keep all rows; the bound is that of mode fixed; the last residual is {residual}"
    )];
    Ok(answer)
}

fn usage(host: &Host<'_>, x: &[f64]) -> Vec<f64> {
    let columns = &host.applications;
    let load = |row: &fairlane_drum::Row<'_>, j: usize| match row.load {
        Load::Bytes => columns.bytes[j],
        Load::Polls => columns.poll_cost[j] * columns.completions[j],
        Load::Requests(loads) => loads[j],
        Load::Completions(loads) => loads[j] * columns.completions[j],
    };
    let used = |row| {
        x.iter()
            .enumerate()
            .map(|(j, rate)| load(row, j) * rate)
            .sum()
    };
    host.rows.iter().map(used).collect()
}

/// The paper's own problem: the first `k` applications count, `Q` and `C` limit sums of logarithms.
fn paper(problem: &HostProblem, host: &Host<'_>) -> Result<Answer, Error> {
    let k = problem.whole_k()?;
    if problem.dependency == Dependency::AtLeast {
        let message = "the paper ties polls to work requests: at_least isn't part of it";
        let hint = "set dependency to equality, or take another mode";
        return Err(Error::new("inputs.dependency", message, hint));
    }
    let selected: Vec<bool> = (0..problem.table.len()).map(|index| index < k).collect();
    let limits: Vec<f64> = host
        .rows
        .iter()
        .filter_map(|row| match row.supply {
            Supply::Capacity(capacity) => Some(capacity),
            Supply::Price(_) => None,
        })
        .collect();
    let (Fairness::Alpha(alpha), [q, c]) = (problem.utility.fairness, &limits[..]) else {
        let hint = "give Q and C, no further rows, and a number for alpha";
        return Err(Error::new(
            "inputs.mode",
            "paper has two limits, q and c",
            hint,
        ));
    };
    let table = &problem.table;
    let own = PaperHost {
        alpha,
        beta: problem.utility.latency,
        weight: &table.weight,
        latency_weight: &table.latency_weight,
        completions: &table.completions,
        selected: &selected,
        q: *q,
        c: *c,
    };
    let (solution, finding) = by_the_paper(&own)?;
    let solution = Solution {
        selected: (0..k).collect(),
        ..solution
    };
    let mut answer = Answer::of(solution, problem.mode, Vec::new());
    answer.notes = vec![
        finding.into(),
        "constraints are the paper's: sum log x <= q = Q, sum log z <= c = C; the first k applications count".into(),
    ];
    answer.notes.extend(warnings(&own.diagnose()));
    Ok(answer)
}

/// Rates under the paper's constraints, and what can be said of them.
fn by_the_paper(host: &PaperHost<'_>) -> Result<(Solution, &'static str), Error> {
    let is_convex = host.alpha >= 1.0;
    let (x, value, iterations, finding, status) = if is_convex {
        let (x, value) = solve_logarithmic(host).map_err(of_solver)?;
        let finding = "optimal for logarithmic constraints, by their convex form in log x";
        (x, value, 1, finding, Status::Optimal)
    } else {
        let done = run(host, Updates::Corrected, PENALTY, ITERATIONS).map_err(of_solver)?;
        let value = done.trace.objective.last().copied();
        let (finding, status) = match done.finding {
            Finding::Stationary => ("stationary point, no optimality claim", Status::Feasible),
            Finding::NotConverged => ("not converged", Status::Stalled),
            Finding::Diverged => ("diverged", Status::Stalled),
        };
        (
            done.x,
            value.unwrap_or(f64::NEG_INFINITY),
            ITERATIONS,
            finding,
            status,
        )
    };
    let bound = if is_convex { value } else { f64::INFINITY };
    let polled = x.iter().zip(host.completions);
    let solution = Solution {
        scale: 0.0,
        objective: value,
        dual_bound: bound,
        proven_bound: bound,
        status,
        z: polled.map(|(x, a)| a * x).collect(),
        x,
        iterations,
        ..Solution::default()
    };
    Ok((solution, finding))
}

/// What is peculiar about the paper's problem of a host.
fn warnings(diagnostics: &Diagnostics) -> Vec<String> {
    let mut warnings = Vec::new();
    if diagnostics.unbounded {
        warnings.push(format!(
            "problem unbounded: alpha < 1 and more than 1 + 2 / (1 - alpha) = {} applications",
            diagnostics.bounded_up_to
        ));
    }
    if !diagnostics.q_can_bind {
        let implied = diagnostics.implied_q;
        warnings.push(format!(
            "q never binds: c - sum log a = {implied} is below it"
        ));
    }
    if diagnostics.x_step_vacuous {
        warnings.push("the constraint of the x-step is vacuous: rates of applications that don't count can go to 0".into());
    }
    warnings
}
