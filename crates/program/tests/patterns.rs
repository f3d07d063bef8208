//! What collectives promise, held against a small model in which every block is a list of whose contributions it has.

use fairlane_program::pattern::{Part, Pattern, Transfer, is_possible, most_messages};
use fairlane_program::{Algorithm, Kind};
use fairlane_units::Bytes;
use proptest::prelude::*;

/// By member and block, whose contributions are in it; `None` where there is nothing.
type State = Vec<Vec<Option<Vec<u32>>>>;

fn add(all: &mut Option<Vec<u32>>, more: &Option<Vec<u32>>) {
    let (Some(all), Some(more)) = (all.as_mut(), more) else {
        panic!("a sum with nothing");
    };
    all.extend(more);
    all.sort_unstable();
}

/// Carries out the messages in an order that `draw` chooses among those that their predecessors allow: what is sent is taken
/// when it is sent, and may arrive much later.
fn carry_out(pattern: &Pattern, mut state: State, mut draw: impl FnMut(usize) -> usize) -> State {
    let count = pattern.parts.len();
    let (mut ended, mut flying) = (vec![false; count], Vec::new());
    let mut open: Vec<usize> = (0..count).collect();
    while !open.is_empty() || !flying.is_empty() {
        let after = |at: usize| match &pattern.parts[at] {
            Part::Transfer(it) => &it.after,
            Part::Join { after, .. } => after,
        };
        let free = |at: &usize| after(*at).iter().all(|&before| ended[before as usize]);
        let ready: Vec<usize> = open.iter().copied().filter(free).collect();
        let choice = draw(ready.len() + flying.len());
        if let Some(&at) = ready.get(choice) {
            open.retain(|other| *other != at);
            match &pattern.parts[at] {
                Part::Join { .. } => ended[at] = true,
                Part::Transfer(it) => {
                    let [first, behind] = it.blocks.map(|block| block as usize);
                    flying.push((at, state[it.from as usize][first..behind].to_vec()));
                }
            }
            continue;
        }
        assert!(!flying.is_empty(), "nothing may begin");
        let (at, blocks) = flying.swap_remove(choice - ready.len());
        let Part::Transfer(it) = &pattern.parts[at] else {
            continue;
        };
        for (block, carried) in (it.blocks[0] as usize..).zip(blocks) {
            let mine = &mut state[it.to as usize][block];
            match it.reduces {
                true => add(mine, &carried),
                false => *mine = carried,
            }
        }
        ended[at] = true;
    }
    state
}

fn transfers(pattern: &Pattern) -> impl Iterator<Item = &Transfer> {
    pattern.parts.iter().filter_map(|part| match part {
        Part::Transfer(it) => Some(it),
        Part::Join { .. } => None,
    })
}

/// The members whose block this is when each has blocks of its own.
fn start(kind: Kind, members: u32, blocks: u32) -> State {
    let own = |member: u32, block: u32| match kind {
        Kind::AllGather => (member == block).then(|| vec![member]),
        Kind::Broadcast { root } => (member == root).then(|| vec![root]),
        _ => Some(vec![member]),
    };
    (0..members)
        .map(|member| (0..blocks).map(|block| own(member, block)).collect())
        .collect()
}

fn promised(kind: Kind, members: u32, state: &State, size: u64) {
    let all: Vec<u32> = (0..members).collect();
    for (member, blocks) in (0u32..).zip(state) {
        for (block, it) in (0u32..).zip(blocks) {
            let (each, have) = (u64::from(block) < size, it.as_ref());
            match kind {
                // Empty blocks aren't sent.
                _ if !each => {}
                Kind::AllReduce => assert_eq!(have, Some(&all)),
                Kind::AllGather => assert_eq!(have, Some(&vec![block])),
                Kind::ReduceScatter if member == block => assert_eq!(have, Some(&all)),
                Kind::Broadcast { root } => assert_eq!(have, Some(&vec![root])),
                Kind::Reduce { root } if member == root => assert_eq!(have, Some(&all)),
                _ => {}
            }
        }
    }
}

const ALGORITHMS: [Algorithm; 8] = [
    Algorithm::Usual,
    Algorithm::Ring,
    Algorithm::Tree,
    Algorithm::HalvingDoubling,
    Algorithm::Hierarchical { inner: 2 },
    Algorithm::Hierarchical { inner: 3 },
    Algorithm::Hierarchical { inner: 5 },
    Algorithm::Direct,
];

fn kinds(root: u32) -> [Kind; 7] {
    [
        Kind::AllReduce,
        Kind::AllGather,
        Kind::ReduceScatter,
        Kind::AllToAll,
        Kind::Broadcast { root },
        Kind::Reduce { root },
        Kind::Barrier,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_member_ends_with_what_is_promised(
        members in 1u32..14,
        size in 0u64..60,
        chosen in 0usize..8,
        kind in 0usize..7,
        root in 0u32..14,
        seed in any::<u64>(),
    ) {
        let (kind, algorithm) = (kinds(root % members)[kind], ALGORITHMS[chosen]);
        prop_assume!(is_possible(kind, algorithm));
        let pattern = Pattern::new(kind, algorithm, (members, Bytes::new(size)), &[]);
        let count = transfers(&pattern).count() as u64;
        prop_assert!(count <= most_messages(kind, algorithm, members), "{count} messages");
        let mut random = seed | 1;
        let draw = |count: usize| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            (random % count as u64) as usize
        };
        if kind == Kind::AllToAll {
            let pairs: std::collections::BTreeSet<_> =
                transfers(&pattern).map(|it| (it.from, it.to)).collect();
            prop_assert_eq!(pairs.len() as u64, count);
        } else {
            let state = carry_out(&pattern, start(kind, members, pattern.blocks), draw);
            promised(kind, members, &state, if kind == Kind::Barrier { 1 } else { size });
        }
        for it in transfers(&pattern) {
            prop_assert!(it.from != it.to && !it.size.is_zero());
        }
    }

    #[test]
    fn a_barrier_lets_nobody_leave_before_all_have_come(members in 1u32..20) {
        let pattern = Pattern::new(Kind::Barrier, Algorithm::Usual, (members, Bytes::ZERO), &[]);
        // By part, the members whose entering it comes after.
        let mut heard: Vec<Vec<bool>> = Vec::new();
        for (number, part) in pattern.parts.iter().enumerate() {
            let mut all = vec![false; members as usize];
            let after = match part {
                Part::Transfer(it) => &it.after,
                Part::Join { member, after } => {
                    all[*member as usize] |= number < members as usize;
                    after
                }
            };
            for &before in after {
                for (mine, more) in all.iter_mut().zip(&heard[before as usize]) {
                    *mine |= more;
                }
            }
            heard.push(all);
        }
        for last in &heard[heard.len() - members as usize..] {
            prop_assert!(last.iter().all(|heard| *heard));
        }
    }

    #[test]
    fn bytes_are_those_of_the_formula(members in 2u32..40, each in 1u64..50) {
        let n = u64::from(members);
        let size = n * each * 64;
        let sent = |kind, algorithm| {
            Pattern::new(kind, algorithm, (members, Bytes::new(size)), &[]).sent().get()
        };
        let spread = (n - 1) * size;
        for algorithm in [Algorithm::Ring, Algorithm::Direct] {
            prop_assert_eq!(sent(Kind::AllReduce, algorithm), 2 * spread);
            prop_assert_eq!(sent(Kind::AllGather, algorithm), spread);
            prop_assert_eq!(sent(Kind::ReduceScatter, algorithm), spread);
        }
        prop_assert_eq!(sent(Kind::AllReduce, Algorithm::Tree), 2 * spread);
        prop_assert_eq!(sent(Kind::Broadcast { root: 1 }, Algorithm::Tree), spread);
        prop_assert_eq!(sent(Kind::Broadcast { root: 1 }, Algorithm::Ring), spread);
        prop_assert_eq!(sent(Kind::Reduce { root: 0 }, Algorithm::Ring), spread);
        prop_assert_eq!(sent(Kind::AllToAll, Algorithm::Direct), spread);
        prop_assert_eq!(sent(Kind::AllReduce, Algorithm::Hierarchical { inner: members }), 2 * spread);
        let cores = 1u64 << members.ilog2();
        let beside = 2 * (n - cores) * size;
        if size % cores == 0 {
            let halved = sent(Kind::AllReduce, Algorithm::HalvingDoubling);
            prop_assert_eq!(halved, 2 * (cores - 1) * size + beside);
        }
    }
}

#[test]
fn unequal_parts_are_sent_as_stated() {
    let parts: Vec<Vec<Bytes>> = (0..3u64)
        .map(|from| (0..3u64).map(|to| Bytes::new(10 * from + to)).collect())
        .collect();
    let own: Vec<&[Bytes]> = parts.iter().map(|own| &**own).collect();
    let pattern = Pattern::new(Kind::AllToAll, Algorithm::Usual, (3, Bytes::ZERO), &own);
    let sent: Vec<_> = transfers(&pattern)
        .map(|it| (it.from, it.to, it.size.get()))
        .collect();
    // Nothing is sent where the part is 0.
    assert_eq!(
        sent,
        [
            (0, 1, 1),
            (0, 2, 2),
            (1, 2, 12),
            (1, 0, 10),
            (2, 0, 20),
            (2, 1, 21)
        ]
    );
}
