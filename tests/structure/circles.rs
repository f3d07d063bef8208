//! Files use each other in layers.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::{self, Visit};
use syn::{Item, UseTree, Visibility};

use crate::common::{assert_none, read};
use crate::source::{Source, sources, without_tests};

/// A module of a crate: a file, or a part of one.
#[derive(Default)]
struct Module {
    file: usize,
    children: BTreeMap<String, usize>,
    /// Names that are declared in it.
    declared: BTreeSet<String>,
    /// Names that it has from elsewhere, as paths from the root of the crate.
    imports: BTreeMap<String, Vec<String>>,
}

/// The modules of a crate, the root first.
struct Crate<'a> {
    files: Vec<&'a Source>,
    modules: Vec<Module>,
    /// For each file those that it uses.
    uses: Vec<BTreeSet<usize>>,
}

/// Imports that are followed for a name: they may lead in a circle.
const MOST_STEPS: usize = 64;

impl<'a> Crate<'a> {
    fn new(mut files: Vec<&'a Source>) -> Self {
        // A parent comes before its children.
        files.sort_by_key(|file| file.module.len());
        let mut own = Self {
            modules: vec![Module::default()],
            uses: vec![BTreeSet::new(); files.len()],
            files,
        };
        let modules: Vec<usize> = (0..own.files.len()).map(|at| own.place(at)).collect();
        for (at, &module) in modules.iter().enumerate() {
            let file = own.files[at];
            own.declare(module, &file.module, &file.items);
        }
        for (at, &module) in modules.iter().enumerate() {
            let file = own.files[at];
            own.follow(at, module, &file.module, &file.items);
        }
        own
    }

    /// The module that a file is.
    fn place(&mut self, at: usize) -> usize {
        let mut module = 0;
        for name in &self.files[at].module {
            module = match self.modules[module].children.get(name) {
                Some(&child) => child,
                None => self.add(module, name, at),
            };
        }
        self.modules[module].file = at;
        module
    }

    fn add(&mut self, parent: usize, name: &str, file: usize) -> usize {
        let child = self.modules.len();
        self.modules.push(Module {
            file,
            ..Module::default()
        });
        self.modules[parent].children.insert(name.to_owned(), child);
        child
    }

    /// Notes what items of a module declare and import.
    fn declare(&mut self, module: usize, path: &[String], items: &[Item]) {
        // Modules first: what is imported may be in one.
        let (inner, others): (Vec<&Item>, Vec<&Item>) =
            items.iter().partition(|item| matches!(item, Item::Mod(_)));
        for item in inner.into_iter().chain(others) {
            match item {
                Item::Use(item) => {
                    for (name, target) in flat(&item.tree) {
                        let target = absolute(path, &target, |name| {
                            self.modules[module].children.contains_key(name)
                        });
                        if let Some(target) = target {
                            self.modules[module].imports.insert(name, target);
                        }
                    }
                }
                Item::Mod(item) => {
                    if let Some((_, items)) = &item.content {
                        let name = item.ident.to_string();
                        let file = self.modules[module].file;
                        let child = self.add(module, &name, file);
                        let inner = [path, &[name]].concat();
                        self.declare(child, &inner, &without_tests(items.clone()));
                    }
                }
                item => self.modules[module].declared.extend(name_of(item)),
            }
        }
    }

    /// Notes which files the items of a module use.
    fn follow(&mut self, file: usize, module: usize, path: &[String], items: &[Item]) {
        for item in items {
            match item {
                // What is only passed on isn't used.
                Item::Use(item) if !matches!(item.vis, Visibility::Inherited) => {}
                Item::Use(item) => {
                    for (_, target) in flat(&item.tree) {
                        self.note(file, module, path, &target);
                    }
                }
                Item::Mod(item) => {
                    let name = item.ident.to_string();
                    if let Some((_, items)) = &item.content {
                        let child = self.modules[module].children[&name];
                        let inner = [path, &[name]].concat();
                        self.follow(file, child, &inner, &without_tests(items.clone()));
                    }
                }
                item => {
                    let mut paths = Paths::default();
                    paths.visit_item(item);
                    for target in paths.0 {
                        self.note(file, module, path, &target);
                    }
                }
            }
        }
    }

    fn note(&mut self, file: usize, module: usize, path: &[String], target: &[String]) {
        let is_child = |name: &str| self.modules[module].children.contains_key(name);
        if let Some(target) = absolute(path, target, is_child)
            && let Some(used) = self.resolve(&target, MOST_STEPS)
            && used != file
        {
            self.uses[file].insert(used);
        }
    }

    /// The file that declares what a path from the root names.
    fn resolve(&self, path: &[String], steps: usize) -> Option<usize> {
        let mut module = 0;
        for (at, name) in path.iter().enumerate() {
            let own = &self.modules[module];
            if let Some(&child) = own.children.get(name) {
                module = child;
            } else if let Some(import) = own
                .imports
                .get(name)
                .filter(|_| !own.declared.contains(name))
            {
                let path = [import, &path[at + 1..]].concat();
                return self.resolve(&path, steps.checked_sub(1)?);
            } else {
                break;
            }
        }
        Some(self.modules[module].file)
    }

    /// Files that use each other in circles.
    fn circles(&self) -> Vec<BTreeSet<String>> {
        let named = |at: usize| self.files[at].path.clone();
        let circles = circles_of(&self.uses).into_iter();
        circles
            .map(|circle| circle.into_iter().map(named).collect())
            .collect()
    }

    /// Modules below the root that use each other in circles, with all files below them.
    fn circles_of_modules(&self) -> Vec<BTreeSet<String>> {
        let tops: BTreeSet<&String> = self
            .files
            .iter()
            .filter_map(|it| it.module.first())
            .collect();
        let tops: Vec<&String> = tops.into_iter().collect();
        let top = |at: usize| {
            let name = self.files[at].module.first()?;
            tops.binary_search(&name).ok()
        };
        let mut uses = vec![BTreeSet::new(); tops.len()];
        for (at, used) in self.uses.iter().enumerate() {
            if let Some(own) = top(at) {
                uses[own].extend(
                    used.iter()
                        .filter_map(|&it| top(it))
                        .filter(|&it| it != own),
                );
            }
        }
        let named = |at: usize| tops[at].clone();
        let circles = circles_of(&uses).into_iter();
        circles
            .map(|circle| circle.into_iter().map(named).collect())
            .collect()
    }
}

/// Nodes of a graph that use each other in circles.
fn circles_of(uses: &[BTreeSet<usize>]) -> BTreeSet<BTreeSet<usize>> {
    let reach = |from: usize| {
        let mut reached = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            open.extend(uses[at].iter().filter(|&&used| reached.insert(used)));
        }
        reached
    };
    let reach: Vec<BTreeSet<usize>> = (0..uses.len()).map(reach).collect();
    let both = |at: usize, it: usize| reach[at].contains(&it) && reach[it].contains(&at);
    let circle = |at| (0..uses.len()).filter(|&it| both(at, it)).collect();
    let circles = (0..uses.len()).map(circle);
    circles
        .filter(|circle: &BTreeSet<usize>| circle.len() > 1)
        .collect()
}

/// The paths in code that say where they begin, or that begin with a name.
#[derive(Default)]
struct Paths(Vec<Vec<String>>);

impl<'a> Visit<'a> for Paths {
    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.segments.len() > 1 {
            self.0.push(
                path.segments
                    .iter()
                    .map(|it| it.ident.to_string())
                    .collect(),
            );
        }
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        self.0
            .extend(flat(&item.tree).into_iter().map(|(_, path)| path));
    }
}

/// A path from the root of the crate, if it leads into the crate.
fn absolute(
    module: &[String],
    path: &[String],
    is_child: impl Fn(&str) -> bool,
) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            base.clear();
            rest = &path[1..];
        }
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                base.pop()?;
                rest = &rest[1..];
            }
        }
        name if is_child(name) => {}
        _ => return None,
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// What a `use` names: the name that it has then, and the path.
fn flat(tree: &UseTree) -> Vec<(String, Vec<String>)> {
    match tree {
        UseTree::Path(path) => {
            let name = path.ident.to_string();
            let mut all = flat(&path.tree);
            for (alias, inner) in &mut all {
                if inner == &["self"] {
                    inner.clear();
                    alias.clone_from(&name);
                }
                inner.insert(0, name.clone());
            }
            all
        }
        UseTree::Name(name) => vec![(name.ident.to_string(), vec![name.ident.to_string()])],
        UseTree::Rename(name) => vec![(name.rename.to_string(), vec![name.ident.to_string()])],
        UseTree::Glob(_) => vec![("*".to_owned(), Vec::new())],
        UseTree::Group(group) => group.items.iter().flat_map(flat).collect(),
    }
}

/// The name that an item declares.
fn name_of(item: &Item) -> Option<String> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        _ => return None,
    };
    Some(ident.to_string())
}

/// What `look` finds in each crate.
fn in_crates<T>(look: impl Fn(&Crate<'_>) -> Vec<T>) -> Vec<T> {
    let sources = sources();
    let crates: BTreeSet<&str> = sources.iter().map(|it| it.krate.as_str()).collect();
    let mut all = Vec::new();
    for krate in crates {
        // What has a library and a program is read as a library.
        let library = sources
            .iter()
            .any(|it| it.path == format!("crates/{krate}/src/lib.rs"));
        let own = sources.iter().filter(|it| it.krate == krate);
        let own = own.filter(|it| !(library && it.path.ends_with("src/main.rs")));
        all.extend(look(&Crate::new(own.collect())));
    }
    all
}

#[test]
fn modules_of_the_simulator_use_each_other_in_no_circle() {
    let circles = in_crates(|own| match own.files[0].krate.as_str() {
        "fabric" | "network" => own.circles_of_modules(),
        _ => Vec::new(),
    });
    assert_eq!(circles, Vec::<BTreeSet<String>>::new());
}

#[test]
fn files_use_each_other_in_no_circle_but_those_that_are_listed() {
    let text = read("tests/structure/circles.txt");
    let circle = |block: &str| {
        let lines = block
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let listed: BTreeSet<_> = text
        .split("\n\n")
        .map(circle)
        .filter(|it| !it.is_empty())
        .collect();
    let found: BTreeSet<_> = in_crates(|own| own.circles()).into_iter().collect();
    let named = |circle: &BTreeSet<String>| circle.iter().cloned().collect::<Vec<_>>().join("\n");
    let new = found
        .difference(&listed)
        .map(|it| format!("a circle:\n{}\n", named(it)));
    let gone = listed.difference(&found).map(|it| {
        format!(
            "no longer a circle; if it is cut, say so in tests/structure/circles.txt:\n{}\n",
            named(it)
        )
    });
    assert_none(&gone.chain(new).collect::<Vec<_>>());
}

#[test]
fn circles_are_found_through_what_modules_pass_on() {
    let source = |path: &str, module: &[&str], text: &str| Source {
        path: path.to_owned(),
        krate: String::new(),
        module: module.iter().map(|&it| it.to_owned()).collect(),
        items: syn::parse_file(text).unwrap().items,
    };
    let lib = source(
        "lib",
        &[],
        "mod a; mod b; pub use a::A; pub use b::{self as other, B};",
    );
    let circle = [
        source("a", &["a"], "use crate::B; pub struct A(B);"),
        source("b", &["b"], "mod c; pub struct B; fn f() { self::c::g(); }"),
        source(
            "c",
            &["b", "c"],
            "pub(super) fn g() { let _: super::super::A; }",
        ),
    ];
    let circles = Crate::new(circle.iter().chain([&lib]).collect()).circles();
    assert_eq!(
        circles,
        [BTreeSet::from(["a", "b", "c"].map(str::to_owned))]
    );
    let line = [
        source("a", &["a"], "use crate::B; pub struct A(B);"),
        source("b", &["b"], "mod c; pub struct B; fn f() { c::g(); }"),
        source(
            "c",
            &["b", "c"],
            "use super::B; pub(super) fn g() {} mod d { use super::super::super::A; }",
        ),
    ];
    let circles = Crate::new(line.iter().chain([&lib]).collect()).circles();
    assert_eq!(
        circles,
        [BTreeSet::from(["a", "b", "c"].map(str::to_owned))]
    );
    let none = [
        source(
            "a",
            &["a"],
            "use crate::other::B; use std::fmt; pub struct A(B);",
        ),
        source("b", &["b"], "mod c; pub(crate) use c::B;"),
        source(
            "c",
            &["b", "c"],
            "pub struct B; #[cfg(test)] mod tests { use crate::A; }",
        ),
    ];
    let circles = Crate::new(none.iter().chain([&lib]).collect()).circles();
    assert_eq!(circles, Vec::<BTreeSet<String>>::new());
}
