//! To whom each host sends if it sends to one destination only.

use fairlane_units::NodeId;

/// Gives each source a destination other than itself, so that none receives from more sources than it must:
/// from one if there are as many as sources.
///
/// Augmenting paths (Kuhn, 1955): whoever finds nobody free takes the place of a source that can go elsewhere.
///
/// # Errors
/// A source that has no destination but itself.
pub(crate) fn matching(
    sources: &[NodeId],
    destinations: &[NodeId],
) -> Result<Vec<(NodeId, NodeId)>, NodeId> {
    let places = sources.len().div_ceil(destinations.len().max(1));
    let mut senders: Vec<Vec<usize>> = vec![Vec::new(); destinations.len()];
    for (number, source) in sources.iter().enumerate() {
        let mut seen = vec![false; destinations.len()];
        let problem = Problem {
            sources,
            destinations,
            places,
        };
        if !problem.place(number, &mut senders, &mut seen) {
            return Err(*source);
        }
    }
    let mut partners = Vec::with_capacity(sources.len());
    for (destination, senders) in destinations.iter().zip(senders) {
        partners.extend(
            senders
                .into_iter()
                .map(|sender| (sources[sender], *destination)),
        );
    }
    partners.sort_unstable();
    Ok(partners)
}

struct Problem<'a> {
    sources: &'a [NodeId],
    destinations: &'a [NodeId],
    /// Sources that one destination takes.
    places: usize,
}

impl Problem<'_> {
    /// Finds a place for a source; those that `seen` destinations have can't help.
    fn place(&self, number: usize, senders: &mut [Vec<usize>], seen: &mut [bool]) -> bool {
        let count = self.destinations.len();
        let around = || (0..count).map(move |step| (number + step) % count);
        let allowed = |at: &usize| self.destinations[*at] != self.sources[number];
        if let Some(free) = around()
            .filter(allowed)
            .find(|at| senders[*at].len() < self.places)
        {
            senders[free].push(number);
            return true;
        }
        for at in around().filter(allowed) {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            for taken in 0..senders[at].len() {
                let other = senders[at][taken];
                if self.place(other, senders, seen) {
                    senders[at][taken] = number;
                    return true;
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(sources: &[u32], destinations: &[u32]) -> Result<Vec<(u32, u32)>, u32> {
        let nodes = |list: &[u32]| list.iter().copied().map(NodeId::new).collect::<Vec<_>>();
        let partners = matching(&nodes(sources), &nodes(destinations)).map_err(NodeId::get)?;
        let pairs = partners.into_iter();
        Ok(pairs.map(|(from, to)| (from.get(), to.get())).collect())
    }

    /// The most sources that one destination has.
    fn most(pairs: &[(u32, u32)]) -> usize {
        let of = |to: u32| pairs.iter().filter(|pair| pair.1 == to).count();
        pairs.iter().map(|pair| of(pair.1)).max().unwrap_or(0)
    }

    #[test]
    fn nobody_receives_from_more_than_it_must() {
        for orders in [
            [1, 2, 5],
            [2, 1, 5],
            [5, 2, 1],
            [5, 1, 2],
            [1, 5, 2],
            [2, 5, 1],
        ] {
            let pairs = of(&[0, 1, 2], &orders).expect("there is a matching");
            assert_eq!(pairs.len(), 3);
            assert_eq!(most(&pairs), 1, "{orders:?}: {pairs:?}");
            assert!(pairs.iter().all(|(from, to)| from != to));
        }
        let pairs = of(&[0, 1, 2, 3, 4], &[4, 3]).expect("there is one");
        assert_eq!(most(&pairs), 3);
        assert_eq!(of(&[0, 1], &[0, 1]), Ok(vec![(0, 1), (1, 0)]));
    }

    #[test]
    fn nobody_sends_to_itself() {
        assert_eq!(of(&[0, 1], &[1]), Err(1));
        assert_eq!(of(&[7], &[]), Err(7));
    }
}
