//! Programs that traces have recorded.

use fairlane_program::Program;
use fairlane_scenario::{self as scenario, Error, TraceFile, TraceFormat};
use fairlane_traces::Format;
use fairlane_units::{Bytes, NodeId};

use super::context::{Context, Messages};
use super::program;

pub(super) fn generate(
    context: &Context<'_>,
    it: &scenario::Program,
    messages: &mut Messages,
) -> Result<(), Error> {
    let trace = read(context, it.format, context.trace()?)?;
    let hosts = context.members(&it.hosts, "hosts")?;
    let hosts = placed(context, (&hosts, &it.placement), trace.ranks.len())?;
    let template = context.template(Bytes::new(1), it.start, it.class)?;
    messages.steps.recorded.push(context.index);
    program::add(context, &template, ("path", &trace, &hosts), messages)
}

/// Reads a trace in the format that is stated, or that the names of its files say.
fn read(
    context: &Context<'_>,
    format: Option<TraceFormat>,
    files: &[TraceFile],
) -> Result<Program, Error> {
    let ends_in = |ending: &str| {
        let plain = |file: &TraceFile| {
            file.name
                .strip_suffix(".gz")
                .unwrap_or(&file.name)
                .ends_with(ending)
        };
        files.iter().any(plain)
    };
    let format = match format {
        Some(TraceFormat::Goal) => Format::Goal,
        Some(TraceFormat::Chakra) => Format::Chakra,
        None if ends_in(".goal") => Format::Goal,
        None if ends_in(".et") => Format::Chakra,
        None => {
            let message = "isn't stated, expected \"goal\" or \"chakra\"";
            let hint = "only from .goal and .et the format follows";
            return Err(context.error("format", message, hint));
        }
    };
    let files: Vec<(&str, &[u8])> = files
        .iter()
        .map(|file| (file.name.as_str(), file.bytes.as_slice()))
        .collect();
    fairlane_traces::read(format, &files)
}

/// The host of each rank.
fn placed(
    context: &Context<'_>,
    (hosts, placement): (&[NodeId], &[u32]),
    ranks: usize,
) -> Result<Vec<NodeId>, Error> {
    if ranks > hosts.len() {
        let message = format!(
            "has {} hosts, expected one for each of {ranks} ranks",
            hosts.len()
        );
        return Err(context.error(
            "hosts",
            message,
            "name more hosts, or build a larger fabric",
        ));
    }
    if placement.is_empty() {
        return Ok(hosts[..ranks].to_vec());
    }
    if placement.len() != ranks {
        let message = format!(
            "has {} places, expected one for each of {ranks} ranks",
            placement.len()
        );
        return Err(context.error(
            "placement",
            message,
            "leave it out for hosts in ascending order",
        ));
    }
    let host = |&place: &u32| {
        hosts.get(place as usize).copied().ok_or_else(|| {
            let message = format!("is {place}, expected 0 to {}", hosts.len() - 1);
            context.error("placement", message, "a place is an index into `hosts`")
        })
    };
    placement.iter().map(host).collect()
}
