//! References between objects: what somebody uses can't go.

use std::sync::Arc;

use crate::guard::Errno;

/// Counts who uses an object.
#[derive(Debug, Default)]
pub(crate) struct Uses(Arc<()>);

/// A reference to an object.
#[derive(Debug)]
pub(crate) struct Use {
    _counted: Arc<()>,
}

impl Uses {
    /// One more uses it.
    pub(crate) fn add(&self) -> Use {
        Use {
            _counted: self.0.clone(),
        }
    }

    /// `EBUSY` while somebody uses it.
    pub(crate) fn check_none(&self) -> Result<(), Errno> {
        match Arc::strong_count(&self.0) {
            1 => Ok(()),
            _ => Err(Errno(libc::EBUSY)),
        }
    }
}
