//! A queue whose items keep their numbers while earlier ones leave.

use alloc::collections::VecDeque;

/// Items numbered from 0 in the order in which they came.
#[derive(Clone, Debug)]
pub(crate) struct Numbered<T> {
    first: u64,
    items: VecDeque<T>,
}

impl<T> Numbered<T> {
    pub(crate) const fn new() -> Self {
        Self {
            first: 0,
            items: VecDeque::new(),
        }
    }

    /// The number of the oldest item, which is that of the next one if there is none.
    pub(crate) const fn first(&self) -> u64 {
        self.first
    }

    /// The number that the next item gets.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.items.len() as u64
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        self.items.get(number.checked_sub(self.first)? as usize)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.items.get_mut(number.checked_sub(self.first)? as usize)
    }

    pub(crate) fn push(&mut self, item: T) -> u64 {
        self.items.push_back(item);
        self.end() - 1
    }

    pub(crate) fn pop(&mut self) -> Option<T> {
        let item = self.items.pop_front()?;
        self.first += 1;
        Some(item)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    /// Memory that it takes beside the value itself.
    pub(crate) fn heap(&self) -> usize {
        self.items.capacity() * size_of::<T>()
    }
}
