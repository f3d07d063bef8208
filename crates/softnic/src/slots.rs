//! Values in numbered slots, of which free ones are used again.

use std::ops::Range;

/// Values by number. A number that has become free is used again last.
#[derive(Debug)]
pub(crate) struct Slots<T> {
    values: Vec<Option<T>>,
    free: std::collections::VecDeque<u32>,
    most: usize,
}

impl<T> Slots<T> {
    /// No values yet, and room for `most`.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            values: Vec::new(),
            free: std::collections::VecDeque::new(),
            most,
        }
    }

    /// Stores what `make` makes of its number; `None` if there is no room.
    pub(crate) fn insert(&mut self, make: impl FnOnce(u32) -> T) -> Option<u32> {
        // Fresh numbers first while few are free, so that a number isn't known to an old peer.
        let fresh = self.values.len() < self.most && self.free.len() < 64;
        let number = match fresh {
            true => {
                self.values.push(None);
                u32::try_from(self.values.len() - 1).ok()?
            }
            false => self.free.pop_front()?,
        };
        self.values[number as usize] = Some(make(number));
        Some(number)
    }

    /// How many values more it has room for.
    pub(crate) fn room(&self) -> usize {
        self.most.saturating_sub(self.values.len()) + self.free.len()
    }

    /// How many values there are.
    pub(crate) fn count(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Takes a value out.
    pub(crate) fn remove(&mut self, number: u32) -> Option<T> {
        let value = self.values.get_mut(number as usize)?.take()?;
        self.free.push_back(number);
        Some(value)
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.values.get_mut(number as usize)?.as_mut()
    }

    /// The values with these numbers; `None` if all numbers are lower.
    pub(crate) fn part(&self, numbers: Range<u32>) -> Option<impl Iterator<Item = &T>> {
        let (start, end) = (numbers.start as usize, numbers.end as usize);
        let values = self.values.get(start..end.min(self.values.len()))?;
        (!values.is_empty()).then(|| values.iter().flatten())
    }

    /// All values with their numbers.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let all = (0..).zip(&self.values);
        all.filter_map(|(number, value)| Some((number, value.as_ref()?)))
    }

    /// All values with their numbers, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        let all = (0..).zip(&mut self.values);
        all.filter_map(|(number, value)| Some((number, value.as_mut()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_late_and_never_twice() {
        let mut slots = Slots::new(100);
        let first = slots.insert(|number| number).unwrap();
        assert_eq!(slots.remove(first), Some(0));
        assert_eq!((slots.remove(first), slots.get(first)), (None, None));
        let mut seen = Vec::new();
        assert_eq!(slots.room(), 100);
        while let Some(number) = slots.insert(|number| number) {
            assert!(!seen.contains(&number));
            seen.push(number);
        }
        assert_eq!((seen.len(), seen[99]), (100, first));
        assert_eq!(slots.room(), 0);
        assert_eq!((slots.iter().count(), slots.count()), (100, 100));
        assert_eq!(slots.part(90..110).map(Iterator::count), Some(10));
        assert!(slots.part(100..110).is_none() && slots.part(101..110).is_none());
    }
}
