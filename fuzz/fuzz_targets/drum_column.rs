//! A file of NumPy is refused with a message, or gives a column that is refused or solved with.
#![no_main]

use fairlane_drum::Sequential;
use fairlane_drum_file::{Document, Problem, Request};
use libfuzzer_sys::fuzz_target;

const HOST: &str = r#"{"kind": "host_fixed", "inputs": {"m": 2, "alpha": 0.5, "beta": 0.1, "Q": 3, "C": 2,
    "bytes_per_wqe": [1, 1], "poll_cost": [1, 1]}}"#;

fuzz_target!(|npy: &[u8]| {
    for column in ["weight", "x_max"] {
        let mut document = Document::read(HOST).expect("a problem");
        let solved = document
            .set_column(column, npy)
            .and_then(|()| Problem::new(document, &Request::default()))
            .and_then(|problem| problem.solve(&Sequential));
        if let Err(error) = solved {
            assert!(!error.place.is_empty() && !error.message.is_empty(), "{error:?}");
        }
    }
});
