//! What the loop of a lab allocates: nothing for a packet.
#![allow(
    unsafe_code,
    reason = "an allocator is unsafe by its contract; nothing of the crate is"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairlane_fabric::{Control, Simulation};
use fairlane_lab::Live;
use fairlane_rings::{Frame, MOST_BYTES, Port, take};
use fairlane_units::{Psn, QpNumber};
use fairlane_wire::{Bth, Datagram, Extension, Ipv4, Network, Opcode, Packet, Udp};

/// The system's allocator, which counts calls of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `alloc` has got the pointer from the same allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const STAR: &str =
    "topology = { kind = \"star\", hosts = 4, host_link = { rate = \"10Gbps\", delay = \"1us\" } }";
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 1, 0, 1), Ipv4Addr::new(127, 1, 0, 2)];
/// How long packets come.
const LASTS: Duration = Duration::from_millis(500);

/// Sends by one port and takes at the other as fast as it goes.
fn exchange(path: &Path, ends: &AtomicBool) {
    let [mut source, mut sink] = ADDRESSES.map(|address| -> Port {
        let mut socket = UnixStream::connect(path).unwrap();
        writeln!(socket, "{address}").unwrap();
        take(socket).unwrap()
    });
    let bth = Bth::new(Opcode::RcWriteMiddle, QpNumber::new(2), Psn::new(0));
    let datagram = Datagram {
        network: Network::Ipv4(Ipv4::new(ADDRESSES[0], ADDRESSES[1])),
        udp: Udp::new(0xc000),
        packet: Packet::new(bth, Extension::None, &[7; 1024]),
    };
    let mut bytes = vec![0; datagram.length()];
    datagram.emit(&mut bytes).unwrap();
    let packet = &bytes[Ipv4::LENGTH + Udp::LENGTH..];
    let frame = Frame {
        peer: ADDRESSES[1].octets(),
        source_port: 0xc000,
        class: 3,
        ..Frame::default()
    };
    let mut room = [0; MOST_BYTES];
    while !ends.load(Ordering::Relaxed) {
        while source.sender.send(&frame, packet).is_ok() {}
        while let Ok(Some(_)) = sink.receiver.receive(&mut room) {}
    }
}

#[test]
fn nothing_is_allocated_for_a_packet() {
    let loaded = fairlane_scenario::parse(STAR, "star", Path::new("."), &[], None).unwrap();
    let path = std::env::temp_dir().join(format!("fairlane-lab-cost-{}", std::process::id()));
    let live = Live::new(Simulation::new(&loaded).unwrap(), &loaded, 10.0, &path).unwrap();
    let ends = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| exchange(&path, &ends));
        let (begun, mut counted) = (Instant::now(), None);
        let ended = live.run(&mut |progress| {
            let now = (progress.transmissions, ALLOCATIONS.get());
            let (first, _) = *counted.get_or_insert((now, now));
            counted = Some((first, now));
            match begun.elapsed() > LASTS {
                true => Control::Interrupt,
                false => Control::Continue,
            }
        });
        ends.store(true, Ordering::SeqCst);
        assert_eq!(ended.counts.refused, 0);
        let (first, last) = counted.unwrap();
        let (transmissions, allocations) = (last.0 - first.0, last.1 - first.1);
        assert!(transmissions > 1000, "{transmissions}");
        // Reports of progress, and lists that have grown for a while.
        assert!(
            allocations * 200 < transmissions,
            "{allocations} for {transmissions}"
        );
    });
}
