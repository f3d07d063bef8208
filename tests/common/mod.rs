//! Helpers of the tests of the repository.
#![allow(dead_code, reason = "no test uses all of them")]
#![allow(clippy::expect_used, reason = "a failed helper fails its test")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("the folder of the tests has a parent")
        .into()
}

/// The text of a file of the repository.
pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The standard output of a command run in the folder of the repository.
pub(crate) fn output(program: &str, arguments: &[&str]) -> String {
    let done = Command::new(program)
        .args(arguments)
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}"));
    let talk = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program} {arguments:?}: {talk}");
    String::from_utf8(done.stdout).expect("output is UTF-8")
}

/// What cargo says of the workspace.
pub(crate) fn metadata(arguments: &[&str]) -> Value {
    let fixed = ["metadata", "--format-version", "1", "--locked"];
    let text = output(env!("CARGO"), &[&fixed, arguments].concat());
    serde_json::from_str(&text).expect("metadata is JSON")
}

/// The text at `key`.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_default()
}

/// The list at `key`.
pub(crate) fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// Fails with all complaints, if there are any.
pub(crate) fn assert_none(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}
