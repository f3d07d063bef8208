//! Ring all-reduces of hosts.

use fairlane_units::Bytes;

use super::{Kind, Scope, Stated};
use crate::error::ensure;
use crate::rules::message;
use crate::types::RingAllReduce;
use crate::validate::{Check, Subject};

impl Kind for RingAllReduce {
    fn check(&self, scope: &Scope<'_>) -> Check {
        check(scope, self)
    }

    /// Each step carries a part of the vector.
    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        Some(Stated {
            smallest: Bytes::new(1),
            ..Stated::one(self.size)
        })
    }
}

fn check(scope: &Scope<'_>, it: &RingAllReduce) -> Check {
    let (size, hosts) = (it.size, scope.several(&it.hosts)?);
    // A message carries a part for each host.
    let profile = scope.subject.scenario.profile;
    let part = message(profile, &Bytes::new(size.get().div_ceil(hosts)));
    part.map_err(|error| error.at(scope.key("size")))?;
    ensure!(size.get() >= hosts, scope.key("size"),
        "is {size}, expected at least a byte for each of {hosts} hosts";
        "raise it, or name fewer hosts");
    let step = hosts.saturating_mul(2 * (hosts - 1));
    scope.messages(step.saturating_mul(u64::from(it.rounds)))
}
