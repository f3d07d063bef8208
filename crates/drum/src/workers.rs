//! Who does the work: one thread after the other, or several at once.

/// Runs a task for each of many items. Results never depend on how many items are worked on at a
/// time, since a task sees its own item alone.
pub trait Workers {
    /// Calls `task` once for each item with the item's index.
    fn for_each<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync);
}

/// One item after the other, in the caller's thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequential;

impl Workers for Sequential {
    fn for_each<T: Send>(&self, items: &mut [T], task: impl Fn(usize, &mut T) + Sync) {
        for (index, item) in items.iter_mut().enumerate() {
            task(index, item);
        }
    }
}
