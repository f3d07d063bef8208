//! Messages at random times.

use super::{Kind, Scope, Stated};
use crate::error::bail;
use crate::sizes::SizeDistribution;
use crate::types::Poisson;
use crate::validate::guarantees::Traffic;
use crate::validate::{Check, Subject};

impl Kind for Poisson {
    fn check(&self, scope: &Scope<'_>) -> Check {
        check(scope, self)
    }

    fn sizes(&self, subject: &Subject<'_>, index: usize) -> Option<Stated> {
        Stated::distribution(subject, index)
    }

    fn traffic(&self, subject: &Subject<'_>, _: usize) -> Option<Vec<Traffic>> {
        let ends = [&self.sources, &self.destinations];
        Some(vec![Traffic::between(subject, self.verb, ends)])
    }
}

fn check(scope: &Scope<'_>, it: &Poisson) -> Check {
    let from = scope.hosts("sources", &it.sources)?;
    let to = scope.hosts("destinations", &it.destinations)?;
    if let ([only], Some(source)) = (to.as_slice(), from.iter().find(|source| to == [**source])) {
        bail!(scope.key("destinations"),
            "host {only} is all there is, and host {source} can't send to itself";
            "name another destination");
    }
    match scope.subject.inputs.sizes.get(scope.index) {
        Some(Some(sizes)) => scope.messages(arrivals(scope, it, sizes, from.len())),
        _ => Ok(()),
    }
}

/// About how many messages arrive.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate; the cast saturates"
)]
fn arrivals(scope: &Scope<'_>, it: &Poisson, sizes: &SizeDistribution, hosts: usize) -> u64 {
    let bits = scope.capacity(it.plane, hosts) * it.load * it.duration.as_secs_f64();
    (bits / 8.0 / sizes.mean()) as u64
}
