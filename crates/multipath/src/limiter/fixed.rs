//! One size for all chunks.

use fairlane_units::{Bytes, Duration};

use super::Limit;
use crate::Settings;

/// A constant limit.
#[derive(Clone, Debug)]
pub struct Fixed {
    limit: Bytes,
}

impl Limit for Fixed {
    fn new(settings: &Settings) -> Self {
        Self {
            limit: settings.chunk,
        }
    }

    #[inline]
    fn limit(&self) -> Bytes {
        self.limit
    }

    #[inline]
    fn on_delivered(&mut self, _settings: &Settings, _bytes: Bytes, _after: Duration) {}
}
