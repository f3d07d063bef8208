//! Scopes on a fabric: what they leave as it is, and what they divide.

use fairlane_fabric::Results;

use crate::common::{complete, flows, loaded, run, star};

const SHARED: [&str; 3] = ["destination-unsplit", "pair", "tenant"];

/// Two switches with two hosts each, tenants red (hosts 0 and 2) and blue (1 and 3), and messages: source,
/// destination, bytes, subflows; those of host 0 are red's.
fn dumbbell(list: &[(u32, u32, u64, u32)]) -> String {
    let link = "{ rate = \"100Gb/s\", delay = \"1us\" }";
    let mut text = format!(
        "topology = {{ kind = \"dumbbell\", left = 2, right = 2, host_link = {link}, core_link = {link} }}\n\
         tenant = [{{ name = \"red\", hosts = \"0,2\" }}, {{ name = \"blue\", hosts = \"1,3\" }}]\n"
    );
    for (tenant, host) in [("red", 0), ("blue", 1)] {
        let own = list.iter().filter(|(source, ..)| *source == host);
        text += &format!("[[workload]]\nkind = \"flows\"\ntenant = \"{tenant}\"\n");
        for (source, destination, size, subflows) in own {
            text += &format!(
                "[[workload.flow]]\nsource = {source}\ndestination = {destination}\n\
                 size = \"{size}B\"\nsubflows = {subflows}\n"
            );
        }
    }
    text
}

/// A star on which red's host 0 and blue's host 1 send so many bytes to host 2; 0: nothing.
fn to_one_host(sizes: &[u64]) -> String {
    let mut text = "topology = { kind = \"star\", hosts = 3, host_link = { rate = \"100Gb/s\", delay = \"1us\" } }\n\
         tenant = [{ name = \"red\" }, { name = \"blue\" }]\n"
        .to_owned();
    for (host, size) in sizes.iter().enumerate().filter(|(_, size)| **size > 0) {
        let tenant = ["red", "blue"][host];
        text += &format!(
            "[[workload]]\nkind = \"flows\"\ntenant = \"{tenant}\"\n\
             [[workload.flow]]\nsource = {host}\ndestination = 2\nsize = \"{size}B\"\n"
        );
    }
    text
}

fn finishes(results: &Results) -> Vec<u64> {
    let mut all: Vec<_> = results.messages.iter().collect();
    all.sort_by_key(|message| message.id.get());
    all.iter()
        .map(|message| message.finish.map_or(u64::MAX, |at| at.as_ps()))
        .collect()
}

/// Payload per tenant when the run stops.
fn placed(results: &Results) -> Vec<f64> {
    results
        .tenants
        .iter()
        .map(|tenant| tenant.placed.as_f64())
        .collect()
}

#[test]
fn one_queue_pair_to_each_destination_is_controlled_alike_in_every_scope() {
    let text = dumbbell(&[(0, 2, 10_000_000, 1), (1, 3, 10_000_000, 1)]);
    let alone = complete(&loaded(&text, &["congestion.scope=\"qp\""]));
    assert!(alone.signals.ecn_marks.count > 0);
    for scope in ["destination-unsplit", "pair"] {
        let set = format!("congestion.scope=\"{scope}\"");
        let shared = complete(&loaded(&text, &[&set]));
        assert_eq!(finishes(&shared), finishes(&alone), "{scope}");
    }
}

#[test]
fn without_control_everybody_sends_at_line_rate() {
    let text = dumbbell(&[(0, 2, 5_000_000, 1), (1, 3, 5_000_000, 1)]);
    for algorithm in ["dcqcn", "hpcc", "swift"] {
        let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
        let free = complete(&loaded(&text, &["congestion.scope=\"none\"", &algorithm]));
        let fixed = complete(&loaded(&text, &["congestion.algorithm=\"fixed\""]));
        assert_eq!(finishes(&free), finishes(&fixed), "{algorithm}");
    }
}

#[test]
fn sixteen_queue_pairs_gain_only_where_each_has_a_rate_of_its_own() {
    let mut list = vec![(1, 3, 200_000_000, 1)];
    list.extend([(0, 2, 20_000_000, 1); 16]);
    let text = dumbbell(&list);
    let share = |scope: &str| {
        let scope = format!("congestion.scope=\"{scope}\"");
        let results = run(&loaded(&text, &[&scope, "stop=\"3ms\""]));
        let placed = placed(&results);
        placed[0] / (placed[0] + placed[1])
    };
    assert!(share("qp") > 0.7, "{}", share("qp"));
    assert!(share("destination-unsplit") > 0.6);
    for scope in ["pair", "tenant"] {
        let share = share(scope);
        assert!((0.3..=0.55).contains(&share), "{scope}: {share}");
    }
}

#[test]
fn subflows_share_what_one_connection_has() {
    let text = |subflows| dumbbell(&[(0, 2, 200_000_000, subflows), (1, 3, 200_000_000, 1)]);
    let share = |subflows, scope: &str| {
        let scope = format!("congestion.scope=\"{scope}\"");
        let results = run(&loaded(&text(subflows), &[&scope, "stop=\"3ms\""]));
        let placed = placed(&results);
        placed[0] / (placed[0] + placed[1])
    };
    assert!(share(8, "qp") > 1.3 * share(1, "qp"));
    for scope in ["pair", "tenant"] {
        let (one, eight) = (share(1, scope), share(8, scope));
        assert!(
            (0.9..=1.1).contains(&(eight / one)),
            "{scope}: {one} {eight}"
        );
    }
}

#[test]
fn every_verb_and_algorithm_completes_in_every_scope() {
    let traffic = flows(&[
        (0, 2, 300_000, "0ns"),
        (1, 2, 300_000, "0ns"),
        (0, 2, 20, "1us"),
        (3, 2, 100_000, "5us"),
    ]);
    for scope in SHARED {
        for algorithm in [
            "dcqcn", "hpcc", "swift", "nscc", "timely", "dctcp", "powertcp", "fixed",
        ] {
            for verb in ["write", "send", "read"] {
                let scope = format!("congestion.scope=\"{scope}\"");
                let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
                let verb = format!("workload.0.verb=\"{verb}\"");
                let text = format!("{}{traffic}", star(4));
                let results = complete(&loaded(&text, &[&scope, &algorithm, &verb]));
                assert_eq!(results.messages.len(), 4);
            }
        }
    }
}

#[test]
fn scopes_survive_loss_and_notifications_apart() {
    let traffic = flows(&[(0, 2, 3_000_000, "0ns"), (1, 2, 3_000_000, "0ns")]);
    for scope in SHARED {
        let scope = format!("congestion.scope=\"{scope}\"");
        let text = format!("{}{traffic}", star(3));
        let lossy = ["faults.loss_rate=0.001", "transport.ack_timeout=\"200us\""];
        complete(&loaded(&text, &[&scope, lossy[0], lossy[1]]));
        let apart = complete(&loaded(&text, &[&scope, "congestion.notification=\"cnp\""]));
        // Where receivers divide their links, ports in front of them don't mark.
        let marked = apart.signals.cnps.count > 0;
        assert_eq!(marked, !scope.contains("tenant"), "{scope}");
        complete(&loaded(
            &text,
            &[&scope, "switch.pfc.enabled=false", lossy[1]],
        ));
    }
}

#[test]
fn ingress_ports_take_turns_if_asked() {
    // Three hosts on one side of a star send to one: two of them over links of their own.
    let text = dumbbell(&[(0, 2, 100_000_000, 1), (1, 3, 100_000_000, 1)]);
    let free = ["congestion.scope=\"none\"", "stop=\"1ms\""];
    let results = run(&loaded(
        &text,
        &[free[0], free[1], "switch.arbitration=\"ingress\""],
    ));
    let placed = placed(&results);
    assert!((placed[0] / placed[1] - 1.0).abs() < 0.01, "{placed:?}");
}

#[test]
fn switches_that_know_tenants_bring_them_to_their_parts() {
    // Four senders of red's against one of blue's, over one link, each with a queue pair of its own.
    let link = "{ rate = \"100Gb/s\", delay = \"1us\" }";
    let mut text = format!(
        "topology = {{ kind = \"dumbbell\", left = 5, right = 5, host_link = {link}, core_link = {link} }}\n\
         stop = \"4ms\"\n\
         tenant = [{{ name = \"red\", hosts = \"0-3,5-8\" }}, {{ name = \"blue\", hosts = \"4,9\" }}]\n"
    );
    text += "[[workload]]\nkind = \"flows\"\ntenant = \"red\"\n";
    for host in 0..4 {
        text += &format!(
            "[[workload.flow]]\nsource = {host}\ndestination = {}\nsize = \"100MB\"\n",
            host + 5
        );
    }
    text += "[[workload]]\nkind = \"flows\"\ntenant = \"blue\"\n\
             [[workload.flow]]\nsource = 4\ndestination = 9\nsize = \"100MB\"\n";
    for algorithm in ["dcqcn", "hpcc"] {
        let algorithm = format!("congestion.algorithm=\"{algorithm}\"");
        let share = |feedback: &str| {
            let placed = placed(&run(&loaded(&text, &[&algorithm, feedback])));
            placed[1] / (placed[0] + placed[1])
        };
        let (without, with) = (
            share("switch.tenant_feedback=false"),
            share("switch.tenant_feedback=true"),
        );
        assert!(without < 0.3, "{algorithm}: {without}");
        assert!(with > without + 0.1, "{algorithm}: {without} {with}");
    }
}

#[test]
fn many_destinations_are_worth_no_more_than_one() {
    let link = "{ rate = \"100Gb/s\", delay = \"1us\" }";
    let mut text = format!(
        "stop = \"4ms\"\n\
         topology = {{ kind = \"dumbbell\", left = 10, right = 10, host_link = {link}, core_link = {link} }}\n\
         tenant = [{{ name = \"red\" }}, {{ name = \"blue\" }}]\n\
         [[workload]]\nkind = \"flows\"\ntenant = \"red\"\n"
    );
    for destination in 10..18 {
        text += &format!(
            "[[workload.flow]]\nsource = 0\ndestination = {destination}\nsize = \"100MB\"\n"
        );
    }
    text += "[[workload]]\nkind = \"flows\"\ntenant = \"blue\"\n\
             [[workload.flow]]\nsource = 1\ndestination = 19\nsize = \"100MB\"\n";
    // Nobody but a switch sees whose packets meet in the core. DCQCN's least rate is what is left of the advantage there.
    for (algorithm, most) in [("dcqcn", 3.0), ("hpcc", 1.2)] {
        let algorithm = format!("congestion.algorithm={algorithm}");
        let over = |helps: &str| {
            let set = [algorithm.as_str(), "congestion.scope=tenant", helps];
            let placed = placed(&run(&loaded(&text, &set)));
            placed[0] / placed[1]
        };
        let (alone, helped) = (
            over("switch.tenant_feedback=false"),
            over("switch.tenant_feedback=true"),
        );
        assert!(
            helped <= most && helped < 0.5 * alone,
            "{algorithm}: {alone} {helped}"
        );
    }
}

#[test]
fn a_tenant_alone_waits_for_its_share_once() {
    // Messages that are all beginning, mostly beginning, and hardly any.
    for size in [20_000, 300_000, 1_000_000, 20_000_000] {
        let text = to_one_host(&[size, 0]);
        for algorithm in ["dcqcn", "hpcc"] {
            let algorithm = format!("congestion.algorithm={algorithm}");
            let end = |scope: &str| {
                let results = run(&loaded(&text, &[&algorithm, scope]));
                results.messages[0].finish.expect("it ends").as_ps() as f64 / 1e6
            };
            let (own, tenant) = (end("congestion.scope=qp"), end("congestion.scope=tenant"));
            // Half a bandwidth-delay product leaves before the share comes, which takes a round trip of 4.3 us.
            let wait = if size > 20_000 { 2.2 } else { 0.0 };
            let most = own * 1.005 + wait;
            assert!(
                tenant < most,
                "{algorithm}, {size} bytes: {own}, {tenant} us"
            );
        }
    }
}

/// Messages of a ring that go ahead of others of their pair come before their turn, and steps of different length meet.
#[test]
fn a_ring_takes_no_longer_than_per_queue_pair() {
    let text = "topology = { kind = \"leaf-spine\", leaves = 4, spines = 2, hosts_per_leaf = 4, \
         host_link = { rate = \"100Gbps\", delay = \"1us\" }, fabric_link = { rate = \"100Gbps\", delay = \"1us\" } }\n\
         tenant = [{ name = \"red\" }]\n[[workload]]\nkind = \"collective\"\ntenant = \"red\"\n\
         operation = \"all-reduce\"\nalgorithm = \"ring\"\nsize = \"16MiB\"\n";
    for algorithm in ["dcqcn", "hpcc", "swift"] {
        let algorithm = format!("congestion.algorithm={algorithm}");
        let end = |scope: &str| {
            let results = run(&loaded(text, &[&algorithm, scope]));
            results.totals.end.as_ps() as f64
        };
        let price = end("congestion.scope=tenant") / end("congestion.scope=qp");
        assert!((0.95..1.05).contains(&price), "{algorithm}: {price}");
    }
}

/// Twelve hosts fill the core for 2 ms; 6 ms later one of them sends again, alone. By how many us that takes longer than per
/// queue pair.
fn long_after_congestion(algorithm: &str, size: &str) -> f64 {
    let rush: String = (0..12)
        .map(|host| {
            format!(
                "{{ source = {host}, destination = {}, size = \"2MB\" }}, ",
                host + 12
            )
        })
        .collect();
    let link = "{ rate = \"100Gb/s\", delay = \"1us\" }";
    let text = format!(
        "topology = {{ kind = \"dumbbell\", left = 12, right = 12, host_link = {link}, core_link = {link} }}\n\
         tenant = [{{ name = \"red\" }}]\n[[workload]]\nkind = \"flows\"\ntenant = \"red\"\n\
         flow = [{rush}{{ source = 0, destination = 12, size = \"{size}\", start = \"8ms\" }}]\n"
    );
    let algorithm = format!("congestion.algorithm={algorithm}");
    let last = |scope: &str| {
        let results = run(&loaded(&text, &[&algorithm, scope]));
        let all = results.messages.iter();
        let message = all.max_by_key(|message| message.start).unwrap();
        (message.finish.expect("it ends") - message.start).as_ns_f64() / 1e3
    };
    last("congestion.scope=tenant") - last("congestion.scope=qp")
}

#[test]
fn congestion_of_long_ago_costs_a_few_round_trips() {
    for algorithm in ["hpcc", "powertcp", "nscc"] {
        let more = long_after_congestion(algorithm, "1MB");
        // A round trip takes 6 us.
        assert!((-1.0..40.0).contains(&more), "{algorithm}: {more} us");
    }
}

#[test]
fn congestion_of_long_ago_costs_a_short_message_nothing() {
    for algorithm in ["dcqcn", "hpcc", "powertcp", "nscc", "swift"] {
        // Half a bandwidth-delay product is 37 kB.
        let more = long_after_congestion(algorithm, "30kB");
        assert!((-0.1..0.1).contains(&more), "{algorithm}: {more} us");
    }
}

#[test]
fn a_link_is_used_again_when_others_have_gone() {
    let text = to_one_host(&[100_000_000, 12_000_000]);
    for algorithm in ["dcqcn", "hpcc", "swift", "nscc"] {
        let algorithm = format!("congestion.algorithm={algorithm}");
        let results = run(&loaded(&text, &[&algorithm, "congestion.scope=tenant"]));
        let end = results.totals.end.as_ps() as f64 * 1e-9;
        // 112 MB take 9.4 ms with headers at 100 Gb/s.
        assert!(end < 11.5, "{algorithm}: {end} ms");
    }
}

#[test]
fn feedback_for_a_read_counts_after_its_end() {
    // Two hosts' data meet at host 0. Each READ is over before the feedback for its packets is back.
    let reads: String = (0..200)
        .map(|at| {
            let start = 2 * at;
            format!(
                "[[workload.flow]]\nsource = 0\ndestination = 2\nsize = \"20kB\"\nstart = \"{start}us\"\n"
            )
        })
        .collect();
    let text = format!(
        "stop = \"20ms\"\n[topology]\nkind = \"star\"\nhosts = 3\nhost_link = {{ rate = \"100Gb/s\", delay = \"1us\" }}\n\
         [[tenant]]\nname = \"red\"\n[[tenant]]\nname = \"blue\"\n\
         [[workload]]\nkind = \"flows\"\ntenant = \"red\"\nverb = \"read\"\n{reads}\
         [[workload]]\nkind = \"flows\"\ntenant = \"blue\"\n\
         [[workload.flow]]\nsource = 1\ndestination = 0\nsize = \"20MB\"\n"
    );
    let end = |scope: &str| {
        let scope = format!("congestion.scope=\"{scope}\"");
        let results = complete(&loaded(&text, &[&scope]));
        let reads = results
            .messages
            .iter()
            .filter(|one| one.size.get() == 20_000);
        reads.filter_map(|one| one.finish).max().unwrap().as_ps()
    };
    let (alone, shared) = (end("qp"), end("pair"));
    assert!(shared > alone * 3 / 2, "{alone} {shared}");
}
