//! The test suite of rdma-core (pyverbs), which its package brings along as documentation.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::setup::{alone, at, has, root};

/// Where Debian has it; some files are compressed there.
const SUITE: &str = "/usr/share/doc/rdma-core/tests";
/// The interpreter that pyverbs was built for.
pub(crate) const PYTHON: &str = "/usr/bin/python3";
const ADDRESS: &str = "127.77.0.3";

/// What a case ended with: `ok`, `skipped`, `FAIL` or `ERROR`.
pub(crate) type Results = BTreeMap<String, String>;

/// The cases that pass, and those that fail with a minus in front, as `suite.txt` lists them.
pub(crate) fn expected() -> Results {
    let text = include_str!("suite.txt");
    let names = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let case = |line: &str| match line.strip_prefix('-') {
        Some(name) => (name.to_owned(), "FAIL".to_owned()),
        None => (line.to_owned(), "ok".to_owned()),
    };
    names.map(case).collect()
}

/// A copy of the suite whose files aren't compressed, in a folder with this name.
pub(crate) fn unpack(name: &str) -> PathBuf {
    let copy = root().join("target/interop").join(name);
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir_all(&copy).expect("target can be written");
    let script = format!("cp -r {SUITE} . && gunzip -f tests/*.gz");
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", &script]).current_dir(&copy).status();
    assert!(status.expect("sh can be started").success());
    copy
}

/// What `unittest -v` says: a name and its module in parentheses, perhaps a line that describes it, and behind dots
/// how it has ended.
pub(crate) fn results(said: &str) -> Results {
    let mut results = Results::new();
    let mut current: Option<String> = None;
    for line in said.lines() {
        if let Some(name) = name(line) {
            current = Some(name);
        }
        let ended = ["ok", "FAIL", "ERROR", "skipped"].into_iter().find(|word| {
            let rest = line.rsplit("... ").next().unwrap_or_default();
            rest.starts_with(word) || line.ends_with(&format!(" {word}"))
        });
        if let Some((name, ended)) = current
            .clone()
            .zip(ended.filter(|_| line.contains("... ") || line == "ok"))
        {
            results.insert(name, ended.to_owned());
            current = None;
        }
    }
    results
}

/// `test_a (tests.test_b.C.test_a)` is `test_b.C.test_a`.
fn name(line: &str) -> Option<String> {
    let (first, rest) = line.split_once(" (tests.")?;
    let (path, _) = rest.split_once(')')?;
    (first.starts_with("test_") && path.ends_with(first)).then(|| path.to_owned())
}

pub(crate) fn is_there() -> bool {
    let has_suite = Path::new(SUITE).join("run_tests.py").is_file();
    let mut python = Command::new(PYTHON);
    let imports = python.args(["-c", "import pyverbs.device"]).output();
    let has_module = imports.is_ok_and(|output| output.status.success());
    if !has_suite || !has_module {
        println!(
            "skipped: there is no suite of pyverbs (Debian: apt-get install rdma-core python3-pyverbs)"
        );
    }
    has_suite && has_module && has("gunzip", "gzip")
}

#[test]
fn what_passes_on_kernel_rxe_passes() {
    if !is_there() {
        return;
    }
    let _alone = alone();
    let folder = unpack("pyverbs");
    let mut suite = at(ADDRESS, PYTHON);
    suite.args([
        "tests/run_tests.py",
        "--dev",
        "fairlane0",
        "--gid",
        "1",
        "-v",
    ]);
    let output = suite
        .current_dir(folder)
        .env("FAIRLANE_QUIET", "1")
        .output();
    let output = output.expect("the suite can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let results = results(&said);
    assert!(
        results.len() > 250,
        "found only {} cases in {said}",
        results.len()
    );
    let mut expected = expected();
    // What isn't listed is skipped.
    let ended = results.iter().filter(|(_, ended)| *ended != "skipped");
    let wrong: Vec<String> = ended
        .filter_map(|(name, ended)| {
            let was = expected
                .remove(name)
                .unwrap_or_else(|| "not listed".to_owned());
            (was != *ended).then(|| format!("{name}: {ended}, expected {was}"))
        })
        .collect();
    assert!(
        wrong.is_empty() && expected.is_empty(),
        "{wrong:?}, missing: {expected:?}\n{said}"
    );
}

#[test]
fn results_are_read() {
    let said = "test_a (tests.test_x.C.test_a) ... ok\n\
        test_b (tests.test_x.C.test_b)\nWhat it is. ... skipped 'no ODP'\n\
        test_c (tests.test_x.C.test_c)\nWhat it is. ... FAIL\n\
        test_d (tests.test_x.C.test_d) ... words of the test\nok\n";
    let expected = [
        ("test_x.C.test_a", "ok"),
        ("test_x.C.test_b", "skipped"),
        ("test_x.C.test_c", "FAIL"),
        ("test_x.C.test_d", "ok"),
    ];
    let expected = expected.map(|(name, ended)| (name.to_owned(), ended.to_owned()));
    assert_eq!(results(said), Results::from(expected));
}
