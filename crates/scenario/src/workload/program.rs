//! Programs that traces have recorded.

use fairlane_traces::Format;
use fairlane_units::{Duration, NodeId};

use super::context::Context;
use super::kind::{Figures, Kind, Source, StatedSizes, workload};
use super::message::MessageSpec;
use super::messages::Messages;
use super::ranks::{self, Placed};
use crate::collective::{TraceFormat, TracePath};
use crate::error::{Error, ensure};
use crate::host_set::HostSet;
use crate::inputs::TraceFile;
use crate::rules::range;
use crate::section::Check;

workload! {
    /// The program of a trace.
    Program [hosts] {
        /// The trace, relative to the scenario: a file, or those of all ranks as a folder, a pattern (`"t.*.et"`), the beginning of
        /// their names, or a list.
        path: TracePath,
        /// Its format; left out, by extension: `.goal` or `.et`.
        format: Option<TraceFormat>,
        /// When it begins.
        start: Duration = "Duration::default" => span,
        /// Hosts that take part.
        hosts: HostSet = "HostSet::default",
        /// By rank, the index of its host among `hosts`; left out, rank r runs on the r-th.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        placement: Vec<u32>,
    } + class + rank + sends + owner & paths
}

impl Kind for Program {
    fn check(&self, context: &Context<'_>) -> Check {
        check(context, self)
    }

    fn sizes(&self, _: &Context<'_>) -> Option<StatedSizes> {
        None
    }

    fn source(&self) -> Source<'_> {
        Source::Trace(&self.path)
    }

    fn generate(&self, context: &Context<'_>, messages: &mut Messages) -> Result<(), Error> {
        let trace = read(context, self.format, context.trace()?)?;
        let hosts = context.members("hosts", &self.hosts)?;
        let hosts = placed(context, &hosts, &self.placement, trace.ranks.len())?;
        let template = MessageSpec {
            delay: self.send_latency,
            ..context.template(self.verb, self.class, self.start)
        };
        messages.steps.recorded.push(context.index);
        let placed = Placed {
            key: "path",
            program: &trace,
            hosts: &hosts,
            channels: self.channels,
        };
        placed.add(context, &template, messages)
    }

    fn heading(&self, _: &dyn Figures) -> String {
        format!("program of {}", self.path.name())
    }
}

fn check(context: &Context<'_>, it: &Program) -> Check {
    let count = ranks::count(context, it.verb, &it.hosts)?;
    ensure!(!matches!(&it.path, TracePath::Each(paths) if paths.is_empty()), context.key("path"),
        "has no file, expected one for each rank"; "name the files");
    let mut taken = vec![false; count as usize];
    for (rank, &place) in it.placement.iter().enumerate() {
        let key = context.key(&format!("placement[{rank}]"));
        range(place, 0, count.saturating_sub(1)).map_err(|error| error.at(&key))?;
        ensure!(!std::mem::replace(&mut taken[place as usize], true), key,
            "is {place}, where an earlier rank is, expected a host of its own";
            "name every place once at most");
    }
    Ok(())
}

/// Reads a trace in the format that is stated, or that the names of its files say.
fn read(
    context: &Context<'_>,
    format: Option<TraceFormat>,
    files: &[TraceFile],
) -> Result<fairlane_program::Program, Error> {
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
    hosts: &[NodeId],
    placement: &[u32],
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
