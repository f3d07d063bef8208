//! `fairlane drum random`.

use std::io::{self, BufWriter, Write};

use crate::args::Random;
use crate::command::drum::failure;
use crate::failure::{Failure, from_stdout};

/// Writes random problems, one per line.
///
/// # Errors
/// If the arguments don't go together, or standard output can't be written.
pub(crate) fn random(arguments: &Random) -> Result<(), Failure> {
    let asked = fairlane_drum_file::Random {
        hosts: arguments.hosts,
        applications: arguments.apps,
        seed: arguments.seed,
        alpha: arguments.alpha,
        beta: arguments.beta,
        mode: arguments.mode.into(),
        k: arguments.k,
        coupled: arguments.coupled,
    };
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout());
    for document in asked.documents().map_err(|error| failure("", error))? {
        serde_json::to_writer(&mut out, &document)
            .map_err(io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|error| from_stdout(&error))?;
    }
    out.flush().map_err(|error| from_stdout(&error))
}
