//! Random scenarios whose messages take several paths.

use std::fmt::Write as _;

use fairlane_engine::Stream;
use fairlane_multipath::{BalancerKind, LimiterKind, TwoSided};

use super::{Draw, scenario};

/// Scenario number `seed` with messages that are divided among paths, in some way.
pub fn dividing(seed: u64) -> String {
    let mut draw = Draw(Stream::new(seed, 2));
    let connections = draw.of(&["message", "pair"]);
    let twins = match connections {
        "pair" => draw.of(&["route", "keep", "probe"]),
        _ => draw.of(&["route", "keep"]),
    };
    let balancer = draw.of(&BalancerKind::ALL);
    let limiter = draw.of(&LimiterKind::ALL);
    let mut section = format!(
        "[multipath]\nconnections = \"{connections}\"\ntwins = \"{twins}\"\n\
         balancer = \"{balancer}\"\nlimiter = \"{limiter}\"\n"
    );
    let paths = draw.of(&[2, 3, 8]);
    let chunk = draw.of(&["1kB", "5000B", "16KiB", "64KiB"]);
    let _ = writeln!(section, "paths = {paths}\nchunk = \"{chunk}\"");
    let _ = writeln!(section, "depth = {}", draw.of(&[1, 2, 5]));
    let _ = writeln!(section, "two_sided = \"{}\"", draw.of(&TwoSided::ALL));
    let _ = writeln!(section, "single_send = \"{}\"", draw.of(&["0B", "16KiB"]));
    let _ = writeln!(section, "messages = {}", draw.of(&[1, 3, 128]));
    let _ = writeln!(section, "probe = \"{}\"", draw.of(&["20kB", "512KiB"]));
    let _ = writeln!(section, "coupled = {}", draw.chance(60));
    let _ = writeln!(section, "retries = {}", draw.of(&[1, 7]));
    let first = draw.of(&["50us", "1ms"]);
    let _ = writeln!(
        section,
        "first_timeout = \"{first}\"\ntimeout_most = \"2ms\""
    );
    let _ = writeln!(
        section,
        "timeout_least = \"{}\"",
        draw.of(&["1us", "100us"])
    );
    if draw.chance(40) {
        let post = draw.of(&["0ns", "100ns", "2us"]);
        let _ = writeln!(section, "[multipath.costs]\npost = \"{post}\"");
    }
    let mut text = scenario(seed).replace("subflows = 3", "subflows = 1");
    if draw.chance(30) && !text.contains("[nic.costs]") {
        let (entries, time) = (draw.of(&[2, 20]), draw.of(&["0ns", "300ns", "2us"]));
        let _ = writeln!(
            section,
            "[nic.costs]\ncache_entries = {entries}\nprocessing = \"{time}\""
        );
    }
    if draw.chance(40) {
        for kind in ["incast", "flows"] {
            let (one, all) = (format!("kind = \"{kind}\""), draw.of(&[1, 4]));
            text = text.replace(&one, &format!("{one}\npaths = {all}"));
        }
    }
    format!("{text}\n{section}")
}
