//! Size, wording and bookkeeping of the files of the repository.

mod common;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use common::{assert_none, output, read, root};
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use sha2::{Digest, Sha256};

/// Most lines of a file without its trailing tests.
const MOST_LINES: usize = 800;

/// Most lines of a function, from `fn` to its last brace.
const MOST_LINES_OF_A_FUNCTION: usize = 70;

/// Code that has the limit.
const CODE: [&str; 6] = ["rs", "js", "css", "html", "py", "toml"];

/// Pieces are joined so that this file doesn't contain what it looks for.
const UNFINISHED: [&str; 4] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("HA", "CK"),
];

const MACHINE: [&str; 4] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("/ho", "me/"),
    concat!("/Use", "rs/"),
];

const REGISTRIES: [&str; 9] = [
    concat!("crates", ".io"),
    concat!("pypi", ".org"),
    concat!("npm", "js."),
    concat!("maven", ".org"),
    concat!("maven", ".apache"),
    concat!("proxy.", "golang"),
    concat!("deb.", "debian"),
    concat!("static.", "rust-lang"),
    concat!("files.", "pythonhosted"),
];

/// Text files of the repository, committed or about to be.
fn files() -> BTreeMap<String, String> {
    let names = output(
        "git",
        &["ls-files", "--cached", "--others", "--exclude-standard"],
    );
    let text = |name: &str| std::fs::read_to_string(root().join(name)).ok();
    let files: BTreeMap<String, String> = names
        .lines()
        .filter_map(|name| Some((name.to_owned(), text(name)?)))
        .collect();
    assert!(files.len() > 100, "git lists only {} files", files.len());
    files
}

fn extension(name: &str) -> &str {
    Path::new(name)
        .extension()
        .and_then(|extension| extension.to_str())
        .unwrap_or_default()
}

/// Written by a program or by others.
fn is_foreign(name: &str) -> bool {
    name.ends_with(".lock") || name.contains("/vendor/") || name.contains("/seeds/")
}

/// Lines before the tests at the end of a Rust file.
fn lines(name: &str, text: &str) -> usize {
    let tests = "\n#[cfg(test)]\nmod tests {";
    let kept = if extension(name) == "rs" {
        text.split(tests).next()
    } else {
        Some(text)
    };
    kept.unwrap_or_default().lines().count()
}

#[test]
fn files_are_short() {
    let is_code = |name: &str| CODE.contains(&extension(name)) && !is_foreign(name);
    let complaint = |(name, text): (String, String)| {
        let count = lines(&name, &text);
        let too_long = is_code(&name) && count > MOST_LINES;
        too_long.then(|| format!("{name}: {count} lines, at most {MOST_LINES}: split by concern"))
    };
    assert_none(
        &files()
            .into_iter()
            .filter_map(complaint)
            .collect::<Vec<_>>(),
    );
    let tested = "code\n\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!((lines("a.rs", tested), lines("a.js", tested)), (1, 5));
}

/// A function in Rust code.
#[derive(Debug, PartialEq)]
struct Function {
    name: String,
    /// The line of `fn`, counted from 1.
    line: usize,
    /// Lines from there to the last brace.
    lines: usize,
}

/// Functions with a body, in order; those in functions, macros and their calls too.
fn functions(code: TokenStream) -> Vec<Function> {
    let tokens: Vec<TokenTree> = code.into_iter().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Group(group) => found.extend(functions(group.stream())),
            TokenTree::Ident(word) if word == "fn" => found.extend(function(&tokens[at..])),
            _ => {}
        }
    }
    found
}

/// The function that tokens begin with, unless it is a type or has no body.
fn function(tokens: &[TokenTree]) -> Option<Function> {
    // A macro may have `$name`.
    let is_sigil =
        |token: &&TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == '$');
    let mut words = tokens.iter().filter(|token| !is_sigil(token));
    let (TokenTree::Ident(start), TokenTree::Ident(name)) = (words.next()?, words.next()?) else {
        return None;
    };
    let line = start.span().start().line;
    let body = body(tokens)?;
    Some(Function {
        name: name.to_string(),
        line,
        lines: body.span_close().end().line + 1 - line,
    })
}

/// The first braces of a function that aren't an argument of a type, as in `Array<{ N + 1 }>`.
fn body(tokens: &[TokenTree]) -> Option<&Group> {
    let is = |token: Option<&TokenTree>, marks: &[char]| matches!(token, Some(TokenTree::Punct(mark)) if marks.contains(&mark.as_char()));
    let header = tokens.iter().take_while(|token| !is(Some(token), &[';']));
    header.enumerate().find_map(|(at, token)| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
            (!is(tokens.get(at + 1), &['>', ','])).then_some(group)
        }
        _ => None,
    })
}

#[test]
fn functions_are_short() {
    let mut complaints = Vec::new();
    let is_rust = |name: &str| extension(name) == "rs" && !is_foreign(name);
    let mut count = 0;
    for (file, text) in files().iter().filter(|(name, _)| is_rust(name)) {
        let code = text
            .parse()
            .unwrap_or_else(|error| panic!("{file}: {error}"));
        for Function { name, line, lines } in functions(code) {
            count += 1;
            if lines <= MOST_LINES_OF_A_FUNCTION {
                continue;
            }
            complaints.push(format!(
                "{file}:{line}: `{name}` has {lines} lines, at most {MOST_LINES_OF_A_FUNCTION}: \
                 give its parts names"
            ));
        }
    }
    assert!(count > 3000, "found only {count} functions");
    assert_none(&complaints);
}

#[test]
fn functions_are_found_wherever_they_are() {
    let code = r##"
        /// fn in_a_comment() {}
        const TEXT: &str = "fn in_text() { \n }";
        const RAW: &str = r#" fn "in_raw_text"() {} "#;
        trait Short { fn without_body(&self) -> fn(u32); fn with_body(&self) {} }
        macro_rules! define { ($name:ident) => { fn $name() {
        } } }
        pub(crate) const fn outer<const N: usize>(
            array: Array<{ N + 1 }>, callback: fn(u32) -> bool,
        ) -> Array<{ N }>
        where
            Array<{ N }>: Sized,
        {
            fn inner() {}
        }
    "##;
    let found = functions(code.parse().expect("tokens"));
    let found: Vec<_> = found
        .iter()
        .map(|it| (it.name.as_str(), it.line, it.lines))
        .collect();
    let expected = [
        ("with_body", 5, 1),
        ("name", 6, 2),
        ("outer", 8, 8),
        ("inner", 14, 1),
    ];
    assert_eq!(found, expected);
}

/// Each line of the repository that contains one of `words`.
fn lines_with(words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (name, text) in files().iter().filter(|(name, _)| !is_foreign(name)) {
        for (number, line) in (1..).zip(text.lines()) {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                found.push(format!("{name}:{number}: \"{word}\""));
            }
        }
    }
    found
}

#[test]
fn nothing_is_marked_unfinished() {
    assert_none(&lines_with(&UNFINISHED));
}

#[test]
fn no_machine_and_no_registry_is_named() {
    assert_none(&lines_with(&MACHINE));
    assert_none(&lines_with(&REGISTRIES));
}

/// Words that leave open what a sentence of the documentation is about.
const WITHOUT_SUBJECT: [&str; 7] = [
    "The same ",
    "That ",
    "Those ",
    "Of ",
    "Whose",
    "It ",
    "So many ",
];

/// Files whose documentation is what users read in tables and help, beside the name that it is about.
const TABLES: [&str; 5] = [
    "crates/scenario/",
    "crates/congestion/src/dasr/params.rs",
    "crates/multipath/src/balancer/mod.rs",
    "crates/softnic/src/counters.rs",
    "crates/cli/src/args.rs",
];

/// A stranger reads a sentence of the documentation alone.
#[test]
fn sentences_of_documentation_name_their_subject() {
    let mut found = Vec::new();
    for (name, text) in &files() {
        let is_code = name.starts_with("crates/") && name.ends_with(".rs");
        let is_product = is_code && name.contains("/src/");
        if !is_product || TABLES.iter().any(|table| name.starts_with(table)) {
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_start();
            let comment = line
                .strip_prefix("/// ")
                .or_else(|| line.strip_prefix("//! "));
            let comment = comment.unwrap_or_default();
            if let Some(word) = WITHOUT_SUBJECT
                .iter()
                .find(|word| comment.starts_with(**word))
            {
                found.push(format!("{name}:{number}: begins with \"{word}\""));
            }
        }
    }
    assert_none(&found);
}

/// Where the tests of a crate are one program, a file that it doesn't name would be run by nobody.
#[test]
fn every_file_of_tests_is_run() {
    let files = files();
    let mains = files.iter().filter_map(|(name, text)| {
        let folder = name.strip_suffix("main.rs")?;
        folder.ends_with("/tests/").then_some((folder, text))
    });
    let mut forgotten = Vec::new();
    let mut programs = 0;
    for (folder, main) in mains {
        programs += 1;
        let stems = files.keys().filter_map(|name| {
            let stem = name.strip_prefix(folder)?.strip_suffix(".rs")?;
            (!stem.contains('/') && stem != "main").then_some(stem)
        });
        let named = |stem: &str| main.lines().any(|line| line == format!("mod {stem};"));
        forgotten.extend(
            stems
                .filter(|stem| !named(stem))
                .map(|stem| format!("{folder}{stem}.rs: main.rs doesn't name it")),
        );
    }
    assert!(programs > 0, "no crate has tests/main.rs");
    assert_none(&forgotten);
}

/// The commands that `fairlane --help` lists; the tests of `fairlane-cli` keep the snapshot true.
fn commands() -> Vec<String> {
    let help = read("crates/cli/tests/snapshots/help.snap");
    let section = help
        .split("Commands:\n")
        .nth(1)
        .expect("help lists commands");
    let listed = section.lines().take_while(|line| !line.is_empty());
    let names = listed.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_is_documented() {
    let commands = commands();
    assert!(commands.len() >= 7, "found only {commands:?}");
    let pages: String = files()
        .into_iter()
        .filter(|(name, _)| extension(name) == "md")
        .map(|(_, text)| text)
        .collect();
    let missing = commands
        .iter()
        .filter(|name| !pages.contains(&format!("fairlane {name}")));
    assert_none(
        &missing
            .map(|name| format!("no page mentions `fairlane {name}`"))
            .collect::<Vec<_>>(),
    );
}

/// The algorithms of congestion control, as their list has them: type and module.
fn controllers() -> Vec<(String, String)> {
    let list = read("crates/congestion/src/algorithm.rs");
    let entry = |line: &str| {
        let (variant, module) = line.trim().strip_suffix(");")?.split_once('(')?;
        let plain = |text: &str| text.chars().all(|letter| letter.is_ascii_alphanumeric());
        (plain(variant) && plain(module)).then(|| (variant.to_owned(), module.to_owned()))
    };
    let found: Vec<_> = list.lines().filter_map(entry).collect();
    assert!(found.len() >= 8, "found only {found:?}");
    found
}

/// `docs/adding-a-controller.md` promises it.
#[test]
fn a_controller_is_one_file_and_one_line() {
    // The importer of HPCC's cases translates that simulator's algorithms one by one; the other is
    // the scenario's default.
    let may_name = [
        "crates/cases/src/hpcc/",
        "crates/scenario/src/congestion.rs",
    ];
    let is_code = |name: &str| {
        name.starts_with("crates/") && name.contains("/src/") && extension(name) == "rs"
    };
    let mut complaints = Vec::new();
    let files = files();
    for (variant, module) in controllers() {
        let file = format!("crates/congestion/src/{module}.rs");
        if !files.contains_key(&file) {
            complaints.push(format!("{file} is missing"));
        }
        let named = [
            format!("Algorithm::{variant}"),
            format!("Controller::{variant}"),
        ];
        for (name, text) in files.iter().filter(|(name, _)| is_code(name)) {
            let names_it = named.iter().any(|word| text.contains(word.as_str()));
            let own = *name == file || name == "crates/congestion/src/lib.rs";
            if names_it && !own && !may_name.iter().any(|path| name.starts_with(path)) {
                complaints.push(format!("{name} names {variant}: let the contract say it"));
            }
        }
        for page in ["docs/controllers.md", "docs/scenario.md"] {
            if !files.get(page).is_some_and(|text| text.contains(&module)) {
                complaints.push(format!("{page} doesn't mention {module}"));
            }
        }
    }
    assert_none(&complaints);
}

/// Kinds of workloads, as the scenario lists them.
fn workloads() -> Vec<String> {
    let text = read("crates/scenario/src/workload/mod.rs");
    let (_, list) = text
        .rsplit_once("\nworkloads! {\n")
        .expect("a list of kinds");
    let (list, _) = list.split_once("\n}\n").expect("it ends");
    let entry = |line: &str| Some(line.trim().split_once('(')?.0.to_owned());
    let found: Vec<_> = list.lines().filter_map(entry).collect();
    assert!(found.len() >= 10, "found only {found:?}");
    found
}

/// `docs/adding-a-workload.md` promises it.
#[test]
fn a_workload_is_one_file_and_two_lines() {
    let folder = "crates/scenario/src/workload/";
    // Attacks and imported cases are made of workloads; operations on connections that stay open come into being as a run goes.
    let may_name = [
        "crates/attacks/src/",
        "crates/cases/src/imported.rs",
        "crates/fabric/src/endpoint/build.rs",
    ];
    let files = files();
    let mut complaints = Vec::new();
    for kind in workloads() {
        let implemented = format!("impl Kind for {kind} ");
        let own = files
            .iter()
            .filter(|(name, text)| name.starts_with(folder) && text.contains(&implemented));
        if own.count() != 1 {
            complaints.push(format!("{folder} has no one file with `{implemented}`"));
        }
        let named = format!("Workload::{kind}(");
        for (name, text) in &files {
            let is_code = name.starts_with("crates/") && name.contains("/src/");
            let may =
                name.starts_with(folder) || may_name.iter().any(|path| name.starts_with(path));
            if is_code && !may && text.contains(&named) {
                complaints.push(format!("{name} names {kind}: let `Kind` say it"));
            }
        }
    }
    assert_none(&complaints);
}

/// Kinds of attacks with their names, as the scenario lists them.
fn attacks() -> Vec<(String, String)> {
    let text = read("crates/scenario/src/attack.rs");
    let (_, kinds) = text.rsplit_once("    kinds {").expect("a list of kinds");
    let entry = |line: &str| {
        let (kind, rest) = line.trim().split_once(" \"")?;
        let (name, _) = rest.split_once("\":")?;
        Some((kind.to_owned(), name.to_owned()))
    };
    let found: Vec<_> = kinds.lines().filter_map(entry).collect();
    assert!(found.len() >= 10, "found only {found:?}");
    found
}

/// `docs/adding-an-attack.md` promises it.
#[test]
fn an_attack_is_one_file_and_a_line_in_each_place_that_its_page_names() {
    let page = read("docs/adding-an-attack.md");
    let mut complaints = Vec::new();
    for (kind, name) in attacks() {
        let module = name.replace('-', "_");
        let arm = format!("AttackKind::{kind}");
        let declared = format!("mod {module};");
        let places = [
            ("crates/attacks/src/lib.rs", declared.as_str()),
            ("crates/attacks/src/plan.rs", arm.as_str()),
            ("docs/attacks.md", name.as_str()),
            ("docs/scenario.md", name.as_str()),
            ("python/fairlane/scenario/_attack.py", name.as_str()),
        ];
        for (place, wanted) in places {
            if !read(place).contains(wanted) {
                complaints.push(format!("{place} doesn't have `{wanted}`"));
            }
        }
        if !root()
            .join(format!("crates/attacks/src/{module}.rs"))
            .exists()
        {
            complaints.push(format!("crates/attacks/src/{module}.rs is missing"));
        }
    }
    for place in [
        "crates/attacks/src/lib.rs",
        "crates/attacks/src/plan.rs",
        "crates/attacks/src/pulse.rs",
        "crates/attacks/src/suite.rs",
        "crates/scenario/src/attack.rs",
    ] {
        if !page.contains(place) || !root().join(place).exists() {
            complaints.push(format!("docs/adding-an-attack.md: {place}"));
        }
    }
    assert_none(&complaints);
}

/// What an algorithm may say: the items of the contract's trait.
fn contract() -> Vec<String> {
    let text = read("crates/congestion/src/contract.rs");
    let body = text.split("pub trait CongestionControl").nth(1);
    let body = body.and_then(|rest| rest.split("\n}\n").next());
    let item = |line: &str| {
        let rest = line.strip_prefix("    ")?;
        let mut kinds = ["fn ", "const ", "type "].into_iter();
        let rest = kinds.find_map(|kind| rest.strip_prefix(kind))?;
        let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        name.into_iter().next().map(str::to_owned)
    };
    let found: Vec<_> = body.unwrap_or_default().lines().filter_map(item).collect();
    assert!(found.len() >= 10, "found only {found:?}");
    found
}

#[test]
fn the_tutorial_of_controllers_tells_the_whole_contract() {
    let page = read("docs/adding-a-controller.md");
    let section = page
        .split("\n## ")
        .find(|it| it.starts_with("The contract"));
    let section = section.expect("the page has a section \"The contract\"");
    let missing = contract()
        .into_iter()
        .filter(|name| !section.contains(&format!("`{name}`")));
    let mut complaints: Vec<String> = missing
        .map(|name| format!("docs/adding-a-controller.md: the contract has `{name}`, too"))
        .collect();
    let list = read("crates/congestion/src/algorithm.rs");
    let size = list.split("size_of::<Controller>() <= ").nth(1);
    let size = size.and_then(|rest| rest.split(')').next());
    let size = size.expect("algorithm.rs asserts the size of a controller");
    let words: Vec<&str> = page.split_whitespace().collect();
    let sizes = words
        .windows(2)
        .filter(|pair| pair[1].trim_end_matches([',', '.']) == "bytes")
        .filter(|pair| pair[0].parse::<u64>().is_ok());
    let sizes: Vec<&str> = sizes.map(|pair| pair[0]).collect();
    if sizes != [size] {
        complaints.push(format!(
            "docs/adding-a-controller.md: a controller has {size} bytes, not {sizes:?}"
        ));
    }
    assert_none(&complaints);
}

#[test]
fn pages_that_readers_expect_exist() {
    assert!(read("CHANGELOG.md").contains("\n## Unreleased\n"));
    let readme = read("README.md");
    for command in ["make run", "make test", "make bench"] {
        assert!(
            readme.contains(command),
            "README.md doesn't mention `{command}`"
        );
    }
    for page in [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "LICENSE",
        "scenarios/README.md",
    ] {
        assert!(read(page).len() > 500, "{page} is nearly empty");
    }
}

/// Targets of Markdown links and pictures.
fn link_targets(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', ' ']).next())
}

#[test]
fn links_lead_somewhere() {
    let mut complaints = Vec::new();
    for (name, text) in files().iter().filter(|(name, _)| extension(name) == "md") {
        let folder = root().join(name);
        let folder = folder.parent().expect("a file has a folder");
        let is_local = |target: &&str| !target.contains("://") && !target.starts_with('#');
        for target in link_targets(text).filter(is_local) {
            let path = target.split('#').next().unwrap_or_default();
            if !folder.join(path).exists() {
                complaints.push(format!("{name}: {target} doesn't exist"));
            }
        }
    }
    assert_none(&complaints);
    assert_eq!(
        link_targets("[a](b) ![c](d#e)").collect::<Vec<_>>(),
        ["b", "d#e"]
    );
}

#[test]
fn vendored_files_are_unchanged() {
    let page = read("report/README.md");
    let folder = root().join("report/vendor");
    let mut checked = 0;
    for entry in std::fs::read_dir(&folder).expect("report/vendor can be listed") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let row = page
            .lines()
            .find(|line| line.contains(&format!("vendor/{name}`")));
        let row = row.unwrap_or_else(|| panic!("report/README.md doesn't mention vendor/{name}"));
        if name.ends_with("LICENSE") {
            continue;
        }
        let sum = sha256(&std::fs::read(&path).expect("the file can be read"));
        assert!(
            row.contains(&sum),
            "vendor/{name} has SHA-256 {sum}, report/README.md says otherwise"
        );
        checked += 1;
    }
    assert!(checked >= 2, "found only {checked} vendored files");
}

fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[test]
fn sums_are_those_of_fips_180() {
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(sha256(b"abc"), abc);
}

/// Lines of a page in Markdown that begin a table without a heading: a blank line ends a table, and rows behind it show as text.
fn stray_rows(page: &str) -> Vec<usize> {
    let is_row = |line: &str| line.trim_start().starts_with('|');
    let is_rule = |line: &str| {
        is_row(line) && line.contains("--") && !line.contains(|mark: char| !"|-: ".contains(mark))
    };
    let lines: Vec<&str> = page.lines().collect();
    let begins = |at: usize| is_row(lines[at]) && (at == 0 || !is_row(lines[at - 1]));
    let headed = |at: usize| lines.get(at + 1).is_some_and(|next| is_rule(next));
    let stray = (0..lines.len()).filter(|at| begins(*at) && !headed(*at));
    stray.map(|at| at + 1).collect()
}

#[test]
fn rows_of_tables_stand_below_their_heading() {
    let pages = files()
        .into_iter()
        .filter(|(name, _)| extension(name) == "md" && !is_foreign(name));
    let complaints = pages.flat_map(|(name, text)| {
        let rows = stray_rows(&text).into_iter();
        rows.map(move |line| {
            format!("{name}:{line}: a row without a table; remove the blank line above it")
        })
        .collect::<Vec<_>>()
    });
    assert_none(&complaints.collect::<Vec<_>>());
    let broken = "| a | b |\n|---|---:|\n| 1 | 2 |\n\n| 3 | 4 |\n";
    assert_eq!(stray_rows(broken), [5]);
    assert_eq!(stray_rows("  | a |\n  |---|\n  | 1 |\n"), [0; 0]);
}
