//! Workloads whose hosts are ranks of a program: what is refused, and where.

use std::path::Path;

use fairlane_scenario::{Error, Loaded, load, parse};

use crate::common::Folder;

const STAR: &str = r#"
[topology]
kind = "star"
hosts = 4
host_link = { rate = "100Gbps", delay = "1us" }
"#;

#[track_caller]
fn refused_star(workload: &str, parts: &[&str]) {
    let text = format!("{STAR}{workload}");
    let error = parse(&text, "test.toml", Path::new("."), &[], None).expect_err("a mistake");
    assert!(!error.hint.is_empty(), "{error}");
    for part in parts {
        assert!(error.to_string().contains(part), "{error}\nwithout {part}");
    }
}

#[test]
fn programs_of_ranks_are_checked() {
    let collective = |rest: &str| {
        format!("[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\n{rest}\n")
    };
    for (rest, expected) in [
        ("", "workload[0].size"),
        ("size = 9\nrounds = 0", "workload[0].rounds"),
        ("size = 9\ngroups = 3", "workload[0].groups"),
        ("size = 9\nhosts = \"1\"", "workload[0].groups"),
        ("size = 9\nroot = 4", "workload[0].root"),
        ("size = 9\nverb = \"read\"", "workload[0].verb"),
        (
            "size = 9\nalgorithm = \"hierarchical\"",
            "workload[0].inner",
        ),
        ("size = 9\ninner = 2", "workload[0].inner"),
        ("size = 9\nclass = 9", "workload[0].class"),
        (
            "size = 9\nrounds = 2000000\ngap = \"1s\"",
            "workload[0].rounds",
        ),
    ] {
        refused_star(&collective(rest), &[expected]);
    }
    let tree = collective("size = 9\nalgorithm = \"tree\"").replace("all-reduce", "all-gather");
    refused_star(&tree, &["workload[0].algorithm"]);
    let layer = "count = 2, parameters = 1, activation = 1, forward = \"1us\", backward = \"1us\"";
    let training = |rest: &str| {
        format!("[[workload]]\nkind = \"training\"\nlayers = [{{ {layer} }}]\n{rest}\n")
    };
    for (rest, expected) in [
        ("tensor = 3", "workload[0].hosts"),
        ("expert = 3", "workload[0].expert"),
        ("pipeline = 4", "workload[0].pipeline"),
        ("steps = 0", "workload[0].steps"),
        ("steps = 4000000000", "workload[0].steps"),
        ("gradient_bytes = 9", "workload[0].gradient_bytes"),
        ("bucket = 0", "workload[0].bucket"),
        ("algorithm = \"hierarchical\"", "workload[0].algorithm"),
    ] {
        refused_star(&training(rest), &[expected]);
    }
    let long = training("steps = 10\nmicro_batches = 100");
    let long = long.replace("backward = \"1us\"", "backward = \"1000s\"");
    refused_star(&long, &["workload[0].steps", "10 steps of 200000.0002s"]);
    let none = training("").replace("count = 2", "count = 0");
    refused_star(&none, &["workload[0].layers[0].count"]);
    refused_star(
        "[[workload]]\nkind = \"training\"\nlayers = []\n",
        &["workload[0].layers"],
    );
    let program = "[[workload]]\nkind = \"program\"\npath = \"none.goal\"\n";
    refused_star(program, &["none.goal", "doesn't exist"]);
}

/// A folder with traces of three ranks in `run`, and what lies beside such.
fn traces() -> Folder {
    let folder = Folder::new("traces");
    std::fs::create_dir(folder.0.join("run")).unwrap();
    [
        "t.0.et",
        "t.1.et",
        "t.2.et",
        "t.et",
        "other.txt",
        "t.0.et.bak",
    ]
    .into_iter()
    .fold(folder, |folder, name| {
        folder.with(&format!("run/{name}"), name)
    })
    .with("run/kineto.json", "{\"events\": [{}]}")
    .with("run/groups.json", "\u{feff}{\"1\": [0, 2]}")
}

fn with_path(folder: &Folder, path: &str) -> Result<Loaded, Error> {
    let text = format!("{STAR}[[workload]]\nkind = \"program\"\npath = {path}\n");
    std::fs::write(folder.0.join("s.toml"), text).unwrap();
    load(&folder.0.join("s.toml"), &[], None)
}

/// The names of the files that a path stands for.
fn names(folder: &Folder, path: &str) -> Vec<String> {
    let loaded = with_path(folder, path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let files = loaded.inputs.traces[0].as_ref().unwrap();
    let name = |name: &str| {
        Path::new(name)
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    files.iter().map(|file| name(&file.name)).collect()
}

#[test]
fn a_path_stands_for_the_files_of_all_ranks_and_their_groups() {
    let folder = traces();
    let all = ["t.0.et", "t.1.et", "t.2.et", "groups.json"];
    for path in [
        "\"run/t\"",
        "\"run/t.\"",
        "\"run/t.*.et\"",
        "\"run/?.?.et\"",
        "[\"run/t.?.et\"]",
    ] {
        assert_eq!(names(&folder, path), all, "{path}");
    }
    std::fs::remove_file(folder.0.join("run/t.et")).unwrap();
    assert_eq!(names(&folder, "\"run\""), all);
    assert_eq!(names(&folder, "\"run/\""), all);
    assert_eq!(
        names(&folder, "[\"run/t.2.et\", \"run/t.0.et\", \"run/t.1.et\"]")[3],
        "groups.json"
    );
    assert_eq!(
        names(&folder, "[\"run/t\", \"run/kineto.json\"]")[3],
        "kineto.json"
    );
    // Of two it isn't known which one is meant.
    let folder = folder.with("run/more.json", "{}");
    assert_eq!(names(&folder, "\"run/t\""), all[..3]);
    assert_eq!(
        names(&folder, "[\"run/t\", \"run/more.json\"]")[3],
        "more.json"
    );
}

#[test]
fn copies_of_traces_are_listed_one_by_one() {
    let folder = traces();
    let loaded = with_path(&folder, "\"run/t\"").unwrap();
    let (text, copies) = loaded.portable().unwrap();
    let other = Folder::new("copied");
    std::fs::create_dir(other.0.join("inputs")).unwrap();
    std::fs::write(other.0.join("scenario.toml"), text).unwrap();
    for (path, bytes) in copies {
        std::fs::write(other.0.join(path), bytes).unwrap();
    }
    let again = load(&other.0.join("scenario.toml"), &[], None).unwrap();
    let bytes = |loaded: &Loaded| -> Vec<Vec<u8>> {
        let files = loaded.inputs.traces[0].as_ref().unwrap();
        files.iter().map(|file| file.bytes.clone()).collect()
    };
    assert_eq!(bytes(&again), bytes(&loaded));
    assert_eq!(bytes(&again).len(), 4);
}

#[test]
fn a_path_without_files_is_refused() {
    let folder = traces();
    std::fs::create_dir(folder.0.join("empty")).unwrap();
    for (path, part) in [
        ("\"run/u.*.et\"", "run/u.*.et stands for no file"),
        ("\"empty\"", "empty stands for no file"),
        ("\"run/u\"", "doesn't exist"),
        ("\"nowhere/t\"", "doesn't exist"),
        ("[]", "has no file"),
    ] {
        let error = with_path(&folder, path).unwrap_err();
        assert!(
            error.to_string().contains(part) && !error.hint.is_empty(),
            "{path}: {error}"
        );
        assert!(error.place.contains("s.toml:8"), "{error}");
    }
}
