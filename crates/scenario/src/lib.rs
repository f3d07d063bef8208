//! The scenario file.
mod defaults;
mod types;
pub use types::*;
