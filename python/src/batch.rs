//! Problems of DRUM as the command has them: documents of JSON in, answers out.

use std::ops::ControlFlow;

use fairlane_drum::Sequential;
use fairlane_drum_file::{Answer, Document, Error, Mode, Policy, Problem, Random, Request, Start};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{error, sweep, wait};

/// What is asked beyond what a document says: mode, k, tolerance.
type Asked = (Option<String>, Option<f64>, Option<f64>);

fn request((mode, k, tolerance): &Asked) -> PyResult<Request> {
    Ok(Request {
        mode: mode.as_deref().map(self::mode).transpose()?,
        k: *k,
        tolerance: *tolerance,
    })
}

fn mode(name: &str) -> PyResult<Mode> {
    read(&format!("{name:?}")).map_err(|_| {
        let message = format!("unknown mode \"{name}\"");
        let hint = "fixed, topk_utility, active_set, timeshare, paper, admm or dual_decomposition";
        error::problem(&Error::new("mode", message, hint), "")
    })
}

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn write(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// The answer to a document, from the prices of an earlier answer (as JSON) if there is one.
fn answer(text: &str, request: &Request, start: Option<&str>) -> Result<Answer, Error> {
    let start: Option<Start> = start
        .map(serde_json::from_str)
        .transpose()
        .map_err(|error| {
            let hint = "give answers of solve_batch, or None";
            Error::new("start", error.to_string(), hint)
        })?;
    let problem = Problem::read(text, request)?.with_start(start.as_ref());
    problem.solve(&Sequential)
}

/// The answer to one document; `place` is what errors call it.
#[pyfunction]
pub(crate) fn solve_document(
    py: Python<'_>,
    text: &str,
    place: &str,
    asked: Asked,
    start: Option<&str>,
) -> PyResult<String> {
    let request = request(&asked)?;
    match py.detach(|| answer(text, &request, start)) {
        Ok(answer) => write(&answer),
        Err(error) => Err(error::problem(&error, place)),
    }
}

/// The answers to documents, each perhaps with an earlier answer, in their order, on threads; in place of an answer what is
/// wrong, if it is to go on.
#[pyfunction]
pub(crate) fn solve_documents(
    py: Python<'_>,
    texts: Vec<(String, Option<String>)>,
    asked: Asked,
    threads: Option<usize>,
    keep_going: bool,
) -> PyResult<Vec<(Option<String>, Option<String>)>> {
    let request = request(&asked)?;
    let work = |line: &wait::Line<'_, ()>| {
        let mut answers = Vec::with_capacity(texts.len());
        sweep::threads(threads).stream(
            &texts,
            |_, (text, start)| answer(text, &request, start.as_deref()),
            |answer| {
                let ends = (answer.is_err() && !keep_going) || line.stopped();
                answers.push(answer);
                match ends {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            },
        );
        answers
    };
    let answers = wait::during(py, work, |_, ()| Ok(()))?;
    let numbered = answers.into_iter().enumerate();
    numbered
        .map(|(number, answer)| match answer {
            Ok(answer) => Ok((Some(write(&answer)?), None)),
            Err(error) => {
                let error = error::problem(&error, &format!("problems[{number}]"));
                match keep_going {
                    true => Ok((None, Some(error.value(py).to_string()))),
                    false => Err(error),
                }
            }
        })
        .collect()
}

/// Who is active when, as JSON.
#[pyfunction]
pub(crate) fn schedule(
    py: Python<'_>,
    text: &str,
    asked: Asked,
    reserved: Option<usize>,
    frame: Option<u64>,
) -> PyResult<String> {
    let request = request(&asked)?;
    let policy = reserved.map_or(Policy::Frame, |reserved| Policy::Reserve { reserved });
    let plan =
        py.detach(|| fairlane_drum_file::schedule(Document::read(text)?, &request, policy, frame));
    match plan {
        Ok(plan) => write(&plan),
        Err(error) => Err(error::problem(&error, "")),
    }
}

/// Random problems, each as JSON.
#[pyfunction]
pub(crate) fn random(
    size: (u32, u32),
    seed: u64,
    utility: (f64, f64),
    mode: &str,
    k: Option<u32>,
    coupled: bool,
) -> PyResult<Vec<String>> {
    let random = Random {
        hosts: size.0,
        applications: size.1,
        seed,
        alpha: utility.0,
        beta: utility.1,
        mode: self::mode(mode)?,
        k,
        coupled,
    };
    let documents = random.documents();
    let documents = documents.map_err(|error| error::problem(&error, ""))?;
    documents.map(|document| write(&document)).collect()
}
