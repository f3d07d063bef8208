//! What receivers grant, and what tenants can make of it.

use std::fmt::Write as _;

use fairlane_fabric::Results;

use crate::common::{loaded, run};

/// Hosts at one switch; red has those in `red`, blue two more, and all send to the last one.
fn star(red: u32, stop: &str) -> String {
    let (first, last) = (red, red + 2);
    format!(
        "name=\"star\"\nstop=\"{stop}\"\n[topology]\nkind=\"star\"\nhosts={hosts}\n\
        host_link={{rate=\"100Gbps\",delay=\"1us\"}}\n[congestion]\nscope=\"tenant\"\n\
        [[tenant]]\nname=\"red\"\nhosts=\"0-{red_last}\"\n[[tenant]]\nname=\"blue\"\nhosts=\"{first}-{blue_last}\"\n\
        [[workload]]\nkind=\"flows\"\ntenant=\"blue\"\nflow=[{{source={first},destination={last},size=\"400MB\"}},\
        {{source={blue_last},destination={last},size=\"400MB\"}}]\n",
        hosts = last + 1,
        red_last = red - 1,
        blue_last = first + 1,
    )
}

/// Red's part of what arrived.
fn part(results: &Results) -> f64 {
    let placed: Vec<f64> = results
        .tenants
        .iter()
        .map(|tenant| tenant.placed.as_f64())
        .collect();
    placed[0] / (placed[0] + placed[1])
}

fn algorithm(name: &str) -> String {
    format!("congestion.algorithm=\"{name}\"")
}

#[test]
fn tenants_share_a_receiver_under_every_controller() {
    let mut text = star(8, "4ms");
    text += "[[workload]]\nkind=\"flows\"\ntenant=\"red\"\nflow=[";
    for source in 0..8 {
        let _ = write!(text, "{{source={source},destination=10,size=\"400MB\"}},");
    }
    text += "]\n";
    for name in ["dcqcn", "hpcc", "swift", "nscc", "timely", "powertcp"] {
        let part = part(&run(&loaded(&text, &[&algorithm(name)])));
        assert!((0.45..=0.55).contains(&part), "{name}: {part}");
    }
}

#[test]
fn short_messages_count_at_a_busy_receiver() {
    let mut text = star(12, "4ms");
    text += "[[workload]]\nkind=\"poisson\"\ntenant=\"red\"\nsources=\"0-11\"\ndestinations=\"14\"\nload=0.14\n\
        duration=\"4ms\"\nsizes=[{size=\"19kB\",percent=0},{size=\"20kB\",percent=100}]\n";
    for name in ["dcqcn", "hpcc", "timely"] {
        let part = part(&run(&loaded(&text, &[&algorithm(name)])));
        assert!(part < 0.7, "{name}: {part}");
    }
}

/// Who fills its own receivers from nearby has a large share there, of which its path across the core
/// knows nothing.
#[test]
fn a_share_of_a_receiver_is_none_of_the_core() {
    let flows = |tenant: &str, pairs: &[(u32, u32)]| {
        let mut text = format!("[[workload]]\nkind=\"flows\"\ntenant=\"{tenant}\"\nflow=[");
        for (source, destination) in pairs {
            let _ = write!(
                text,
                "{{source={source},destination={destination},size=\"400MB\"}},"
            );
        }
        text + "]\n"
    };
    let mut text = String::from(
        "name=\"core\"\nstop=\"4ms\"\n[topology]\nkind=\"dumbbell\"\nleft=8\nright=12\n\
        host_link={rate=\"100Gbps\",delay=\"1us\"}\ncore_link={rate=\"100Gbps\",delay=\"1us\"}\n\
        [congestion]\nscope=\"tenant\"\n[[tenant]]\nname=\"red\"\nhosts=\"0-3,8-15\"\n\
        [[tenant]]\nname=\"blue\"\nhosts=\"4-7,16-19\"\n",
    );
    text += &flows("red", &[(0, 8), (1, 9), (2, 10), (3, 11)]);
    text += &flows("blue", &[(4, 16), (5, 17), (6, 18), (7, 19)]);
    let filled = text.clone() + &flows("red", &[(12, 8), (13, 9), (14, 10), (15, 11)]);
    let blue = |text: &str, name: &str| run(&loaded(text, &[&algorithm(name)])).tenants[1].placed;
    for name in ["hpcc", "powertcp"] {
        let (before, with) = (blue(&text, name), blue(&filled, name));
        assert!(
            with.as_f64() > 0.9 * before.as_f64(),
            "{name}: {before} {with}"
        );
    }
}
