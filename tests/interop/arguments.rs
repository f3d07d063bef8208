//! Wrong arguments and hostile requests, from a program in C.

use crate::setup::{alone, at, compiled};

#[test]
fn wrong_arguments_are_errors_and_closed_memory_stays_untouched() {
    let Some(program) = compiled("arguments", ("infiniband/verbs.h", "libibverbs-dev")) else {
        return;
    };
    let _alone = alone();
    let program = program.to_str().expect("its path is a text");
    let output = at("127.77.0.4", program)
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {said}", output.status);
}
