//! Traffic classes at ports, computed by hand.
//!
//! At 8 Gb/s a byte takes 1 ns. Packets have 1000 B, acknowledgements 50 B, there are no headers and no gaps, links are 100 ns
//! long: a packet takes 1000 + 100 ns over a link, an acknowledgement 150 ns. A message of n packets from one host to another takes
//! 1000 n + 100 + 1100 + 2 x 150 ns if it is alone, 1000 n + 1500.

use fairlane_fabric::{Results, Simulation};

use crate::common::{complete, loaded, run, taken};

const SIZES: &str = r#"
topology = { kind = "star", hosts = 6, host_link = { rate = "8Gbps", delay = "100ns" } }
congestion = { algorithm = "fixed" }
packet = { mtu = 1000, header = 0, first_header = 0, ack = 50, ack_min = 0, cnp = 50, pause = 50, gap = 0 }
"#;

/// Nanoseconds of a turn of weights 3 and 1: four packets.
const TURN: u64 = 4_000;

/// A run of messages `(source, destination, packets, start in ns, class)` with these further settings.
fn results(messages: &[(u32, u32, u32, u32, u8)], sets: &[&str]) -> Results {
    complete(&loaded(&scenario(messages), sets))
}

fn scenario(messages: &[(u32, u32, u32, u32, u8)]) -> String {
    let flow = |&(source, destination, packets, start, class): &_| {
        format!(
            "  {{ source = {source}, destination = {destination}, size = {packets}000, \
             start = \"{start}ns\", class = {class} }},\n"
        )
    };
    let flows: String = messages.iter().map(flow).collect();
    format!("{SIZES}[[workload]]\nkind = \"flows\"\nflow = [\n{flows}]\n")
}

/// Nanoseconds that message `id` took.
fn ns(results: &Results, id: u32) -> u64 {
    let ps = taken(results, id);
    assert_eq!(ps % 1000, 0, "{ps} ps isn't a whole nanosecond");
    ps / 1000
}

/// Four bulk messages to host 5 in class 3, and behind them ten packets to it in class 5.
const BULK: [(u32, u32, u32, u32, u8); 5] = [
    (0, 5, 200, 0, 3),
    (1, 5, 200, 0, 3),
    (2, 5, 200, 0, 3),
    (3, 5, 200, 0, 3),
    (4, 5, 10, 10_500, 5),
];

#[test]
fn a_strict_class_waits_for_a_packet_under_way_and_no_more() {
    // The switch sends bulk packets from 1100 on, one each 1000 ns. The first of class 5 is there at 10,500 + 1100 = 11,600, when
    // one has 500 ns to go; the others come 1000 ns apart and find the transmitter free, at 12,100 + 1000 n - 500.
    let strict = results(&BULK, &["switch.class=[{class=5,strict=true}]"]);
    assert_eq!(ns(&strict, 4), 11_500 + 500);
    // By turns every packet of class 5 waits for one of class 3: n leaves at 12,100 + 2000 n, the last one 9000 ns later.
    let turns = results(&BULK, &[]);
    assert_eq!(ns(&turns, 4), 11_500 + 500 + 9_000);
    // Class 3 has the same bytes in front of it in the end: the last packet leaves at 1100 + 809,000.
    for results in [&strict, &turns] {
        let last = (0..4).map(|id| ns(results, id)).max();
        assert_eq!(last, Some(810_100 + 1100 + 300));
    }
}

#[test]
fn of_two_strict_classes_the_higher_number_goes_first() {
    // Classes 4 and 6 come at 1100 with class 5 and none leaves a gap: 6, then 5, then 4, whatever the order of the list. The
    // first to come (of the lower port) finds the transmitter free.
    let messages = [(0, 5, 10, 0, 4), (1, 5, 10, 0, 5), (2, 5, 10, 0, 6)];
    let sets = ["switch.class=[{class=4,strict=true},{class=6,strict=true},{class=5,strict=true}]"];
    let run = results(&messages, &sets);
    // 6 waits for the first of 4; 5 begins when 6 ends; 4 ends last.
    let ends: Vec<u64> = [2, 1, 0].map(|id| ns(&run, id)).to_vec();
    assert_eq!(ends, [12_500, 22_500, 31_500]);
}

#[test]
fn weights_of_three_and_one_share_a_port_three_to_one() {
    // Both have packets at the switch from 1100 on, and A (class 3) ends when it has sent 300 of 400, give or take a turn of four.
    // B has the rest: of 600 packets the last one leaves at 600,100.
    let messages = [(0, 5, 300, 0, 3), (1, 5, 300, 0, 4)];
    let sets = ["switch.class=[{class=3,weight=75},{class=4,weight=25}]"];
    let run = results(&messages, &sets);
    let end = 1100 + 400_000 + 100 + 300;
    assert!(
        (end - TURN..=end + TURN).contains(&ns(&run, 0)),
        "{}",
        ns(&run, 0)
    );
    assert_eq!(ns(&run, 1), 600_100 + 1100 + 300);
}

#[test]
fn weights_divide_what_strict_classes_leave() {
    // Class 6 takes half of the link, paced at its host. Of 600 packets of A and B and 300 of class 6 in 900 turns, A has three
    // of eight until it ends: its 150 packets take 400 turns. A quantum is 3 packets, so that the end is within a turn of four
    // packets of A and B, which is eight of the link.
    let messages = [(0, 5, 150, 0, 3), (1, 5, 150, 0, 4), (2, 5, 300, 0, 6)];
    let half = "congestion.fixed.rate=\"4Gbps\"";
    let classes = "switch.class=[{class=3,weight=3},{class=4,weight=1},{class=6,strict=true}]";
    let run = results(&messages, &[half, classes]);
    let expected = 400_000.0;
    let end = ns(&run, 0) as f64 - 1500.0;
    assert!((end - expected).abs() <= 8_000.0, "{end}");
    // The strict one is as fast as alone, but for a packet in its way: its last packet leaves its host at 299 x 2000.
    let alone = 299 * 2000 + 1100 + 1100 + 300;
    assert!(
        (alone..=alone + 1000).contains(&ns(&run, 2)),
        "{}",
        ns(&run, 2)
    );
}

#[test]
fn a_nic_sends_strict_classes_first() {
    // Host 0 sends 200 packets to host 1 and, 10,500 ns later, ten to host 2: they leave from 11,000 on.
    let messages = [(0, 1, 200, 0, 3), (0, 2, 10, 10_500, 5)];
    let strict = results(&messages, &["nic.class=[{class=5,strict=true}]"]);
    assert_eq!(ns(&strict, 1), 11_500 + 500);
    assert_eq!(ns(&strict, 0), 210_000 + 1500);
    // In turn, every second packet is of class 3.
    let turns = results(&messages, &[]);
    assert_eq!(ns(&turns, 1), 11_500 + 500 + 9_000);
}

#[test]
fn a_nic_shares_its_link_by_weights() {
    // As at a switch: the 300 packets of class 3 end with 400 of all, the last of B leaves at 599,000. Two messages of class 3 have
    // together what one has: 150 packets each, in turn.
    let sets = ["nic.class=[{class=3,weight=3},{class=4,weight=1}]"];
    let run = results(&[(0, 1, 300, 0, 3), (0, 2, 300, 0, 4)], &sets);
    let end = 400_000 + 1500;
    let near = end - TURN..=end + TURN;
    assert!(near.contains(&ns(&run, 0)), "{}", ns(&run, 0));
    assert_eq!(ns(&run, 1), 599_000 + 1000 + 1500);
    let messages = [(0, 1, 150, 0, 3), (0, 2, 150, 0, 3), (0, 3, 300, 0, 4)];
    let run = results(&messages, &sets);
    for id in 0..2 {
        // The last packet of one is the last but one of both.
        let near = end - TURN - 1000..=end + TURN;
        assert!(near.contains(&ns(&run, id)), "{}", ns(&run, id));
    }
    assert_eq!(ns(&run, 2), 599_000 + 1000 + 1500);
}

#[test]
fn a_paused_class_leaves_the_port_to_the_others() {
    // Host 5 has the switch stop class 5 for the first 300 us: class 3 is as fast as alone, though class 5 is strict. Then class 5
    // has the port for itself.
    let pause = "faults.pause=[{host=5,class=5,start=\"0ns\",duration=\"300us\"}]";
    let classes = "switch.class=[{class=5,strict=true}]";
    let messages = [(0, 5, 200, 1_000, 3), (1, 5, 100, 1_000, 5)];
    let run = results(&messages, &[pause, classes]);
    assert_eq!(ns(&run, 0), 200_000 + 1500);
    assert!(
        (380_000..=402_000).contains(&ns(&run, 1)),
        "{}",
        ns(&run, 1)
    );
}

#[test]
fn a_class_without_a_weight_is_refused_where_others_have_one() {
    for key in ["switch.class", "nic.class"] {
        let set = format!("{key}=[{{class=3,weight=3}}]");
        let case = loaded(&scenario(&[(0, 5, 1, 0, 3), (1, 5, 1, 0, 4)]), &[&set]);
        let error = Simulation::new(&case).err().expect("class 4 has no weight");
        let text = error.to_string();
        assert!(text.contains(key) && text.contains("class 4"), "{text}");
    }
    // Beside strict classes alone, the others share evenly.
    let sets = ["switch.class=[{class=5,strict=true}]"];
    run(&loaded(
        &scenario(&[(0, 5, 1, 0, 3), (1, 5, 1, 0, 4)]),
        &sets,
    ));
}
