//! Lists the folders `experiments/<source>/<name>/` as Rust, so that the program holds their files, and tells builds
//! of one version apart by a digest of what results depend on.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR").map_err(io::Error::other)?);
    let root = manifest.join("../../experiments");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut list = String::from("[\n");
    for source in folders(&root)? {
        println!("cargo::rerun-if-changed={}", source.display());
        for folder in folders(&source)? {
            println!("cargo::rerun-if-changed={}", folder.display());
            if folder.join("experiment.toml").exists() {
                describe(&mut list, &source, &folder)?;
            }
        }
    }
    list.push_str("]\n");
    let sources = sources(&manifest.join("../.."))?;
    println!("cargo::rustc-env=FAIRLANE_SOURCES={sources:016x}");
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("experiments.rs"), list)
}

/// A digest of this crate's sources, of those that it is built of, and of the versions of all others.
fn sources(workspace: &Path) -> io::Result<u64> {
    let lock = workspace.join("Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = fs::read_to_string(lock)?;
    let mut digest = DefaultHasher::new();
    digest.write(lock.as_bytes());
    for name in members(&lock, "fairlane-experiments") {
        let short = name.trim_start_matches("fairlane-");
        let mut parts = entries(&workspace.join("crates").join(short))?;
        parts.retain(|path| !path.ends_with("tests") && !path.ends_with("examples"));
        for part in parts {
            println!("cargo::rerun-if-changed={}", part.display());
            add(&mut digest, &part)?;
        }
    }
    Ok(digest.finish())
}

/// A package and those of this workspace that it needs, by the lock file.
fn members<'a>(lock: &'a str, package: &'a str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open = vec![package];
    while let Some(name) = open.pop() {
        if found.insert(name) {
            let head = format!("name = \"{name}\"");
            let mut blocks = lock.split("[[package]]");
            let block = blocks.find(|block| block.lines().any(|line| line == head));
            let needs = block.into_iter().flat_map(str::lines);
            let needs = needs.filter_map(|line| line.strip_prefix(" \"")?.split(['"', ' ']).next());
            open.extend(needs.filter(|need| need.starts_with("fairlane-")));
        }
    }
    found
}

/// Adds a file, or all below a folder in order, to a digest, with their names.
fn add(digest: &mut DefaultHasher, path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return entries(path)?.iter().try_for_each(|path| add(digest, path));
    }
    digest.write(path.file_name().unwrap_or_default().as_encoded_bytes());
    let text = fs::read(path)?;
    digest.write_usize(text.len());
    digest.write(&text);
    Ok(())
}

/// Folders within a folder, in order.
fn folders(within: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = entries(within)?;
    found.retain(|path| path.is_dir());
    Ok(found)
}

fn entries(within: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(within)?.map(|entry| entry.map(|entry| entry.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn describe(list: &mut String, source: &Path, folder: &Path) -> io::Result<()> {
    let name = |path: &Path| {
        path.file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    };
    let (source, short) = (name(source), name(folder));
    let mut files = String::new();
    for path in entries(folder)?.into_iter().filter(|path| path.is_file()) {
        println!("cargo::rerun-if-changed={}", path.display());
        let path = path.canonicalize()?;
        write!(
            files,
            "({:?}, include_bytes!({:?}).as_slice()), ",
            name(&path),
            path.display().to_string()
        )
        .map_err(io::Error::other)?;
    }
    writeln!(
        list,
        "Experiment::held({source:?}, \"{source}-{short}\", &[{files}]),"
    )
    .map_err(io::Error::other)
}
