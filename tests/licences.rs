//! Everything that a build links or runs has a licence that goes with Apache-2.0.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{assert_none, list, metadata, text};
use serde_json::Value;

/// Licences (SPDX) under which code may be part of an Apache-2.0 product.
const ALLOWED: [&str; 12] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MPL-2.0",
    "Unicode-3.0",
    "Zlib",
];

/// Dependencies of other platforms are not downloaded by a build here.
const PLATFORM: [&str; 2] = ["--filter-platform", "x86_64-unknown-linux-gnu"];

#[test]
fn dependencies_have_allowed_licences() {
    let all = metadata(&PLATFORM);
    let packages: BTreeMap<&str, &Value> = list(&all, "packages")
        .iter()
        .map(|package| (text(package, "id"), package))
        .collect();
    let shipped = shipped(&all);
    assert!(shipped.len() > 20, "found only {shipped:?}");
    let complaint = |id: &&str| {
        let package = packages[id];
        let (name, licence) = (text(package, "name"), text(package, "license"));
        let version = text(package, "version");
        (!is_allowed(licence)).then(|| format!("{name} {version}: licence \"{licence}\""))
    };
    assert_none(&shipped.iter().filter_map(complaint).collect::<Vec<_>>());
}

/// Packages that members need to be built, directly or not; not those that only tests need.
fn shipped(all: &Value) -> BTreeSet<&str> {
    let nodes: BTreeMap<&str, &Value> = list(&all["resolve"], "nodes")
        .iter()
        .map(|node| (text(node, "id"), node))
        .collect();
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = list(all, "workspace_members")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    while let Some(id) = open.pop() {
        if found.insert(id) {
            let needed = list(nodes[id], "deps")
                .iter()
                .filter(|dependency| is_built(dependency));
            open.extend(needed.map(|dependency| text(dependency, "pkg")));
        }
    }
    found
}

/// Whether a dependency is there for more than tests.
fn is_built(dependency: &Value) -> bool {
    list(dependency, "dep_kinds")
        .iter()
        .any(|kind| kind["kind"].as_str() != Some("dev"))
}

/// Whether an SPDX expression can be met with allowed licences only. `/` is an old spelling of OR.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    either(&mut rest) == Some(true) && rest.is_empty()
}

/// `both OR both ...`; `None` if it is malformed.
fn either(rest: &mut &[&str]) -> Option<bool> {
    let mut any = both(rest)?;
    while take(rest, "OR") {
        any |= both(rest)?;
    }
    Some(any)
}

/// `one AND one ...`
fn both(rest: &mut &[&str]) -> Option<bool> {
    let mut all = one(rest)?;
    while take(rest, "AND") {
        all &= one(rest)?;
    }
    Some(all)
}

/// `( either )`, `LICENCE` or `LICENCE WITH EXCEPTION`.
fn one(rest: &mut &[&str]) -> Option<bool> {
    if take(rest, "(") {
        let inner = either(rest)?;
        return take(rest, ")").then_some(inner);
    }
    let (licence, tail) = rest.split_first()?;
    *rest = tail;
    if !take(rest, "WITH") {
        return Some(ALLOWED.contains(licence));
    }
    let (exception, tail) = rest.split_first()?;
    *rest = tail;
    Some(ALLOWED.contains(&format!("{licence} WITH {exception}").as_str()))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    match rest.split_first() {
        Some((first, tail)) if *first == word => {
            *rest = tail;
            true
        }
        _ => false,
    }
}

#[test]
fn expressions_are_read_as_spdx_has_it() {
    for good in [
        "MIT",
        "MIT OR GPL-3.0-only",
        "GPL-3.0-only/Apache-2.0",
        "(MIT OR GPL-2.0-only) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
        "GPL-3.0-only AND GPL-2.0-only OR ISC",
    ] {
        assert!(is_allowed(good), "{good}");
    }
    for bad in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "MIT OR",
        "(MIT",
        "MIT)",
        "MIT Zlib",
        "GPL-2.0-only WITH LLVM-exception",
        "(MIT OR GPL-2.0-only) AND AGPL-3.0-only",
    ] {
        assert!(!is_allowed(bad), "{bad}");
    }
}
