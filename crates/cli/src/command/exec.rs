//! `fairlane exec`.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairlane_softnic::{Interface, is_free};

use crate::args::Exec;
use crate::failure::Failure;
use crate::libraries;
use crate::print;

/// Becomes the program, which finds our libraries first and has an address of its own.
///
/// # Errors
/// If the libraries aren't there, the address isn't local, or the program can't be started.
pub(crate) fn exec(arguments: &Exec) -> Result<(), Failure> {
    let folder = libraries::folder();
    if !folder.join(libraries::VERBS).exists() {
        let place = folder.join(libraries::VERBS);
        return Err(Failure::at(&place, "there is no such library").hint(libraries::HINT));
    }
    let [program, rest @ ..] = arguments.program.as_slice() else {
        return Err(Failure::new("expected a program"));
    };
    if let Some(path) = find(program).filter(|path| is_privileged(path)) {
        print::say(format_args!(
            "warning: {} runs with other rights than yours (set-user-ID), so that the system ignores LD_LIBRARY_PATH: \
             it will not find this library",
            path.display()
        ));
    }
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("LD_LIBRARY_PATH", library_path(&folder));
    if let Some(address) = address(arguments.address)? {
        command.env(libraries::ADDRESS, address.to_string());
    }
    // It returns only if there is no such program.
    let error = command.exec();
    Err(Failure::at(Path::new(program), error))
}

/// Our folder in front of what is there.
fn library_path(folder: &Path) -> OsString {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut path = folder.into_os_string();
    if let Some(others) = std::env::var_os("LD_LIBRARY_PATH").filter(|others| !others.is_empty()) {
        path.push(":");
        path.push(others);
    }
    path
}

/// The address that is asked for, or a free one; none if the environment names one.
fn address(asked: Option<IpAddr>) -> Result<Option<IpAddr>, Failure> {
    if let Some(address) = asked {
        let own = Interface::of(address).filter(|own| own.is_up);
        let missing = || {
            Failure::new(format!(
                "--address {address}: no interface that is up has it"
            ))
            .hint("`fairlane doctor` lists addresses; of 127.0.0.0/8 every one will do")
        };
        return own.map(|_| Some(address)).ok_or_else(missing);
    }
    if std::env::var_os(libraries::ADDRESS).is_some() {
        return Ok(None);
    }
    Ok(free())
}

/// A free loopback address; processes that start at the same time begin to look at different ones. None if loopback is down.
fn free() -> Option<IpAddr> {
    const TRIES: u32 = 1000;
    let start = std::process::id();
    let address = |number: u32| {
        let [.., high, low] = number.to_be_bytes();
        IpAddr::from(Ipv4Addr::new(127, 76, high, low.max(1)))
    };
    let mut all = (0..TRIES).map(|step| address(start.wrapping_add(step)));
    all.find(|address| is_free(*address))
}

/// Where the shell would find a program.
fn find(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(program.into());
    }
    let path = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&path).map(|folder| folder.join(program));
    all.find(|path| path.is_file())
}

/// Whether it runs as another user or group than who starts it.
fn is_privileged(path: &Path) -> bool {
    const SET_USER_OR_GROUP: u32 = 0o6000;
    let Ok(own) = path.metadata() else {
        return false;
    };
    // Of a file of one's own the bits change nothing.
    let other = Path::new("/proc/self")
        .metadata()
        .is_ok_and(|me| me.uid() != own.uid());
    own.permissions().mode() & SET_USER_OR_GROUP != 0 && other
}
