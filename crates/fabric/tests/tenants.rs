//! Tenants: whose messages are whose, and messages that come from outside a scenario.

use fairlane_fabric::metrics::{Tenancy, check, tenant_throughput};
use fairlane_fabric::{
    Control, Ending, MessageSpec, PortInfo, Results, Signal, Simulation, messages,
};
use fairlane_scenario::{Loaded, Verb};
use fairlane_units::{Bytes, Duration, MessageId, NodeId, TenantId, Time};
use proptest::prelude::*;

use crate::common::{loaded, run, star};

/// Red with hosts 0 to 3 and blue with all, on a star of eight; then the workloads.
fn two(workloads: &str) -> Loaded {
    let tenants = "[[tenant]]\nname = \"red\"\nhosts = \"0-3\"\n[[tenant]]\nname = \"blue\"\n";
    loaded(&format!("{}{tenants}{workloads}", star(8)), &[])
}

fn write(source: u32, destination: u32, size: u64, start: u64) -> MessageSpec {
    MessageSpec {
        workload: 0,
        source: NodeId::new(source),
        destination: NodeId::new(destination),
        size: Bytes::new(size),
        start: Time::ZERO + Duration::from_ns(start),
        class: 3,
        verb: Verb::Write,
        destination_port: 100,
        after: None,
        joins: None,
        delay: Duration::ZERO,
        part_of: None,
        connection: Some(0),
        iteration: 0,
        tenant: TenantId::new(0),
        plane: None,
    }
}

fn run_messages(loaded: &Loaded, specs: Vec<MessageSpec>) -> Results {
    let simulation = Simulation::with_messages(loaded, specs).unwrap();
    let results = simulation.run(&mut |_| Control::Continue);
    assert_eq!(check(&results, true), Vec::<String>::new());
    results
}

/// Where a list of messages is refused.
fn refused(specs: Vec<MessageSpec>) -> String {
    let error = Simulation::with_messages(&two(""), specs).err().unwrap();
    assert!(!error.message.is_empty() && !error.hint.is_empty());
    error.place
}

#[test]
fn messages_belong_to_the_tenant_of_their_workload() {
    let loaded = two(
        "[[workload]]\nkind = \"permutation\"\nsize = \"1kB\"\ntenant = \"blue\"\n\
         [[workload]]\nkind = \"incast\"\ndegree = 3\nsize = \"10kB\"\n\
         [[workload]]\nkind = \"flows\"\ntenant = \"blue\"\nflow = [{ source = 7, destination = 0, size = 1 }]\n",
    );
    let expected = |workload: u32| TenantId::new(u32::from(workload != 1));
    let specs = messages(&loaded).unwrap();
    assert!(specs.iter().any(|spec| spec.tenant == TenantId::new(0)));
    for spec in &specs {
        assert_eq!(spec.tenant, expected(spec.workload));
        let red = spec.tenant == TenantId::new(0);
        assert!(!red || spec.source.get() < 4, "{spec:?}");
    }
    let results = run(&loaded);
    assert_eq!(results.messages.len(), specs.len());
    for message in &results.messages {
        assert_eq!(message.tenant, expected(message.workload));
    }
}

#[test]
fn operations_belong_to_the_tenant_of_their_workload() {
    let ask = |tenant: &str| {
        format!(
            "[[workload]]\nkind = \"key-value\"\nclients = \"0-1\"\nservers = \"7\"\n\
             size = \"64B\"\nconnections = 4\ncount = 3\ntenant = \"{tenant}\"\n"
        )
    };
    for policy in ["raw", "share"] {
        let workloads = format!("{}{}nic.policy = \"{policy}\"\n", ask("red"), ask("blue"));
        let (workloads, nic) = workloads.split_at(workloads.find("nic.policy").unwrap());
        let tenants = "[[tenant]]\nname = \"red\"\n[[tenant]]\nname = \"blue\"\n";
        let text = format!("{}{nic}{tenants}{workloads}", star(8));
        let results = run(&loaded(&text, &[]));
        assert_eq!(results.messages.len(), 2 * 2 * 4 * 3, "{policy}");
        for message in &results.messages {
            assert_eq!(message.tenant, TenantId::new(message.workload), "{policy}");
        }
    }
}

#[test]
fn generated_messages_run_as_the_scenario_does() {
    let loaded = two(
        "[[workload]]\nkind = \"ring-all-reduce\"\nsize = \"40kB\"\n\
         [[workload]]\nkind = \"poisson\"\nsizes = \"rpc\"\nload = 0.3\nduration = \"20us\"\ntenant = \"blue\"\n",
    );
    let outside = run_messages(&loaded, messages(&loaded).unwrap());
    let inside = run(&loaded);
    assert_eq!(outside.messages, inside.messages);
    assert_eq!(outside.totals, inside.totals);
}

#[test]
fn no_messages_is_a_run_that_ends_at_once() {
    let results = run_messages(&two(""), Vec::new());
    assert_eq!(results.totals.ending, Ending::Complete);
    assert!(results.messages.is_empty());
}

#[test]
fn messages_are_sorted_and_wait_for_the_same_ones() {
    let follower = MessageSpec {
        after: Some(MessageId::new(2)),
        tenant: TenantId::new(1),
        ..write(2, 3, 300, 0)
    };
    let results = run_messages(
        &two(""),
        vec![
            write(0, 1, 100, 900),
            follower,
            write(4, 5, 200_000, 50),
            write(1, 0, 400, 0),
        ],
    );
    let by_size = |size: u64| {
        let mut all = results.messages.iter();
        all.find(|message| message.size.get() == size).unwrap()
    };
    let ids = [300, 400, 200_000, 100].map(|size| by_size(size).id.get());
    assert_eq!(ids, [0, 1, 2, 3]);
    // 200 kB take 16 us at 100 Gb/s.
    assert!(by_size(300).start > Time::ZERO + Duration::from_us(16));
    assert_eq!(by_size(300).tenant, TenantId::new(1));
}

#[test]
fn messages_that_cannot_run_are_refused() {
    let sound = write(0, 1, 100, 0);
    let with = |after: Option<u32>| MessageSpec {
        after: after.map(MessageId::new),
        ..sound
    };
    let place = |message: MessageSpec| refused(vec![sound, message]);
    assert_eq!(place(write(8, 1, 1, 0)), "message[1].source");
    assert_eq!(place(write(0, 99, 1, 0)), "message[1].destination");
    assert_eq!(place(write(3, 3, 1, 0)), "message[1].destination");
    assert_eq!(place(write(0, 1, 0, 0)), "message[1].size");
    assert_eq!(place(write(0, 1, u64::MAX, 0)), "message[1].size");
    assert_eq!(place(with(Some(2))), "message[1].after");
    assert_eq!(place(with(Some(1))), "message[1].after");
    let joins = MessageSpec {
        joins: Some(MessageId::new(2)),
        ..sound
    };
    assert_eq!(place(joins), "message[1].joins");
    let class = MessageSpec { class: 0, ..sound };
    assert_eq!(place(class), "message[1].class");
    let late = MessageSpec {
        start: Time::MAX,
        ..sound
    };
    assert_eq!(place(late), "message[1].start");
    let atomic = MessageSpec {
        verb: Verb::FetchAdd,
        ..sound
    };
    assert_eq!(place(atomic), "message[1].size");
    let foreign = MessageSpec {
        tenant: TenantId::new(2),
        ..sound
    };
    assert_eq!(place(foreign), "message[1].tenant");
}

#[test]
fn whoever_waits_for_a_message_waits_for_those_that_join_it() {
    // The long message joins the short one; the last one waits for both, then two microseconds more.
    let joins = MessageSpec {
        joins: Some(MessageId::new(0)),
        ..write(2, 3, 200_000, 0)
    };
    let last = MessageSpec {
        after: Some(MessageId::new(0)),
        delay: Duration::from_us(2),
        ..write(0, 1, 300, 0)
    };
    let start = |joins: MessageSpec| {
        let results = run_messages(&two(""), vec![write(0, 1, 100, 0), joins, last]);
        let mut all = results.messages.iter();
        all.find(|message| message.size.get() == 300).unwrap().start
    };
    let apart = MessageSpec {
        joins: None,
        ..joins
    };
    let [both, one] = [joins, apart].map(start);
    // 200 kB take 16 us at 100 Gb/s; 100 B and the acknowledgement, by which host 0 hears of it, two links of
    // 1 us each.
    assert!(both > Time::ZERO + Duration::from_us(18), "{both}");
    assert!(one > Time::ZERO + Duration::from_us(6), "{one}");
    assert!(one < Time::ZERO + Duration::from_us(7), "{one}");
}

#[test]
fn records_say_what_was_posted_and_what_has_arrived() {
    let mut loaded = two("");
    loaded.scenario.stop = Some(Duration::from_us(20));
    let waits = MessageSpec {
        after: Some(MessageId::new(0)),
        ..write(0, 2, 100, 0)
    };
    let results = run_messages(&loaded, vec![write(0, 1, 1_000_000, 0), waits]);
    let [long, short] = &results.messages[..] else {
        panic!("two messages")
    };
    assert!(long.posted && !short.posted);
    assert!(
        (100_000..250_000).contains(&long.acknowledged.get()),
        "{}",
        long.acknowledged
    );
    assert_eq!(short.acknowledged, Bytes::ZERO);
}

#[test]
fn messages_that_wait_in_a_circle_are_refused() {
    let waiting = |after: [Option<u32>; 5]| {
        let specs = after.map(|after| MessageSpec {
            after: after.map(MessageId::new),
            ..write(0, 1, 100, 0)
        });
        Simulation::with_messages(&two(""), specs.to_vec()).err()
    };
    assert_eq!(waiting([Some(4), None, Some(1), Some(2), Some(3)]), None);
    let circle = waiting([Some(1), Some(2), Some(3), Some(1), None]).unwrap();
    assert!(circle.place.ends_with("].after"), "{circle}");
    // The second joins the first and waits for what waits for the first.
    let joins = MessageSpec {
        joins: Some(MessageId::new(0)),
        after: Some(MessageId::new(2)),
        ..write(0, 1, 100, 0)
    };
    let waits = MessageSpec {
        after: Some(MessageId::new(0)),
        ..write(0, 1, 100, 0)
    };
    assert!(refused(vec![write(0, 1, 100, 0), joins, waits]).ends_with("].after"));
}

/// Red sends from hosts 0 and 1, blue from 2 and 3, all to host 7 at the same time.
const CROWD: &str = "[[workload]]\nkind = \"flows\"\ntenant = \"red\"\nflow = [
  { source = 0, destination = 7, size = \"400kB\" }, { source = 1, destination = 7, size = \"400kB\" } ]
[[workload]]\nkind = \"flows\"\ntenant = \"blue\"\nflow = [
  { source = 2, destination = 7, size = \"400kB\" }, { source = 3, destination = 7, size = \"400kB\" } ]\n";

/// The same with other overrides.
fn crowd(sets: &[&str]) -> Loaded {
    let tenants = "[[tenant]]\nname = \"red\"\n[[tenant]]\nname = \"blue\"\nweight = 3\n";
    loaded(&format!("{}{tenants}{CROWD}", star(8)), sets)
}

/// The number of the port of the switch that leads to a host.
fn port_to(results: &Results, host: u32) -> usize {
    let leads = |port: &PortInfo| port.on_switch && port.peer_node == NodeId::new(host);
    results.ports.iter().position(leads).unwrap()
}

#[test]
fn counting_tenants_changes_nothing_else() {
    let two = run(&crowd(&[]));
    let alone = CROWD
        .replace("tenant = \"red\"", "")
        .replace("tenant = \"blue\"", "");
    let one = run(&loaded(&format!("{}{alone}", star(8)), &[]));
    assert_eq!(two.totals, one.totals);
    let ends = |results: &Results| -> Vec<_> {
        let messages = results.messages.iter();
        messages
            .map(|message| (message.id, message.finish))
            .collect()
    };
    assert_eq!(ends(&two), ends(&one));
    assert_eq!(two.series.sent, one.series.sent);
}

#[test]
fn a_tenant_alone_is_not_counted_apart() {
    let results = run(&loaded(
        &format!(
            "{}{}",
            star(8),
            crate::common::flows(&[(0, 7, 5000, "0us")])
        ),
        &[],
    ));
    assert_eq!(results.tenants.len(), 1);
    let only = &results.tenants[0];
    assert_eq!(
        (only.name.as_str(), only.placed),
        ("default", Bytes::new(5000))
    );
    assert_eq!(only.placed_series.iter().sum::<u64>(), 5000);
    assert!(results.contended.is_empty());
    assert_eq!(results.signals.tenants, None);
}

#[test]
fn shares_of_the_contended_port_are_counted_packet_by_packet() {
    let results = run(&crowd(&["output.sample_interval=20us"]));
    let port = port_to(&results, 7);
    let contended = results.contended.iter().find(|it| it.port.index() == port);
    let contended = contended.expect("four hosts send to one");
    // Nothing but data goes to the receiver, and no pause frames, which go to senders.
    let rows = results.series.sent.chunks(results.series.ports);
    let through: u64 = rows.map(|row| row[port]).sum();
    assert_eq!(contended.sent.iter().sum::<u64>(), through);
    assert!(
        contended
            .contended
            .iter()
            .zip(&contended.sent)
            .all(|(part, all)| part <= all)
    );
    let Tenancy {
        contended_links, ..
    } = Tenancy::of(&results).unwrap();
    let link = contended_links
        .iter()
        .find(|link| link.port_id as usize == port)
        .unwrap();
    // Weights have no effect without a scope that heeds them: equal flows get equal shares.
    assert!((link.shares[0] - 0.5).abs() < 0.02, "{link:?}");
    // Jain's index of 1 and 1/3.
    assert!((link.fairness.unwrap() - 0.8).abs() < 0.03, "{link:?}");
    // The port from the switch to host 0 carries acknowledgements only.
    let back = port_to(&results, 0);
    assert!(results.contended.iter().all(|it| it.port.index() != back));
}

#[test]
fn a_calm_run_has_no_contended_port() {
    let calm = "[[workload]]\nkind = \"flows\"\nflow = [{ source = 0, destination = 7, size = \"2kB\" }]\n";
    let results = run(&two(calm));
    assert_eq!(results.contended, []);
    let alone = "[[workload]]\nkind = \"flows\"\nflow = [{ source = 0, destination = 7, size = \"2MB\" }]\n";
    // At full rate, the NIC and the port to the receiver are used to more than nine tenths.
    let results = run(&two(alone));
    assert_eq!(results.contended.len(), 2);
}

#[test]
fn what_is_placed_adds_up_over_intervals_and_tenants() {
    // More intervals than are kept, so that they are merged.
    for interval in ["3us", "20ns"] {
        let results = run(&crowd(&[&format!("output.sample_interval={interval}")]));
        for (tenant, number) in results.tenants.iter().zip(0..) {
            assert_eq!(tenant.placed, Bytes::new(800_000));
            assert_eq!(
                tenant.placed_series.iter().sum::<u64>(),
                800_000,
                "{interval}"
            );
            let rows = results.series.sent.len() / results.series.ports;
            assert_eq!(tenant.placed_series.len(), rows, "{interval}");
            let rates = tenant_throughput(&results, TenantId::new(number)).values;
            assert!(rates.iter().all(|gbps| *gbps <= 100.0) || interval == "20ns");
        }
    }
}

#[test]
fn signals_say_who_was_marked_and_why_others_were_not() {
    // Only red meets itself at host 7; blue sends to a host of its own.
    let apart = CROWD.replace("source = 2, destination = 7", "source = 2, destination = 6");
    let apart = apart.replace("source = 3, destination = 7", "source = 3, destination = 5");
    let tenants =
        "[[tenant]]\nname = \"red\"\n[[tenant]]\nname = \"blue\"\n[[tenant]]\nname = \"idle\"\n";
    let text = format!("{}{tenants}{apart}", star(8));
    let results = run(&loaded(
        &text,
        &[
            "switch.ecn.kmin_per_gbps=\"100B\"",
            "switch.ecn.kmax_per_gbps=\"200B\"",
        ],
    ));
    let signals = results.signals.tenants.as_ref().unwrap();
    assert!(signals["red"].ecn_marks.count > 0 && signals["red"].cnps.count > 0);
    assert_eq!(signals["blue"].ecn_marks.count, 0);
    for (name, its) in signals {
        for signal in [&its.ecn_marks, &its.cnps, &its.retransmissions, &its.drops] {
            assert_eq!(
                signal.count == 0,
                signal.why_zero.is_some(),
                "{name}: {its:?}"
            );
        }
    }
    let why = |signal: &Signal| signal.why_zero.clone().unwrap();
    assert!(why(&signals["blue"].ecn_marks).contains("of others"));
    assert!(why(&signals["idle"].ecn_marks).contains("sent nothing"));
}

#[test]
fn losses_are_counted_by_tenant_whatever_comes_back() {
    for (verb, notification) in [("write", "ack"), ("read", "ack"), ("write", "cnp")] {
        let kind = format!("kind = \"flows\"\nverb = \"{verb}\"");
        let mut text = CROWD.replace("kind = \"flows\"", &kind);
        if verb == "read" {
            // Host 7 reads from all the others: the data crowds on the way to it again.
            for host in 0..4 {
                let (there, back) = (
                    format!("source = {host}, destination = 7"),
                    format!("source = 7, destination = {host}"),
                );
                text = text.replace(&there, &back);
            }
        }
        let tenants = "[[tenant]]\nname = \"red\"\n[[tenant]]\nname = \"blue\"\n";
        let notify = format!("congestion.notification=\"{notification}\"");
        let results = run(&loaded(
            &format!("{}{tenants}{text}", star(8)),
            &[
                "faults.loss_rate=0.01",
                "switch.ecn.kmin_per_gbps=\"100B\"",
                "congestion.algorithm=\"dcqcn\"",
                &notify,
            ],
        ));
        let signals = results.signals.tenants.as_ref().unwrap();
        for name in ["red", "blue"] {
            let its = &signals[name];
            assert!(
                its.drops.count > 0 && its.retransmissions.count > 0,
                "{verb}"
            );
            assert!(its.ecn_marks.count > 0, "{verb} {its:?}");
            assert!(its.cnps.count > 0, "{verb} {its:?}");
        }
        let red = results
            .messages
            .iter()
            .filter(|it| it.tenant == TenantId::new(0));
        let again: u64 = red.map(|message| u64::from(message.retransmitted)).sum();
        assert_eq!(again, signals["red"].retransmissions.count, "{verb}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_list_is_run_whole_or_refused(
        list in prop::collection::vec(
            (0u32..9, 0u32..9, 0u64..5000, 0u64..3000, prop::option::of(0u32..7), 0u32..3),
            0..7,
        ),
    ) {
        let specs: Vec<MessageSpec> = list
            .iter()
            .map(|&(source, destination, size, start, after, tenant)| MessageSpec {
                after: after.map(MessageId::new),
                tenant: TenantId::new(tenant),
                ..write(source, destination, size, start)
            })
            .collect();
        let loaded = two("");
        match Simulation::with_messages(&loaded, specs.clone()) {
            Err(error) => prop_assert!(error.place.starts_with("message["), "{}", error),
            Ok(simulation) => {
                let results = simulation.run(&mut |_| Control::Continue);
                prop_assert_eq!(check(&results, true), Vec::<String>::new());
                prop_assert_eq!(&results.totals.ending, &Ending::Complete);
                let mut sizes: Vec<_> = specs.iter().map(|s| (s.size, s.tenant)).collect();
                let mut ran: Vec<_> = results.messages.iter().map(|m| (m.size, m.tenant)).collect();
                sizes.sort_unstable();
                ran.sort_unstable();
                prop_assert_eq!(sizes, ran);
            }
        }
    }
}
