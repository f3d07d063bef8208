//! The suite of pyverbs on Soft-RoCE: what passes there must pass on the software NIC.

use std::time::Duration;

use super::machine::{ended, machine};
use crate::setup::alone;
use crate::suite::{PYTHON, expected, is_there, results, unpack};

/// It takes half a minute on a machine that does nothing else.
const MOST: Duration = Duration::from_secs(240);

#[test]
fn what_passes_on_the_oracle_is_listed() {
    if !is_there() {
        return;
    }
    let _alone = alone();
    let Some(machine) = machine() else {
        return;
    };
    let folder = unpack("pyverbs-oracle");
    let line = format!(
        "sh -c 'cd {} && {PYTHON} -B tests/run_tests.py --dev rxe0 --gid 1 -v'",
        folder.display()
    );
    let output = machine.start_there(&line, MOST).wait_with_output();
    let (_, said) = ended(&output.expect("its output can be read"));
    let theirs = results(&said);
    assert!(theirs.len() > 250, "found only {}: {said}", theirs.len());
    // `suite.rs` checks that the list is what happens on the software NIC.
    let ours = expected();
    let passes = |name: &String| theirs.get(name).is_some_and(|ended| ended == "ok");
    let mut missing = Vec::new();
    for (name, ended) in &theirs {
        let here = ours.get(name).map_or("skipped", String::as_str);
        if ended != here {
            println!("{name}: ours {here}, rxe's {ended}");
        }
        if ended == "ok" && here != "ok" {
            missing.push(name);
        }
    }
    let count = theirs.keys().filter(|name| passes(name)).count();
    println!("{count} cases pass on rxe, {} on ours", ours.len());
    assert!(count >= 80, "the oracle passes only {count}: {said}");
    assert!(missing.is_empty(), "{missing:?}");
}
