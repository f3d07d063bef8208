//! NICs with costs, queue pairs that stay open, and who uses them.

use std::collections::BTreeSet;

use fairlane_fabric::metrics::check;
use fairlane_fabric::{Control, Ending, MessageRecord, Outcome, Results, Simulation};
use fairlane_units::{Duration, NodeId, Time};
use proptest::prelude::*;

use crate::common::{loaded, star};

/// Hosts at 40 Gb/s and 500 ns, without rate control.
fn fabric(hosts: u32) -> String {
    let link = "{ rate = \"40Gbps\", delay = \"500ns\" }";
    format!(
        "topology = {{ kind = \"star\", hosts = {hosts}, host_link = {link} }}\n\
         congestion.algorithm = \"fixed\"\n"
    )
}

/// A workload from host 0 to host 1.
fn workload(keys: &str) -> String {
    format!("[[workload]]\nkind = \"key-value\"\nclients = \"0\"\nservers = \"1\"\n{keys}\n")
}

fn run(text: &str, sets: &[&str]) -> Results {
    let simulation = Simulation::new(&loaded(text, sets)).unwrap();
    let results = simulation.run(&mut |_| Control::Continue);
    assert_eq!(check(&results, true), Vec::<String>::new(), "{text}");
    results
}

/// Completion times in picoseconds, in order of completion.
fn times(results: &Results) -> Vec<u64> {
    let taken = |message: &MessageRecord| (message.finish.unwrap() - message.start).as_ps();
    results.messages.iter().map(taken).collect()
}

fn rate(results: &Results) -> f64 {
    results.messages.len() as f64 / (results.totals.end - Time::ZERO).as_secs_f64()
}

#[test]
fn a_write_through_the_whole_chain_takes_the_sum_of_its_costs() {
    let text = fabric(2)
        + "[nic.costs]\npcie_rate = \"64Gbps\"\n"
        + &workload("size = \"32B\"\nverb = \"write\"\ncount = 1");
    let results = run(&text, &[]);
    // 50 post, 250 doorbell, 500 fetch and 8 for 64 bytes over PCIe, 500 for the connection's state,
    // 300 processing; 110 bytes of packet twice, with 1000 on links; 500 for the state at the server; 66
    // bytes of acknowledgement twice, with 1000 on links; 250 completion, 50 poll and 50 for the entry.
    let host = 50 + 250 + 500 + 8 + 500 + 300;
    let network = 2 * 22_000 + 1_000_000 + 500_000 + 2 * 13_200 + 1_000_000;
    assert_eq!(times(&results), [host * 1000 + network + 350_000]);
    assert_eq!(
        results.applications[0].longest_wait,
        Duration::from_ns(50 + 250 + 508 + 500)
    );
}

#[test]
fn without_costs_an_operation_takes_its_ideal_time() {
    for verb in ["write", "send", "read", "fetch-add"] {
        let size = if verb == "fetch-add" { 8 } else { 5000 };
        let keys = format!("size = {size}\nverb = \"{verb}\"\ncount = 3");
        let results = run(&(fabric(2) + &workload(&keys)), &[]);
        assert_eq!(results.messages.len(), 3);
        for message in &results.messages {
            assert_eq!(
                message.finish.unwrap() - message.start,
                message.ideal,
                "{verb}"
            );
        }
    }
}

#[test]
fn pieces_smaller_than_packets_take_the_ideal_time_of_pieces() {
    for (verb, chunk) in [
        ("write", 500),
        ("send", 500),
        ("read", 500),
        ("write", 1500),
    ] {
        let keys = format!("size = 5130\nverb = \"{verb}\"\ncount = 3");
        let text = fabric(2) + &workload(&keys);
        let chunk = format!("nic.justitia.chunk={chunk}");
        // Without it, whole packets are stored and forwarded, which takes longer.
        let sets = ["nic.policy=\"justitia\"", &chunk];
        for sets in [
            &sets[..],
            &[&sets[..], &["transport.ack_interval=8"]].concat(),
        ] {
            let results = run(&text, sets);
            assert_eq!(results.messages.len(), 3);
            for message in &results.messages {
                let taken = message.finish.unwrap() - message.start;
                assert_eq!(taken, message.ideal, "{verb} {sets:?}");
            }
        }
    }
}

#[test]
fn a_cache_of_two_never_holds_the_connection_that_comes_next_of_three() {
    let mut text = fabric(2) + "[nic.costs]\ncache_entries = 2\n";
    for start in ["0ns", "100us", "200us"] {
        let turn = "size = \"32B\"\ncount = 4\npoll_interval = \"300us\"\nverb = \"write\"";
        text += &workload(&format!("{turn}\nstart = \"{start}\""));
    }
    let misses = |sets: &[&str]| {
        let nics = run(&text, sets).nics;
        [nics[0].misses, nics[1].misses]
    };
    assert_eq!(misses(&[]), [12, 12]);
    assert_eq!(misses(&["nic.costs.cache_entries=3"]), [3, 3]);
}

#[test]
fn a_lock_lets_one_thread_in_and_costs_more_with_each_that_waits() {
    let nothing = "doorbell = \"0s\"\nwqe_fetch = \"0s\"\nwqe_bytes = 0\nprocessing = \"0s\"\n\
                   cache_miss = \"0s\"\ncqe_write = \"0s\"\npost = \"0s\"\npoll = \"0s\"\ncqe = \"0s\"\n";
    let text = fabric(2)
        + "[nic]\npolicy = \"share\"\n[nic.costs]\n"
        + nothing
        + &workload("applications = 2\nsize = \"32B\"\nverb = \"write\"\ncount = 1");
    let results = run(&text, &[]);
    // The first thread has the lock to 50, the second from 150 to 200, since one contended. A message
    // takes 2070.4. The first thread takes its completion at 2120.4 with a contender: 150 more; the
    // second's arrives as the first is done: 150 more.
    assert_eq!(times(&results), [2_270_400, 2_420_400]);
    assert_eq!(results.nics[0].lock_waits, 3);
    assert_eq!(
        results.nics[0].lock_waited,
        Duration::from_ns(150 + 100 + 100)
    );
    let apart = run(&text, &["nic.share.ratio=1"]);
    // The second packet waits for the first and its gap.
    assert_eq!(times(&apart), [2_070_400, 2_096_400]);
    assert_eq!(apart.nics[0].lock_waits, 0);
}

#[test]
fn a_batch_that_rang_first_leaves_first() {
    let text = fabric(2)
        + "[nic.costs]\n"
        + &workload("size = \"3kB\"\nverb = \"write\"\nbatch = 100\ncount = 100")
        + &workload("size = \"1kB\"\nverb = \"write\"\ncount = 1\nstart = \"6us\"");
    let results = run(&text, &[]);
    let single = results
        .messages
        .iter()
        .find(|message| message.workload == 1)
        .unwrap();
    let batch = results
        .messages
        .iter()
        .find(|message| message.workload == 0)
        .unwrap();
    let waited = single.finish.unwrap() - single.start;
    assert!(waited > Duration::from_us(60), "{waited}");
    assert!(single.finish < batch.finish.map(|at| at + Duration::from_us(2)));
}

#[test]
fn datagrams_need_no_state_of_a_connection() {
    let text = fabric(2)
        + "[nic.costs]\ncache_entries = 2\n"
        + &workload("applications = 20\nsize = \"1KiB\"\nverb = \"send\"\ncount = 20");
    let [rc, uc, ud] = ["rc", "uc", "ud"].map(|service| {
        let results = run(&text, &[&format!("transport.service={service}")]);
        assert_eq!(results.messages.len(), 400, "{service}");
        (rate(&results), results.nics[0].misses)
    });
    assert_eq!(ud.1, 0);
    assert!(rc.1 > 0 && uc.1 > 0);
    assert!(
        ud.0 > 1.5 * rc.0 && ud.0 > 1.5 * uc.0,
        "{rc:?} {uc:?} {ud:?}"
    );
}

#[test]
fn throughput_follows_the_polling_rate() {
    let text = fabric(2) + "[nic.costs]\n" + &workload("size = \"1kB\"\nduration = \"2ms\"");
    for batch in [1, 5, 10] {
        let completed = |interval: &str| {
            let poll = format!("workload.0.poll_interval={interval}");
            let batch = format!("workload.0.batch={batch}");
            run(&text, &[&poll, &batch]).messages.len()
        };
        assert_eq!(completed("50us"), 40 * batch);
        assert_eq!(completed("25us"), 80 * batch);
    }
}

#[test]
fn an_agent_gives_places_that_nobody_uses_to_others() {
    // Thirty-six of forty connections are silent after their first READ.
    let busy = "applications = 4\nsize = \"32B\"\ncount = 500";
    let policy = "[nic]\npolicy = \"drum\"\n[nic.drum]\nactive = 4\n[nic.costs]\n";
    let alone = run(&(fabric(2) + policy + &workload(busy)), &[]);
    let silent = workload("applications = 36\nsize = \"32B\"\ncount = 1");
    let beside = run(&(fabric(2) + policy + &workload(busy) + &silent), &[]);
    let end = |results: &Results| (results.totals.end - Time::ZERO).as_secs_f64();
    assert!(
        end(&beside) < 1.2 * end(&alone),
        "{} {}",
        end(&beside),
        end(&alone)
    );
    assert_eq!(beside.nics[0].most_active, Some(4));
}

#[test]
fn an_agent_keeps_a_batch_from_delaying_others() {
    let text = fabric(2)
        + "[nic.costs]\n"
        + &workload("size = \"32B\"\ncount = 300")
        + &workload("size = \"3kB\"\nverb = \"write\"\nbatch = 100");
    let slow = |policy: &str| {
        let results = run(&text, &[&format!("nic.policy={policy}")]);
        let single = results
            .messages
            .iter()
            .filter(|message| message.workload == 0);
        let mut taken: Vec<Duration> = single.map(|one| one.finish.unwrap() - one.start).collect();
        taken.sort();
        taken[taken.len() * 8 / 10]
    };
    assert!(slow("raw") > Duration::from_us(50));
    assert!(slow("drum") < Duration::from_us(8));
    assert!(slow("justitia") < Duration::from_us(20));
}

#[test]
fn more_reads_than_a_queue_pair_may_have_take_turns() {
    let text = fabric(2) + "[nic.costs]\n" + &workload("size = \"4kB\"\nbatch = 64\ncount = 256");
    assert_eq!(run(&text, &[]).messages.len(), 256);
}

#[test]
fn losses_are_made_good_on_queue_pairs_that_stay_open() {
    let lossy = "transport.ack_timeout = \"100us\"\nfaults.loss_rate = 0.01\n";
    for verb in ["write", "send", "read"] {
        let keys =
            format!("connections = 4\nsize = \"5kB\"\nbatch = 8\ncount = 80\nverb = \"{verb}\"");
        let text = fabric(2) + lossy + &workload(&keys);
        for sets in [
            &[][..],
            &["transport.recovery=selective-repeat"],
            &[
                "transport.recovery=selective-repeat",
                "transport.direct_placement=true",
            ],
            &["nic.policy=drum"],
            &["congestion.algorithm=dcqcn", "congestion.window=fixed"],
            &["congestion.algorithm=hpcc"],
        ] {
            let results = run(&text, sets);
            assert_eq!(results.messages.len(), 320, "{verb} {sets:?}");
            let all = results
                .messages
                .iter()
                .all(|one| one.outcome == Outcome::Completed);
            assert!(all, "{verb} {sets:?}");
            assert!(results.signals.retransmissions.count > 0, "{verb} {sets:?}");
        }
    }
}

#[test]
fn a_dead_link_fails_queue_pairs_and_the_run_ends() {
    let faults = "transport.ack_timeout = \"100us\"\n\
                  faults.link = [{ between = [1, 2], down = \"50us\" }]\n";
    for policy in ["raw", "share", "drum", "justitia"] {
        let keys = "applications = 6\nsize = \"20kB\"\nbatch = 40\ncount = 400";
        let text = fabric(2) + faults + "[nic.costs]\n" + &workload(keys);
        let simulation =
            Simulation::new(&loaded(&text, &[&format!("nic.policy={policy}")])).unwrap();
        let results = simulation.run(&mut |_| Control::Continue);
        assert_eq!(check(&results, true), Vec::<String>::new(), "{policy}");
        assert_eq!(results.totals.ending, Ending::Failed, "{policy}");
    }
}

#[test]
fn a_run_that_stops_reports_operations_under_way() {
    let text =
        String::from("stop = \"100us\"\n") + &fabric(2) + &workload("size = \"1MB\"\nbatch = 3");
    let results = run(&text, &[]);
    assert_eq!(results.totals.ending, Ending::Stopped);
    assert_eq!(results.messages.len(), 3);
    assert!(
        results
            .messages
            .iter()
            .all(|one| one.outcome == Outcome::Unfinished)
    );
}

#[test]
fn a_run_goes_on_while_an_agent_or_a_pacer_waits() {
    let text = fabric(2) + &workload("size = \"32B\"\napplications = 3\ncount = 2");
    let slow = run(&text, &["nic.policy=drum", "nic.costs.handoff=30ms"]);
    assert_eq!(
        (slow.totals.ending, slow.messages.len()),
        (Ending::Complete, 6)
    );
}

#[test]
fn other_workloads_run_beside_connections_that_stay_open() {
    let incast = "[[workload]]\nkind = \"incast\"\ndegree = 2\nsize = \"10kB\"\n";
    let text = star(4) + incast + &workload("size = \"1kB\"\ncount = 10");
    let results = run(&text, &[]);
    assert_eq!(results.messages.len(), 12);
    let ids: BTreeSet<u32> = results
        .messages
        .iter()
        .map(|message| message.id.get())
        .collect();
    assert_eq!(ids, (0..12).collect());
}

#[test]
fn a_host_without_applications_has_an_idle_nic() {
    let results = run(
        &(fabric(3) + "[nic.costs]\n" + &workload("size = \"1kB\"\ncount = 2")),
        &[],
    );
    assert_eq!(results.nics[2].host, NodeId::new(2));
    assert_eq!(results.nics[2].lookups, 0);
    assert_eq!(results.applications.len(), 1);
    assert_eq!(results.applications[0].operations, 2);
}

#[test]
fn a_server_that_is_cut_off_holds_no_place_of_the_agent() {
    let to = |server: u32, keys: &str| {
        workload(keys).replace("servers = \"1\"", &format!("servers = \"{server}\""))
    };
    let text = fabric(3)
        + "[nic]\npolicy = \"drum\"\n[nic.drum]\nactive = 2\nwindow = 4\n[nic.costs]\n"
        + &to(1, "connections = 2\nsize = \"1kB\"\nbatch = 4\ncount = 40")
        + &to(2, "connections = 2\nsize = \"1kB\"\nbatch = 4\ncount = 400")
        + "[[faults.link]]\nbetween = [1, 3]\ndown = \"5us\"\n";
    let results = run(&text, &[]);
    let others = results
        .messages
        .iter()
        .filter(|message| message.workload == 1);
    let ends: Vec<Time> = others.filter_map(|message| message.finish).collect();
    assert_eq!(ends.len(), 800);
    // The queue pairs to the server that is cut off give up after milliseconds.
    let failed = results
        .messages
        .iter()
        .filter(|message| message.outcome == Outcome::RetryExceeded);
    assert!(failed.count() > 0);
    let last = ends.into_iter().max().unwrap();
    assert!(last < Time::ZERO + Duration::from_ms(3), "{last:?}");
}

#[test]
fn an_agent_plans_again_when_applications_come_and_go() {
    let text = fabric(2)
        + "[nic]\npolicy = \"drum\"\n[nic.drum]\nactive = 2\n[nic.costs]\n"
        + &workload("applications = 3\nsize = \"1kB\"\ncount = 50")
        + &workload("applications = 6\nsize = \"1kB\"\ncount = 400\nstart = \"100us\"");
    let results = run(&text, &[]);
    let signal = results.signals.equal_plans.clone().unwrap();
    assert_eq!(signal.count, 0);
    let reason = signal.why_zero.unwrap();
    let plans: u64 = reason
        .split(' ')
        .find_map(|word| word.parse().ok())
        .unwrap();
    assert!(plans > 2, "{reason}");
    for application in &results.applications {
        assert!(application.longest_wait_epochs <= application.wait_bound_epochs);
    }
    let summary = fairlane_fabric::metrics::Summary::of(&results);
    assert_eq!(summary.applications.len(), 9);
    assert!(summary.applications[0].longest_wait_ns > 0.0);
}

#[test]
fn a_pacer_cuts_a_huge_message_as_it_goes() {
    let text = fabric(2)
        + "[nic]\npolicy = \"justitia\"\n[nic.justitia]\nchunk = \"4kB\"\n[nic.costs]\n"
        + &workload("size = \"1001kB\"\ncount = 2\nbatch = 2");
    let results = run(&text, &[]);
    assert_eq!(results.nics[0].work_requests, 2 * 251);
    assert!(
        results
            .messages
            .iter()
            .all(|one| one.outcome == Outcome::Completed)
    );
}

fn scenarios() -> impl Strategy<Value = (String, u32)> {
    let policy = prop::sample::select(vec!["raw", "share", "drum", "justitia"]);
    let verb = prop::sample::select(vec!["write", "send", "read"]);
    let range = prop::sample::select(vec!["uniform", "log-uniform"]);
    let shape = (1u32..12, 1u32..4, 1u32..20, 1u32..40);
    let nic = (1u32..8, 1u32..4, any::<bool>(), 1u32..6);
    (policy, verb, range, shape, nic, 1u64..100_000).prop_map(
        |(policy, verb, spread, (applications, connections, batch, count), nic, high)| {
            let (cache, pipeline, costs, active) = nic;
            let mut text = fabric(3);
            text += &format!("[nic]\npolicy = \"{policy}\"\n[nic.drum]\nactive = {active}\n");
            if costs {
                text += &format!("[nic.costs]\ncache_entries = {cache}\npipeline = {pipeline}\n");
            }
            text += &workload(&format!(
                "applications = {applications}\nconnections = {connections}\nbatch = {batch}\n\
                 count = {count}\nverb = \"{verb}\"\n\
                 range = {{ low = 1, high = {high}, spread = \"{spread}\" }}"
            ))
            .replace("servers = \"1\"", "servers = \"1-2\"");
            (text, applications * connections * count)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_operation_completes_once((text, count) in scenarios()) {
        let results = run(&text, &[]);
        prop_assert_eq!(&results.totals.ending, &Ending::Complete);
        let ids: BTreeSet<u32> = results.messages.iter().map(|message| message.id.get()).collect();
        prop_assert_eq!(ids, (0..count).collect());
        let operations: u64 = results.applications.iter().map(|one| one.operations).sum();
        prop_assert_eq!(operations, u64::from(count));
        prop_assert!(results.messages.iter().all(|one| one.outcome == Outcome::Completed));
    }

    #[test]
    fn an_agent_keeps_to_its_places_and_starves_nobody((text, _) in scenarios()) {
        let text = text.replace("\"raw\"", "\"drum\"").replace("\"share\"", "\"drum\"");
        let text = text.replace("\"justitia\"", "\"drum\"");
        let active = loaded(&text, &[]).scenario.nic.drum.active;
        let results = run(&text, &[]);
        prop_assert!(results.nics.iter().all(|nic| nic.most_active.unwrap() <= active));
        for application in &results.applications {
            prop_assert!(application.longest_wait_epochs <= application.wait_bound_epochs);
        }
    }

    #[test]
    fn equal_scenarios_have_equal_results((text, _) in scenarios()) {
        let (first, second) = (run(&text, &[]), run(&text, &[]));
        prop_assert_eq!(first.messages, second.messages);
        prop_assert_eq!(first.nics, second.nics);
        prop_assert_eq!(first.applications, second.applications);
        prop_assert_eq!(first.totals, second.totals);
    }
}
