//! Collectives and training on fabrics: how long they take, what results say of them, and the same bytes on several threads.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a failed helper fails its test; figures are shown with it"
)]

use fairlane_fabric::metrics::check;
use fairlane_fabric::{CollectiveRecord, Control, Ending, Results, Simulation};
use fairlane_program::Kind;
use fairlane_scenario::Loaded;
use fairlane_units::MessageId;

use crate::common::{loaded, star};

fn run(case: &Loaded) -> Results {
    let results = Simulation::new(case)
        .unwrap()
        .run(&mut |_| Control::Continue);
    assert_eq!(check(&results, true), Vec::<String>::new());
    results
}

fn seconds(record: &CollectiveRecord) -> f64 {
    record.time().unwrap().as_secs_f64()
}

/// Latency and time per byte of payload of a message that is alone on the way between two hosts of a star, from the scenario's links: delays,
/// a packet that is stored and forwarded once, headers. Hosts that send and receive at the same time send an acknowledgement for each packet, too.
fn alpha_beta(case: &Loaded, both_ways: bool) -> (f64, f64) {
    let (rate, delay) = (100e9, 1e-6);
    let sizes = &case.scenario.packet;
    let (mtu, gap) = (sizes.mtu.as_f64(), sizes.gap.as_f64());
    let packet = mtu + sizes.header.as_f64() + gap;
    let acknowledgement = if both_ways {
        sizes.ack.as_f64() + gap
    } else {
        0.0
    };
    (
        2.0 * delay + packet * 8.0 / rate,
        (packet + acknowledgement) / mtu * 8.0 / rate,
    )
}

/// An all-reduce of 64 ranks, and its time over that of the model.
fn over_model(algorithm: &str, size: u64, model: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let text = star(64)
        + &format!(
            "[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\nalgorithm = \"{algorithm}\"\nsize = {size}\n"
        );
    let case = loaded(&text, &[]);
    let (alpha, beta) = alpha_beta(&case, algorithm != "tree");
    let results = run(&case);
    assert_eq!(results.totals.ending, Ending::Complete);
    let time = seconds(&results.collectives[0]);
    let ratio = time / model(alpha, beta, size as f64);
    println!("{algorithm} {size}: {time:.6} s, {ratio:.4} of the model");
    ratio
}

#[test]
fn an_all_reduce_on_an_idle_fabric_takes_as_long_as_the_model_says() {
    let n = 64.0;
    let ring = |alpha, beta, size| 2.0 * (n - 1.0) * (alpha + size / n * beta);
    let tree = |alpha, beta, size| 2.0 * f64::log2(n) * (alpha + size * beta);
    let halving =
        |alpha, beta, size| 2.0 * f64::log2(n) * alpha + 2.0 * (n - 1.0) / n * size * beta;
    let ratios = [
        over_model("ring", 16 << 20, ring),
        over_model("tree", 4 << 20, tree),
        over_model("halving-doubling", 16 << 20, halving),
    ];
    for ratio in ratios {
        assert!((ratio - 1.0).abs() < 0.02, "{ratios:?}");
    }
}

const FABRIC: &str = r#"
[topology]
kind = "leaf-spine"
leaves = 4
spines = 2
hosts_per_leaf = 4
host_link = { rate = "100Gbps", delay = "500ns" }
fabric_link = { rate = "100Gbps", delay = "1us" }
"#;

const TRAINING: &str = r#"
[[workload]]
kind = "training"
layers = [
  { count = 3, parameters = 100_000, activation = "64kB", forward = "10us", backward = "20us" },
  { count = 2, parameters = 50_000, activation = "32kB", forward = "10us", backward = "20us", routed = "40kB" },
]
steps = 2
micro_batches = 3
tensor = 2
pipeline = 2
expert = 2
bucket = "100kB"
optimizer = "5us"
"#;

/// Every kind of collective with every algorithm that it has, some at the same time.
fn all_kinds() -> String {
    let usual = "all-reduce all-gather reduce-scatter all-to-all broadcast reduce barrier";
    let mut pairs: Vec<(&str, &str)> = usual.split(' ').map(|kind| (kind, "usual")).collect();
    for algorithm in ["tree", "halving-doubling", "direct", "hierarchical"] {
        pairs.push(("all-reduce", algorithm));
    }
    pairs.push(("broadcast", "ring"));
    let mut text = FABRIC.to_owned();
    for (number, (kind, algorithm)) in pairs.into_iter().enumerate() {
        let inner = if algorithm == "hierarchical" {
            "inner = 4\n"
        } else {
            ""
        };
        let hosts = if number % 3 == 0 { "0-12" } else { "all" };
        let groups = if number % 3 == 1 { 2 } else { 1 };
        text += &format!(
            "[[workload]]\nkind = \"collective\"\noperation = \"{kind}\"\nalgorithm = \"{algorithm}\"\n{inner}size = \"100kB\"\n\
             rounds = 2\ngap = \"3us\"\ngroups = {groups}\nhosts = \"{hosts}\"\nstart = \"{}us\"\n",
            5 * number
        );
    }
    text
}

#[test]
fn threads_change_nothing() {
    for text in [all_kinds(), FABRIC.to_owned() + TRAINING] {
        let case = loaded(&text, &[]);
        let alone = run(&case);
        assert_eq!(alone.totals.ending, Ending::Complete);
        for threads in [2, 3] {
            let simulation = Simulation::new(&case).unwrap();
            let (results, threading) = simulation.run_on(threads, &mut |_| Control::Continue);
            assert!(
                threading.threads > 1 && threading.windows > 10,
                "{threading:?}"
            );
            assert!(
                format!("{alone:?}") == format!("{results:?}"),
                "{threads} threads"
            );
        }
    }
}

#[test]
fn records_say_what_collectives_were_and_how_long_they_took() {
    let results = run(&loaded(&all_kinds(), &[]));
    for record in &results.collectives {
        let (start, ready, end) = (record.start.unwrap(), record.ready, record.end.unwrap());
        if let Some(ready) = ready {
            assert!(start <= ready && ready <= end, "{record:?}");
            assert!(
                record.last.is_some() && record.last_slowdown.unwrap() >= 1.0,
                "{record:?}"
            );
        }
        if let (Some(kind), Some(bus)) = (record.kind, record.bus_bandwidth()) {
            // No link is faster; of 13 ranks on leaves of 4 those between switches are slower still.
            let most = if kind == Kind::AllToAll { 110e9 } else { 100e9 };
            assert!(bus > 1e9 && bus < most, "{record:?}: {bus}");
        }
    }
    let of = |workload: u32| {
        results
            .collectives
            .iter()
            .filter(move |it| it.workload == workload)
    };
    // Two rounds of two groups, and the two rounds as a whole.
    assert_eq!(of(1).filter(|it| it.kind.is_some()).count(), 4);
    assert_eq!(of(1).filter(|it| it.kind.is_none()).count(), 2);
    assert_eq!(of(0).count(), 2);
    let starts: Vec<_> = of(0).map(|it| it.start.unwrap()).collect();
    assert!(starts[1] > starts[0]);
}

#[test]
fn a_gap_keeps_collectives_apart() {
    let text = star(4)
        + "[[workload]]\nkind = \"collective\"\noperation = \"all-gather\"\nsize = \"1MB\"\nrounds = 2\ngap = \"1ms\"\n";
    let results = run(&loaded(&text, &[]));
    let [one, two] = [0, 1].map(|at| &results.collectives[at]);
    let apart = two.start.unwrap() - one.end.unwrap();
    // The first rank to be done with the first one begins with the second one first.
    assert!(
        apart.as_ns() > 980_000 && apart.as_ns() <= 1_000_000,
        "{apart}"
    );
}

#[test]
fn training_takes_as_long_as_its_longest_chain() {
    // One stage, no tensor ranks: two micro-batches of two layers forwards and backwards, then gradients, of which the last bucket can't overlap.
    let text = star(4)
        + r#"
[[workload]]
kind = "training"
layers = [{ count = 2, parameters = 1_000_000, activation = "1kB", forward = "100us", backward = "200us" }]
micro_batches = 2
bucket = "1MB"
optimizer = "50us"
"#;
    let results = run(&loaded(&text, &[]));
    let gradients: Vec<_> = results
        .collectives
        .iter()
        .filter(|it| it.kind.is_some())
        .collect();
    assert_eq!(gradients.len(), 2);
    assert!(
        gradients
            .iter()
            .all(|it| it.name == "gradients" && it.size.get() == 2_000_000)
    );
    let step = results
        .collectives
        .iter()
        .find(|it| it.kind.is_none())
        .unwrap();
    let computed = 2.0 * 2.0 * (100e-6 + 200e-6) + 50e-6;
    // The first bucket is under way while the last layer computes; it takes longer than that.
    let first = gradients[0].start.unwrap() - step.start.unwrap();
    assert_eq!(first.as_ns(), 2 * 200_000 + 400_000 + 200_000);
    let both = seconds(gradients[0]) + seconds(gradients[1]);
    let expected = computed - 200e-6 + both.max(200e-6 + seconds(gradients[1]));
    let time = seconds(step);
    assert!(
        (time / expected - 1.0).abs() < 0.01,
        "{time} instead of {expected}"
    );
}

#[test]
fn a_step_with_one_collective_is_told_of_too() {
    // One bucket has all gradients: each step computes, and then reduces once.
    let text = star(4)
        + r#"
[[workload]]
kind = "training"
layers = [{ count = 1, parameters = 1_000_000, activation = "1kB", forward = "100us", backward = "200us" }]
steps = 2
"#;
    let results = run(&loaded(&text, &[]));
    let (gradients, steps): (Vec<_>, Vec<_>) =
        results.collectives.iter().partition(|it| it.kind.is_some());
    assert_eq!((gradients.len(), steps.len()), (2, 2));
    for (step, reduced) in steps.iter().zip(&gradients) {
        assert!((seconds(step) - 300e-6 - seconds(reduced)).abs() < 1e-9);
    }
}

#[test]
fn stages_wait_for_each_other() {
    let text = star(2)
        + r#"
[[workload]]
kind = "training"
layers = [{ count = 2, parameters = 0, activation = "1kB", forward = "100us", backward = "100us" }]
micro_batches = 4
pipeline = 2
"#;
    let results = run(&loaded(&text, &[]));
    let step = results
        .collectives
        .iter()
        .find(|it| it.kind.is_none())
        .unwrap();
    // Four micro-batches both ways, and the bubble: (pipeline - 1) x (forward + backward).
    let ideal = (4.0 + 1.0) * 200e-6;
    let time = seconds(step);
    assert!(time > ideal && time < ideal + 100e-6, "{time} for {ideal}");
}

#[test]
fn a_rank_that_never_gets_its_message_stalls_the_collective() {
    let text = star(4)
        + "[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\nsize = \"10MB\"\n\
           [[faults.link]]\nbetween = [0, 4]\ndown = \"100us\"\n";
    let results = Simulation::new(&loaded(&text, &[]))
        .unwrap()
        .run(&mut |_| Control::Continue);
    assert!(
        matches!(results.totals.ending, Ending::Stalled(_)),
        "{:?}",
        results.totals.ending
    );
    let record = &results.collectives[0];
    assert!(record.start.is_some() && record.end.is_none() && record.slowest.is_none());
}

#[test]
fn a_run_that_is_stopped_keeps_what_has_ended() {
    let text = star(4)
        + "stop = \"1500us\"\n[[workload]]\nkind = \"collective\"\noperation = \"barrier\"\nrounds = 9\ngap = \"1ms\"\n";
    let text = text
        .replace("topology =", "topology=")
        .replace("stop = \"1500us\"\n", "");
    let results = Simulation::new(&loaded(&text, &["stop=\"1500us\""]))
        .unwrap()
        .run(&mut |_| Control::Continue);
    assert_eq!(results.totals.ending, Ending::Stopped);
    let ended = results
        .collectives
        .iter()
        .filter(|it| it.end.is_some())
        .count();
    assert_eq!(ended, 2);
}

#[test]
fn a_message_of_a_program_can_not_be_cut() {
    let case = loaded(
        &(star(4) + "[[workload]]\nkind = \"collective\"\noperation = \"barrier\"\n"),
        &[],
    );
    let messages = fairlane_fabric::messages(&case).unwrap();
    let numbers = (0..messages.len() as u32).map(MessageId::new);
    let origins: Vec<Option<MessageId>> = numbers.map(Some).collect();
    assert!(Simulation::with_changes(&case, messages.clone(), &origins).is_ok());
    let error = Simulation::with_changes(&case, messages[1..].to_vec(), &origins[1..]);
    assert_eq!(error.err().unwrap().place, "attack.tenant");
}

/// A work request holds 4 GiB; what counts is what is sent, not the vector.
#[test]
fn large_vectors_are_refused_by_their_messages() {
    let read = |algorithm: &str| {
        let text = star(4)
            + "[[workload]]\nkind = \"collective\"\noperation = \"all-reduce\"\nsize = \"8GB\"\n"
            + &format!("algorithm = \"{algorithm}\"\n");
        let folder = std::path::Path::new(".");
        fairlane_scenario::parse(&text, "test.toml", folder, &[], None)
    };
    let messages = fairlane_fabric::messages(&read("ring").unwrap()).unwrap();
    assert_eq!(messages.len(), 2 * 3 * 4);
    assert!(messages.iter().all(|it| it.size.get() == 2_000_000_000));
    let error = read("tree").unwrap_err();
    assert_eq!(error.place, "test.toml:5:1");
    assert!(error.message.contains("messages of 8GB"), "{error}");
    let large = PING.replace("4096b", "8000000000b");
    let error = trace("ping.goal", &large, "").err().unwrap();
    assert!(
        error
            .message
            .starts_with("rank 0, operation 1: sends a message of 8GB"),
        "{error}"
    );
    assert!(!error.hint.is_empty());
}

/// Runs a trace that is held in memory on a star of four hosts.
fn trace(name: &str, text: &str, more: &str) -> Result<Results, fairlane_scenario::Error> {
    run_held(
        4,
        &format!("path = \"{name}\"\n{more}"),
        &[(name, text.as_bytes())],
    )
}

/// Runs a trace of several files on a star of so many hosts.
fn trace_on(hosts: u32, files: &[(&str, Vec<u8>)]) -> Result<Results, fairlane_scenario::Error> {
    let names: Vec<_> = files.iter().map(|(name, _)| name).collect();
    let held: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(name, bytes)| (*name, &**bytes))
        .collect();
    run_held(hosts, &format!("path = {names:?}"), &held)
}

fn run_held(
    hosts: u32,
    workload: &str,
    held: &[(&str, &[u8])],
) -> Result<Results, fairlane_scenario::Error> {
    let scenario = star(hosts) + &format!("[[workload]]\nkind = \"program\"\n{workload}\n");
    let case = fairlane_scenario::parse_with(
        &scenario,
        "test.toml",
        fairlane_scenario::Files::Held(held),
        &[],
        None,
    )?;
    Ok(Simulation::new(&case)?.run(&mut |_| Control::Continue))
}

const PING: &str = "num_ranks 2\nrank 0 {\nl1: calc 5000\nl2: send 4096b to 1 tag 1\nl3: recv 4096b from 1 tag 2\nl2 requires l1\n}\n\
                    rank 1 {\nl1: recv 4096b from 0 tag 1\nl2: calc 3000\nl3: send 4096b to 0 tag 2\nl2 requires l1\nl3 requires l2\n}\n";

#[test]
fn a_trace_runs_as_a_program() {
    let results = trace("ping.goal", PING, "").unwrap();
    assert_eq!(results.totals.ending, Ending::Complete);
    let [there, back] = [0, 1].map(|at| {
        results
            .messages
            .iter()
            .find(|it| it.id.get() == at)
            .unwrap()
    });
    assert_eq!(there.start.as_ns(), 5000);
    // One way on an idle fabric, of which the acknowledgement isn't a part, and the computation.
    let turn = (back.start - there.start).as_ns();
    assert!((3000 + 2000..3000 + 3000).contains(&turn), "{turn} ns");
    let placed = trace("ping.goal", PING, "placement = [3, 1]").unwrap();
    assert_eq!(placed.messages[0].source.get(), 3);
}

/// A ring of ranks that pass something on twice: each sends to the next, and receives into a buffer of 64 KiB.
fn goal_ring(ranks: u32) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        text += &format!(
            "rank {rank} {{\na: calc {} cpu 0\nb: send 40000b to {next} tag 1 cpu 0 nic 0\n\
             c: recv 65536b from {before} tag 1 cpu 0\nd: send 40000b to {next} tag 2\n\
             e: recv 65536b from {before} tag 2\nb requires a\nd requires c\n}}\n",
            100 * rank
        );
    }
    text
}

#[test]
fn a_goal_trace_of_64_ranks_runs_to_the_end() {
    let results = trace_on(64, &[("ring.goal", goal_ring(64).into_bytes())]).unwrap();
    assert_eq!(results.totals.ending, Ending::Complete);
    assert_eq!(results.messages.len(), 128);
    assert!(results.messages.iter().all(|it| it.size.get() == 40_000));
}

/// The bytes of a field of Protocol Buffers: a number, or what has a length.
fn field(number: u8, value: Result<u64, &[u8]>) -> Vec<u8> {
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value > 127 {
            bytes.push(value as u8 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    match value {
        Ok(value) => [varint(u64::from(number) << 3), varint(value)].concat(),
        Err(bytes) => {
            let head = [
                varint(u64::from(number) << 3 | 2),
                varint(bytes.len() as u64),
            ];
            [head.concat(), bytes.to_vec()].concat()
        }
    }
}

/// The execution trace of a rank: it computes, reduces 1 MB with all others, and passes 30 kB on.
fn chakra(rank: u32, ranks: u32) -> Vec<u8> {
    let framed = |body: &[u8]| field(1, Err(body))[1..].to_vec();
    let attribute = |name: &str, value: u32| {
        let fields = [field(1, Err(name.as_bytes())), field(9, Ok(value.into()))];
        field(10, Err(&fields.concat()))
    };
    let node = |id: u64, kind: u64, rest: &[Vec<u8>]| {
        framed(&[field(1, Ok(id)), field(3, Ok(kind)), rest.concat()].concat())
    };
    let after = |id: u8| field(5, Err(&[id]));
    let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
    let nodes = [
        node(1, 4, &[field(7, Ok(5 + u64::from(rank) % 3))]),
        node(
            2,
            7,
            &[
                after(1),
                attribute("comm_type", 0),
                attribute("comm_size", 1_000_000),
            ],
        ),
        node(
            3,
            5,
            &[
                after(2),
                attribute("comm_dst", next),
                attribute("comm_size", 30_000),
            ],
        ),
        node(
            4,
            6,
            &[
                attribute("comm_src", before),
                attribute("comm_size", 30_000),
            ],
        ),
    ];
    [framed(&field(1, Err(b"0.0.4"))), nodes.concat()].concat()
}

#[test]
fn a_chakra_trace_of_64_ranks_runs_to_the_end() {
    let files: Vec<_> = (0..64)
        .map(|rank| (format!("t.{rank}.et"), chakra(rank, 64)))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|(name, bytes)| (name.as_str(), bytes.clone()))
        .collect();
    let results = trace_on(64, &files).unwrap();
    assert_eq!(results.totals.ending, Ending::Complete);
    let [reduce] = results
        .collectives
        .iter()
        .filter(|it| it.kind.is_some())
        .collect::<Vec<_>>()[..]
    else {
        panic!("{:?}", results.collectives);
    };
    assert_eq!((reduce.kind, reduce.ranks), (Some(Kind::AllReduce), 64));
    // As `docs/collectives.md` has it for a ring of n ranks, 2(n-1)S in all.
    assert_eq!(reduce.sent.get(), 2 * 63 * 1_000_000);
    let passed = results.messages.iter().filter(|it| it.size.get() == 30_000);
    assert_eq!(passed.count(), 64);
}

#[test]
fn traces_that_do_not_fit_are_refused() {
    let refused = |name: &str, text: &str, more: &str| {
        let error = trace(name, text, more).err().unwrap();
        assert!(!error.hint.is_empty(), "{error}");
        error
    };
    assert_eq!(refused("ping.txt", PING, "").place, "workload[0].format");
    assert_eq!(
        refused("ping.goal", PING, "hosts = \"0\"").place,
        "workload[0].hosts"
    );
    assert_eq!(
        refused("ping.goal", PING, "placement = [0]").place,
        "workload[0].placement"
    );
    assert!(
        refused("ping.goal", PING, "placement = [0, 0]")
            .place
            .contains("test.toml")
    );
    assert!(
        refused("ping.goal", PING, "verb = \"read\"")
            .message
            .contains("write")
    );
    let unmatched = PING.replace("to 1 tag 1", "to 1 tag 9");
    let error = refused("ping.goal", &unmatched, "");
    assert!(error.message.contains("rank 0, operation 1"), "{error}");
    let circle = PING.replace(
        "l2 requires l1\n}\nrank 1",
        "l2 requires l1\nl1 requires l3\n}\nrank 1",
    );
    assert!(
        refused("ping.goal", &circle, "")
            .message
            .contains("waits for itself")
    );
}
