//! `fairlane export hpcc-fct`.

use crate::args::ExportFile;
use crate::command::export::replace;
use crate::failure::Failure;
use crate::read::{self, FlowRow};

/// Writes the completed messages in the completion-time text of HPCC's simulator.
///
/// # Errors
/// If the results can't be read or the file can't be written; then a file of that name is as it was.
pub(crate) fn hpcc_fct(arguments: &ExportFile) -> Result<(), Failure> {
    replace((&arguments.output, arguments.force), |out| {
        for flow in read::flows(&arguments.results)? {
            let line = line(&flow?)?.unwrap_or_default();
            let written = out.write_all(line.as_bytes());
            written.map_err(|error| Failure::at(&arguments.output, error))?;
        }
        Ok(())
    })
}

/// The line of a message: addresses in hexadecimal, ports, bytes, then start, completion time and
/// standalone time in nanoseconds. `None` if it didn't complete.
fn line(flow: &FlowRow) -> Result<Option<String>, Failure> {
    let Some(completion) = flow.completion_ps else {
        return Ok(None);
    };
    Ok(Some(format!(
        "{:08x} {:08x} {} {} {} {} {} {}\n",
        address(flow.source)?,
        address(flow.destination)?,
        flow.source_port,
        flow.destination_port,
        flow.size_bytes,
        flow.start_ps / PS_PER_NS,
        completion / PS_PER_NS,
        flow.standalone_ns,
    )))
}

const PS_PER_NS: u64 = 1000;

/// The IPv4 address that the format gives to a node: 11.x.y.1 with the node's number in x and y.
fn address(node: u32) -> Result<u32, Failure> {
    if node > 0xffff {
        return Err(
            Failure::new(format!("node {node}: this format has 65536 nodes at most"))
                .hint("flows.csv and flows.parquet have no such limit"),
        );
    }
    Ok(0x0b00_0001 + ((node / 256) << 16) + ((node % 256) << 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_the_format() {
        assert_eq!(address(3).unwrap(), 0x0b00_0301);
        assert_eq!(address(256).unwrap(), 0x0b01_0001);
        assert_eq!(address(0x1234).unwrap(), 0x0b12_3401);
        assert!(address(0x1_0000).is_err());
    }
}
