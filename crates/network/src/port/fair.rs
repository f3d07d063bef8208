//! Egress queues that serve ingress ports in turn instead of packets in order of arrival.

use super::CLASSES;
use crate::packet::{PacketList, PacketPool, PacketRecord};

/// The packets of an egress port by class and the port that sent them.
#[derive(Clone, Debug, Default)]
pub struct FairQueues {
    classes: [Class; CLASSES],
}

#[derive(Clone, Debug, Default)]
struct Class {
    /// Senders that have ever had packets here, with those that wait.
    senders: Vec<(u32, PacketList)>,
    /// Index of the sender served last.
    last: usize,
}

impl FairQueues {
    pub(crate) fn push(&mut self, pool: &mut PacketPool, class: u8, at: u32) {
        let sender = pool.get(at).sender;
        let senders = &mut self.classes[usize::from(class)].senders;
        let found = senders.iter().position(|&(one, _)| one == sender);
        let index = found.unwrap_or_else(|| {
            senders.push((sender, PacketList::default()));
            senders.len() - 1
        });
        senders[index].1.push(pool, at);
    }

    pub(crate) fn pop(&mut self, pool: &PacketPool, class: u8) -> Option<u32> {
        let Class { senders, last } = &mut self.classes[usize::from(class)];
        let count = senders.len();
        let mut order = (1..=count).map(|step| (*last + step) % count);
        *last = order.find(|&index| !senders[index].1.is_empty())?;
        senders[*last].1.pop(pool)
    }

    /// The packets that wait in a class.
    pub fn iter<'a>(
        &'a self,
        pool: &'a PacketPool,
        class: usize,
    ) -> impl Iterator<Item = &'a PacketRecord> {
        let senders = self.classes[class].senders.iter();
        senders.flat_map(|(_, packets)| packets.iter(pool))
    }
}
