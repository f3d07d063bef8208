//! The tables of `docs/scenario.md`, which follow from the schema: `<!-- keys: PATH -->` stands above the table of the keys
//! at PATH, and `<!-- keys -->` above that of the file's own, each with `<!-- end -->` below.

use std::cell::RefCell;
use std::collections::BTreeSet;

use fairlane_scenario::{Profile, Scenario, schema};
use serde_json::{Value, to_value};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
const END: &str = "<!-- end -->";
const HEAD: [&str; 6] = ["kinds", "key", "meaning", "range", "default", "`hpcc-ns3`"];

#[test]
fn the_tables_of_the_page_are_those_of_the_schema() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let made = Maker::new(&page).page();
    if std::env::var_os("FAIRLANE_UPDATE_PAGES").is_some() {
        std::fs::write(PAGE, &made).unwrap();
        return;
    }
    let stale = page.lines().zip(made.lines()).find(|(old, new)| old != new);
    assert!(
        page == made,
        "docs/scenario.md isn't as keys are declared: {stale:#?}\n\
         hint: FAIRLANE_UPDATE_PAGES=1 cargo test -p fairlane-scenario --test tests page"
    );
}

struct Maker<'a> {
    page: &'a str,
    schema: Value,
    exact: Value,
    ns3: Value,
    /// Lists of words that stand on the page already.
    told: RefCell<BTreeSet<String>>,
}

impl<'a> Maker<'a> {
    fn new(page: &'a str) -> Self {
        let ns3 = Scenario {
            profile: Profile::default(),
            ..Scenario::defaults(Profile::HpccNs3)
        };
        Self {
            page,
            schema: schema(),
            exact: to_value(Scenario::default()).unwrap(),
            ns3: to_value(ns3).unwrap(),
            told: RefCell::default(),
        }
    }

    /// The page with every table made anew.
    fn page(&self) -> String {
        let (mut made, mut lines) = (String::new(), self.page.lines());
        while let Some(line) = lines.next() {
            made += &format!("{line}\n");
            let mark = line.strip_prefix("<!-- keys");
            if let Some(path) = mark.and_then(|rest| rest.strip_suffix("-->")) {
                made += &self.tables(path.trim_matches([':', ' ']));
                made += &format!("{END}\n");
                lines.find(|line| *line == END).unwrap();
            }
        }
        made
    }

    /// The table of the keys at `path`; if there are several kinds, below that of the kinds.
    fn tables(&self, path: &str) -> String {
        let (mut kinds, mut rows) = (Vec::new(), Vec::<[String; 6]>::new());
        for kind in self.kinds(path) {
            let name = quoted(&kind["properties"]["kind"]["const"]);
            let keys = kind["properties"].as_object().into_iter().flatten();
            let own = keys.filter_map(|(key, _)| self.row(kind, path, key));
            let own: Vec<_> = own.collect();
            let keys: Vec<_> = own.iter().map(|row| row[1].clone()).collect();
            kinds.push([name.clone(), about(kind).0, keys.join(", ")]);
            for mut row in own {
                match rows.iter_mut().find(|one| one[1..] == row[1..]) {
                    Some(one) => one[0] += &format!(", {name}"),
                    None => {
                        row[0].clone_from(&name);
                        rows.push(row);
                    }
                }
            }
        }
        let keys: Vec<_> = rows.iter().map(|row| row[1].clone()).collect();
        for row in &mut rows {
            // Only of what has several meanings it must be said which kind it belongs to.
            if keys.iter().filter(|key| **key == row[1]).count() == 1 {
                row[0].clear();
            }
            let (meaning, words) = row[2].split_once("<br>").unwrap_or((&row[2], ""));
            if !self.told.borrow_mut().insert(words.to_owned()) {
                row[2] = meaning.to_owned();
            }
        }
        match kinds.len() {
            1 => table(HEAD, &rows),
            _ => table(["kind", "meaning", "keys"], &kinds) + "\n" + &table(HEAD, &rows),
        }
    }

    /// The table at `path`, or those of its kinds.
    fn kinds(&self, path: &str) -> Vec<&Value> {
        let keys = path.split('.').filter(|key| !key.is_empty());
        keys.fold(vec![&self.schema], |tables, key| {
            let found = tables.iter().find_map(|table| table["properties"].get(key));
            let found = self.target(found.unwrap_or_else(|| panic!("no key {path}")));
            let kinds = found["oneOf"].as_array();
            kinds.map_or_else(|| vec![found], |kinds| kinds.iter().collect())
        })
    }

    /// The cells of a key, unless it is a table with a heading of its own.
    fn row(&self, table: &Value, path: &str, key: &str) -> Option<[String; 6]> {
        let of = &table["properties"][key];
        let place = format!("{path}.{key}");
        let place = place.trim_start_matches('.');
        if of.get("const").is_some() || self.page.contains(&format!("# `[{place}]`\n")) {
            return None;
        }
        let (mut meaning, source) = about(of);
        let words = self.target(of)["oneOf"].as_array().into_iter().flatten();
        for word in words.filter(|word| word.get("const").is_some()) {
            meaning += &format!("<br>{}: {}", quoted(&word["const"]), about(word).0);
        }
        let required = table["required"].as_array();
        let default = match required.is_some_and(|keys| keys.contains(&key.into())) {
            true => "required".into(),
            false => quoted(&of["default"]),
        };
        let default = match (default.is_empty(), source.is_empty()) {
            (true, _) => source,
            (false, true) => default,
            (false, false) => format!("{default} ({source})"),
        };
        let pointer = format!("/{}", place.replace('.', "/"));
        let [exact, ns3] = [&self.exact, &self.ns3].map(|all| all.pointer(&pointer));
        let ns3 = ns3.filter(|_| ns3 != exact).map_or(String::new(), quoted);
        Some([
            String::new(),
            format!("`{key}`"),
            meaning,
            range(of),
            default,
            ns3,
        ])
    }

    /// What a schema refers to, has a list of, or is unless it is left out.
    fn target<'b>(&'b self, of: &'b Value) -> &'b Value {
        let reference = of["$ref"].as_str();
        let reference = reference.and_then(|path| self.schema.pointer(&path[1..]));
        let mut parts = of["anyOf"].as_array().into_iter().flatten();
        let stated = parts.rfind(|part| part["type"] != "null");
        let further = reference.or_else(|| of.get("items")).or(stated);
        further.map_or(of, |further| self.target(further))
    }
}

/// What a description says, and the source of the default.
fn about(of: &Value) -> (String, String) {
    let text = of["description"].as_str().unwrap_or_default();
    let text = text.replace('\n', " ").replace('|', "\\|");
    let (text, source) = text.split_once("  Source: ").unwrap_or((&text, ""));
    (text.to_owned(), source.trim_end_matches('.').to_owned())
}

/// A value as the scenario file has it.
fn quoted(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Number(number) => format!("`{}`", number.to_string().trim_end_matches(".0")),
        _ => format!("`{value}`"),
    }
}

/// The range of a key, unless it is all that its type can hold.
fn range(of: &Value) -> String {
    let limit = |key: &str| quoted(&of[key]).replace('`', "");
    let of_type = match of["format"].as_str() {
        Some("uint8") => "255",
        Some("uint16") => "65535",
        _ => "",
    };
    match (&of["x-range"], limit("minimum"), limit("maximum")) {
        (Value::String(text), ..) => text.clone(),
        (_, low, high) if high == of_type && (low.is_empty() || low == "0") => String::new(),
        (_, low, high) if high.is_empty() => format!("at least {low}"),
        (_, low, high) => format!("{low} to {high}"),
    }
}

/// Markdown without columns that are empty.
fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let used = |at: &usize| rows.iter().any(|row| !row[*at].is_empty());
    let used: Vec<usize> = (0..N).filter(used).collect();
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells = used.iter().map(|at| match cell(*at).as_str() {
            "" => " |".into(),
            text => format!(" {text} |"),
        });
        format!("|{}\n", cells.collect::<String>())
    };
    let rows: String = rows.iter().map(|row| line(&|at| row[at].clone())).collect();
    line(&|at| head[at].into()) + &format!("|{}\n", "---|".repeat(used.len())) + &rows
}
