//! A problem is refused with a message or solved, and the answer keeps its own promises.
#![no_main]

use fairlane_drum::Sequential;
use fairlane_drum_file::{Document, Problem, Request};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(document) = Document::read(text) else { return };
    let written = serde_json::to_string(&document).expect("what was read can be written");
    assert_eq!(Document::read(&written).as_ref(), Ok(&document), "{written}");
    let solved = Problem::new(document, &Request::default())
        .and_then(|problem| problem.solve(&Sequential));
    match solved {
        Err(error) => assert!(!error.place.is_empty() && !error.message.is_empty(), "{error:?}"),
        Ok(answer) => {
            if let (Some(value), Some(bound)) = (answer.objective, answer.dual_bound) {
                assert!(bound >= value - 1e-6 * value.abs().max(bound.abs()), "{bound} is below {value}");
            }
        }
    }
});
