//! `fairlane init`.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::print;

/// A scenario to begin with.
const TEXT: &str = include_str!("init/scenario.toml");

/// Writes a scenario to begin with, and says how to go on.
///
/// # Errors
/// If there is a file of that name, or it can't be written.
pub(crate) fn init(name: &Path) -> Result<(), Failure> {
    if name.file_name().is_none() {
        let failure = Failure::new(format!("\"{}\" names no file", name.display()));
        return Err(failure.hint("name the scenario, as in `fairlane init incast`"));
    }
    let path = toml_name(name);
    let mut file = File::create_new(&path).map_err(|error| refused(&path, &error))?;
    if let Err(error) = file.write_all(TEXT.as_bytes()) {
        // What is there was made here, and isn't whole.
        let _ = fs::remove_file(&path);
        return Err(Failure::at(&path, error));
    }
    let name = path.display();
    print::say(format_args!(
        "{name} is a scenario with comments; next:\n  fairlane check {name}\n  fairlane run {name}"
    ));
    Ok(())
}

/// The file of a name: `.toml` is added where it is missing.
fn toml_name(name: &Path) -> PathBuf {
    let mut whole = name.as_os_str().to_owned();
    if name.extension() != Some("toml".as_ref()) {
        whole.push(".toml");
    }
    whole.into()
}

fn refused(path: &Path, error: &std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::new(format!("{}: exists", path.display()))
            .hint("choose another name: nothing is replaced"),
        ErrorKind::NotFound => Failure::new(format!("{}: no such directory", path.display()))
            .hint("make it first, or choose another name"),
        _ => Failure::at(path, error),
    }
}
