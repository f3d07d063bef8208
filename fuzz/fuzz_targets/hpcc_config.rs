//! A configuration of HPCC's simulator, with a topology and flows beside it.
#![no_main]

use std::fs;

use fairlane_scenario::{hpcc, load};
use libfuzzer_sys::fuzz_target;

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\n";
const FLOWS: &str = "1\n0 1 3 100 1000 2.000000000\n";

fuzz_target!(|text: &str| {
    // Absolute paths would make the result depend on the machine.
    if text.contains('/') {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).expect("a temporary file can be written");
    };
    write("topology.txt", TOPOLOGY);
    write("flow.txt", FLOWS);
    write("trace.txt", "0\n\n");
    write("config.txt", text);
    match hpcc::import(&folder.path().join("config.txt")) {
        Err(error) => assert!(!error.message.is_empty(), "{error:?}"),
        Ok(imported) => {
            let case = folder.path().join("case.toml");
            imported
                .write(&case)
                .expect("what was imported can be written");
            load(&case, &[], None).expect("what was written can be read");
        }
    }
});
