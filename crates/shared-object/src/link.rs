//! The final link.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::table::{Mistake, Table};

/// What is linked, from what.
#[derive(Clone, Debug)]
pub struct Link {
    /// The table of symbols.
    pub table: PathBuf,
    /// The archive that has the functions.
    pub archive: PathBuf,
    /// The shared object, whose file name is what programs ask for.
    pub output: PathBuf,
    /// Other shared objects that it needs.
    pub needs: Vec<PathBuf>,
}

/// Why there is no shared object.
#[derive(Debug)]
pub enum Failure {
    /// The table can't be understood.
    Table(PathBuf, Mistake),
    /// A file can't be read or written.
    File(PathBuf, io::Error),
    /// The compiler can't be started.
    Compiler(io::Error),
    /// The compiler has said what it doesn't like.
    Refused,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table(path, mistake) => write!(f, "{}: {mistake}", path.display()),
            Self::File(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Compiler(error) => write!(
                f,
                "cc: {error}\nhint: install a C compiler (Debian, Ubuntu: apt-get install build-essential)"
            ),
            Self::Refused => f.write_str("cc couldn't link the shared object, see above"),
        }
    }
}

impl std::error::Error for Failure {}

impl Link {
    /// Links the shared object, and makes a link to it without version number, for `-l`.
    ///
    /// # Errors
    /// If a file can't be read or written, or the compiler refuses.
    pub fn run(&self) -> Result<(), Failure> {
        let text = std::fs::read_to_string(&self.table);
        let text = text.map_err(|error| Failure::File(self.table.clone(), error))?;
        let table = Table::parse(&text);
        let table = table.map_err(|mistake| Failure::Table(self.table.clone(), mistake))?;
        let folder = self.output.parent().unwrap_or_else(|| Path::new("."));
        std::fs::create_dir_all(folder).map_err(|error| Failure::File(folder.into(), error))?;
        let (script, entries) = (self.beside("map"), self.beside("S"));
        write(&script, &table.version_script())?;
        write(&entries, &table.assembly())?;
        // Programs that run have the old file open; they keep it.
        let fresh = self.beside("new");
        let status = self.command(&table, [&script, &entries, &fresh]).status();
        if !status.map_err(Failure::Compiler)?.success() {
            return Err(Failure::Refused);
        }
        let renamed = std::fs::rename(&fresh, &self.output);
        renamed.map_err(|error| Failure::File(self.output.clone(), error))?;
        self.alias()
    }

    fn name(&self) -> String {
        let name = self.output.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    fn beside(&self, extension: &str) -> PathBuf {
        self.output
            .with_file_name(format!("{}.{extension}", self.name()))
    }

    fn command(&self, table: &Table, [script, entries, output]: [&PathBuf; 3]) -> Command {
        let mut command = Command::new("cc");
        command.args(["-shared", "-fPIC", "-o"]).arg(output);
        command.arg(entries);
        for name in table.real() {
            command.arg(format!("-Wl,-u,{name}"));
        }
        command.arg(&self.archive).args(&self.needs);
        command.arg(format!("-Wl,-soname,{}", self.name()));
        command.arg(format!("-Wl,--version-script={}", script.display()));
        command.args([
            "-Wl,-Bsymbolic-functions",
            "-Wl,--gc-sections",
            "-Wl,-z,defs",
            "-Wl,-z,relro",
            "-Wl,-z,now",
            // Threads of it may still run when somebody closes it.
            "-Wl,-z,nodelete",
            "-Wl,--as-needed",
            "-lgcc_s",
            "-lpthread",
            "-lm",
            "-ldl",
        ]);
        command
    }

    /// `libx.so` for `libx.so.1`.
    fn alias(&self) -> Result<(), Failure> {
        let name = self.name();
        let Some(end) = name.find(".so.") else {
            return Ok(());
        };
        let alias = self.output.with_file_name(&name[..end + 3]);
        let _ = std::fs::remove_file(&alias);
        let linked = std::os::unix::fs::symlink(&name, &alias);
        linked.map_err(|error| Failure::File(alias, error))
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| Failure::File(path.into(), error))
}
