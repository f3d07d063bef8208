//! An execution trace of Chakra, of rank 0 of two: what is accepted names what there is.
#![no_main]

use fairlane_program::Work;
use fairlane_traces::{Format, read};
use libfuzzer_sys::fuzz_target;

/// `GlobalMetadata` without anything.
const EMPTY: &[u8] = &[0];

fuzz_target!(|bytes: &[u8]| {
    let program = match read(Format::Chakra, &[("t.0.et", bytes), ("t.1.et", EMPTY)]) {
        Ok(program) => program,
        Err(error) => {
            assert!(error.place.starts_with("t.0.et") && !error.message.is_empty(), "{error}");
            return;
        }
    };
    let [operations, nothing] = &program.ranks[..] else {
        panic!("two files are two ranks")
    };
    assert!(nothing.is_empty());
    for operation in operations {
        assert!(operation.after.iter().all(|it| (*it as usize) < operations.len()));
        match &operation.work {
            Work::Compute(_) => {}
            Work::Send { to: other, size, .. } | Work::Receive { from: other, size, .. } => {
                assert!(*other == 1 && size.get() > 0);
            }
            Work::Collective(it) => assert!(program.groups[it.group as usize].contains(&0)),
        }
    }
});
