//! Rings over hosts that share no directed link: each host has another successor on every ring.
//!
//! With n hosts, each can send to n - 1 others, so there are at most n - 1 such rings. For odd n, zigzags
//! around a hub (Walecki, 1892) split the pairs of hosts into (n - 1) / 2 cycles, and each is followed in
//! both directions. For even n they leave a perfect matching; from 8 hosts on there is still a set of
//! n - 1 rings (Tillson, "A Hamiltonian decomposition of K*_2m", 1980), which [`complete`] finds by
//! exchanging parts of rings. For 4 and 6 hosts there is none, and n - 2 is the most.

mod complete;

/// Beyond so many hosts, an even number of them has n - 2 rings: the search for the last takes seconds.
const MOST_COMPLETED: usize = 128;

/// Rings over hosts numbered from 0, none of which share a directed link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rings {
    /// By ring and host, the successor.
    next: Vec<Vec<u32>>,
}

impl Rings {
    /// As many rings over `hosts` hosts as there are: n - 1 for an odd number and for 8 to 128; n - 2 for 4,
    /// 6 and even numbers above 128; 1 for 2 hosts, none for fewer.
    pub fn over(hosts: usize) -> Self {
        let next = match hosts {
            0 | 1 => Vec::new(),
            2 => vec![vec![1, 0]],
            _ => directed(hosts),
        };
        Self { next }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.next.is_empty()
    }

    /// To whom `host` sends on ring `ring`.
    ///
    /// # Panics
    /// If there is no such ring or host.
    pub fn successor(&self, ring: usize, host: usize) -> usize {
        self.next[ring][host] as usize
    }
}

/// Both directions of every cycle; where a matching is left over and can be used, that as well.
fn directed(hosts: usize) -> Vec<Vec<u32>> {
    let cycles = (hosts - 1) / 2;
    let mut rings = Vec::with_capacity(hosts - 1);
    for number in 0..cycles {
        let mut cycle = zigzag(hosts, number);
        rings.push(successors(&cycle));
        cycle.reverse();
        rings.push(successors(&cycle));
    }
    if hosts.is_multiple_of(2) && (8..=MOST_COMPLETED).contains(&hosts) {
        rings.push(matching(hosts));
        complete::into_rings(&mut rings);
    }
    rings
}

/// Cycle `number` of (n - 1) / 2: from the hub to `number`, then to one side and the other in turn. Of an
/// even number of hosts the last one sits in the middle of every zigzag, where the steps are longest: no
/// two zigzags have the same middle.
fn zigzag(hosts: usize, number: usize) -> Vec<u32> {
    let rim = (hosts - 1) / 2 * 2;
    let mut cycle = vec![narrow(rim)];
    for place in 0..rim {
        if place == rim / 2 && hosts.is_multiple_of(2) {
            cycle.push(narrow(hosts - 1));
        }
        let side = if place % 2 == 1 {
            number + place.div_ceil(2)
        } else {
            number + rim - place / 2
        };
        cycle.push(narrow(side % rim));
    }
    cycle
}

/// What the zigzags of an even number of hosts leave over: opposite hosts of the rim, and the hub with the
/// last host.
fn matching(hosts: usize) -> Vec<u32> {
    let rim = hosts - 2;
    let mut next: Vec<u32> = (0..rim)
        .map(|host| narrow((host + rim / 2) % rim))
        .collect();
    next.extend([narrow(hosts - 1), narrow(rim)]);
    next
}

/// A cycle as the successor of every host.
fn successors(cycle: &[u32]) -> Vec<u32> {
    let mut next = vec![0; cycle.len()];
    for (place, host) in cycle.iter().enumerate() {
        next[*host as usize] = cycle[(place + 1) % cycle.len()];
    }
    next
}

fn narrow(host: usize) -> u32 {
    u32::try_from(host).expect("hosts are numbered in 32 bits")
}
