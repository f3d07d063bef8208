//! Who is active when, so that nobody starves.

use fairlane_drum::schedule::{Frame, Reserve};
use serde::Serialize;

use crate::error::Error;
use crate::inputs::{Document, Mode};
use crate::problem::{HostProblem, Request};
use crate::rates::{RowUse, rates};
use crate::solve::Problem;

/// Longest frame that is listed epoch by epoch.
const MOST_EPOCHS: u64 = 1 << 20;
/// Where a frame is asked for.
const FLAG: &str = "--frame";

/// How applications take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A frame that repeats, in which everyone is active for a share that is optimal in the long run.
    Frame,
    /// Most slots by what applications gain, the rest by how long they have waited.
    Reserve {
        /// Slots that go to whoever has waited longest.
        reserved: usize,
    },
}

/// Who is active when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The problem's name.
    pub name: Option<String>,
    /// `frame` or `reserve`.
    pub policy: &'static str,
    /// Queue pairs that may be active at a time.
    pub k: usize,
    /// Length of what is listed; a frame repeats.
    pub epochs: u64,
    /// Most applications that are active at a time.
    pub most_active: usize,
    /// Longest time from one active epoch of an application to its next, in epochs.
    pub longest_wait: u64,
    /// What that is proven not to exceed.
    pub longest_wait_bound: u64,
    /// Largest difference between active epochs and the share wanted, in epochs of a frame.
    pub largest_share_error: Option<f64>,
    /// Value of the rates over all epochs.
    pub objective: Option<f64>,
    /// What applications that take turns are worth at most, whatever the epochs; of policy `frame`.
    pub dual_bound: Option<f64>,
    /// Each row of the host: how much of it is used, over all epochs and in the epoch that uses most.
    pub rows: Vec<RowUse>,
    /// What a reader should know.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Each application.
    pub applications: Vec<Turn>,
    /// Applications that are active, by epoch.
    pub active: Vec<Vec<usize>>,
}

/// When one application is active.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Turn {
    /// Its number.
    pub application: usize,
    /// Share of time that is optimal.
    pub tau: Option<f64>,
    /// Rate of work requests over all epochs (WQE/s).
    pub rate: f64,
    /// Rate of work requests in the epochs in which it is active.
    pub active_rate: f64,
    /// How many epochs it is active in.
    pub active_epochs: u64,
    /// The first of them.
    pub first_epoch: Option<u64>,
    /// Longest time from one of them to the next, in epochs.
    pub longest_wait: Option<u64>,
    /// Active epochs less the share wanted, in epochs of a frame.
    pub share_error: Option<f64>,
}

/// Lays out who is active when, for so many epochs; by default the fewest that serve everyone.
///
/// # Errors
/// If the problem is wrong or has no solution, or there is no such frame.
pub fn schedule(
    document: Document,
    request: &Request,
    policy: Policy,
    epochs: Option<u64>,
) -> Result<Plan, Error> {
    match policy {
        Policy::Frame => frame(document, request, epochs),
        Policy::Reserve { reserved } => reserve(document, request, (reserved, epochs)),
    }
}

/// A frame of the shares that are optimal in the long run.
fn frame(document: Document, request: &Request, epochs: Option<u64>) -> Result<Plan, Error> {
    let request = Request {
        mode: Some(Mode::Timeshare),
        ..*request
    };
    let name = document.name.clone();
    let mut host = HostProblem::new(document.problem, &request)?;
    let own = host.clone();
    if let Some(epochs) = epochs {
        give_an_epoch(&mut host, epochs);
    }
    let k = slots(host.k.unwrap_or(0.0));
    if let Some(epochs) = epochs.filter(|epochs| *epochs > MOST_EPOCHS) {
        let message = format!("a frame of {epochs} epochs is too long to be listed");
        let hint = format!("give at most {MOST_EPOCHS}");
        return Err(Error::new(FLAG, message, hint));
    }
    let shares = |host: &HostProblem| {
        Problem::of_host(name.clone(), host.clone(), &request)?.solve(&fairlane_drum::Sequential)
    };
    let answer = match (shares(&host), epochs) {
        // What goes wrong without the frame too isn't the frame's.
        (Err(error), Some(epochs)) => {
            let shortest = Frame::shortest(&shares(&own)?.tau.unwrap_or_default());
            return Err(too_short(epochs, shortest, &error));
        }
        (answer, _) => answer?,
    };
    let tau = answer.tau.unwrap_or_default();
    let epochs = epochs.unwrap_or_else(|| Frame::shortest(&tau));
    if epochs > MOST_EPOCHS {
        let message =
            format!("the smallest share needs a frame of {epochs} epochs, too long to be listed");
        return Err(Error::new(
            FLAG,
            message,
            "give a frame with --frame: small shares become one epoch of it",
        ));
    }
    let frame = Frame::new(&tau, k, epochs)
        .map_err(|error| Error::new(FLAG, error.to_string(), error.hint().unwrap_or_default()))?;
    let plan = Plan {
        name,
        dual_bound: answer.dual_bound,
        ..listed(&frame, &tau, (k, epochs))
    };
    with_rates(plan, &own, Some(&answer.x))
}

/// A plan with the best rates for it.
fn with_rates(mut plan: Plan, problem: &HostProblem, most: Option<&[f64]>) -> Result<Plan, Error> {
    let found = rates(problem, &plan.active, most)?;
    for turn in &mut plan.applications {
        turn.rate = found.mean[turn.application];
        turn.active_rate = found.active[turn.application];
    }
    plan.objective = found.objective;
    plan.rows = found.rows;
    if found.without_least {
        let note =
            "least rates are left out: applications that are active together can't keep theirs";
        plan.notes.push(note.into());
    }
    Ok(plan)
}

/// Everyone with a weight gets at least an epoch of a frame of so many.
fn give_an_epoch(host: &mut HostProblem, epochs: u64) {
    let Some(peak) = &host.peak else { return };
    let table = &mut host.table;
    for (index, peak) in peak.iter().enumerate().take(table.len()) {
        let counts = table.weight.get(index).is_some_and(|weight| *weight > 0.0);
        if counts {
            let least = table.minimum.get(index).copied().unwrap_or(0.0);
            table.minimum[index] = least.max(peak / epochs as f64);
        }
    }
}

/// Who is active in the epochs of a frame.
fn listed(frame: &Frame, tau: &[f64], (k, epochs): (usize, u64)) -> Plan {
    let active: Vec<Vec<usize>> = (0..epochs)
        .map(|epoch| {
            let mut active: Vec<_> = frame.active(epoch).collect();
            active.sort_unstable();
            active
        })
        .collect();
    let turns: Vec<Turn> = turns(&active, tau.len(), true)
        .into_iter()
        .map(|turn| Turn {
            tau: Some(tau[turn.application]),
            share_error: Some(frame.share_error(turn.application)),
            ..turn
        })
        .collect();
    let errors = turns.iter().filter_map(|turn| turn.share_error);
    Plan {
        name: None,
        policy: "frame",
        k,
        epochs,
        most_active: active.iter().map(Vec::len).max().unwrap_or(0),
        longest_wait: turns
            .iter()
            .filter_map(|turn| turn.longest_wait)
            .max()
            .unwrap_or(0),
        longest_wait_bound: frame.longest_wait_of_all(),
        largest_share_error: errors.map(f64::abs).reduce(f64::max),
        objective: None,
        dual_bound: None,
        rows: Vec::new(),
        notes: Vec::new(),
        applications: turns,
        active,
    }
}

/// A frame in which not everyone can have an epoch.
fn too_short(epochs: u64, shortest: u64, error: &Error) -> Error {
    let message = format!(
        "in a frame of {epochs} epochs not everyone can have one ({}: {})",
        error.place, error.message
    );
    let hint = format!("give a longer frame: {shortest} epochs serve everyone");
    Error::new(FLAG, message, hint)
}

/// Slots by the optimal selection, and some by waiting time.
fn reserve(
    document: Document,
    request: &Request,
    (reserved, epochs): (usize, Option<u64>),
) -> Result<Plan, Error> {
    let name = document.name.clone();
    let mut host = HostProblem::new(
        document.problem,
        &Request {
            mode: selecting(request.mode),
            ..*request
        },
    )?;
    let (k, count) = (host.whole_k()?, host.table.len());
    let own = host.clone();
    if !(1..=k).contains(&reserved) {
        let message = format!("{reserved} slots are reserved of {k}");
        return Err(Error::new("reserved", message, "reserve 1 to k slots"));
    }
    let mut gains = vec![0.0; count];
    if reserved < k {
        host.k = Some((k - reserved) as f64);
        let problem = Problem::of_host(None, host, request)?;
        for index in problem.solve(&fairlane_drum::Sequential)?.selected {
            gains[index] = 1.0;
        }
    }
    let mut reserve = Reserve::new(count, k, reserved);
    let bound = reserve.longest_wait();
    let epochs = epochs.unwrap_or(bound).min(MOST_EPOCHS);
    let active: Vec<Vec<usize>> = (0..epochs).map(|_| reserve.choose(&gains)).collect();
    let turns = turns(&active, count, false);
    let plan = Plan {
        name,
        policy: "reserve",
        k,
        epochs,
        most_active: active.iter().map(Vec::len).max().unwrap_or(0),
        longest_wait: turns
            .iter()
            .filter_map(|turn| turn.longest_wait)
            .max()
            .unwrap_or(0),
        longest_wait_bound: bound,
        largest_share_error: None,
        objective: None,
        dual_bound: None,
        rows: Vec::new(),
        notes: Vec::new(),
        applications: turns,
        active,
    };
    with_rates(plan, &own, None)
}

/// The mode by which slots are filled.
fn selecting(mode: Option<Mode>) -> Option<Mode> {
    Some(match mode {
        Some(Mode::ActiveSet) => Mode::ActiveSet,
        _ => Mode::TopkUtility,
    })
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates"
)]
fn slots(k: f64) -> usize {
    k.ceil() as usize
}

/// When each application is active; waits go round the end if the epochs repeat.
fn turns(active: &[Vec<usize>], count: usize, repeats: bool) -> Vec<Turn> {
    let mut epochs = vec![Vec::new(); count];
    for (epoch, chosen) in (0u64..).zip(active) {
        for application in chosen {
            epochs[*application].push(epoch);
        }
    }
    let length = active.len() as u64;
    let turn = |(application, epochs): (usize, Vec<u64>)| {
        let between = epochs.windows(2).map(|pair| pair[1] - pair[0]).max();
        let ends = epochs.first().zip(epochs.last());
        let around = ends.map(|(first, last)| match repeats {
            true => first + length - last,
            false => (first + 1).max(length - last),
        });
        Turn {
            application,
            tau: None,
            rate: 0.0,
            active_rate: 0.0,
            active_epochs: epochs.len() as u64,
            first_epoch: epochs.first().copied(),
            longest_wait: around.max(between),
            share_error: None,
        }
    };
    epochs.into_iter().enumerate().map(turn).collect()
}
