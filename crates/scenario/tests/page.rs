//! The tables of `docs/scenario.md`, which follow from the schema: `<!-- keys: PATH -->` stands above the table of the keys
//! at PATH, and `<!-- keys -->` above that of the file's own, each with `<!-- end -->` below.

use fairlane_scenario::{Profile, Scenario, schema};
use serde_json::{Value, to_value};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/scenario.md");
const END: &str = "<!-- end -->";

#[test]
fn the_tables_of_the_page_are_those_of_the_schema() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let made = Maker::new(&page).page();
    if std::env::var_os("FAIRLANE_UPDATE_PAGES").is_some() {
        std::fs::write(PAGE, made).unwrap();
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
}

/// Cells of a row; those of a kind, or of several, are first.
type Row = [String; 6];
const HEAD: [&str; 6] = ["kinds", "key", "meaning", "range", "default", "`hpcc-ns3`"];

impl<'a> Maker<'a> {
    fn new(page: &'a str) -> Self {
        let defaults = |profile| to_value(Scenario::defaults(profile)).unwrap();
        let (exact, ns3) = (defaults(Profile::Exact), defaults(Profile::HpccNs3));
        Self {
            page,
            schema: schema(),
            exact,
            ns3,
        }
    }

    /// The page with every table made anew.
    fn page(&self) -> String {
        let (mut made, mut lines) = (String::new(), self.page.lines());
        while let Some(line) = lines.next() {
            made += &format!("{line}\n");
            let path = line
                .strip_prefix("<!-- keys")
                .and_then(|rest| rest.strip_suffix("-->"));
            if let Some(path) = path {
                made += &self.tables(path.trim_matches([':', ' ']));
                made += &format!("{END}\n");
                lines.find(|line| *line == END).unwrap();
            }
        }
        made
    }

    /// The table of keys at `path`, and above it one of the kinds if there are several.
    fn tables(&self, path: &str) -> String {
        let kinds = path.split('.').filter(|key| !key.is_empty()).fold(
            vec![&self.schema],
            |tables, key| {
                let found = tables.iter().find_map(|table| table["properties"].get(key));
                let table = self.target(found.unwrap_or_else(|| panic!("no key {key} in {path}")));
                table["oneOf"]
                    .as_array()
                    .map_or(vec![table], |kinds| kinds.iter().collect())
            },
        );
        let name = |kind: &Value| {
            quoted(
                kind.pointer("/properties/kind/const")
                    .unwrap_or(&Value::Null),
            )
        };
        let mut groups: Vec<(Row, Vec<String>)> = Vec::new();
        let mut list = Vec::new();
        for kind in &kinds {
            let rows: Vec<_> = keys(kind)
                .filter_map(|key| self.row(kind, path, key))
                .collect();
            let own: Vec<_> = rows.iter().map(|row| row[1].clone()).collect();
            list.push([name(kind), about(kind).0, own.join(", ")]);
            for row in rows {
                match groups.iter_mut().find(|(one, _)| *one == row) {
                    Some((_, kinds)) => kinds.push(name(kind)),
                    None => groups.push((row, vec![name(kind)])),
                }
            }
        }
        let rows: Vec<Row> = groups
            .into_iter()
            .map(|(mut row, of)| {
                let others: Vec<_> = list
                    .iter()
                    .map(|[name, ..]| name.clone())
                    .filter(|name| !of.contains(name))
                    .collect();
                row[0] = match others.len() {
                    0 => String::new(),
                    few if few < of.len() => format!("all but {}", others.join(", ")),
                    _ => of.join(", "),
                };
                row
            })
            .collect();
        let kinds = if kinds.len() > 1 {
            table(["kind", "meaning", "keys"], &list) + "\n"
        } else {
            String::new()
        };
        kinds + &table(HEAD, &rows)
    }

    /// The row of a key, unless it is a table with a heading of its own.
    fn row(&self, table: &Value, path: &str, key: &str) -> Option<Row> {
        let of = &table["properties"][key];
        let headed = [format!("# `[{key}]`"), format!(".{key}]`")];
        if of.get("const").is_some() || headed.iter().any(|heading| self.page.contains(heading)) {
            return None;
        }
        let (mut meaning, source) = about(of);
        for value in self.target(of)["oneOf"].as_array().into_iter().flatten() {
            if let Some(word) = value.get("const") {
                meaning += &format!("<br>{}: {}", quoted(word), about(value).0);
            }
        }
        let required = table["required"]
            .as_array()
            .is_some_and(|keys| keys.contains(&key.into()));
        let default = of.get("default").map_or(String::new(), quoted);
        let default = match (default.is_empty(), source) {
            (_, None) if required => "required".into(),
            (_, None) => default,
            (true, Some(source)) => source,
            (false, Some(source)) => format!("{default} ({source})"),
        };
        let place = format!("/{path}/{key}")
            .replace("//", "/")
            .replace('.', "/");
        let [exact, ns3] = [&self.exact, &self.ns3].map(|defaults| defaults.pointer(&place));
        let ns3 = ns3
            .filter(|_| ns3 != exact && key != "profile")
            .map_or(String::new(), quoted);
        Some([
            String::new(),
            format!("`{key}`"),
            meaning,
            range(of),
            default,
            ns3,
        ])
    }

    /// What a schema refers to, repeats, or is if it isn't left out.
    fn target<'b>(&'b self, of: &'b Value) -> &'b Value {
        let reference = of["$ref"]
            .as_str()
            .and_then(|path| self.schema.pointer(&path[1..]));
        let some = of["anyOf"]
            .as_array()
            .and_then(|parts| parts.iter().rfind(|part| part["type"] != "null"));
        let further = reference.or(of.get("items")).or(some);
        further.map_or(of, |further| self.target(further))
    }
}

fn keys(table: &Value) -> impl Iterator<Item = &str> {
    table["properties"]
        .as_object()
        .into_iter()
        .flat_map(|keys| keys.keys().map(String::as_str))
}

/// What a description says, and the source of the default.
fn about(of: &Value) -> (String, Option<String>) {
    let text = of["description"]
        .as_str()
        .unwrap_or_default()
        .replace('|', "\\|");
    let (text, source) = match text.split_once("\n\nSource: ") {
        Some((text, source)) => (text, Some(source.trim_end_matches('.').replace('\n', " "))),
        None => (text.as_str(), None),
    };
    (text.replace('\n', " "), source)
}

/// A value as the scenario file has it.
fn quoted(value: &Value) -> String {
    match value.as_f64() {
        Some(number) => format!("`{number}`"),
        None => format!("`{value}`"),
    }
}

/// The range of a key, unless it is all that its type can hold.
fn range(of: &Value) -> String {
    if let Some(text) = of["x-range"].as_str() {
        return text.into();
    }
    let of_type = match of["format"].as_str() {
        Some("uint8") => u8::MAX.into(),
        Some("uint16") => u16::MAX.into(),
        _ => f64::INFINITY,
    };
    let limit = |key: &str| of[key].as_f64();
    match (
        limit("minimum"),
        limit("maximum").filter(|most| *most != of_type),
    ) {
        (Some(low), Some(high)) => format!("{low} to {high}"),
        (Some(low), None) if low > 0.0 => format!("at least {low}"),
        _ => String::new(),
    }
}

/// Markdown without columns that are empty.
fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let used: Vec<usize> = (0..N)
        .filter(|at| rows.iter().any(|row| !row[*at].is_empty()))
        .collect();
    let line = |cell: &dyn Fn(usize) -> String| {
        let cells: Vec<_> = used.iter().map(|at| cell(*at)).collect();
        format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |")
    };
    let rule = format!("|{}\n", "---|".repeat(used.len()));
    let rows: String = rows.iter().map(|row| line(&|at| row[at].clone())).collect();
    line(&|at| head[at].into()) + &rule + &rows
}
