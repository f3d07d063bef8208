//! The product code of the workspace as syntax trees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syn::{Attribute, Item};

use crate::common::{output, read, root};

/// A file of a crate, without its tests.
pub(crate) struct Source {
    pub(crate) path: String,
    /// The folder of its crate.
    pub(crate) krate: String,
    /// The module that it is, from the root of the crate.
    pub(crate) module: Vec<String>,
    pub(crate) items: Vec<Item>,
}

/// All files below `crates/*/src`.
pub(crate) fn sources() -> Vec<Source> {
    let all = ["ls-files", "--cached", "--others", "--exclude-standard"];
    let names = output("git", &[&all[..], &["crates/*/src/*.rs"]].concat());
    let exist = names.lines().filter(|name| root().join(name).exists());
    let sources: Vec<Source> = exist.map(source).collect();
    assert!(sources.len() > 500, "sources are found");
    sources
}

fn source(path: &str) -> Source {
    let file = syn::parse_file(&read(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut parts = path.split('/').skip(1).map(str::to_owned);
    let krate = parts.next().expect("a crate has a folder");
    let mut module: Vec<String> = parts.skip(1).collect();
    let last = module.pop().expect("a path ends with a file");
    match last.trim_end_matches(".rs") {
        "lib" | "main" | "mod" => {}
        name => module.push(name.to_owned()),
    }
    Source {
        path: path.to_owned(),
        krate,
        module,
        items: without_tests(file.items),
    }
}

/// Items, without those that only tests have.
pub(crate) fn without_tests(items: Vec<Item>) -> Vec<Item> {
    let product = |item: &Item| match item {
        Item::Mod(item) => !is_test(&item.attrs),
        Item::Fn(item) => !is_test(&item.attrs),
        Item::Impl(item) => !is_test(&item.attrs),
        Item::Use(item) => !is_test(&item.attrs),
        _ => true,
    };
    items.into_iter().filter(product).collect()
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && (attribute.parse_args::<syn::Path>()).is_ok_and(|it| it.is_ident("test"))
    })
}

/// The entries of a list beside this file, by what they are of, with a number if they have one.
pub(crate) fn listed(name: &str) -> BTreeMap<String, usize> {
    let text = read(Path::new("tests/structure").join(name));
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &str| match line
        .rsplit_once(' ')
        .map(|(name, count)| (name, count.parse()))
    {
        Some((name, Ok(count))) => (name.to_owned(), count),
        _ => (line.to_owned(), 1),
    };
    lines.map(entry).collect()
}

/// What the list says differently from what is there.
pub(crate) fn differences(
    (list, hint): (&str, &str),
    there: &BTreeMap<String, usize>,
) -> Vec<String> {
    let listed = listed(list);
    let names: BTreeSet<&String> = listed.keys().chain(there.keys()).collect();
    let complaint = |name: &String| {
        let was = listed.get(name).copied().unwrap_or_default();
        let is = there.get(name).copied().unwrap_or_default();
        match is.cmp(&was) {
            std::cmp::Ordering::Greater => Some(format!("{name}: {is}, at most {was}: {hint}")),
            std::cmp::Ordering::Less => Some(format!(
                "{name}: {is} is better than {was}: say so in tests/structure/{list}"
            )),
            std::cmp::Ordering::Equal => None,
        }
    };
    names.into_iter().filter_map(complaint).collect()
}
