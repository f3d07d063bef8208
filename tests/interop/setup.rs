//! The library, and programs that need it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The folder of the repository.
pub(crate) fn root() -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    tests
        .parent()
        .expect("tests have a folder around them")
        .to_owned()
}

/// The folder of the library, which is built the first time.
pub(crate) fn library() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut make = Command::new("make");
        // What cargo tells tests isn't for the cargo that make starts.
        make.args(["--no-print-directory", "verbs"])
            .current_dir(root());
        make.env_remove("CARGO_TARGET_DIR").env_remove("MAKEFLAGS");
        succeed(&mut make);
    });
    root().join("target/verbs")
}

/// The command, which is built the first time.
pub(crate) fn fairlane() -> PathBuf {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        library();
        let mut cargo = Command::new("cargo");
        // As tests of the whole workspace build it for those of its own, so that it is there already if those have run.
        cargo.args(["test", "--workspace", "--locked", "--no-run"]);
        cargo.args(["--test", "tests"]);
        succeed(cargo.env_remove("CARGO_TARGET_DIR").current_dir(root()));
    });
    root().join("target/debug/fairlane")
}

/// Runs a command that must succeed.
pub(crate) fn succeed(command: &mut Command) {
    let output = command.output().expect("it can be started");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
}

/// Whether a program is there; if not, says what is skipped.
pub(crate) fn has(program: &str, package: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        println!("skipped: there is no {program} (Debian: apt-get install {package})");
    }
    found
}

/// Compiles a program in C of `tests/interop/c`, if there are a compiler and a header; if not, says what is skipped.
pub(crate) fn compiled(name: &str, needs: (&str, &str)) -> Option<PathBuf> {
    compile(name, name, needs, &["-lrdmacm", "-libverbs"])
}

/// The same for a shared object that stands before libraries.
pub(crate) fn compiled_object(name: &str, needs: (&str, &str)) -> Option<PathBuf> {
    compile(name, &format!("{name}.so"), needs, &["-shared", "-fPIC"])
}

/// Compiles a program or shared object by these flags.
pub(crate) fn compile(
    name: &str,
    made: &str,
    (header, package): (&str, &str),
    flags: &[&str],
) -> Option<PathBuf> {
    if !has("cc", "gcc") {
        return None;
    }
    if !Path::new("/usr/include").join(header).exists() {
        println!("skipped: there is no {header} (Debian: apt-get install {package})");
        return None;
    }
    let folder = root().join("target/interop");
    std::fs::create_dir_all(&folder).expect("target can be written");
    let program = folder.join(made);
    let source = root().join(format!("tests/interop/c/{name}.c"));
    let mut compiler = Command::new("cc");
    compiler.args(["-Wall", "-Wextra", "-Werror", "-pthread", "-o"]);
    compiler.arg(&program).arg(source);
    compiler.arg("-L").arg(library()).args(flags);
    succeed(&mut compiler);
    Some(program)
}

/// One test at a time: programs talk by TCP ports of their own choice, and measure time.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A command that finds the library and has a device at an address.
pub(crate) fn at(address: &str, program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", library());
    command.env("FAIRLANE_ADDRESS", address);
    command
}
