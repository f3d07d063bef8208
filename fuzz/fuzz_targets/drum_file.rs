//! A problem is refused with a message or solved, and the answer keeps its own promises and those of one that starts from it.
#![no_main]

use fairlane_drum::Sequential;
use fairlane_drum_file::{Answer, Document, Error, Problem, Request, Start};
use libfuzzer_sys::fuzz_target;

fn solve(document: Document, start: Option<&Start>) -> Result<Answer, Error> {
    let problem = Problem::new(document, &Request::default())?;
    problem.with_start(start).solve(&Sequential)
}

/// Whether a bound is not below a value but for what was asked.
fn holds(bound: Option<f64>, value: Option<f64>) {
    if let (Some(bound), Some(value)) = (bound, value) {
        assert!(bound >= value - 1e-6 * value.abs().max(bound.abs()), "{bound} is below {value}");
    }
}

fuzz_target!(|text: &str| {
    let Ok(document) = Document::read(text) else { return };
    let written = serde_json::to_string(&document).expect("what was read can be written");
    let again = Document::read(&written).expect("what was written can be read");
    assert_eq!(again, document, "{written}");
    match solve(document, None) {
        Err(error) => assert!(!error.place.is_empty() && !error.message.is_empty(), "{error:?}"),
        Ok(answer) => {
            holds(answer.dual_bound, answer.objective);
            let start = serde_json::to_value(&answer).and_then(serde_json::from_value);
            let start = start.expect("what was answered can be started from");
            if let Ok(warm) = solve(again, Some(&start)) {
                holds(warm.dual_bound, warm.objective);
                holds(warm.dual_bound, answer.objective);
                holds(answer.dual_bound, warm.objective);
            }
        }
    }
});
