//! A configuration of HPCC's simulator, or of ConWeave's, with a topology and flows beside it.
#![no_main]

use std::path::PathBuf;
use std::{env, fs, process};

use fairlane_cases::{conweave, hpcc};
use fairlane_scenario::load;
use libfuzzer_sys::fuzz_target;

const TOPOLOGY: &str = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 1000ns 0\n";
const FLOWS: [&str; 2] = [
    "1\n0 1 3 100 1000 2.000000000\n",
    "1\n0 1 3 1000 2.000000000\n",
];

fuzz_target!(|text: &str| {
    // Absolute paths would make the result depend on the machine.
    if text.contains('/') {
        return;
    }
    let folder = folder();
    fs::create_dir_all(&folder).expect("a temporary folder can be made");
    let write = |name: &str, text: &str| {
        fs::write(folder.join(name), text).expect("a temporary file can be written");
    };
    write("topology.txt", TOPOLOGY);
    write("trace.txt", "0\n\n");
    write("config.txt", text);
    for (flows, import) in FLOWS.into_iter().zip([hpcc::import, conweave::import]) {
        write("flow.txt", flows);
        match import(&folder.join("config.txt")) {
            Err(error) => assert!(!error.message.is_empty(), "{error:?}"),
            Ok(imported) => {
                let case = folder.join("case.toml");
                imported
                    .write(&case)
                    .expect("what was imported can be written");
                load(&case, &[], None).expect("what was written can be read");
            }
        }
    }
    fs::remove_dir_all(&folder).expect("the temporary folder is still there");
});

/// A folder of this process. A random name would steer the fuzzer, so that no run could be repeated.
fn folder() -> PathBuf {
    env::temp_dir().join(format!("fairlane-fuzz-{:010}", process::id()))
}
