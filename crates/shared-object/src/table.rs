//! The table of a library's symbols.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

/// What stands behind a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behind {
    /// A function of the archive.
    Real,
    /// A function of the archive that has another version node, too.
    Also,
    /// Something that returns an error.
    Error,
    /// Something that returns a null pointer.
    Null,
    /// Something that returns -1, with errno.
    Minus,
    /// Something that returns.
    Nothing,
    /// Zeros.
    Data,
}

/// A name in a version node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    pub(crate) behind: Behind,
    /// Whether it is what programs get that are linked from now on: the last node that lists a name, or the one where the function is.
    pub(crate) default: bool,
}

/// A version node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) symbols: Vec<Symbol>,
}

/// The symbols of a library by version node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    pub(crate) nodes: Vec<Node>,
}

/// What is wrong with a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The line, from 1 on.
    pub line: usize,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: expected {}", self.line, self.expected)
    }
}

impl std::error::Error for Mistake {}

impl Table {
    /// Reads a table: a line for each version node, from the oldest, and below it an indented one for each name with what
    /// stands behind it. `#` begins a comment.
    ///
    /// # Errors
    /// If a line is neither, or a name is twice in a node.
    pub fn parse(text: &str) -> Result<Self, Mistake> {
        let mut nodes: Vec<Node> = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            let mistake = |expected| Mistake { line, expected };
            let content = content.split('#').next().unwrap_or_default();
            let words: Vec<&str> = content.split_whitespace().collect();
            match *words.as_slice() {
                [] => {}
                [name] if !content.starts_with(' ') => nodes.push(Node {
                    name: name.to_owned(),
                    symbols: Vec::new(),
                }),
                [name, behind] => {
                    let node = nodes.last_mut();
                    let node = node.ok_or_else(|| mistake("a version node first"))?;
                    if node.symbols.iter().any(|symbol| symbol.name == name) {
                        return Err(mistake("a name that the node doesn't have yet"));
                    }
                    node.symbols.push(Symbol {
                        name: name.to_owned(),
                        behind: behind_of(behind).ok_or_else(|| mistake(KINDS))?,
                        default: false,
                    });
                }
                _ => return Err(mistake("a version node, or a name and what is behind it")),
            }
        }
        let mut table = Self { nodes };
        table.choose_defaults();
        Ok(table)
    }

    fn choose_defaults(&mut self) {
        let mut last: BTreeMap<String, (bool, usize)> = BTreeMap::new();
        for (at, node) in self.nodes.iter().enumerate() {
            for symbol in &node.symbols {
                let here = (symbol.behind == Behind::Real, at);
                let known = last.entry(symbol.name.clone()).or_insert(here);
                *known = (*known).max(here);
            }
        }
        for (at, node) in self.nodes.iter_mut().enumerate() {
            for symbol in &mut node.symbols {
                symbol.default = last[&symbol.name].1 == at;
            }
        }
    }

    /// Names of the functions that the archive must have.
    pub fn real(&self) -> impl Iterator<Item = &str> {
        let all = self.nodes.iter().flat_map(|node| &node.symbols);
        all.filter(|symbol| symbol.behind == Behind::Real)
            .map(|symbol| symbol.name.as_str())
    }

    /// How many names it has, those in several nodes each time.
    pub fn len(&self) -> usize {
        self.nodes.iter().map(|node| node.symbols.len()).sum()
    }

    /// Whether it has no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The version script, in which each name stands at the node of its default version.
    pub fn version_script(&self) -> String {
        let mut script = String::new();
        let mut before: Option<&str> = None;
        // Where everything else is made local, names with a version that isn't their default would be, too.
        let defaults = |node: &Node| node.symbols.iter().all(|symbol| symbol.default);
        let closes = self.nodes.iter().rposition(defaults).unwrap_or(0);
        for (at, node) in self.nodes.iter().enumerate() {
            let _ = writeln!(script, "{} {{", node.name);
            let defaults = node.symbols.iter().filter(|symbol| symbol.default);
            for (number, symbol) in defaults.enumerate() {
                let scope = if number == 0 {
                    "    global: "
                } else {
                    "        "
                };
                let _ = writeln!(script, "{scope}{};", symbol.name);
            }
            if at == closes {
                script.push_str("    local: *;\n");
            }
            let follows = before.map_or_else(String::new, |name| format!(" {name}"));
            let _ = writeln!(script, "}}{follows};");
            before = Some(&node.name);
        }
        script
    }
}

const KINDS: &str = "real, also, error, null, minus, nothing or data";

fn behind_of(word: &str) -> Option<Behind> {
    Some(match word {
        "real" => Behind::Real,
        "also" => Behind::Also,
        "error" => Behind::Error,
        "null" => Behind::Null,
        "minus" => Behind::Minus,
        "nothing" => Behind::Nothing,
        "data" => Behind::Data,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_have_a_line() {
        let line = |text: &str| Table::parse(text).map_err(|mistake| mistake.line);
        assert_eq!(line("A\n  b real\n  b null\n"), Err(3));
        assert_eq!(line("  b real\n"), Err(1));
        assert_eq!(line("A\n  b\n"), Err(2));
        assert_eq!(line("A\n  b magic\n"), Err(2));
        assert_eq!(line("# only words\n").map(|table| table.len()), Ok(0));
    }

    #[test]
    fn the_function_itself_is_the_default_wherever_it_stands() {
        let table = Table::parse("A\n  f error\n  g null\nB\n  f real\nC\n  f also\n  g null\n");
        let table = table.expect("a table");
        let defaults: Vec<_> = (table.nodes.iter())
            .flat_map(|node| node.symbols.iter().map(move |symbol| (node, symbol)))
            .filter(|(_, symbol)| symbol.default)
            .map(|(node, symbol)| (node.name.as_str(), symbol.name.as_str()))
            .collect();
        assert_eq!(defaults, [("B", "f"), ("C", "g")]);
    }
}
