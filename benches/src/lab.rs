//! What the loop of a lab in real time costs: packets with payload from ring to ring over two links.

use std::io::Write as _;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fairlane_fabric::{Control, Simulation};
use fairlane_lab::Live;
use fairlane_rings::{Frame, MOST_BYTES, Port, monotonic, take};
use fairlane_units::{Psn, QpNumber};
use fairlane_wire::{Bth, Datagram, Extension, Ipv4, Network, Opcode, Packet, Udp};

use crate::Outcome;

/// A link that is never what packets wait for.
const STAR: &str = "topology = { kind = \"star\", hosts = 4, host_link = { rate = \"400Gbps\", delay = \"1us\" } }";
const PAYLOAD: usize = 1024;
const LASTS: Duration = Duration::from_secs(3);
const ADDRESSES: [Ipv4Addr; 2] = [Ipv4Addr::new(127, 1, 0, 1), Ipv4Addr::new(127, 1, 0, 2)];

/// Measures, and prints a line.
pub(crate) fn table() -> Outcome<()> {
    let loaded = fairlane_scenario::parse(STAR, "star", Path::new("."), &[], None)?;
    let path = std::env::temp_dir().join(format!("fairlane-bench-{}", std::process::id()));
    let simulation = Simulation::new(&loaded)?;
    let live = Live::new(simulation, &loaded, 1.0, &path)?;
    let ends = AtomicBool::new(false);
    let (transmissions, refused, taken) = std::thread::scope(|scope| {
        let source = scope.spawn(|| exchange(&path, &ends));
        let begun = Instant::now();
        let ended = live.run(&mut |_| match begun.elapsed() > LASTS {
            true => Control::Interrupt,
            false => Control::Continue,
        });
        ends.store(true, Ordering::SeqCst);
        let taken = source.join().map_err(|_| "the source has failed")??;
        let totals = ended.results.totals;
        Ok::<_, Box<dyn std::error::Error>>((totals.transmissions, ended.counts, taken))
    })?;
    let rate = transmissions as f64 / LASTS.as_secs_f64();
    let mut out = std::io::stdout();
    writeln!(
        out,
        "\nlab: real packets of {PAYLOAD} bytes of payload, ring to ring over two links, one core"
    )?;
    writeln!(
        out,
        "{:.2} M transmissions per second; {taken} packets taken, {} lost",
        rate / 1e6,
        refused.overrun
    )?;
    Ok(())
}

/// Sends by one port and takes at the other as fast as it goes; how many have come.
fn exchange(path: &Path, ends: &AtomicBool) -> Result<u64, std::io::Error> {
    let attach = |address: Ipv4Addr| -> std::io::Result<Port> {
        let mut socket = UnixStream::connect(path)?;
        writeln!(socket, "{address}")?;
        take(socket)
    };
    let [mut source, mut sink] = [attach(ADDRESSES[0])?, attach(ADDRESSES[1])?];
    let packet = packet().map_err(|error| std::io::Error::other(error.to_string()))?;
    let (origin, scale) = source.shared.clock();
    let (mut taken, mut room) = (0, [0; MOST_BYTES]);
    while !ends.load(Ordering::Relaxed) {
        let now = monotonic().saturating_sub(origin) * 1_000_000 / scale;
        let frame = Frame {
            time: now,
            peer: ADDRESSES[1].octets(),
            source_port: 0xc000,
            class: 3,
            ..Frame::default()
        };
        // What finds no room now is sent later.
        while source.sender.send(&frame, &packet).is_ok() {}
        while let Ok(Some(_)) = sink.receiver.receive(&mut room) {
            taken += 1;
        }
    }
    Ok(taken)
}

/// A packet in the middle of a WRITE, from its base transport header on.
fn packet() -> Result<Vec<u8>, fairlane_wire::Error> {
    let bth = Bth::new(Opcode::RcWriteMiddle, QpNumber::new(2), Psn::new(0));
    let network = Ipv4::new(ADDRESSES[0], ADDRESSES[1]);
    let datagram = Datagram {
        network: Network::Ipv4(network),
        udp: Udp::new(0xc000),
        packet: Packet::new(bth, Extension::None, &[7; PAYLOAD]),
    };
    let mut bytes = vec![0; datagram.length()];
    datagram.emit(&mut bytes)?;
    Ok(bytes.split_off(datagram.network.length() + Udp::LENGTH))
}
