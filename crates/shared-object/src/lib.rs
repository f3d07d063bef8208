//! Links an archive into a shared object whose symbols have the versions that a table says.
//!
//! `rustc` writes a version script of its own for shared objects, which knows no versions. So libraries that programs
//! of others are linked with are built as an archive, and linked here by the C compiler: with a version script, and with
//! an assembly file of entry points that the archive doesn't have, both made from a table of names.
//!
//! What this crate refuses: to know any library. Tables are in the crates whose functions they list.
//!
//! # A table
//! ```
//! use fairlane_shared_object::Table;
//!
//! let table = Table::parse("LIB_1.0\n    lib_open real\n    lib_old error\nLIB_1.1\n    lib_open2 null\n")?;
//! assert!(table.version_script().contains("LIB_1.1 {\n    global: lib_open2;\n    local: *;\n} LIB_1.0;"));
//! assert!(table.assembly().contains("lib_old@@LIB_1.0"));
//! # Ok::<(), fairlane_shared_object::Mistake>(())
//! ```
#![forbid(unsafe_code)]

mod assembly;
mod link;
mod table;

pub use link::{Failure, Link};
pub use table::{Mistake, Table};
