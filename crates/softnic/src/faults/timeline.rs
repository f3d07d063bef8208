//! What happens at a time: the port goes down and up, the GID moves.

use std::collections::VecDeque;

use fairlane_units::Time;

use super::Faults;

/// What changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The port goes down.
    Down,
    /// The port comes up.
    Up,
    /// The GID moves to an index of the table, or goes.
    Gid(Option<u8>),
}

/// Changes to come, in order.
#[derive(Debug)]
pub(crate) struct Timeline {
    changes: VecDeque<(Time, Change)>,
    /// Outages that have begun and haven't ended: they may overlap.
    outages: u32,
}

impl Timeline {
    pub(crate) fn new(faults: &Faults) -> Self {
        let mut changes = Vec::new();
        for port in &faults.ports {
            changes.push((port.at, Change::Down));
            let up = port.down.map(|down| port.at.saturating_add(down));
            changes.extend(up.map(|up| (up, Change::Up)));
        }
        let moves = faults.gids.iter();
        changes.extend(moves.map(|gid| (gid.at, Change::Gid(gid.to))));
        changes.sort_by_key(|(at, _)| *at);
        Self {
            changes: changes.into(),
            outages: 0,
        }
    }

    /// When something changes next.
    pub(crate) fn next_time(&self) -> Option<Time> {
        self.changes.front().map(|(at, _)| *at)
    }

    /// The next change that is due; of outages that overlap only the first beginning and the last end.
    pub(crate) fn next(&mut self, now: Time) -> Option<Change> {
        loop {
            let (_, change) = self.changes.pop_front_if(|(at, _)| *at <= now)?;
            let before = self.outages;
            match change {
                Change::Down => self.outages += 1,
                Change::Up => self.outages -= 1,
                Change::Gid(_) => return Some(change),
            }
            if (before == 0) != (self.outages == 0) {
                return Some(change);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use fairlane_units::Duration;

    use super::*;
    use crate::faults::{GidFault, PortFault};

    #[test]
    fn changes_come_in_order_and_outages_overlap() {
        let at = Time::from_ns;
        let port = |from, down| PortFault {
            at: at(from),
            down: Some(Duration::from_ns(down)),
        };
        let gid = GidFault {
            at: at(25),
            to: Some(3),
        };
        let mut timeline = Timeline::new(&Faults {
            ports: vec![port(50, 10), port(10, 20), port(20, 20)],
            gids: vec![gid],
            ..Faults::default()
        });
        assert_eq!(timeline.next(at(9)), None);
        let mut seen = Vec::new();
        while let Some(next) = timeline.next_time() {
            seen.extend(std::iter::from_fn(|| timeline.next(next)).map(|change| (next, change)));
        }
        let expected = [
            (at(10), Change::Down),
            (at(25), Change::Gid(Some(3))),
            (at(40), Change::Up),
            (at(50), Change::Down),
            (at(60), Change::Up),
        ];
        assert_eq!(seen, expected);
    }
}
