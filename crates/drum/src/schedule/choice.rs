//! The best choice of at most `k` applications where each has a gain and uses a part of one row.
//!
//! At a price of the row an application's gain is less by what it uses. A choice is worth at most the price and the `k` greatest
//! gains; the least of that over prices is the relaxation, in which a part of a slot may go to who fills the row. A search
//! closes the gap that this leaves: it limits how many applications of a class, all of about the same size, have a slot.

use alloc::vec::Vec;

use crate::topk::best::best;

/// Halvings of a price's range.
const STEPS: usize = 40;
/// Classes of sizes within a factor of two, and the number of the class that has all smaller ones.
const PARTS: f64 = 4.0;
const LEAST: usize = 24;
/// Part of a value that doesn't matter.
const EXACT: f64 = 1e-7;

/// An application.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) index: usize,
    pub(super) gain: f64,
    /// Part of the row that it uses.
    pub(super) size: f64,
}

/// All classes, and the slots that there are.
pub(super) struct Choice {
    pub(super) classes: Vec<Vec<Item>>,
    pub(super) slots: usize,
}

/// How many of each class have a slot, at least and at most.
#[derive(Clone)]
struct Node {
    limits: Vec<(usize, usize)>,
    bound: f64,
    /// Where the next limits part: a class, and a number of its applications.
    split: Option<(usize, usize)>,
}

/// Who has a slot at a price.
struct Response {
    bound: f64,
    usage: f64,
    members: Vec<usize>,
    /// By class.
    counts: Vec<usize>,
}

impl Choice {
    /// Searches for the best choice, in so many nodes at most. `tried` says what a choice is worth indeed, at most what
    /// gains and sizes allow. Gives what none is worth more than.
    pub(super) fn search(&self, nodes: usize, mut tried: impl FnMut(&[usize]) -> f64) -> f64 {
        let whole = |class: &Vec<Item>| (0, class.len().min(self.slots));
        let limits: Vec<(usize, usize)> = self.classes.iter().map(whole).collect();
        let mut worth = 0.0_f64;
        let mut open: Vec<Node> = Vec::new();
        let mut proven = 0.0_f64;
        open.extend(self.relaxed(limits, &mut worth, &mut tried));
        for _ in 0..nodes {
            let widest = (0..open.len()).max_by(|a, b| open[*a].bound.total_cmp(&open[*b].bound));
            let Some(node) = widest.map(|at| open.swap_remove(at)) else {
                break;
            };
            let Some((class, count)) = node.split.filter(|_| node.bound > worth * (1.0 + EXACT))
            else {
                // The first has the greatest bound of all.
                proven = proven.max(node.bound);
                if node.bound <= worth * (1.0 + EXACT) {
                    open.clear();
                }
                continue;
            };
            let (mut few, mut many) = (node.limits.clone(), node.limits);
            few[class].1 = count;
            many[class].0 = count + 1;
            for limits in [few, many] {
                open.extend(self.relaxed(limits, &mut worth, &mut tried));
            }
        }
        open.iter()
            .map(|node| node.bound)
            .fold(proven.max(worth), f64::max)
    }

    /// A node, unless it has no choice.
    fn relaxed(
        &self,
        limits: Vec<(usize, usize)>,
        worth: &mut f64,
        tried: &mut impl FnMut(&[usize]) -> f64,
    ) -> Option<Node> {
        let least: usize = limits.iter().map(|limit| limit.0).sum();
        if least > self.slots {
            return None;
        }
        let mut over = self.respond(0.0, &limits);
        let mut bound = over.bound;
        *worth = worth.max(tried(&over.members));
        if over.usage <= 1.0 {
            return Some(Node {
                limits,
                bound,
                split: None,
            });
        }
        // At a price of all that is gained nobody gains.
        let (mut low, mut high) = (0.0, bound);
        let mut under = self.respond(high, &limits);
        for _ in 0..STEPS {
            if high - low <= EXACT * bound {
                break;
            }
            let price = 0.5 * (low + high);
            let now = self.respond(price, &limits);
            bound = bound.min(now.bound);
            if now.usage > 1.0 {
                (low, over) = (price, now);
            } else {
                (high, under) = (price, now);
            }
        }
        for members in [&over.members, &under.members] {
            *worth = worth.max(tried(members));
        }
        let part = (1.0 - under.usage) / (over.usage - under.usage);
        let split = nearest(&under.counts, &over.counts, part);
        Some(Node {
            limits,
            bound,
            split,
        })
    }

    /// Who gains most at a price, within limits.
    fn respond(&self, price: f64, limits: &[(usize, usize)]) -> Response {
        let mut found = Response {
            bound: price,
            usage: 0.0,
            members: Vec::new(),
            counts: Vec::new(),
        };
        let mut slots = self.slots;
        let (mut left, mut of) = (Vec::new(), Vec::new());
        for (number, (class, (least, most))) in self.classes.iter().zip(limits).enumerate() {
            let net: Vec<f64> = class
                .iter()
                .map(|item| item.gain - price * item.size)
                .collect();
            let first = if *most > 0 {
                best(&net, *most)
            } else {
                Vec::new()
            };
            for (net, at) in &first[..*least] {
                found.add(*net, &class[*at]);
            }
            found.counts.push(*least);
            slots -= least;
            for (net, at) in first[*least..].iter().take_while(|(net, _)| *net > 0.0) {
                left.push(*net);
                of.push((number, *at));
            }
        }
        let first = if slots > 0 {
            best(&left, slots)
        } else {
            Vec::new()
        };
        for (net, place) in first {
            let (number, at) = of[place];
            found.add(net, &self.classes[number][at]);
            found.counts[number] += 1;
        }
        found
    }
}

impl Response {
    fn add(&mut self, net: f64, item: &Item) {
        self.members.push(item.index);
        // Who is worth less than it costs has its slot for nothing.
        if net > 0.0 {
            self.bound += net;
            self.usage += item.size;
        }
    }
}

/// The class of which a mixture of two choices has the least whole number, and that rounded down.
fn nearest(few: &[usize], many: &[usize], part: f64) -> Option<(usize, usize)> {
    let mut found = None;
    let mut most = 1e-9;
    for (class, (few, many)) in few.iter().zip(many).enumerate() {
        let exact = *few as f64 + part * (*many as f64 - *few as f64);
        let down = libm::floor(exact);
        let off = (exact - down).min(down + 1.0 - exact);
        if off > most {
            most = off;
            found = Some((class, down as usize));
        }
    }
    found
}

/// Classes of applications, those of one within a quarter of a factor of two in size.
pub(super) fn classes(items: impl Iterator<Item = Item>, slots: usize) -> Vec<Vec<Item>> {
    let mut classes: Vec<(usize, Vec<Item>)> = Vec::new();
    for item in items {
        let halvings = (-libm::log2(item.size.max(f64::MIN_POSITIVE))).max(0.0);
        let name = (libm::floor(PARTS * halvings + 1e-9) as usize).min(LEAST);
        match classes.iter_mut().find(|(other, _)| *other == name) {
            Some((_, class)) => class.push(item),
            None => classes.push((name, Vec::from([item]))),
        }
    }
    classes
        .into_iter()
        .map(|(_, class)| rivals(class, slots))
        .collect()
}

/// Applications of a class without those whom as many as there are slots outdo in both gain and size.
fn rivals(mut class: Vec<Item>, slots: usize) -> Vec<Item> {
    class.sort_by(|a, b| {
        b.gain
            .total_cmp(&a.gain)
            .then(a.size.total_cmp(&b.size))
            .then(a.index.cmp(&b.index))
    });
    let mut sizes: Vec<f64> = Vec::new();
    class.retain(|item| {
        let smaller = sizes.partition_point(|size| *size <= item.size);
        if smaller >= slots {
            return false;
        }
        sizes.insert(smaller, item.size);
        sizes.truncate(slots);
        true
    });
    class
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;

    use super::{Choice, Item, classes};

    /// What a choice is worth: the row goes to those first to whom a part of it is worth most.
    fn filled(items: &[Item], chosen: &[usize]) -> f64 {
        let mut order = chosen.to_vec();
        let dense = |index: &usize| items[*index].gain / items[*index].size;
        order.sort_by(|a, b| dense(b).total_cmp(&dense(a)));
        let (mut left, mut worth) = (1.0, 0.0);
        for index in order {
            let part = f64::min(1.0, left / items[index].size);
            left -= part * items[index].size;
            worth += part * items[index].gain;
        }
        worth
    }

    proptest! {
        /// All choices of few applications are tried. The nodes suffice to close the gap where sizes are few.
        #[test]
        fn no_choice_is_worth_more_than_the_bound(
            seed in proptest::collection::vec((0.01f64..2.0, 0usize..5, 0.0f64..0.1), 1..11),
            slots in 1usize..5, vary: bool, nodes in 0usize..60,
        ) {
            let sizes = [0.02, 0.15, 0.3, 0.7, 1.0];
            let item = |(index, (gain, size, more)): (usize, &(f64, usize, f64))| Item {
                index,
                gain: *gain,
                size: sizes[*size] * (1.0 + if vary { *more } else { 0.0 }),
            };
            let items: Vec<Item> = seed.iter().enumerate().map(item).collect();
            let mut best: f64 = 0.0;
            for set in 0u32..1 << items.len() {
                if set.count_ones() as usize <= slots {
                    let chosen: Vec<usize> = (0..items.len()).filter(|at| set >> at & 1 == 1).collect();
                    best = best.max(filled(&items, &chosen));
                }
            }
            let choice = Choice { classes: classes(items.iter().copied(), slots), slots };
            let mut found: f64 = 0.0;
            let bound = choice.search(nodes, |members| {
                assert!(members.len() <= slots);
                let worth = filled(&items, members);
                found = found.max(worth);
                worth
            });
            prop_assert!(bound >= best * (1.0 - 1e-12), "{bound} below {best}");
            prop_assert!(found <= best * (1.0 + 1e-12));
            if !vary && nodes >= 50 {
                prop_assert!(bound <= best * 1.000_001, "{bound} far above {best}");
            }
        }
    }
}
