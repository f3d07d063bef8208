//! The library has every symbol of the one that it stands in for.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::setup::{has, library};

/// Names with versions that a shared object defines.
pub(crate) fn symbols(path: &Path) -> BTreeSet<String> {
    let mut readelf = Command::new("readelf");
    let output = readelf.args(["--dyn-syms", "-W"]).arg(path).output();
    let output = output.expect("readelf can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>());
    let defined = lines.filter(|fields| fields.get(6).is_some_and(|section| *section != "UND"));
    let names = defined.filter_map(|fields| fields.get(7).map(|name| name.replace("@@", "@")));
    names.filter(|name| name.contains('@')).collect()
}

#[test]
fn no_symbol_is_missing() {
    if !has("readelf", "binutils") {
        return;
    }
    let ours = symbols(&library().join("libibverbs.so.1"));
    assert!(ours.len() > 400, "found only {} symbols", ours.len());
    let named = ours
        .iter()
        .filter(|name| name.starts_with("ibv_query_gid_type@"));
    assert_eq!(named.count(), 5);
    let mut compiler = Command::new("cc");
    let found = compiler.arg("-print-file-name=libibverbs.so.1").output();
    let found = String::from_utf8_lossy(&found.expect("cc can be started").stdout)
        .trim()
        .to_owned();
    if !Path::new(&found).is_absolute() {
        println!(
            "skipped: there is no libibverbs.so.1 to compare with (Debian: apt-get install libibverbs1)"
        );
        return;
    }
    let theirs = symbols(Path::new(&found));
    assert!(
        theirs.len() > 100,
        "found only {} symbols in {found}",
        theirs.len()
    );
    let missing: Vec<&String> = theirs.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
