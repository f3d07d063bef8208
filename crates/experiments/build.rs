//! Lists the folders `experiments/<source>/<name>/` as Rust, so that the program holds their files.

use std::env;
use std::fmt::Write as _;
use std::fs;
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
    let out = env::var("OUT_DIR").map_err(io::Error::other)?;
    fs::write(Path::new(&out).join("experiments.rs"), list)
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
        "Experiment {{ source: {source:?}, name: \"{source}-{short}\", files: &[{files}] }},"
    )
    .map_err(io::Error::other)
}
