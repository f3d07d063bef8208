//! From a document to its answer.

use fairlane_drum::{Options, Place, RowName, Solution, Status, Workers};

use crate::answer::{Answer, Start};
use crate::comparison;
use crate::error::{Error, of_solver};
use crate::inputs::{Document, Inputs, Mode};
use crate::network::NetworkProblem;
use crate::problem::{HostProblem, Request};

/// A problem that has been read and checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    name: Option<String>,
    kind: &'static str,
    options: Options,
    form: Form,
    /// Prices to start from, a row each; none to start anew.
    start: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Host(Box<HostProblem>),
    Network(Box<NetworkProblem>),
}

impl Problem {
    /// Reads a document and checks it.
    ///
    /// # Errors
    /// If the text isn't a document, or the problem has no solution: with the path of what is wrong.
    pub fn read(text: &str, request: &Request) -> Result<Self, Error> {
        Self::new(Document::read(text)?, request)
    }

    /// Fills in what a document leaves out and checks it.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn new(document: Document, request: &Request) -> Result<Self, Error> {
        let Document { name, problem } = document;
        let kind = problem.kind();
        let form = match problem {
            Inputs::Coupled(inputs) => {
                Form::Network(Box::new(NetworkProblem::new(inputs, request)?))
            }
            host => Form::Host(Box::new(Self::checked(HostProblem::new(host, request)?)?)),
        };
        Ok(Self {
            name,
            kind,
            options: options(request)?,
            form,
            start: Vec::new(),
        })
    }

    /// Starts from the prices of the answer to a similar problem, which saves passes where they are close; rows are told
    /// apart by name. Without one it starts anew, as do a network and a host with a row that has no price there.
    #[must_use]
    pub fn with_start(mut self, start: Option<&Start>) -> Self {
        let prices = self.host().zip(start).and_then(|(host, start)| {
            let rows = host.row_names();
            rows.iter().map(|name| start.price(name)).collect()
        });
        self.start = prices.unwrap_or_default();
        self
    }

    /// The problem of a host that has been filled in already.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn of_host(
        name: Option<String>,
        host: HostProblem,
        request: &Request,
    ) -> Result<Self, Error> {
        let form = Form::Host(Box::new(Self::checked(host)?));
        Ok(Self {
            name,
            kind: "host_fixed",
            options: options(request)?,
            form,
            start: Vec::new(),
        })
    }

    /// Checks the problem of a host.
    pub(crate) fn checked(host: HostProblem) -> Result<HostProblem, Error> {
        let paths = host.paths();
        let mut view = host.host();
        for (row, path) in view.rows.iter_mut().zip(&paths) {
            // A row's name is anybody's; its path is not.
            row.name = RowName::Other(path);
        }
        view.check().map_err(of_row)?;
        host.selection()?;
        Ok(host)
    }

    /// What it is called.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The problem of one host, if it is one.
    pub fn host(&self) -> Option<&HostProblem> {
        match &self.form {
            Form::Host(host) => Some(host),
            Form::Network(_) => None,
        }
    }

    /// Number of applications, of flows in a network.
    pub fn applications(&self) -> usize {
        match &self.form {
            Form::Host(host) => host.table.len(),
            Form::Network(problem) => problem.network.weight.len(),
        }
    }

    /// Solves it; workers share the work of a network's hosts.
    ///
    /// # Errors
    /// If it has no solution: with the row or the application that prevents it.
    pub fn solve(&self, workers: &impl Workers) -> Result<Answer, Error> {
        let mut answer = match &self.form {
            Form::Host(host) if host.mode.compares() => comparison::answer(host)?,
            Form::Host(host) => self.solve_host(host)?,
            Form::Network(problem) => solve_network(problem, workers)?,
        };
        answer.name.clone_from(&self.name);
        answer.kind = self.kind.to_owned();
        answer.names = self.host().and_then(|host| host.names.clone());
        Ok(answer)
    }

    fn solve_host(&self, problem: &HostProblem) -> Result<Answer, Error> {
        let host = problem.host();
        let (selection, options) = (problem.selection()?, &self.options);
        let solution = fairlane_drum::resolve(&host, &selection, options, &self.start);
        let solution = solution.map_err(of_solver)?;
        let rows = problem.row_names();
        let mut tau = None;
        if let (Mode::Timeshare, Some(peak)) = (problem.mode, &problem.peak) {
            tau = Some(
                solution
                    .x
                    .iter()
                    .zip(peak)
                    .map(|(x, peak)| x / peak)
                    .collect(),
            );
        }
        let mut answer = Answer::of(solution, problem.mode, rows);
        answer.tau = tau;
        Ok(answer)
    }
}

fn solve_network(problem: &NetworkProblem, workers: &impl Workers) -> Result<Answer, Error> {
    let found = problem.solve(workers)?;
    let everyone = found.counts.is_empty();
    let mut solution = Solution {
        scale: problem.scale(&found),
        objective: found.objective,
        dual_bound: found.dual_bound,
        proven_bound: found.proven_bound,
        z: problem
            .network
            .completions
            .iter()
            .zip(&found.x)
            .map(|(a, x)| a * x)
            .collect(),
        dual_prices: found.prices.clone(),
        prices: found.prices,
        selected: (0..found.x.len())
            .filter(|flow| everyone || found.counts[*flow])
            .collect(),
        x: found.x,
        usage: found.usage,
        iterations: found.iterations,
        status: Status::default(),
    };
    let (gap, selects) = (solution.relative_gap(), problem.mode != Mode::Fixed);
    solution.status = Status::new(gap, problem.tolerance, selects);
    Ok(Answer::of(solution, problem.mode, problem.rows()))
}

fn options(request: &Request) -> Result<Options, Error> {
    let mut options = Options::default();
    if let Some(tolerance) = request.tolerance {
        if !(0.0..1.0).contains(&tolerance) {
            let message = format!("{tolerance} is not a number from 0 to below 1");
            return Err(Error::new(
                "tolerance",
                message,
                "1e-6 ends at a millionth of the value",
            ));
        }
        options.tolerance = tolerance;
    }
    Ok(options)
}

/// What is wrong with a row stands under the row's path, which it has as a name here.
fn of_row(error: fairlane_drum::Error) -> Error {
    use fairlane_drum::Error as Wrong;
    let place = match &error {
        Wrong::Number { place, .. }
        | Wrong::Shape { place, .. }
        | Wrong::Unsupported { place, .. } => Some(place),
        _ => None,
    };
    let coefficients = |path: &str| match path.rsplit_once('.') {
        Some((row, _)) => format!("inputs.{row}.coefficients"),
        None => format!("inputs.{path}"),
    };
    let path = match place {
        Some(Place::Row(path)) if matches!(error, Wrong::Shape { .. }) => Some(coefficients(path)),
        Some(Place::Row(path)) => Some(format!("inputs.{path}")),
        Some(Place::RowEntry(path, index)) => Some(match path.as_str() {
            "Q" | "segments" => format!("inputs.bytes_per_wqe[{index}]"),
            "C" => format!("inputs.poll_cost[{index}]"),
            other => format!("{}[{index}]", coefficients(other)),
        }),
        _ => None,
    };
    let mut error = of_solver(error);
    if let Some(path) = path {
        error.place = path;
    }
    error
}
