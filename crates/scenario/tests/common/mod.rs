//! Helpers of the tests.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of two crates, each of which uses a part"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use fairlane_scenario::{Error, Loaded, parse};

/// A folder of its own, removed at the end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        // Tests of a file run at the same time, and two may choose the same name.
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("fairlane-{name}-{process}-{made}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Reads a text that names no files.
pub fn read(text: &str) -> Result<Loaded, Error> {
    parse(text, "x.toml", Path::new("."), &[], None)
}

/// The text of the error of a scenario, checked to have the form of all errors.
pub fn refusal(result: Result<Loaded, Error>) -> String {
    let error = result.expect_err("this must be refused");
    assert!(!error.place.is_empty(), "no place: {error}");
    assert!(!error.hint.is_empty(), "no hint: {error}");
    let text = error.to_string();
    assert!(
        text.starts_with("error ") && text.contains("\nhint: "),
        "{text}"
    );
    text
}

/// Asserts that `text` is refused and that the message contains each of `parts`.
#[track_caller]
pub fn refused(text: &str, parts: &[&str]) {
    let message = refusal(read(text));
    for part in parts {
        assert!(
            message.contains(part),
            "expected `{part}` in\n{message}\nof\n{text}"
        );
    }
}

/// As [`refused`], for lines after a star of four hosts (which takes 5 lines).
#[track_caller]
pub fn refused_star(lines: &str, parts: &[&str]) {
    refused(&format!("{STAR}{lines}"), parts);
}

/// A star of four hosts.
pub const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
"#;

/// The folder of reference data, or `None` with a printed reason.
pub fn reference() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference");
    let folder = std::env::var_os("FAIRLANE_REFERENCE").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no reference data; set FAIRLANE_REFERENCE to its folder");
    None
}
