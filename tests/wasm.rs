//! The crates without operating system build for WebAssembly, and what comes out asks its host for nothing:
//! no clock, no randomness, no files.
//!
//! The module is the pair harness with hosts, queue pairs, packets and all; its list of imports must be empty.

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::{output, root};

const TARGET: &str = "wasm32-unknown-unknown";
/// Libraries of layers 0 to 2 that do without an operating system.
const LIBRARIES: [&str; 8] = [
    "units",
    "wire",
    "congestion",
    "multipath",
    "engine",
    "transport",
    "cm",
    "nic",
];
/// What a module begins with, its version included.
const MAGIC: [u8; 8] = *b"\0asm\x01\0\0\0";
const IMPORTS: u8 = 2;

/// Whether the standard library of the target is installed.
fn is_installed() -> bool {
    let place = output("rustc", &["--print", "target-libdir", "--target", TARGET]);
    PathBuf::from(place.trim()).is_dir()
}

/// A directory of its own, so that no other build is waited for.
fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("wasm")
}

fn build(arguments: &[&str]) {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--locked", "--target", TARGET])
        .arg("--target-dir")
        .arg(directory())
        .args(arguments)
        // It is only looked at.
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "0")
        .current_dir(root())
        .status();
    assert!(status.expect("cargo runs").success(), "{arguments:?}");
}

/// Takes an unsigned LEB128 number off the front.
fn number(bytes: &mut &[u8]) -> usize {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a number");
        *bytes = rest;
        value |= usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Identifiers of a module's sections with what is in them.
fn sections(module: &[u8]) -> Vec<(u8, &[u8])> {
    let mut rest = module.strip_prefix(&MAGIC).expect("a module");
    let mut sections = Vec::new();
    while let Some((&id, after)) = rest.split_first() {
        rest = after;
        let length = number(&mut rest);
        let (section, behind) = rest.split_at(length);
        sections.push((id, section));
        rest = behind;
    }
    sections
}

#[test]
fn modules_import_nothing() {
    if !is_installed() {
        println!("skipped: {TARGET} isn't installed (rustup target add {TARGET})");
        return;
    }
    let names = LIBRARIES.map(|name| format!("fairlane-{name}"));
    let packages: Vec<&str> = names.iter().flat_map(|name| ["-p", name]).collect();
    build(&[&["--lib"][..], &packages].concat());
    build(&["-p", "fairlane-harness", "--bin", "pair"]);
    let path = directory().join(TARGET).join("debug/pair.wasm");
    let module = std::fs::read(path).expect("it was built");
    let sections = sections(&module);
    assert!(sections.len() > 5, "a module has code and data");
    for (id, mut section) in sections {
        let imports = if id == IMPORTS {
            number(&mut section)
        } else {
            0
        };
        assert_eq!(imports, 0, "the module asks its host for something");
    }
}

#[test]
fn imports_are_found_where_there_are_some() {
    // A section of 3 bytes with one import.
    let module = [&MAGIC[..], &[IMPORTS, 3, 1, 0, 0]].concat();
    let sections = sections(&module);
    assert_eq!(sections, [(IMPORTS, &[1, 0, 0][..])]);
}
