//! Records in the order in which things happened, also over several parts of a fabric.

use fairlane_engine::Event;

/// Records, each with the event that it belongs to if parts are to be merged.
#[derive(Clone, Debug)]
pub struct Log<T> {
    /// The entries, in order.
    pub entries: Vec<T>,
    /// By entry, the event and an order within it.
    places: Vec<(Event, u32)>,
    /// Whether places are kept.
    placed: bool,
    /// The order of what is recorded next within its event, where several parts handle the same event.
    pub order: u32,
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            places: Vec::new(),
            placed: false,
            order: 0,
        }
    }
}

impl<T> Log<T> {
    /// Keeps places from now on.
    pub fn keep_places(&mut self) {
        self.placed = true;
    }

    /// Adds a record of something that `event` has led to.
    #[inline]
    pub fn push(&mut self, event: Event, entry: T) {
        self.entries.push(entry);
        if self.placed {
            self.places.push((event, self.order));
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Takes in the records of another part.
    pub fn absorb(&mut self, other: Self) {
        let own = std::mem::take(&mut self.entries);
        let places = std::mem::take(&mut self.places);
        let mut all: Vec<((Event, u32), T)> = places.into_iter().zip(own).collect();
        all.extend(other.places.into_iter().zip(other.entries));
        // Records of one event and order are of one part, in order.
        all.sort_by_key(|&(place, _)| place);
        (self.places, self.entries) = all.into_iter().unzip();
    }
}
