//! A window of bits that slides forward.

use alloc::boxed::Box;
use alloc::vec;

/// One bit for each of the next `len` packets; the first one is at index 0.
#[derive(Clone, Debug)]
pub(crate) struct Bitmap {
    words: Box<[u64]>,
    /// Where index 0 is, in bits.
    start: usize,
    len: usize,
    /// Bits that are set.
    count: usize,
}

impl Bitmap {
    /// A window of at least `len` bits, none of them set.
    pub(crate) fn new(len: u32) -> Self {
        let words = (len as usize).div_ceil(64).max(1);
        Self {
            words: vec![0; words].into_boxed_slice(),
            start: 0,
            len: words * 64,
            count: 0,
        }
    }

    /// How many bits the window has.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    pub(crate) const fn is_clear(&self) -> bool {
        self.count == 0
    }

    const fn place(&self, index: usize) -> (usize, u64) {
        let at = self.start + index;
        let at = if at >= self.len { at - self.len } else { at };
        (at / 64, 1 << (at % 64))
    }

    /// Whether the bit is set; those beyond the window are not.
    pub(crate) fn get(&self, index: usize) -> bool {
        let (word, bit) = self.place(index);
        index < self.len && self.words[word] & bit != 0
    }

    /// Sets a bit of the window; returns whether it was clear.
    pub(crate) fn set(&mut self, index: usize) -> bool {
        let (word, bit) = self.place(index);
        let clear = self.words[word] & bit == 0;
        self.words[word] |= bit;
        self.count += usize::from(clear);
        clear
    }

    /// Clears a bit of the window.
    pub(crate) fn clear(&mut self, index: usize) {
        let (word, bit) = self.place(index);
        self.count -= usize::from(self.words[word] & bit != 0);
        self.words[word] &= !bit;
    }

    /// Slides the window forward; bits that leave it are forgotten.
    pub(crate) fn advance(&mut self, by: usize) {
        if self.count == 0 {
            return;
        }
        if by >= self.len {
            self.words.fill(0);
            (self.start, self.count) = (0, 0);
            return;
        }
        for index in 0..by {
            self.clear(index);
        }
        self.start = (self.start + by) % self.len;
    }

    /// The first clear bit at `from` or later, possibly just beyond the window.
    pub(crate) fn first_clear(&self, from: usize) -> usize {
        (from..self.len)
            .find(|&index| !self.get(index))
            .unwrap_or_else(|| self.len.max(from))
    }
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn agrees_with_a_set_of_numbers(
            steps in prop::collection::vec((0u8..4, 0usize..200), 1..200),
        ) {
            let mut bitmap = Bitmap::new(130);
            let (mut model, mut start) = (BTreeSet::new(), 0);
            for (action, index) in steps {
                let inside = index < bitmap.len();
                match action {
                    0 if inside => prop_assert_eq!(bitmap.set(index), model.insert(start + index)),
                    1 if inside => {
                        bitmap.clear(index);
                        model.remove(&(start + index));
                    }
                    2 => {
                        bitmap.advance(index);
                        start += index;
                        model.retain(|&number| number >= start);
                    }
                    _ => {
                        let expected = (index..).find(|i| !model.contains(&(start + i)));
                        prop_assert_eq!(Some(bitmap.first_clear(index)), expected);
                    }
                }
                prop_assert_eq!(bitmap.get(index), model.contains(&(start + index)));
                prop_assert_eq!(bitmap.is_clear(), model.is_empty());
            }
        }
    }
}
