//! A GOAL schedule: what is accepted is written and read again.
#![no_main]

use fairlane_traces::{Format, goal, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(mut program) = read(Format::Goal, &[("a.goal", bytes)]) else {
        return;
    };
    // Labels are numbered when they are written.
    for operations in &mut program.ranks {
        for (number, operation) in operations.iter_mut().enumerate() {
            operation.name = format!("l{number}");
        }
    }
    let text = goal::write(&program).expect("what was read can be written");
    let again = read(Format::Goal, &[("b.goal", text.as_bytes())]);
    assert_eq!(again.as_ref(), Ok(&program), "{text}");
});
