//! What attacks make of messages.

use std::collections::{BTreeMap, BTreeSet};

use fairlane_attacks::Plan;
use fairlane_units::{Bytes, MessageId, Time};
use proptest::prelude::*;

use crate::common::{dumbbell, flows, plan, star};

/// Random traffic of both tenants between twelve hosts, with messages of up to 3 MB.
fn random(seed: u64, attack: &str) -> Plan {
    let poisson = |tenant: &str| {
        format!(
            "[[workload]]\nkind = \"poisson\"\ntenant = \"{tenant}\"\nload = 0.6\nduration = \"300us\"\n\
             sizes = [{{ size = 1000, percent = 0 }}, {{ size = 3000000, percent = 100 }}]\n"
        )
    };
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"20MB\"\ntenant = \"red\"\n";
    let text = format!(
        "{attack}\n{}{}{}{ring}",
        star(12, 6),
        poisson("red"),
        poisson("blue")
    );
    plan(&text, &[&format!("seed={seed}")])
}

const TRANSFORMS: [&str; 5] = [
    "attack = { kind = \"parallel\" }",
    "attack = { kind = \"parallel\", qps = 7, above = 1 }",
    "attack = { kind = \"staggered\", above = \"200kB\" }",
    "attack = { kind = \"staggered\", piece = \"150kB\", gap = \"13us\" }",
    "attack = { kind = \"shuffled-overlay\", above = \"500kB\", rings = 2 }",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn pieces_add_up_to_the_messages_that_they_were(seed in 0u64..1000, which in 0..TRANSFORMS.len()) {
        let honest = random(seed, "");
        let attacked = random(seed, TRANSFORMS[which]);
        prop_assert!(!attacked.cut.is_empty());
        let mut sums = BTreeMap::new();
        for (message, job) in attacked.messages.iter().zip(&attacked.jobs) {
            let job = job.unwrap();
            *sums.entry(job).or_insert(Bytes::ZERO) += message.size;
            let before = &honest.messages[job.index()];
            prop_assert_eq!(
                (message.source, message.tenant, message.class, message.workload, message.verb),
                (before.source, before.tenant, before.class, before.workload, before.verb)
            );
            prop_assert!(message.start >= before.start);
            prop_assert!(message.tenant.get() == 0 || message == &MessageLike::of(before, message));
        }
        prop_assert_eq!(sums.len(), honest.messages.len());
        for (job, sum) in sums {
            prop_assert_eq!(sum, honest.messages[job.index()].size);
        }
    }

    #[test]
    fn messages_are_in_order_of_start_and_wait_for_earlier_ones(
        seed in 0u64..1000,
        which in 0..TRANSFORMS.len(),
    ) {
        let attacked = random(seed, TRANSFORMS[which]);
        prop_assert!(attacked.messages.is_sorted_by_key(|message| message.start));
        for message in &attacked.messages {
            if let Some(after) = message.after {
                prop_assert_eq!(attacked.messages[after.index()].tenant, message.tenant);
            }
        }
        attacked.simulation().unwrap();
    }
}

/// Other tenants' messages stay as they are but for the numbers of those that they wait for.
struct MessageLike;

impl MessageLike {
    fn of(
        honest: &fairlane_fabric::MessageSpec,
        found: &fairlane_fabric::MessageSpec,
    ) -> fairlane_fabric::MessageSpec {
        fairlane_fabric::MessageSpec {
            after: found.after,
            ..*honest
        }
    }
}

/// Starts of the pieces of the one message of red, in microseconds.
fn starts(attack: &str) -> Vec<u64> {
    let text = format!(
        "{attack}\n{}{}",
        dumbbell(2),
        flows("red", &[(0, 2, 2_000_000)])
    );
    let plan = plan(&text, &[]);
    let micros = |at: Time| at.as_ps() / 1_000_000;
    plan.messages
        .iter()
        .map(|message| micros(message.start))
        .collect()
}

#[test]
fn parallel_pieces_start_together_and_staggered_ones_one_by_one() {
    assert_eq!(starts("attack = { kind = \"parallel\", qps = 4 }"), [0; 4]);
    let staggered = "attack = { kind = \"staggered\", piece = \"500kB\", gap = \"40us\" }";
    assert_eq!(starts(staggered), [0, 40, 80, 120]);
}

#[test]
fn the_default_piece_is_what_a_path_holds() {
    // 6 us of delay there and back, two sizes of packets on three links: 77 kB at 100 Gb/s.
    let pieces = starts("attack = { kind = \"parallel\" }").len();
    assert_eq!(pieces, 26);
    let staggered = starts("attack = { kind = \"staggered\" }");
    assert_eq!(staggered[..4], [0, 6, 12, 18]);
}

#[test]
fn honest_transforms_leave_everything_as_it_is() {
    let honest = random(5, "");
    let stated = random(5, "attack = { kind = \"parallel\", honest = true }");
    assert_eq!(honest.messages, stated.messages);
    assert!(stated.cut.is_empty() && stated.window.is_none());
}

/// Traffic of red's own.
fn own(attack: &str) -> Plan {
    plan(
        &format!(
            "attack = {{ {attack}, duration = \"100us\" }}\n{}",
            star(12, 9)
        ),
        &[],
    )
}

#[test]
fn rings_send_each_piece_over_another_ring() {
    let plan = own("kind = \"shuffled-overlay\", rings = 2");
    // Of host 4: pieces 0 and 1 on one ring each, then the next ones. Eight rings are a circle.
    let mine = plan
        .messages
        .iter()
        .filter(|message| message.source.get() == 4);
    let destinations: Vec<u32> = mine.map(|message| message.destination.get()).collect();
    let circle: BTreeSet<u32> = destinations[..8].iter().copied().collect();
    assert_eq!(circle.len(), 8);
    assert_eq!(destinations[..8], destinations[8..16]);
    // At the same step no two hosts send to the same one.
    for place in 0..8 {
        let nth = |host: u32| {
            let of_host = plan.messages.iter().filter(move |m| m.source.get() == host);
            of_host.map(|m| m.destination).nth(place).unwrap()
        };
        let receivers: BTreeSet<_> = (0..9).map(nth).collect();
        assert_eq!(receivers.len(), 9, "place {place}");
    }
}

#[test]
fn closed_loops_wait_for_the_piece_so_many_places_before() {
    let plan = own("kind = \"churn\", outstanding = 3");
    let numbered = (0u32..).zip(&plan.messages);
    let mine: Vec<_> = numbered.filter(|(_, m)| m.source.get() == 2).collect();
    assert!(mine.len() > 10);
    assert!(mine[..3].iter().all(|(_, message)| message.after.is_none()));
    for (before, after) in mine.iter().zip(&mine[3..]) {
        assert_eq!(after.1.after, Some(MessageId::new(before.0)));
    }
}

#[test]
fn churn_sends_a_piece_to_each_destination_before_any_comes_again() {
    let plan = own("kind = \"churn\", piece = \"3kB\"");
    let mine = plan.messages.iter().filter(|m| m.source.get() == 2);
    let mine: Vec<_> = mine.map(|m| (m.destination, m.size.get())).collect();
    assert!(mine.len() > 16 && mine.iter().all(|(_, size)| *size == 3_000));
    for turn in mine.chunks_exact(8) {
        let destinations: BTreeSet<_> = turn.iter().map(|(to, _)| to).collect();
        assert_eq!(destinations.len(), 8);
    }
}

/// Whom a message waits for: its predecessor and those that join that one.
fn predecessors(plan: &Plan, message: usize) -> BTreeSet<u32> {
    let Some(after) = plan.messages[message].after else {
        return BTreeSet::new();
    };
    let numbered = (0u32..).zip(&plan.messages);
    let joined = numbered.filter(|(_, other)| other.joins == Some(after));
    joined
        .map(|(number, _)| number)
        .chain([after.get()])
        .collect()
}

#[test]
fn rounds_of_an_incast_stay_together() {
    let plan = own("kind = \"rotating-incast\", outstanding = 2");
    // Consecutive messages with the same destination are a round.
    let mut rounds: Vec<Vec<usize>> = Vec::new();
    for (number, message) in plan.messages.iter().enumerate() {
        let last = rounds
            .last()
            .map(|round| plan.messages[round[0]].destination);
        match rounds
            .last_mut()
            .filter(|_| last == Some(message.destination))
        {
            Some(round) => round.push(number),
            None => rounds.push(vec![number]),
        }
    }
    assert!(rounds.len() > 4, "{}", rounds.len());
    for (number, round) in rounds.iter().enumerate().take(8) {
        assert_eq!(round.len(), 8);
        let before = number
            .checked_sub(2)
            .map_or(&[][..], |before| &rounds[before]);
        let before: BTreeSet<u32> = before.iter().map(|one| *one as u32).collect();
        for message in round {
            assert_eq!(predecessors(&plan, *message), before, "round {number}");
        }
    }
    // Honestly to as many destinations at a time, but always the same.
    let honest = own("kind = \"rotating-incast\", outstanding = 2, honest = true");
    let to: BTreeSet<_> = honest.messages.iter().map(|m| m.destination).collect();
    assert_eq!((to.len(), honest.messages.len()), (2, 2 * 8));
}

/// A ring of four hosts of red that reduces 8 MB in steps of 2 MB, attacked.
fn collective(attack: &str) -> Plan {
    let ring = "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"8MB\"\ntenant = \"red\"\n";
    let text = format!(
        "attack = {{ {attack}, piece = \"500kB\" }}\n{}{ring}",
        star(8, 4)
    );
    plan(&text, &[])
}

#[test]
fn what_waited_for_a_message_waits_for_all_its_pieces() {
    for attack in [
        "kind = \"parallel\"",
        "kind = \"staggered\"",
        "kind = \"shuffled-overlay\", above = \"1MB\"",
    ] {
        let plan = collective(attack);
        let pieces = |job: u32| -> BTreeSet<u32> {
            let numbered = (0u32..).zip(&plan.jobs);
            let mine = numbered.filter(|(_, of)| **of == Some(MessageId::new(job)));
            mine.map(|(number, _)| number).collect()
        };
        // Host 1 sends its second chunk once it has all of the first of host 0.
        let second = pieces(5);
        assert_eq!(second.len(), 4);
        let entry = second.iter().find(|number| {
            let of = predecessors(&plan, **number as usize);
            of.is_disjoint(&second)
        });
        let entry = *entry.unwrap() as usize;
        assert_eq!(predecessors(&plan, entry), pieces(0), "{attack}");
    }
}

#[test]
fn gaps_in_a_collective_count_from_the_first_piece() {
    let results = crate::common::run(&collective("kind = \"staggered\", gap = \"100us\""));
    let mut starts: BTreeMap<(u32, u64), u32> = BTreeMap::new();
    for message in &results.messages {
        let at = message.start.as_ps() / 1_000_000;
        *starts.entry((message.source.get(), at)).or_default() += 1;
    }
    // 500 kB take 42 us, so no step ends before its last piece, and no two pieces start together.
    assert!(starts.values().all(|count| *count == 1), "{starts:?}");
    let of_host: Vec<u64> = starts
        .keys()
        .filter(|key| key.0 == 0)
        .map(|key| key.1)
        .collect();
    assert_eq!(of_host.len(), 6 * 4);
    for step in of_host.chunks(4) {
        let gaps: Vec<u64> = step.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(
            gaps.iter().all(|gap| (99..=101).contains(gap)),
            "{of_host:?}"
        );
    }
}

#[test]
fn a_message_over_several_paths_is_cut_as_one() {
    let traffic = "[[workload]]\nkind = \"flows\"\nflow = [\
         { source = 0, destination = 2, size = \"500kB\" }, \
         { source = 0, destination = 2, size = \"4MB\", subflows = 8 }, \
         { source = 1, destination = 2, size = \"800kB\", subflows = 8 }]\n";
    let text = |attack: &str| format!("{attack}\n{}{traffic}", star(8, 4));
    let attack = "attack = { kind = \"parallel\", piece = \"1MB\" }";
    let (attacked, honest) = (plan(&text(attack), &[]), plan(&text(""), &[]));
    assert_eq!(
        (honest.messages.len(), attacked.messages.len()),
        (17, 1 + 4 + 8)
    );
    let sums = |plan: &Plan| {
        let mut sums = BTreeMap::new();
        for (message, job) in plan.messages.iter().zip(&plan.jobs) {
            *sums.entry(job.unwrap()).or_insert(Bytes::ZERO) += message.size;
        }
        sums
    };
    assert_eq!(sums(&attacked), sums(&honest));
    assert_eq!(
        sums(&honest).into_values().map(Bytes::get).max(),
        Some(4_000_000)
    );
    attacked.simulation().unwrap();
}

#[test]
fn pulses_and_what_is_sent_instead_are_the_same_bytes_in_whole_periods() {
    // Three and a half periods.
    let sent = |honest: bool| {
        let attack =
            format!("kind = \"pulse\", period = \"28571ns\", piece = 100003, honest = {honest}");
        own(&attack).messages
    };
    let (pulses, evenly) = (sent(false), sent(true));
    assert_eq!((pulses.len(), evenly.len()), (9 * 3, 9 * 3 * 8));
    let bytes = |messages: &[fairlane_fabric::MessageSpec]| {
        messages
            .iter()
            .map(|message| message.size.get())
            .sum::<u64>()
    };
    assert_eq!(bytes(&pulses), bytes(&evenly));
    assert!(evenly.last().unwrap().start < Time::from_ns(3 * 28_571));
}

#[test]
fn of_a_pulse_whose_period_doesn_t_pass_everything_is_sent_honestly_too() {
    let sent = |honest: bool| {
        let attack = format!("kind = \"pulse\", period = \"1s\", honest = {honest}");
        own(&attack)
    };
    let (pulses, evenly) = (sent(false), sent(true));
    assert_eq!(evenly.messages.len(), 8 * pulses.messages.len());
    let window = evenly.window.unwrap();
    let last = evenly.messages.last().unwrap().start;
    assert!(last < window.end && last > window.start + window.span() / 4 * 3);
}

#[test]
fn pulses_leave_windows_time_to_recover() {
    // HPCC has no period; bursts of one bandwidth-delay product come every eight round trips.
    let starts = |algorithm: &str| {
        let text = format!(
            "attack = {{ kind = \"pulse\", duration = \"2ms\" }}\n\
             congestion.algorithm = \"{algorithm}\"\n{}",
            star(12, 9)
        );
        plan(&text, &[]).messages.len() / 9
    };
    assert!((2..60).contains(&starts("hpcc")), "{}", starts("hpcc"));
    assert!((2..20).contains(&starts("dcqcn")), "{}", starts("dcqcn"));
}

#[test]
fn whoever_sends_to_one_destination_finds_one_of_its_own() {
    let attack = "kind = \"churn\", honest = true, sources = \"0-2\", destinations = \"1,2,5\"";
    for seed in 0..6 {
        let text = format!(
            "seed = {seed}\nattack = {{ {attack}, duration = \"1ms\" }}\n{}",
            star(12, 6)
        );
        let receivers: BTreeSet<_> = plan(&text, &[])
            .messages
            .iter()
            .map(|m| m.destination)
            .collect();
        assert_eq!(receivers.len(), 3, "seed {seed}");
    }
}

#[test]
fn an_incast_has_one_receiver_in_each_round() {
    let text = "attack = { kind = \"rotating-incast\", duration = \"2ms\" }";
    let plan = plan(&format!("{text}\n{}", star(12, 9)), &[]);
    // Without its own rounds, every host has the same order of receivers.
    let order = |host: u32| {
        let mine = plan.messages.iter().filter(move |m| m.source.get() == host);
        mine.map(|m| m.destination.get())
    };
    let without = |hosts: [u32; 2]| {
        let a = order(hosts[0]).filter(move |host| *host != hosts[1]);
        let b = order(hosts[1]).filter(move |host| *host != hosts[0]);
        a.zip(b).take(20).all(|(a, b)| a == b)
    };
    assert!(without([0, 1]) && without([2, 7]));
    let mut first: Vec<u32> = order(0).take(8).collect();
    first.sort_unstable();
    assert_eq!(first, [1, 2, 3, 4, 5, 6, 7, 8]);
}

#[test]
fn a_run_ends_with_traffic_of_the_attack_s_own() {
    let plan = own("kind = \"nic-hog\", qps = 5, start = \"20us\"");
    let window = plan.window.unwrap();
    assert_eq!(window.start.as_ps(), 20_000_000);
    assert_eq!(plan.loaded.scenario.stop.unwrap().as_ps(), 120_000_000);
    assert_eq!(plan.messages.len(), 9 * 5);
    let honest = own("kind = \"nic-hog\", honest = true, start = \"20us\"");
    assert_eq!(honest.messages.len(), 9);
}

#[test]
fn whoever_shuffles_a_message_keeps_to_whom_its_tenant_sends() {
    let traffic = flows("red", &[(0, 1, 2_000_000), (0, 2, 2_000_000), (1, 3, 500)]);
    let attack = "attack = { kind = \"shuffled-overlay\", above = \"1MB\", piece = \"400kB\" }";
    let plan = plan(&format!("{attack}\n{}{traffic}", star(12, 6)), &[]);
    let of_job = |job: u32| {
        let numbered = plan.jobs.iter().zip(&plan.messages);
        let mine = numbered.filter(move |(of, _)| **of == Some(MessageId::new(job)));
        mine.map(|(_, message)| message.destination.get())
            .collect::<Vec<_>>()
    };
    let first = of_job(0);
    assert_eq!((first[0], first.len()), (1, 5));
    assert_eq!(
        first[..3].iter().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from([1, 2, 3])
    );
    assert_eq!(of_job(2), [3]);
}

#[test]
fn traffic_of_its_own_takes_the_ways_of_the_tenant_s_workloads() {
    // Red has even hosts on both sides; what it sends goes from left to right.
    let ends = |attack: &str, list: &[(u32, u32, u64)]| {
        let text = dumbbell(8) + &flows("red", list) + &flows("blue", &[(1, 9, 9)]);
        let plan = plan(
            &format!("attack = {{ {attack}, duration = \"100us\" }}\n{text}"),
            &[],
        );
        let own = || plan.messages.iter().filter(|m| m.tenant.get() == 0);
        let set = |hosts: &mut dyn Iterator<Item = u32>| hosts.collect::<BTreeSet<u32>>();
        let sources = set(&mut own().map(|m| m.source.get()));
        let destinations = set(&mut own().map(|m| m.destination.get()));
        (sources, destinations)
    };
    let two = [(0, 8, 10), (2, 10, 10), (2, 9, 10)];
    for keys in [
        "\"churn\"",
        "\"churn\", honest = true",
        "\"rotating-incast\"",
        "\"pulse\"",
        "\"nic-hog\"",
    ] {
        let attack = format!("kind = {keys}");
        let (sources, destinations) = ends(&attack, &two);
        assert_eq!(sources, BTreeSet::from([0, 2]), "{attack}");
        // Those of its own hosts that it sends to.
        assert_eq!(destinations, BTreeSet::from([8, 10]), "{attack}");
    }
    // Without two of its own, all that it sends to; without a choice, any of its own.
    let churn = "kind = \"churn\"";
    let (_, destinations) = ends(churn, &[(0, 8, 10), (2, 9, 10)]);
    assert_eq!(destinations, BTreeSet::from([8, 9]));
    let (sources, destinations) = ends(churn, &[(0, 8, 10)]);
    assert_eq!(sources, BTreeSet::from([0]));
    assert_eq!(destinations, (1..8).map(|half| 2 * half).collect());
    // What is stated counts.
    let stated = "kind = \"churn\", sources = \"4\", destinations = \"12,14\"";
    let (sources, destinations) = ends(stated, &two);
    assert_eq!(sources, BTreeSet::from([4]));
    assert_eq!(destinations, BTreeSet::from([12, 14]));
}
