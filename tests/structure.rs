//! Files of the simulator are ordered as layers, and no type does everything.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{assert_none, output, read};

/// Most methods of a type, over all its `impl` blocks but those of traits.
const MOST_METHODS: usize = 60;

/// The files of a crate, or of all, without their tests.
fn sources(pattern: &str) -> BTreeMap<String, String> {
    let names = output(
        "git",
        &[
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            pattern,
        ],
    );
    let exist = names
        .lines()
        .filter(|name| common::root().join(name).exists());
    let code = |name: &str| {
        let text = read(name);
        let end = text.find("#[cfg(test)]").unwrap_or(text.len());
        let lines = text[..end].lines();
        let code: Vec<&str> = lines
            .filter(|line| !line.trim_start().starts_with("//"))
            .collect();
        code.join("\n")
    };
    exist.map(|name| (name.to_owned(), code(name))).collect()
}

/// The names that follow `crate::` in a piece of code, those in braces too.
fn named(code: &str) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for (at, found) in code.match_indices("crate::") {
        let rest = &code[at + found.len()..];
        let list = match rest.strip_prefix('{') {
            Some(inner) => inner.split('}').next().unwrap_or_default(),
            None => rest
                .split([';', ',', ' ', '(', '<', '>', ')'])
                .next()
                .unwrap_or_default(),
        };
        let items = list.split(',').map(|item| item.trim());
        names.extend(items.map(|item| item.split("::").next().unwrap_or_default()));
    }
    names
}

/// For each module of a crate the modules that it uses; what `lib.rs` exports counts as its module.
fn uses(krate: &str) -> BTreeMap<String, BTreeSet<String>> {
    let files = sources(&format!("crates/{krate}/src/*.rs"));
    let root = format!("crates/{krate}/src/");
    let lib = &files[&format!("{root}lib.rs")];
    let mut exported = BTreeMap::new();
    for statement in lib
        .split(';')
        .filter_map(|text| text.trim().strip_prefix("pub use "))
    {
        if let Some((module, items)) = statement.split_once("::") {
            let items = items.trim_matches(['{', '}']).split(',');
            exported.extend(items.map(|item| (item.trim(), module)));
        }
    }
    let module = |path: &str| {
        let name = path.strip_prefix(&root).unwrap_or(path);
        name.split('/')
            .next()
            .unwrap_or(name)
            .trim_end_matches(".rs")
            .to_owned()
    };
    let modules: BTreeSet<String> = files.keys().map(|path| module(path)).collect();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (path, code) in &files {
        let own = module(path);
        let names = named(code).into_iter();
        let names = names.map(|name| exported.get(name).copied().unwrap_or(name).to_owned());
        let others = names.filter(|name| *name != own && modules.contains(name));
        if own != "lib" {
            uses.entry(own.clone()).or_default().extend(others);
        }
    }
    uses
}

#[test]
fn modules_of_the_simulator_use_each_other_in_no_circle() {
    let mut left = uses("fabric");
    assert!(left.len() > 30, "modules are found");
    // Whoever uses nothing that is left is a layer.
    while let Some(free) = left
        .iter()
        .find(|(_, uses)| uses.iter().all(|used| !left.contains_key(used)))
        .map(|(name, _)| name.clone())
    {
        left.remove(&free);
    }
    let complaint = |(name, uses): (&String, &BTreeSet<String>)| {
        let circle: Vec<&str> = uses
            .iter()
            .map(String::as_str)
            .filter(|used| left.contains_key(*used))
            .collect();
        format!("fabric/{name} uses {} in a circle", circle.join(", "))
    };
    assert_none(&left.iter().map(complaint).collect::<Vec<_>>());
}

/// The type of an `impl` block that begins with this line, unless it is of a trait.
fn implemented(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generic) => generic.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    let name = rest.split(['<', ' ']).next()?;
    (!rest.contains(" for ")).then_some(name)
}

/// Whether a line begins a function.
fn is_function(line: &str) -> bool {
    let rest = match line.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(')').map_or(rest, |(_, rest)| rest),
        Some(rest) => rest,
        None => line,
    };
    !line.starts_with(' ')
        && rest
            .trim_start()
            .trim_start_matches("const ")
            .starts_with("fn ")
}

#[test]
fn functions_are_found_however_visible_they_are() {
    for line in [
        "fn a()",
        "pub fn a()",
        "pub(crate) const fn a()",
        "pub(in a::b) fn a()",
    ] {
        assert!(is_function(line), "{line}");
    }
    for line in ["    fn a()", "let f = |fn_| 1;", "struct A(fn());"] {
        assert!(!is_function(line), "{line}");
    }
}

#[test]
fn no_type_has_too_many_methods() {
    let mut methods: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (path, code) in sources("crates/*/src/*.rs") {
        let krate = path.split('/').nth(1).unwrap_or_default().to_owned();
        let mut of = None;
        for line in code.lines() {
            if line.starts_with("impl") {
                of = implemented(line).map(str::to_owned);
            } else if line.starts_with('}') {
                of = None;
            }
            let method = line.strip_prefix("    ").is_some_and(is_function);
            if let Some(name) = of.as_ref().filter(|_| method) {
                *methods.entry((krate.clone(), name.clone())).or_default() += 1;
            }
        }
    }
    assert!(methods.len() > 200, "types are found");
    let many = methods
        .into_iter()
        .filter(|(_, count)| *count > MOST_METHODS);
    let complaints = many.map(|((krate, name), count)| {
        format!("{krate}: {name} has {count} methods, more than {MOST_METHODS}: part it")
    });
    assert_none(&complaints.collect::<Vec<_>>());
}
