//! `paths.csv`: the paths of messages that have several.

use std::fmt::Write as _;

use fairlane_fabric::{MultipathRecord, Path, PathRecord};
use fairlane_units::{Bytes, Duration, Rate};

const HEADER: &str = "source,destination,path,source_port,way,connections,bytes,chunks,failures,quarantines,\
                      twins,twin_of,round_trip_ps,capacity_bps,chunk_limit,loss_percent,health\n";

/// The text of the file: a row for each source, destination and number of a path. What isn't known is empty.
pub(crate) fn text(record: &MultipathRecord) -> String {
    let mut text = String::from(HEADER);
    for path in &record.paths {
        row(&mut text, path);
    }
    text
}

fn row(text: &mut String, path: &PathRecord) {
    let (source, destination) = (path.source, path.destination);
    let _ = writeln!(
        text,
        "{source},{destination},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
        path.path,
        path.source_port,
        path.way.as_ref().map_or_else(String::new, way),
        path.connections,
        path.bytes.get(),
        path.chunks,
        path.failures,
        path.quarantines,
        path.twins,
        some(path.twin_of.map(|twin| twin.get().into())),
        some(path.round_trip.map(Duration::as_ps)),
        some(path.capacity.map(Rate::as_bps)),
        some(path.chunk_limit.map(Bytes::get)),
        path.loss,
        path.health,
    );
}

fn some(number: Option<u64>) -> String {
    number.map_or_else(String::new, |number| number.to_string())
}

/// The nodes in order: `0-16-20-17-4`, or `0-4-5#2-2` if the third of several links leads from 4 to 5.
fn way(path: &Path) -> String {
    path.steps().join("-")
}
