//! Kinds of causes in words, and what could be changed about each.

use crate::findings::{Kind, Remedy};
use crate::records::{LinkKeys, Run};

pub(crate) const fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Receiver => "the receiver's link was full: more paths bring nothing",
        Kind::Collision => "a link was full while parallel ones had room",
        Kind::Fabric => "all parallel links of the fabric were full: more paths bring nothing",
        Kind::Sender => "the sender's link was full: more paths bring nothing",
        Kind::Pauses => "links were paused, and none on the way was full",
        Kind::Loss => "no link was full, but packets were lost and sent again",
        Kind::FailedPath => "no link was full, but a path had given up",
        Kind::RoundTrip => "messages were so short that they took the way there and back",
        Kind::ChunkCosts => "no link was full: the host was busy with chunks",
        Kind::ChunkDepth => "no link was full: too few chunks were in flight to fill the paths",
        Kind::CongestionControl => {
            "no link was full: rates, windows or the way there and back held messages up"
        }
        Kind::PathsShareAWay
        | Kind::PathShares
        | Kind::SlowestRanks
        | Kind::Idle
        | Kind::CoarseSamples
        | Kind::LinkFaults => "",
    }
}

const fn remedy(key: &'static str, what: &'static str) -> Remedy {
    Remedy { key, what }
}

/// What could be changed about a kind of cause.
pub(crate) fn remedies(run: &Run, kind: Kind) -> Vec<Remedy> {
    match kind {
        Kind::Receiver | Kind::Sender | Kind::Collision | Kind::Fabric => {
            links_to_change(&run.settings.links, run.multipath.is_some(), kind)
        }
        Kind::Pauses => vec![
            remedy("switch.pfc", "what pauses; pauses.csv says who and when"),
            remedy("switch.buffer", "more room before a pause"),
        ],
        Kind::Loss => vec![
            remedy(
                "transport.recovery",
                "\"selective-repeat\" sends again only what is lost",
            ),
            remedy("transport.ack_timeout", "a lost tail waits for this long"),
        ],
        Kind::FailedPath => vec![remedy(
            "faults.link",
            "links that fail; others carry the rest",
        )],
        Kind::RoundTrip => vec![remedy(
            "workload.size",
            "longer messages, or more of them at a time",
        )],
        Kind::ChunkCosts => vec![
            remedy("multipath.chunk", "larger chunks cost less often"),
            remedy(
                "multipath.costs",
                "what a work request, a completion and a chunk cost",
            ),
        ],
        Kind::ChunkDepth => vec![
            remedy("multipath.depth", "more chunks of a path in flight"),
            remedy("multipath.chunk", "larger chunks"),
        ],
        Kind::CongestionControl => vec![
            remedy(
                "congestion.scope",
                "who shares a controller: more paths of one share go no faster",
            ),
            remedy(
                "congestion",
                "window, rates and thresholds of the algorithm",
            ),
        ],
        _ => Vec::new(),
    }
}

/// What could be changed about links that are full.
fn links_to_change(keys: &LinkKeys, several: bool, kind: Kind) -> Vec<Remedy> {
    let faster = match keys.planes {
        true => "a faster link, or topology.planes for a second one",
        false => "a faster link",
    };
    let faster = remedy(keys.host, faster);
    match kind {
        Kind::Receiver => vec![
            faster,
            remedy("workload", "fewer senders to one receiver at a time"),
        ],
        Kind::Sender => vec![faster],
        Kind::Collision if several => vec![
            remedy(
                "multipath.plan",
                "source ports that take different ways; `fairlane paths` says which do",
            ),
            remedy("multipath.paths", "more paths reach more links by chance"),
        ],
        Kind::Collision => vec![
            remedy("multipath", "several paths for a message"),
            remedy(
                "switch.forwarding",
                "a policy that follows queues or chooses packet by packet",
            ),
        ],
        _ => vec![remedy(
            keys.fabric,
            "faster links, or more of them, between switches",
        )],
    }
}
