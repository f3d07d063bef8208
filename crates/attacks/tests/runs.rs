//! Each attack works where nobody defends: scope `qp`, DCQCN, and the same honestly doesn't.

use fairlane_fabric::Results;
use fairlane_units::Time;

use crate::common::{dumbbell, flows, last_finish, loaded, plan, run, star};

/// Red's share of the link that one message of red and one of blue meet on, until red is done.
fn share(attack: &str) -> f64 {
    let size = 20_000_000;
    let traffic = flows("red", &[(0, 2, size)]) + &flows("blue", &[(1, 3, 3 * size)]);
    let results = run(&plan(&format!("{attack}\n{}{traffic}", dumbbell(2)), &[]));
    size as f64 * 8.0 / (last_finish(&results, 0) * 1e-6) / 100e9
}

#[test]
fn parallel_queue_pairs_take_most_of_a_link() {
    assert!(share("") < 0.5, "{}", share(""));
    let [four, sixteen] =
        [4, 16].map(|qps| share(&format!("attack = {{ kind = \"parallel\", qps = {qps} }}")));
    assert!(four > 0.5 && sixteen > four, "{four} {sixteen}");
    // S2, figure 3: 72 %.
    assert!(sixteen > 0.7, "{sixteen}");
}

#[test]
fn staggered_queue_pairs_take_most_of_a_link() {
    // S2, section IV.A: 60 % against a victim.
    let staggered = share("attack = { kind = \"staggered\" }");
    assert!(staggered > 0.6, "{staggered}");
}

/// The 99th percentile of the completion times of blue's messages in microseconds, unfinished ones at what
/// they have taken so far.
fn slow_messages(results: &Results) -> f64 {
    let blue = results.messages.iter().filter(|m| m.tenant.get() == 1);
    let begun = blue.filter(|m| m.start < results.totals.end);
    let end = |finish: Option<Time>| finish.unwrap_or(results.totals.end);
    let mut taken: Vec<_> = begun.map(|m| end(m.finish) - m.start).collect();
    taken.sort_unstable();
    taken[taken.len() * 99 / 100].as_secs_f64() * 1e6
}

/// A millisecond of blue's short messages between all hosts of a star, while red's hosts do something.
fn with_short_messages(attack: &str) -> Results {
    let star = star(16, 8).replace("\"8-15\"", "\"all\"");
    let poisson = "[[workload]]\nkind = \"poisson\"\ntenant = \"blue\"\nload = 0.1\nduration = \"1ms\"\n\
         sizes = [{ size = 1000, percent = 0 }, { size = 20000, percent = 100 }]\n";
    run(&plan(
        &format!("attack = {{ {attack} }}\n{star}{poisson}"),
        &[],
    ))
}

/// How slow blue's messages are under an attack of red and under what red's hosts do honestly.
fn harm(attack: &str) -> [f64; 2] {
    ["", ", honest = true"]
        .map(|honest| slow_messages(&with_short_messages(&(attack.to_owned() + honest))))
}

#[test]
fn a_rotating_incast_fills_queues() {
    let incast = with_short_messages("kind = \"rotating-incast\"");
    let red = incast
        .messages
        .iter()
        .filter(|m| m.tenant.get() == 0 && m.finish.is_some());
    let bits: u64 = red.map(|m| m.size.get() * 8).sum();
    // As much from each of eight hosts in the same millisecond, but not to the same one at a time.
    let paced = format!("kind = \"paced\", rate = \"{}bps\"", bits * 1000 / 8);
    let [incast, paced] = [incast, with_short_messages(&paced)].map(|run| slow_messages(&run));
    assert!(incast > 1.2 * paced, "{incast} us, paced {paced} us");
}

#[test]
fn shuffled_rings_take_most_of_a_link() {
    // Four messages of red and four of blue share the link.
    let size = 10_000_000;
    let pairs = |odd: u32| [0, 2, 4, 6].map(|host| (host + odd, host + odd + 8, size));
    let traffic = flows("red", &pairs(0)) + &flows("blue", &pairs(1));
    let last = |attack: &str| {
        let results = run(&plan(&format!("{attack}\n{}{traffic}", dumbbell(8)), &[]));
        last_finish(&results, 0)
    };
    let [attack, honest] = ["attack = { kind = \"shuffled-overlay\", above = 1 }", ""].map(last);
    assert!(attack < 0.75 * honest, "{attack} us, honestly {honest} us");
}

#[test]
fn churn_fills_queues() {
    let [attack, honest] = harm("kind = \"churn\", bdps = 4");
    assert!(attack > 1.2 * honest, "{attack} us, honestly {honest} us");
}

#[test]
fn a_hog_of_the_nic_delays_whoever_shares_the_host() {
    let [attack, honest] = harm("kind = \"nic-hog\"");
    assert!(attack > 2.0 * honest, "{attack} us, honestly {honest} us");
}

#[test]
fn pulses_slow_a_victim_down_for_little_bandwidth() {
    let victim = flows("blue", &[(1, 5, 20_000_000)]);
    let finish = |honest: bool| {
        let attack = format!(
            "attack = {{ kind = \"pulse\", piece = \"600kB\", sources = \"0,2\", destinations = \"4\", \
             duration = \"10ms\", honest = {honest} }}"
        );
        let results = run(&plan(&format!("{attack}\n{}{victim}", dumbbell(4)), &[]));
        last_finish_of(&results, 1)
    };
    let (pulsed, spread) = (finish(false), finish(true));
    assert!(pulsed > 1.15 * spread, "{pulsed} us, evenly {spread} us");
}

/// When a tenant's first message has arrived, in microseconds.
fn last_finish_of(results: &Results, tenant: u32) -> f64 {
    let mut own = results.messages.iter().filter(|m| m.tenant.get() == tenant);
    own.next().unwrap().finish.unwrap().as_ps() as f64 * 1e-6
}

#[test]
fn a_storm_of_pauses_stops_those_who_have_nothing_to_do_with_it() {
    // Red's hosts 0 and 2 send to red's host 6, which pauses; blue goes from 1 to 7 beside them.
    let traffic = flows("blue", &[(1, 7, 2_000_000)]);
    let finish = |keys: &str, sets: &[&str]| {
        let attack = format!("attack = {{ kind = \"pfc-storm\", duration = \"3ms\"{keys} }}");
        let text = format!("{attack}\n{}{traffic}", dumbbell(4));
        let sets = [&["switch.buffer=\"1MB\""], sets].concat();
        let results = run(&plan(&text, &sets));
        let blue = results
            .messages
            .iter()
            .find(|m| m.tenant.get() == 1)
            .unwrap();
        blue.finish.map(|at| at.as_ps() as f64 * 1e-6)
    };
    assert!(finish(", honest = true", &[]).unwrap() < 1500.0);
    assert_eq!(finish("", &[]), None);
    let watchdog = [
        "switch.pfc.watchdog=\"100us\"",
        "switch.pfc.watchdog_restore=\"5ms\"",
    ];
    assert!(finish("", &watchdog).unwrap() < 2000.0);
}

#[test]
fn a_flood_of_connections_makes_nics_fetch_states_for_everybody() {
    // Blue asks host 7 over four connections from the host that red floods.
    let text = |honest: bool| {
        let asks = "[[workload]]\nkind = \"key-value\"\ntenant = \"blue\"\nclients = \"0\"\nservers = \"7\"\n\
             connections = 4\nsize = \"64B\"\nduration = \"500us\"\n";
        let tenants = star(8, 1).replace("\"1-7\"", "\"all\"");
        let attack = format!("attack = {{ kind = \"cache-flood\", honest = {honest} }}");
        format!("{attack}\n{tenants}[nic.costs]\n{asks}")
    };
    let [flooded, calm] = [true, false].map(|honest| run(&plan(&text(!honest), &[])));
    let bytes = |results: &Results| {
        let blue = results.applications.iter().filter(|one| one.workload == 0);
        blue.map(|one| one.bytes.get()).sum::<u64>()
    };
    let share = |results: &Results| {
        let nic = &results.nics[0];
        nic.misses as f64 / nic.lookups as f64
    };
    assert!(share(&calm) < 0.05, "{}", share(&calm));
    // The NIC looks for the same state several times in a row for one operation.
    assert!(share(&flooded) > 0.25, "{}", share(&flooded));
    assert!(2 * bytes(&flooded) < bytes(&calm));
}

#[test]
fn paced_hosts_send_at_their_rate() {
    let text = format!(
        "attack = {{ kind = \"paced\", rate = \"20Gbps\", duration = \"2ms\" }}\n{}",
        star(8, 4)
    );
    let results = run(&plan(&text, &[]));
    let bytes: u64 = results.messages.iter().map(|m| m.size.get()).sum();
    let rate = bytes as f64 * 8.0 / 2e-3 / 4.0;
    assert!((rate / 20e9 - 1.0).abs() < 0.1, "{rate}");
}

#[test]
fn the_same_seed_gives_the_same_attack_and_another_seed_another() {
    let text = format!(
        "attack = {{ kind = \"churn\", duration = \"50us\" }}\n{}",
        star(12, 12)
    );
    let plan = |seed: &str| fairlane_attacks::messages(&loaded(&text, &[seed])).unwrap();
    assert_eq!(plan("seed=3"), plan("seed=3"));
    assert_ne!(plan("seed=3"), plan("seed=4"));
}
