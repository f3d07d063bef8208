//! `fairlane paths`.

use std::collections::BTreeSet;

use fairlane_fabric::Path;
use fairlane_units::NodeId;
use serde::Serialize;

use crate::args::{Paths, TableFormat};
use crate::backend::{self, AnyPath, PathPreview};
use crate::failure::Failure;
use crate::print;
use fairlane_results::table;

/// Which source port takes which path.
#[derive(Debug, Serialize)]
struct Preview {
    source: u32,
    destination: u32,
    /// Different pairs of a path there and a path back.
    distinct_pairs: usize,
    /// Different paths that data takes.
    forward_paths: Vec<Shared>,
    /// Different paths that acknowledgements take.
    reverse_paths: Vec<Shared>,
    ports: Vec<Row>,
}

/// A path and the source ports that share it.
#[derive(Debug, Serialize)]
struct Shared {
    /// Its number, in order of appearance.
    path: usize,
    /// Nodes that it passes, both ends included.
    nodes: Vec<u32>,
    /// By link, which it is of several between two nodes; left out where there is one everywhere.
    #[serde(skip_serializing_if = "are_alone")]
    indices: Vec<Option<u32>>,
    source_ports: Vec<u16>,
}

/// Whether no link of a path has another beside it.
fn are_alone(indices: &[Option<u32>]) -> bool {
    indices.iter().all(Option::is_none)
}

/// The paths of one source port.
#[derive(Debug, Serialize)]
struct Row {
    source_port: u16,
    /// Number of the path of data.
    forward_path: usize,
    /// Number of the path of acknowledgements.
    reverse_path: usize,
    /// Nodes that data passes, both ends included.
    forward: Vec<u32>,
    /// Nodes that acknowledgements pass, both ends included.
    reverse: Vec<u32>,
    #[serde(skip)]
    paths: [Path; 2],
}

/// Prints the paths of a range of source ports.
///
/// # Errors
/// If the scenario is wrong, or a node isn't a host of it.
pub(crate) fn paths(arguments: &Paths) -> Result<(), Failure> {
    let loaded = backend::load(&arguments.scenario)?;
    let ends = (
        NodeId::new(arguments.source),
        NodeId::new(arguments.destination),
    );
    let ports = arguments.ports.clone();
    match backend::paths(&loaded, ends, ports, arguments.destination_port)? {
        backend::Paths::ByPort(previews) => {
            let preview = Preview::new(arguments.source, arguments.destination, &previews);
            match arguments.format {
                TableFormat::Text => print::text(&preview.text())?,
                TableFormat::Json => print::json(&preview)?,
                TableFormat::Csv => print::text(&preview.csv())?,
            }
        }
        backend::Paths::Any(paths) => {
            let choice = Choice::new(&loaded, arguments, paths);
            match arguments.format {
                TableFormat::Text => print::text(&choice.text())?,
                TableFormat::Json => print::json(&choice)?,
                TableFormat::Csv => print::text(&choice.csv())?,
            }
        }
    }
    Ok(())
}

/// The paths among which switches choose packet by packet.
#[derive(Debug, Serialize)]
struct Choice {
    source: u32,
    destination: u32,
    /// How switches choose; source ports don't decide.
    forwarding: &'static str,
    /// Nodes of each path that data may take, both ends included.
    forward: Vec<Vec<u32>>,
    /// Nodes of each path that acknowledgements may take, both ends included.
    reverse: Vec<Vec<u32>>,
    #[serde(skip)]
    paths: AnyPath,
    /// Whether there are more than are listed.
    more: bool,
}

impl Choice {
    fn new(loaded: &backend::Loaded, arguments: &Paths, paths: AnyPath) -> Self {
        let nodes = |paths: &[Path]| paths.iter().map(numbers).collect();
        Self {
            source: arguments.source,
            destination: arguments.destination,
            forwarding: loaded.scenario.switch.forwarding.name(),
            forward: nodes(&paths.forward),
            reverse: nodes(&paths.reverse),
            more: paths.more,
            paths,
        }
    }

    /// Each path with its direction.
    fn rows(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let forward = self.paths.forward.iter().map(|path| ("data", path));
        forward.chain(
            self.paths
                .reverse
                .iter()
                .map(|path| ("acknowledgements", path)),
        )
    }

    fn text(&self) -> String {
        let paths = table::columns_of(
            self.rows(),
            &[
                ("may be taken by", &|(what, _)| (*what).to_owned()),
                ("path", &|(_, path)| chain(path, " > ")),
            ],
        );
        let more = if self.more { "more than " } else { "" };
        // A host has one switch in each plane.
        let first: BTreeSet<_> = self.forward.iter().map(|path| path.get(1)).collect();
        let which = match first.len() {
            0 | 1 => "",
            _ => " in the plane of its message",
        };
        format!(
            "{paths}\n\n{more}{} equally short paths of data from {} to {}, {more}{} of acknowledgements; under \
             forwarding \"{}\" no source port decides: every packet may take any of them{which}",
            self.forward.len(),
            self.source,
            self.destination,
            self.reverse.len(),
            self.forwarding,
        )
    }

    fn csv(&self) -> String {
        let row = |(what, path): (&str, &Path)| format!("{what},{}\n", chain(path, " "));
        let rows: String = self.rows().map(row).collect();
        format!("packets,path\n{rows}")
    }
}

impl Preview {
    fn new(source: u32, destination: u32, previews: &[PathPreview]) -> Self {
        let (mut forward, mut reverse) = (Vec::new(), Vec::new());
        let row = |preview: &PathPreview| Row {
            source_port: preview.source_port,
            forward_path: share(&mut forward, preview.source_port, &preview.forward),
            reverse_path: share(&mut reverse, preview.source_port, &preview.reverse),
            forward: numbers(&preview.forward),
            reverse: numbers(&preview.reverse),
            paths: [preview.forward.clone(), preview.reverse.clone()],
        };
        let ports: Vec<Row> = previews.iter().map(row).collect();
        let pairs: BTreeSet<_> = ports
            .iter()
            .map(|row| (row.forward_path, row.reverse_path))
            .collect();
        Self {
            source,
            destination,
            distinct_pairs: pairs.len(),
            forward_paths: forward,
            reverse_paths: reverse,
            ports,
        }
    }

    fn text(&self) -> String {
        let ports = table::columns_of(
            &self.ports,
            &[
                ("port", &|row| row.source_port.to_string()),
                ("path", &|row| row.forward_path.to_string()),
                ("data takes", &|row| chain(&row.paths[0], " > ")),
                ("back", &|row| row.reverse_path.to_string()),
                ("acknowledgements take", &|row| chain(&row.paths[1], " > ")),
            ],
        );
        let shared = |shared: &Shared| {
            let ports = table::ranges(&shared.source_ports);
            format!("path {}: ports {ports}\n", shared.path)
        };
        format!(
            "{ports}\n\n{}\n{} source ports from {} to {}: {} different paths of data, {} of acknowledgements, {} pairs",
            self.forward_paths.iter().map(shared).collect::<String>(),
            self.ports.len(),
            self.source,
            self.destination,
            self.forward_paths.len(),
            self.reverse_paths.len(),
            self.distinct_pairs,
        )
    }

    fn csv(&self) -> String {
        let mut text = String::from("source_port,forward_path,reverse_path,forward,reverse\n");
        for row in &self.ports {
            text.push_str(&format!(
                "{},{},{},{},{}\n",
                row.source_port,
                row.forward_path,
                row.reverse_path,
                chain(&row.paths[0], " "),
                chain(&row.paths[1], " "),
            ));
        }
        text
    }
}

/// The number of a path among those seen so far, to which it is added if it is new.
fn share(seen: &mut Vec<Shared>, port: u16, path: &Path) -> usize {
    let nodes = numbers(path);
    let same = |shared: &Shared| shared.nodes == nodes && shared.indices == path.indices;
    let known = seen.iter().position(same);
    let number = known.unwrap_or(seen.len());
    if known.is_none() {
        seen.push(Shared {
            path: number,
            nodes,
            indices: path.indices.clone(),
            source_ports: Vec::new(),
        });
    }
    seen[number].source_ports.push(port);
    number
}

fn numbers(path: &Path) -> Vec<u32> {
    path.nodes.iter().map(|node| node.get()).collect()
}

fn chain(path: &Path, between: &str) -> String {
    path.steps().join(between)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preview(port: u16, forward: &[u32], reverse: &[u32]) -> PathPreview {
        let path = |nodes: &[u32]| Path {
            nodes: nodes.iter().copied().map(NodeId::new).collect(),
            indices: vec![None; nodes.len() - 1],
        };
        PathPreview {
            source_port: port,
            forward: path(forward),
            reverse: path(reverse),
        }
    }

    fn sample() -> Preview {
        let previews = [
            preview(10000, &[0, 8, 10, 9, 4], &[4, 9, 10, 8, 0]),
            preview(10001, &[0, 8, 11, 9, 4], &[4, 9, 10, 8, 0]),
            preview(10002, &[0, 8, 10, 9, 4], &[4, 9, 11, 8, 0]),
            preview(10003, &[0, 8, 10, 9, 4], &[4, 9, 11, 8, 0]),
        ];
        Preview::new(0, 4, &previews)
    }

    #[test]
    fn ports_on_one_path_are_grouped() {
        insta::assert_snapshot!(sample().text(), @r"
        port   path  data takes          back  acknowledgements take
        10000  0     0 > 8 > 10 > 9 > 4  0     4 > 9 > 10 > 8 > 0
        10001  1     0 > 8 > 11 > 9 > 4  0     4 > 9 > 10 > 8 > 0
        10002  0     0 > 8 > 10 > 9 > 4  1     4 > 9 > 11 > 8 > 0
        10003  0     0 > 8 > 10 > 9 > 4  1     4 > 9 > 11 > 8 > 0

        path 0: ports 10000, 10002, 10003
        path 1: ports 10001

        4 source ports from 0 to 4: 2 different paths of data, 2 of acknowledgements, 3 pairs
        ");
    }

    #[test]
    fn links_side_by_side_are_different_paths() {
        let preview = |port, index| {
            let mut preview = preview(port, &[0, 4, 5, 2], &[2, 5, 4, 0]);
            preview.forward.indices[1] = Some(index);
            preview
        };
        let preview = Preview::new(0, 2, &[preview(1, 0), preview(2, 3), preview(3, 0)]);
        let text = preview.text();
        assert!(text.contains("0 > 4 > 5#3 > 2"), "{text}");
        assert!(
            text.contains("path 0: ports 1, 3\npath 1: ports 2\n"),
            "{text}"
        );
    }

    #[test]
    fn csv_has_one_line_for_each_port() {
        insta::assert_snapshot!(sample().csv(), @r"
        source_port,forward_path,reverse_path,forward,reverse
        10000,0,0,0 8 10 9 4,4 9 10 8 0
        10001,1,0,0 8 11 9 4,4 9 10 8 0
        10002,0,1,0 8 10 9 4,4 9 11 8 0
        10003,0,1,0 8 10 9 4,4 9 11 8 0
        ");
    }
}
