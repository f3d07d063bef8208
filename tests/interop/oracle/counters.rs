//! What Soft-RoCE counts. It drops a packet with a wrong ICRC without a word: then `rcvd_pkts` doesn't rise.

use std::collections::BTreeMap;
use std::fmt;

use super::machine::Machine;

const FOLDER: &str = "/sys/class/infiniband/rxe0/ports/1/hw_counters";

/// Its counters, by the kernel's names.
#[derive(Debug)]
pub(super) struct Counters(BTreeMap<String, u64>);

impl Counters {
    pub(super) fn read(machine: &Machine) -> Self {
        let said = machine.there(&format!("grep -r . {FOLDER}"));
        let counter = |line: &str| {
            let (path, value) = line.split_once(':')?;
            let (_, name) = path.rsplit_once('/')?;
            Some((name.to_owned(), value.trim().parse().ok()?))
        };
        let counters = Self(said.lines().filter_map(counter).collect());
        assert!(counters.0.contains_key("rcvd_pkts"), "{said}");
        counters
    }

    /// How much has been counted since.
    pub(super) fn since(mut self, before: &Self) -> Self {
        for (name, value) in &mut self.0 {
            *value -= before.of(name);
        }
        self.0.remove("lifespan");
        self
    }

    pub(super) fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }
}

impl fmt::Display for Counters {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = self.0.iter().filter(|(_, value)| **value != 0);
        let counted: Vec<String> = counted
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        formatter.write_str(&counted.join(", "))
    }
}
