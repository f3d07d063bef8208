//! `fairlane exec`: which libraries a program finds.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::Case;

/// The folder that a program is given by the command in `case`'s folder `bin`.
fn found(case: &Case) -> Result<String, String> {
    let output = Command::new(case.path("bin/fairlane"))
        .args(["exec", "--", "sh", "-c", "echo $LD_LIBRARY_PATH"])
        .env_remove("FAIRLANE_VERBS")
        .env_remove("LD_LIBRARY_PATH")
        .env("FAIRLANE_ADDRESS", "127.0.0.2")
        .env("XDG_RUNTIME_DIR", case.path("bin"))
        .output()
        .unwrap();
    let [data, talk] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    match output.status.success() {
        true => Ok(data.trim_end().to_owned()),
        false => Err(talk),
    }
}

#[test]
fn an_installed_command_finds_its_libraries() {
    let case = Case::new();
    fs::create_dir(case.path("bin")).unwrap();
    fs::copy(env!("CARGO_BIN_EXE_fairlane"), case.path("bin/fairlane")).unwrap();
    let missing = found(&case).unwrap_err();
    assert!(
        missing.contains("hint: `make verbs` builds it"),
        "{missing}"
    );
    let is_in = |folder: &Path| assert_eq!(found(&case), Ok(folder.display().to_string()));
    for folder in ["lib/fairlane", "verbs"] {
        let folder = case.path(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("libibverbs.so.1"), "").unwrap();
        is_in(&folder);
    }
}
