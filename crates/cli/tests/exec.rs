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
    // A child of another test would have a copy that this process writes open for a moment, and nobody could run it (ETXTBSY).
    let mut copy = Command::new("cp");
    copy.args([
        env!("CARGO_BIN_EXE_fairlane").into(),
        case.path("bin/fairlane"),
    ]);
    assert!(copy.status().unwrap().success());
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

/// What `fairlane exec --faults` does with a file that has this text: what the program says, or the complaint.
fn with_faults(case: &Case, text: &str) -> Result<String, String> {
    fs::write(case.path("faults.toml"), text).unwrap();
    fs::write(case.path("libibverbs.so.1"), "").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_fairlane"))
        .args(["exec", "--faults", "faults.toml", "--"])
        .args(["sh", "-c", "echo $FAIRLANE_FAULTS"])
        .current_dir(case.path(""))
        .env("FAIRLANE_VERBS", case.path(""))
        .env("FAIRLANE_ADDRESS", "127.0.0.2")
        .output()
        .unwrap();
    let [data, talk] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
    match output.status.code() {
        Some(0) => Ok(data.trim_end().to_owned()),
        status => {
            assert_eq!((status, data.as_str()), (Some(2), ""));
            Err(talk)
        }
    }
}

#[test]
fn faults_are_checked_before_the_program_starts() {
    let case = Case::new();
    let told = with_faults(&case, "seed = 7\n[packets]\nloss = 0.5\n");
    assert_eq!(told.as_deref(), Ok("seed=7 packets=loss:0.5"));
    let wrong = with_faults(&case, "[packets]\nlost = 0.5\n");
    let says = "error: faults.toml:2:1: `packets` has no `lost`\nhint: did you mean `loss`?\n";
    assert_eq!(wrong, Err(says.to_owned()));
}
