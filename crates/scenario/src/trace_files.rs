//! The files of a trace: named one by one, or by their folder, a pattern, or the beginning of their names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::collective::TracePath;
use crate::error::{Error, mistake};
use crate::files::Files;
use crate::inputs::TraceFile;

/// Files of process groups that are looked for beside traces are no longer, 64 MiB; those of a million ranks aren't.
const LONGEST_GROUPS: u64 = 64 << 20;

/// Reads the files of a trace, which `place` names, and with execution traces the one file beside them that says which ranks are in
/// which process group, unless one is named.
pub(crate) fn read(
    path: &TracePath,
    files: Files<'_>,
    place: &str,
) -> Result<Vec<TraceFile>, Error> {
    let named = match path {
        TracePath::One(path) => vec![(place.to_owned(), path)],
        TracePath::Each(paths) => {
            let key = |rank| format!("{place}[{rank}]");
            (0..paths.len()).map(key).zip(paths).collect()
        }
    };
    let mut all = Vec::new();
    for (key, path) in named {
        for path in files_of(path, files, place)? {
            all.push((key.clone(), path));
        }
    }
    if let Some(groups) = groups_beside(&all, files) {
        all.push((place.to_owned(), groups));
    }
    let read = |(key, path): (String, PathBuf)| {
        let (found, bytes) = files.read_bytes(&path, place)?;
        let name = found.display().to_string();
        Ok(TraceFile { key, name, bytes })
    };
    all.into_iter().map(read).collect()
}

/// The files that a path stands for: itself, the execution traces of a folder, those that match a pattern, or those whose names
/// begin so.
fn files_of(path: &Path, files: Files<'_>, place: &str) -> Result<Vec<PathBuf>, Error> {
    if files.has(path) {
        return Ok(vec![path.into()]);
    }
    let in_folder = |folder: &Path, wanted: &dyn Fn(&str) -> bool| {
        let names = names_in(folder, files).into_iter();
        let paths = names
            .filter(|name| wanted(name))
            .map(|name| folder.join(name));
        paths.collect::<Vec<_>>()
    };
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let name = name.unwrap_or_default();
    let folder = path.parent().unwrap_or_else(|| Path::new(""));
    let found = if name.contains(['*', '?']) {
        in_folder(folder, &|other| matches(name.as_bytes(), other.as_bytes()))
    } else if files.is_folder(path) {
        in_folder(path, &|other| other.ends_with(".et"))
    } else {
        in_folder(folder, &|other| is_of_rank(other.strip_prefix(&*name)))
    };
    if found.is_empty() && (name.contains(['*', '?']) || files.is_folder(path)) {
        let shown = path.display();
        return Err(
            mistake!(place, "{shown} stands for no file, expected one for each rank";
            "execution traces end in .et; `*` stands for any characters, `?` for one"),
        );
    }
    // Without any, the error of reading says that the file doesn't exist.
    Ok(if found.is_empty() {
        vec![path.into()]
    } else {
        found
    })
}

/// The names of the files in a folder, in order; those of gzipped ones without `.gz`.
fn names_in(folder: &Path, files: Files<'_>) -> BTreeSet<String> {
    let names = files.names(folder).into_iter();
    let plain = |name: String| match name.strip_suffix(".gz") {
        Some(plain) => plain.to_owned(),
        None => name,
    };
    names.map(plain).collect()
}

/// Whether a name goes on, behind the beginning that it shares with others, as that of a rank's execution trace: `.0.et`.
fn is_of_rank(rest: Option<&str>) -> bool {
    let number = rest.and_then(|rest| rest.strip_suffix(".et"));
    let number = number.map(|number| number.trim_start_matches(['.', '-', '_']));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit()))
}

/// Whether a name matches a pattern, in which `*` stands for any bytes and `?` for one.
fn matches(mut pattern: &[u8], mut name: &[u8]) -> bool {
    // Where the last `*` is, and from where on the name is tried behind it.
    let mut again: Option<(&[u8], &[u8])> = None;
    loop {
        match (pattern, name) {
            ([b'*', rest @ ..], _) => {
                again = Some((rest, name));
                pattern = rest;
            }
            ([p, rest @ ..], [n, behind @ ..]) if *p == b'?' || p == n => {
                (pattern, name) = (rest, behind);
            }
            ([], []) => return true,
            _ => match again {
                Some((rest, [_, behind @ ..])) => {
                    again = Some((rest, behind));
                    (pattern, name) = (rest, behind);
                }
                _ => return false,
            },
        }
    }
}

/// The file of process groups beside execution traces, if exactly one is there and none is named.
fn groups_beside(all: &[(String, PathBuf)], files: Files<'_>) -> Option<PathBuf> {
    let ends_in = |path: &Path, ending: &str| {
        let name = path.to_string_lossy();
        name.strip_suffix(".gz").unwrap_or(&name).ends_with(ending)
    };
    let (_, first) = all.iter().find(|(_, path)| ends_in(path, ".et"))?;
    if all.iter().any(|(_, path)| ends_in(path, ".json")) {
        return None;
    }
    let folder = first.parent().unwrap_or_else(|| Path::new(""));
    let names = names_in(folder, files).into_iter();
    let mut found = names
        .filter(|name| name.ends_with(".json"))
        .map(|name| folder.join(name))
        .filter(|path| is_groups(path, files));
    let groups = found.next();
    groups.filter(|_| found.next().is_none())
}

/// Whether a file is an object of lists of ranks.
fn is_groups(path: &Path, files: Files<'_>) -> bool {
    let bytes = files.read_short(path, LONGEST_GROUPS);
    bytes.is_some_and(|bytes| {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        serde_json::from_slice::<BTreeMap<String, Vec<u32>>>(text).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("t.*.et", "t.0.et", true),
            ("t.*.et", "t.10.et", true),
            ("t.*.et", "u.0.et", false),
            ("t.*.et", "t.0.et.bak", false),
            ("t.?.et", "t.10.et", false),
            ("*a*b", "xaabxb", true),
            ("*a*b", "xaabxc", false),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(
                matches(pattern.as_bytes(), name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
    }
}
