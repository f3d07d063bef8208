//! A connection matrix of htsim, and a fat tree behind a line of dashes if there is one: what is imported can be read.
#![no_main]

use std::path::PathBuf;
use std::{env, fs, process};

use fairlane_cases::htsim::import;
use fairlane_scenario::load;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let folder = env::temp_dir().join(format!("fairlane-fuzz-htsim-{:010}", process::id()));
    fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let write = |name: &str, text: &str| -> PathBuf {
        let path = folder.join(name);
        fs::write(&path, text).expect("a temporary file can be written");
        path
    };
    let (matrix, tree) = match text.split_once("---\n") {
        Some((matrix, tree)) => (matrix, Some(write("t.topo", tree))),
        None => (text, None),
    };
    match import(&write("m.cm", matrix), tree.as_deref()) {
        Err(error) => assert!(!error.message.is_empty(), "{error:?}"),
        Ok(imported) => {
            let case = folder.join("case.toml");
            imported.write(&case).expect("what was imported can be written");
            load(&case, &[], None).expect("what was written can be read");
        }
    }
    fs::remove_dir_all(&folder).expect("the temporary folder is still there");
});
