//! Links an archive into a shared object: `shared-object TABLE ARCHIVE OUTPUT [NEEDED...]`.
#![forbid(unsafe_code)]

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use fairlane_shared_object::Link;

fn main() -> ExitCode {
    let mut paths = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(table), Some(archive), Some(output)) = (paths.next(), paths.next(), paths.next())
    else {
        return fail("expected TABLE ARCHIVE OUTPUT [NEEDED...]");
    };
    let link = Link {
        table,
        archive,
        output,
        needs: paths.collect(),
    };
    match link.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure.to_string()),
    }
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "error: {message}");
    ExitCode::from(2)
}
