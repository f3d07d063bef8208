//! Permutations and all-to-alls.

use super::{Kind, Scope, Stated};
use crate::types::{AllToAll, Permutation};
use crate::validate::{Check, Subject};

impl Kind for Permutation {
    fn check(&self, scope: &Scope<'_>) -> Check {
        scope.messages(scope.several(&self.hosts)?)
    }

    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        Some(Stated::one(self.size))
    }
}

impl Kind for AllToAll {
    fn check(&self, scope: &Scope<'_>) -> Check {
        let count = scope.several(&self.hosts)?;
        scope.messages(count.saturating_mul(count - 1))
    }

    fn sizes(&self, _: &Subject<'_>, _: usize) -> Option<Stated> {
        Some(Stated::one(self.size))
    }
}
