//! `fairlane export pcap`.

use std::io::Write;

use crate::args::ExportFile;
use crate::command::export::replace;
use crate::failure::Failure;
use crate::pcap::{Exporter, Refusal};
use crate::read::Capture;

/// Writes the packets of captured ports as pcapng.
///
/// # Errors
/// If nothing was captured, the results can't be read, or the file can't be written; then a file of
/// that name is as it was.
pub(crate) fn pcap(arguments: &ExportFile) -> Result<(), Failure> {
    let capture = Capture::open(&arguments.results)?;
    replace((&arguments.output, arguments.force), |out| {
        write(arguments, &capture, out)
    })
}

fn write(arguments: &ExportFile, capture: &Capture, out: &mut dyn Write) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| Failure::at(&arguments.output, error);
    let mut exporter = Exporter::begin(out, &capture.ports, &capture.captured).map_err(cannot)?;
    for (number, row) in capture.packets()?.enumerate() {
        let row = row?;
        let refuse = |what: String| {
            let message = format!("captured packet {number} {what}");
            Failure::at(&arguments.results, message).hint("run the scenario again")
        };
        exporter.packet(&row).map_err(|refusal| match refusal {
            Refusal::Io(error) => cannot(error),
            Refusal::Wire(error) => refuse(format!("has no form on the wire: {error}")),
            Refusal::Port => refuse(format!(
                "passed port {}, which isn't captured",
                row.record.port
            )),
        })?;
    }
    Ok(())
}
