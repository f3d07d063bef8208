//! scratch
use std::io::Write;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = std::path::Path::new(&args[1]);
    let loaded = fairlane_scenario::load(path, &args[3..], None).unwrap_or_else(|e| panic!("{e}"));
    let sim = fairlane_fabric::Simulation::new(&loaded).unwrap_or_else(|e| panic!("{e}"));
    let t = std::time::Instant::now();
    let r = sim.run(&mut |_| fairlane_fabric::Control::Continue);
    let dt = t.elapsed().as_secs_f64();
    let mut out = std::fs::File::create(&args[2]).unwrap();
    let mut buf = String::new();
    for m in &r.messages {
        let Some(f) = m.finish else { continue };
        let ip = |n: fairlane_units::NodeId| 0x0b000001u32 + (n.get() / 256) * 65536 + (n.get() % 256) * 256;
        buf += &format!("{:08x} {:08x} {} {} {} {} {} {}\n", ip(m.source), ip(m.destination), m.source_port, m.destination_port, m.size.get(), m.start.as_ns(), (f - m.start).as_ns(), m.standalone.as_ns());
    }
    out.write_all(buf.as_bytes()).unwrap();
    let mut pf = String::new();
    for x in &r.pauses { let i = &r.ports[x.port.index()]; pf += &format!("{} {} {} {} {}\n", x.time.as_ns(), i.node, i.on_switch as u8, i.number, x.pause as u8); }
    std::fs::write(format!("{}.pfc", args[2]), pf).unwrap();
    eprintln!("{:?} tx {} events {} in {:.2}s = {:.2} M tx/s; bad {:?}", r.totals.ending, r.totals.transmissions, r.totals.events, dt, r.totals.transmissions as f64 / dt / 1e6, fairlane_fabric::metrics::check(&r, true));
}
