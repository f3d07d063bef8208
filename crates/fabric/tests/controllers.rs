//! What the fabric gives to congestion controls: round-trip times, hops, notifications, losses.

use fairlane_fabric::{Results, TraceEvent, TracedPacket};
use fairlane_units::Time;

use crate::common::{complete, flows, loaded, star, taken};

/// Swift with one target delay for all windows, and decreases as hard as they can be.
fn swift(target: &str, hop: &str) -> [String; 5] {
    [
        "congestion.swift.decrease_gain=1.0".into(),
        "congestion.algorithm=\"swift\"".into(),
        format!("congestion.swift.base_target=\"{target}\""),
        format!("congestion.swift.hop_target=\"{hop}\""),
        "congestion.swift.flow_range=\"0s\"".into(),
    ]
}

/// Completion time of 10 MB alone, over what it is at the line rate.
fn stretch(topology: &str, (target, hop): (&str, &str)) -> f64 {
    let text = topology.to_owned() + &flows(&[(0, 1, 10_000_000, "0ns")]);
    let sets = swift(target, hop);
    let results = complete(&loaded(&text, &sets.each_ref().map(String::as_str)));
    let message = &results.messages[0];
    taken(&results, 0) as f64 / message.ideal.as_ps() as f64
}

#[test]
fn round_trip_times_are_those_of_each_packet() {
    // A full packet has 1024 + 62 + 8 B, the acknowledgement 66 + 8 B: 87.52 and 5.92 ns at each of
    // two hops, and four times 1 us. So 4186.88 ns; the window shrinks if the target is less.
    let star = star(2);
    let kept = stretch(&star, ("4186881ps", "0s"));
    let shrunk = stretch(&star, ("4166880ps", "0s"));
    assert!(kept < 1.001, "{kept}");
    assert!(shrunk > 1.2, "{shrunk}");
}

#[test]
fn hops_are_the_switches_on_the_way_there() {
    let link = "{ rate = \"100Gbps\", delay = \"1us\" }";
    let dumbbell = format!(
        "topology = {{ kind = \"dumbbell\", left = 1, right = 1, host_link = {link}, core_link = {link} }}\n"
    );
    // Three hops each way: 6 us, and 3 x 93.44 ns. Two switches add 200 ns each to the target.
    let around = |base: u64| stretch(&dumbbell, (&format!("{base}ps"), "200ns"));
    let rtt = 6_000_000 + 3 * 93_440;
    assert!(around(rtt - 400_000 + 1) < 1.001);
    assert!(around(rtt - 420_000) > 1.2);
}

#[test]
fn time_stamps_take_room_on_the_wire() {
    let text = star(2) + &flows(&[(0, 1, 2048, "0ns")]);
    let bytes = |algorithm: &str| {
        let set = format!("congestion.algorithm=\"{algorithm}\"");
        complete(&loaded(&text, &[&set])).totals.injected.bytes
    };
    assert_eq!(bytes("dctcp"), 2048 + 2 * 62 + 16 + 2 * 66);
    assert_eq!(bytes("timely"), bytes("dctcp") + 4 * 8);
    assert_eq!(bytes("nscc"), bytes("dctcp") + 4 * 8);
    assert_eq!(bytes("powertcp"), bytes("dctcp") + 4 * 42);
}

/// Sixteen hosts send 400 kB each to one, marks come back as `notification` says.
fn incast(algorithm: &str, notification: &str) -> Results {
    let list: Vec<_> = (0..16).map(|host| (host, 16, 400_000, "0ns")).collect();
    let sets = [
        &format!("congestion.algorithm=\"{algorithm}\""),
        &format!("congestion.notification=\"{notification}\""),
        "output.trace_nodes=[16]",
    ];
    complete(&loaded(&(star(17) + &flows(&list)), &sets))
}

#[test]
fn cnps_are_packets_and_keep_their_distance() {
    for algorithm in ["dcqcn", "infiniband"] {
        let results = incast(algorithm, "cnp");
        let signals = &results.signals;
        assert!(signals.cnps_sent.count < signals.ecn_marks.count / 4);
        assert!(signals.cnps.count > 0 && signals.cnps.count <= signals.cnps_sent.count);
        // Each of 16 queue pairs may send one every 50 us.
        let span = results.totals.end.as_ns() / 50_000 + 1;
        assert!(signals.cnps_sent.count <= 16 * span, "{signals:?}");
        let sent = |packet| {
            let records = results.trace.iter();
            let left =
                records.filter(move |r| r.packet == packet && r.event == TraceEvent::Dequeued);
            left.collect::<Vec<_>>()
        };
        let cnps = sent(TracedPacket::Cnp);
        assert_eq!(cnps.len() as u64, signals.cnps_sent.count);
        assert!(cnps.iter().all(|cnp| (cnp.bytes, cnp.class) == (78, 0)));
        assert!(sent(TracedPacket::Ack).iter().all(|ack| !ack.marked));
        for host in 0..16 {
            let times: Vec<_> = cnps
                .iter()
                .filter(|cnp| cnp.destination.get() == host)
                .map(|cnp| cnp.time)
                .collect();
            // A CNP may wait for a packet in transmission, so that the next one seems early.
            let apart = |two: &[Time]| (two[1] - two[0]).as_ns() >= 50_000 - 100;
            assert!(times.windows(2).all(apart), "{times:?}");
        }
    }
}

#[test]
fn cnps_do_what_echoes_do() {
    let queue = |results: &Results| results.totals.queue_max;
    let (echoes, cnps) = (incast("dcqcn", "ack"), incast("dcqcn", "cnp"));
    assert_eq!(echoes.signals.cnps_sent.count, echoes.signals.cnps.count);
    assert!(echoes.trace.iter().all(|r| r.packet != TracedPacket::Cnp));
    let deaf = incast("fixed", "ack");
    assert!(
        queue(&echoes) < queue(&deaf),
        "{} {}",
        queue(&echoes),
        queue(&deaf)
    );
    assert!(
        queue(&cnps) < queue(&deaf),
        "{} {}",
        queue(&cnps),
        queue(&deaf)
    );
}

#[test]
fn a_loss_reaches_the_controller() {
    // Losses halve Swift's window; a fixed rate with the same window goes on.
    let text = star(2) + &flows(&[(0, 1, 4_000_000, "0ns")]);
    let time = |algorithm: &str, loss: &str| {
        let sets = [
            &format!("congestion.algorithm=\"{algorithm}\""),
            &format!("faults.loss_rate={loss}"),
            "transport.ack_timeout=\"50us\"",
        ];
        taken(&complete(&loaded(&text, &sets)), 0) as f64
    };
    let slower = |algorithm| time(algorithm, "0.002") / time(algorithm, "0.0");
    assert!(
        slower("swift") > 1.2 * slower("fixed"),
        "{} {}",
        slower("swift"),
        slower("fixed")
    );
}

#[test]
fn queues_stand_where_the_algorithms_say() {
    // The receiver's queue 400 us into an incast of 8 long messages, by the design of each: near
    // empty, below the target of 23 us and flow scaling, around the step of 300 kB, deep; between the first and
    // the last mark.
    let list: Vec<_> = (0..8).map(|host| (host, 8, 4_000_000, "0ns")).collect();
    let text = star(9) + &flows(&list);
    let standing = |algorithm: &str| {
        let set = format!("congestion.algorithm=\"{algorithm}\"");
        let results = complete(&loaded(&text, &[&set, "output.sample_interval=\"20us\""]));
        let receiver = results
            .ports
            .iter()
            .position(|port| port.on_switch && port.peer_node.get() == 8);
        let queue =
            |row: usize| results.series.queue[row * results.series.ports + receiver.unwrap()];
        let rows: Vec<u64> = (20..60).map(queue).collect();
        rows.iter().sum::<u64>() as f64 / rows.len() as f64
    };
    let [hpcc, powertcp] = ["hpcc", "powertcp"].map(standing);
    let [swift, dctcp, fixed] = ["swift", "dctcp", "fixed"].map(standing);
    assert!(hpcc < 10_000.0 && powertcp < 15_000.0, "{hpcc} {powertcp}");
    // 23 us less the round trip of 4.2 us are 235 kB at 100 Gb/s.
    assert!((200_000.0..400_000.0).contains(&swift), "{swift}");
    assert!((200_000.0..350_000.0).contains(&dctcp), "{dctcp}");
    assert!(fixed > 2_000_000.0, "{fixed}");
    let nscc = standing("nscc");
    assert!((30_000.0..120_000.0).contains(&nscc), "{nscc}");
}
