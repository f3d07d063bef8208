//! The kernel's Soft-RoCE as oracle: what runs between it and the software NIC, and what each does alone.

mod capture;
mod compare;
mod counters;
mod decode;
mod machine;
mod programs;
mod suite;

use capture::Capture;
use counters::Counters;
use machine::{OURS, machine};
use programs::{Client, Program, Run, run};

use crate::setup::{alone, compiled_object, has};

/// As in `perftest.rs`, with fewer and smaller messages. Lengths that aren't multiples of four are padded.
/// A slow machine that gets 8 MiB at once has more than 67 ms until it must acknowledge.
const PERFTEST: [Program; 19] = [
    Program::both("ib_send_bw -n 20 -s 20001"),
    Program::both("ib_write_bw -n 20 -s 20002"),
    Program::both("ib_read_bw -n 20 -s 20003"),
    Program::both("ib_send_lat -n 20"),
    Program::both("ib_write_lat -n 20"),
    Program::both("ib_read_lat -n 20"),
    Program::both("ib_atomic_bw -n 20"),
    Program::both("ib_atomic_lat -n 20 -A CMP_AND_SWAP"),
    Program::both("ib_send_bw -c UD -n 20 -s 2001"),
    Program::both("ib_send_bw -c UC -n 20 -s 20001"),
    Program::both("ib_write_bw --use_old_post_send -n 20 -s 20000"),
    Program::both("ib_send_bw -e -n 20 -s 20000"),
    Program::both("ib_write_bw -a -n 5 -u 18"),
    Program::both("ib_write_bw -q 4 -n 20 -s 20000"),
    Program::both("ib_send_bw -b -n 20 -s 20000"),
    Program::both("ib_send_bw --use-srq -n 20 -s 20000"),
    Program::both("ib_send_bw -x 1 -I 64 -s 64 -n 20"),
    // Devices that ask for headers that rxe doesn't know.
    Program::both("env FAIRLANE_NIC=congestion=swift ib_write_bw -n 20 -s 20000"),
    Program::both("env FAIRLANE_NIC=scope=tenant ib_read_bw -n 20 -s 20000"),
];

/// `-c` compares every byte of every buffer.
const PINGPONGS: [Program; 6] = [
    Program::both("ibv_rc_pingpong -g 1 -c -n 30"),
    Program::both("ibv_rc_pingpong -g 1 -c -e -m 1024 -s 100001 -n 10"),
    Program::both("ibv_rc_pingpong -g 1 -c -N -n 30"),
    Program::both("ibv_uc_pingpong -g 1 -c -n 30"),
    Program::both("ibv_ud_pingpong -g 1 -c -s 2048 -n 30"),
    Program::both("ibv_srq_pingpong -g 1 -c -n 20"),
];

/// Those that connect by addresses.
const CONNECTIONS: [Program; 12] = [
    Program::pair(
        "rping -s -a SERVER -C 10 -V -S 4000",
        "rping -c -a SERVER -C 10 -V -S 4000",
    ),
    Program::pair("rping -s -C 3 -V -q", "rping -c -a SERVER -C 3 -V -q"),
    Program::pair("ucmatose -b SERVER", "ucmatose -s SERVER"),
    Program::pair(
        "ucmatose -c 8 -C 10 -S 3000",
        "ucmatose -s SERVER -c 8 -C 10 -S 3000",
    ),
    Program::pair("ucmatose -m", "ucmatose -s SERVER -m"),
    Program::pair("udaddy -b SERVER", "udaddy -s SERVER"),
    Program::pair("rdma_server -p 7471", "rdma_client -s SERVER -p 7471"),
    Program::both("ib_write_bw -R -n 20 -s 20000"),
    Program::both("ib_read_bw -R -n 20 -s 20000"),
    Program::both("ib_send_lat -R -n 20"),
    Program::both("ib_atomic_bw -R -n 20"),
    Program::both("ib_send_bw -R -c UD -n 20"),
];

#[test]
fn perftest_runs_with_the_oracle_in_both_roles() {
    if has("ib_write_bw", "perftest") {
        assert_programs(&PERFTEST);
    }
}

#[test]
fn pings_and_the_oracles_come_back_as_they_were() {
    if has("ibv_rc_pingpong", "ibverbs-utils") {
        assert_programs(&PINGPONGS);
    }
}

#[test]
fn connections_come_to_be_with_the_oracle_in_both_roles() {
    let later = compiled_object("later", ("rdma/rdma_cma.h", "librdmacm-dev"));
    if later.is_some() && has("rping", "rdmacm-utils") && has("ib_write_bw", "perftest") {
        assert_programs(&CONNECTIONS);
    }
}

/// Sends a datagram to queue pair 1 whose ICRC is zero.
const WRONG: &str = r"
import socket
bth, deth = '6400ffff0000000100000000', '8001000000000001'
packet = bytes.fromhex(bth + deth) + bytes(256 + 4)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(packet, ('10.77.0.2', 4791))
";

#[test]
fn the_oracle_does_not_count_a_packet_with_a_wrong_checksum() {
    let _alone = alone();
    let Some(machine) = machine() else {
        return;
    };
    let before = Counters::read(machine);
    let start = capture::length(&machine.capture());
    let sent = machine.here(&["python3", "-c", WRONG]).status();
    assert!(sent.expect("python3 has been found").success());
    let counted = Counters::read(machine).since(&before);
    let capture = Capture::since(&machine.capture(), start);
    assert_eq!(capture.sent_by(OURS), 1);
    assert_eq!(counted.of("rcvd_pkts"), 0, "{counted}");
}

#[track_caller]
fn assert_programs(programs: &[Program]) {
    if !has("tshark", "tshark") {
        return;
    }
    let _alone = alone();
    let Some(machine) = machine() else {
        return;
    };
    let mut complaints = Vec::new();
    let start = capture::length(&machine.capture());
    for program in programs {
        let runs = [Client::Ours, Client::Theirs].map(|client| run(machine, program, client));
        for run in &runs {
            println!("{run}");
            complaints.extend(run.complaint());
        }
        if program.is_comparable() && runs.iter().all(|run| run.complaint().is_none()) {
            let packets = |run: &Run| {
                let file = run.capture.write(machine.file("part.pcap"));
                decode::packets(&file)
            };
            let [ours, theirs] = runs.each_ref().map(packets);
            for difference in compare::compare(&ours, &theirs) {
                println!("    {difference}");
                if !difference.is_expected() {
                    complaints.push(format!("{}\n{difference}", runs[0]));
                }
            }
        }
    }
    let all = Capture::since(&machine.capture(), start);
    let suspicious = decode::suspicious(&all.write(machine.file("part.pcap")));
    if !suspicious.is_empty() {
        complaints.push(format!("tshark finds these suspicious:\n{suspicious}"));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n\n"));
}
