//! What attacks make of messages.
#![allow(clippy::unwrap_used, reason = "a failed helper fails its test")]

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{dumbbell, flows, plan, star};
use fairlane_attacks::Plan;
use fairlane_units::{Bytes, Time};
use proptest::prelude::*;

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
            let before = &honest.messages[job as usize];
            prop_assert_eq!(
                (message.source, message.tenant, message.class, message.workload, message.verb),
                (before.source, before.tenant, before.class, before.workload, before.verb)
            );
            prop_assert!(message.start >= before.start);
            prop_assert!(message.tenant.get() == 0 || message == &MessageLike::of(before, message));
        }
        prop_assert_eq!(sums.len(), honest.messages.len());
        for (job, sum) in sums {
            prop_assert_eq!(sum, honest.messages[job as usize].size);
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
                prop_assert_eq!(attacked.messages[after as usize].tenant, message.tenant);
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
    for attack in [
        "kind = \"churn\", outstanding = 3",
        "kind = \"rotating-incast\", outstanding = 3",
    ] {
        let plan = own(attack);
        let numbered = (0u32..).zip(&plan.messages);
        let mine: Vec<_> = numbered.filter(|(_, m)| m.source.get() == 2).collect();
        assert!(mine.len() > 10);
        assert!(mine[..3].iter().all(|(_, message)| message.after.is_none()));
        for (before, after) in mine.iter().zip(&mine[3..]) {
            assert_eq!(after.1.after, Some(before.0));
        }
    }
}

#[test]
fn an_incast_has_one_receiver_in_each_round() {
    let plan = own("kind = \"rotating-incast\"");
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
        let mine = numbered.filter(move |(of, _)| **of == Some(job));
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
