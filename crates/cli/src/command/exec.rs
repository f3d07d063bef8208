//! `fairlane exec`.

use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use fairlane_softnic::{Faults, Interface, Settings};
use object::elf::{self, FileHeader64};
use object::endian::Endianness;
use object::read::elf::{Dyn as _, FileHeader as _};

use crate::args::Exec;
use crate::failure::Failure;
use crate::libraries;
use crate::prepared::SOCKET;
use crate::print;

mod faults;
mod namespace;
mod sysfs;

pub(crate) use sysfs::namespaces;

/// Becomes the program, which finds our libraries first and has an address of its own.
///
/// # Errors
/// If the libraries aren't there, the address isn't local, faults aren't understood, or the program can't be started.
pub(crate) fn exec(arguments: &Exec) -> Result<(), Failure> {
    let faults = arguments.faults.as_deref().map(faults::read).transpose()?;
    let folder = libraries::folder();
    if !folder.join(libraries::VERBS).exists() {
        let place = folder.join(libraries::VERBS);
        return Err(Failure::at(&place, "there is no such library").hint(libraries::HINT));
    }
    let [program, rest @ ..] = arguments.program.as_slice() else {
        return Err(Failure::new("expected a program"));
    };
    if let Some(path) = find(program) {
        warn(&path, arguments.preload);
    }
    let mut command = Command::new(program);
    command
        .args(rest)
        .env("LD_LIBRARY_PATH", before("LD_LIBRARY_PATH", &[&folder]));
    if let Some(faults) = faults {
        command.env(Faults::VARIABLE, faults.to_string());
    }
    let own = match arguments.host.and_then(|place| place.address()) {
        Some(place) => Some(place.to_string()),
        None => address(arguments.address)?,
    };
    if let Some(lab) = &arguments.lab {
        command.env(Settings::LAB, socket(lab)?);
    }
    if let Some(own) = &own {
        command.env(libraries::ADDRESS, own);
    }
    let mut first = Vec::new();
    if arguments.preload {
        first.extend([libraries::VERBS, libraries::MANAGER].map(|name| folder.join(name)));
    }
    first.extend(sysfs::show(&mut command, arguments.sysfs, own.as_deref())?);
    let first = first.iter().map(PathBuf::as_path);
    let first: Vec<&Path> = first.filter(|path| path.exists()).collect();
    if !first.is_empty() {
        command.env("LD_PRELOAD", before("LD_PRELOAD", &first));
    }
    // It returns only if there is no such program.
    let error = command.exec();
    Err(Failure::at(Path::new(program), error))
}

/// The socket of a lab: named itself, or by the directory that its results will be in.
fn socket(lab: &Path) -> Result<PathBuf, Failure> {
    let mut beside = lab.as_os_str().to_owned();
    beside.push(SOCKET);
    let candidates = [PathBuf::from(beside), lab.to_owned()];
    let found = candidates.iter().find(|path| path.exists());
    let missing = || {
        let failure = Failure::at(lab, "no lab has its results here, or listens");
        failure.hint("`fairlane lab` says where its programs attach")
    };
    let found = found.ok_or_else(missing)?;
    std::fs::canonicalize(found).map_err(|error| Failure::at(found, error))
}

/// Says why a program will not find our libraries.
fn warn(program: &Path, is_preloaded: bool) {
    let program_name = program.display();
    if is_privileged(program) {
        print::say(format_args!(
            "warning: {program_name} runs with other rights than yours (set-user-ID), so that the system ignores LD_LIBRARY_PATH: \
             it will not find this library"
        ));
    }
    let folder = own_folders(program)
        .into_iter()
        .find(|folder| folder.join(libraries::VERBS).exists());
    if let Some(folder) = folder.filter(|_| !is_preloaded) {
        print::say(format_args!(
            "warning: {program_name} takes libraries from {} (DT_RPATH) before it looks where LD_LIBRARY_PATH says: it will not \
             find this library\nhint: `fairlane exec --preload` loads it before all others",
            folder.display()
        ));
    }
}

/// Paths in front of what a variable has.
fn before(variable: &str, paths: &[&Path]) -> OsString {
    let mut all: Vec<OsString> = Vec::new();
    for path in paths {
        let whole = std::path::absolute(path).unwrap_or_else(|_| (*path).to_owned());
        all.push(whole.into_os_string());
    }
    all.extend(std::env::var_os(variable).filter(|others| !others.is_empty()));
    all.join(OsStr::new(":"))
}

/// Folders in which a program has the system look for libraries before all others.
fn own_folders(program: &Path) -> Vec<PathBuf> {
    let Some(paths) = std::fs::read(program).ok().and_then(|file| run_path(&file)) else {
        return Vec::new();
    };
    let origin = program.parent().unwrap_or_else(|| Path::new("."));
    let origin = origin.display().to_string();
    let folder = |path: &str| {
        path.replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin)
            .into()
    };
    paths.split(':').map(folder).collect()
}

/// `DT_RPATH` of an ELF file, which counts unless there is a `DT_RUNPATH`, too (ld.so(8)).
fn run_path(file: &[u8]) -> Option<String> {
    let header = FileHeader64::<Endianness>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let (entries, strings) = sections.dynamic(endian, file).ok()??;
    let strings = sections.strings(endian, file, strings).ok()?;
    let of = |tag: elf::DynamicTag| entries.iter().find(|entry| entry.tag(endian) == tag);
    if of(elf::DT_RUNPATH).is_some() {
        return None;
    }
    let path = of(elf::DT_RPATH)?.string(endian, strings).ok()?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// The address that is asked for, else what the environment names, else a prefix of which the program and each that it starts take a
/// free one; none if loopback is down.
fn address(asked: Option<IpAddr>) -> Result<Option<String>, Failure> {
    let is_up = |address: IpAddr| Interface::of(address).is_some_and(|own| own.is_up);
    if let Some(address) = asked {
        let missing = || {
            Failure::new(format!(
                "--address {address}: no interface that is up has it"
            ))
            .hint("`fairlane doctor` lists addresses; of 127.0.0.0/8 every one will do")
        };
        return is_up(address)
            .then(|| Some(address.to_string()))
            .ok_or_else(missing);
    }
    if let Ok(named) = std::env::var(libraries::ADDRESS) {
        return Ok(Some(named));
    }
    Ok(is_up(Ipv4Addr::new(127, 76, 0, 1).into()).then(|| libraries::PREFIX.to_owned()))
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
