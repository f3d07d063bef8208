//! Receivers that apportion their links, in a fabric: docs/dasr.md.

mod common;

use common::{complete, loaded, taken};

/// An endless flow of host 0 and messages of the others to the last one, with a start each, in ns.
fn incast(starts: &[u64], size: &str) -> String {
    let senders = starts.len() as u32;
    let mut text = format!(
        "stop=\"2ms\"\n[topology]\nkind=\"star\"\nhosts={}\nhost_link={{rate=\"56Gbps\",delay=\"1us\"}}\n\
        [transport]\nack_control_class=true\n[[workload]]\nkind=\"flows\"\nflow=[\
        {{source=0,destination={},size=\"400MB\"}},",
        senders + 2,
        senders + 1
    );
    for (at, start) in starts.iter().enumerate() {
        text += &format!(
            "{{source={},destination={},size=\"{size}\",start=\"{start}ns\"}},",
            at + 1,
            senders + 1
        );
    }
    text + "]\n"
}

fn mode(name: &str) -> String {
    format!("congestion.dasr.mode=\"{name}\"")
}

#[test]
fn explore() {
    for n in [8u64, 16] {
        let starts: Vec<u64> = (0..n).map(|i| 100_000 + i * 100_000 / n).collect();
        let text = incast(&starts, "256kB");
        for name in [
            "off",
            "window",
            "count",
            "weighted",
            "demand-aware",
            "measured",
            "shortest-first",
        ] {
            let results = common::run(&loaded(&text, &[&mode(name)]));
            let mut all: Vec<u64> = (1..=n as u32)
                .map(|id| results.messages.iter().find(|m| m.id == id).unwrap())
                .map(|m| m.finish.map_or(0, |f| (f - m.start).as_ns()))
                .collect();
            all.sort();
            let long = results
                .messages
                .iter()
                .find(|m| m.id == 0)
                .unwrap()
                .acknowledged;
            println!(
                "{n} {name}: median {} max {} queue {} pauses {} marks {} filtered {:?} long {} timeouts {} again {} {:?}",
                all[all.len() / 2],
                all[all.len() - 1],
                results.totals.queue_max,
                results.signals.pauses.count,
                results.signals.ecn_marks.count,
                results.signals.filtered_marks.as_ref().map(|s| s.count),
                long,
                results.signals.timeouts.count,
                results.signals.retransmissions.count,
                results.totals.ending
            );
        }
    }
}
