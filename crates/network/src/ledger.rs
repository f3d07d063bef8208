//! What each tenant does to the fabric, counted only if there are several.

use fairlane_units::{Duration, PortId};

use crate::packet::{Kind, PacketRecord};
use crate::port::Port;
use crate::records::ContendedPort;

/// An interval with less time than this many of the largest packets take says nothing of a port.
const PACKETS_MIN: u64 = 16;

/// Counters of tenants.
#[derive(Clone, Debug)]
pub struct Ledger {
    tenants: usize,
    /// By port and tenant, bytes of data packets sent in this interval.
    window: Vec<u64>,
    /// By port and tenant, those sent in intervals before, and in contended ones of these.
    sent: Vec<u64>,
    contended: Vec<u64>,
    ports: Vec<Busy>,
    /// Counts by tenant.
    pub tallies: Vec<Tally>,
}

/// How busy a port is.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    /// Packets of any kind sent in this interval, and bytes sent before it.
    packets: u64,
    before: u64,
    contended_for: Duration,
}

/// What happened to the packets of a tenant.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets that were marked.
    pub marks: u64,
    /// Packets that were lost.
    pub drops: u64,
    /// Data packets put on links.
    pub transmissions: u64,
}

impl Ledger {
    /// Counters for so many tenants; nothing for one, of which the totals say everything.
    pub fn new(tenants: usize, ports: usize) -> Option<Box<Self>> {
        let counters = || vec![0; ports * tenants];
        (tenants > 1).then(|| {
            Box::new(Self {
                tenants,
                window: counters(),
                sent: counters(),
                contended: counters(),
                ports: vec![Busy::default(); ports],
                tallies: vec![Tally::default(); tenants],
            })
        })
    }

    #[inline]
    pub(crate) fn on_transmission(&mut self, port: u32, packet: &PacketRecord) {
        self.ports[port as usize].packets += 1;
        if packet.kind == Kind::Data {
            let tenant = usize::from(packet.tenant);
            self.window[port as usize * self.tenants + tenant] += u64::from(packet.wire);
            self.tallies[tenant].transmissions += 1;
        }
    }

    /// Ends an interval that lasted for `span`, before the ports forget how long their queues were.
    pub fn end_interval(&mut self, ports: &[Port], span: Duration, gap: u64, largest: u64) {
        for (number, port) in ports.iter().enumerate() {
            let busy = &mut self.ports[number];
            let bytes = port.sent_bytes - busy.before + gap * busy.packets;
            let contended = is_contended(port, bytes, span, largest);
            if contended {
                busy.contended_for += span;
            }
            (busy.packets, busy.before) = (0, port.sent_bytes);
            for at in number * self.tenants..(number + 1) * self.tenants {
                let sent = std::mem::take(&mut self.window[at]);
                self.sent[at] += sent;
                self.contended[at] += if contended { sent } else { 0 };
            }
        }
    }

    /// Takes in the counters of another part of the fabric.
    pub fn absorb(&mut self, other: &Self) {
        let add = |all: &mut Vec<u64>, part: &[u64]| {
            all.iter_mut()
                .zip(part)
                .for_each(|(all, part)| *all += part);
        };
        add(&mut self.window, &other.window);
        add(&mut self.sent, &other.sent);
        add(&mut self.contended, &other.contended);
        for (all, part) in self.ports.iter_mut().zip(&other.ports) {
            all.contended_for = all.contended_for.max(part.contended_for);
        }
        for (all, part) in self.tallies.iter_mut().zip(&other.tallies) {
            all.marks += part.marks;
            all.drops += part.drops;
            all.transmissions += part.transmissions;
        }
    }

    /// The ports that were contended, in order.
    pub fn contended_ports(&self) -> Vec<ContendedPort> {
        let numbered = (0u32..).zip(&self.ports);
        let contended = numbered.filter(|(_, busy)| !busy.contended_for.is_zero());
        let record = |(number, busy): (u32, &Busy)| {
            let at = number as usize * self.tenants;
            let counters = at..at + self.tenants;
            ContendedPort {
                port: PortId::new(number),
                contended_for: busy.contended_for,
                sent: self.sent[counters.clone()].to_vec(),
                contended: self.contended[counters].to_vec(),
            }
        };
        contended.map(record).collect()
    }
}

/// Whether `bytes`, gaps included, took 90 % of `span`, or the queue passed kmin in it.
fn is_contended(port: &Port, bytes: u64, span: Duration, largest: u64) -> bool {
    let room = u128::from(port.rate.as_bps()) * u128::from(span.as_ps());
    let bits = |bytes: u64| u128::from(bytes) * 8 * 1_000_000_000_000;
    if room < bits(PACKETS_MIN * largest) {
        return false;
    }
    let queued = port.on_switch && port.waiting_max > u64::from(port.marking.kmin);
    queued || bits(bytes) * 10 >= room * 9
}
