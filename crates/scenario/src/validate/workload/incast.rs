//! Many to one.

use fairlane_units::NodeId;

use super::{Kind, Scope, Stated};
use crate::error::ensure;
use crate::types::{Incast, Verb};
use crate::validate::guarantees::{Traffic, resolved};
use crate::validate::{Check, Subject};

impl Kind for Incast {
    fn check(&self, scope: &Scope<'_>) -> Check {
        check(scope, self)
    }

    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        Some(Stated::one(self.size))
    }

    /// Data flows to the receiver, whoever posts.
    fn traffic(&self, subject: &Subject<'_>, _: usize) -> Option<Vec<Traffic>> {
        let hosts = || resolved(subject, &self.hosts);
        let named = self.receiver.map(|host| [NodeId::new(host)].into());
        Some(vec![Traffic {
            senders: hosts(),
            receivers: named.unwrap_or_else(hosts),
        }])
    }

    /// The receiver of an incast of READs posts them.
    fn posts(&self) -> Option<(&'static str, NodeId)> {
        let receiver = self.receiver.filter(|_| self.verb == Verb::Read);
        receiver.map(|receiver| ("receiver", NodeId::new(receiver)))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; the cast saturates"
)]
fn check(scope: &Scope<'_>, it: &Incast) -> Check {
    let (degree, rounds, period) = (it.degree, it.rounds(), it.period());
    times(scope, it)?;
    ensure!(rounds == 1 || !period.is_zero(), scope.key("period"),
        "is 0, expected a time between rounds"; "write a time such as \"1ms\"");
    scope.in_all("rounds", rounds, period)?;
    let hosts = scope.hosts("hosts", &it.hosts)?;
    if let Some(node) = it.receiver {
        scope.subject.check_host(node, || scope.key("receiver"))?;
    }
    let member = |node| hosts.binary_search(&NodeId::new(node)).is_ok();
    let available = hosts.len() - usize::from(it.receiver.is_none_or(member));
    ensure!(degree as usize <= available, scope.key("degree"),
        "is {degree}, expected at most {available}, the hosts beside the receiver";
        "lower it, or name more hosts");
    let rounds = match (it.load, it.duration) {
        (Some(load), Some(duration)) => {
            let bytes = scope.capacity(it.plane, hosts.len()) / 8.0 * duration.as_secs_f64();
            (bytes * load / (it.size.as_f64() * f64::from(degree))) as u64
        }
        _ => u64::from(rounds),
    };
    scope.messages(u64::from(degree).saturating_mul(rounds))
}

/// Rounds are at regular times or at random ones, not both.
fn times(scope: &Scope<'_>, it: &Incast) -> Check {
    if it.load.is_none() {
        ensure!(it.duration.is_none(), scope.key("duration"),
            "is stated without a load, expected `rounds`";
            "add `load` for rounds at Poisson times, or write `period` and `rounds`");
        return Ok(());
    }
    let stated = [
        ("period", it.period.is_some()),
        ("rounds", it.rounds.is_some()),
    ];
    for (key, stated) in stated {
        ensure!(!stated, scope.key(key), "is stated beside `load`, expected one of them";
            "`load` has rounds at Poisson times for `duration`; remove one of the two");
    }
    ensure!(it.duration.is_some(), scope.key("duration"),
        "is missing beside `load`, expected a time"; "write how long rounds come, such as \"10ms\"");
    Ok(())
}
