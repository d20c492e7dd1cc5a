//! All variants of counting heads have the same results as counting them one by one.
#![cfg(not(loom))]

use honeycomb_memory::heads::{self, ForEachKind, Vectors};
use honeycomb_testing::{Random, seed};

fn check(heads: &[u64], head: u64) {
    let bytes: Vec<u8> = heads.iter().flat_map(|other| other.to_le_bytes()).collect();
    let expected = heads.iter().filter(|&&other| other <= head).count();
    // Several alignments, up to the end of the allocation.
    for shift in [0, 1, 8] {
        let shifted: Vec<u8> = vec![0xff; shift].into_iter().chain(bytes.iter().copied()).collect();
        for (name, variant) in heads::variants() {
            assert_eq!(variant(&shifted[shift..], head), expected, "{name}: {head} in {heads:?}");
        }
        assert_eq!(heads::count_not_greater(&shifted[shift..], head), expected);
    }
}

fn check_group(random: &mut Random, heads: &[u64; heads::GROUP], head: u64) {
    let bytes: Vec<u8> = heads.iter().flat_map(|other| other.to_le_bytes()).collect();
    let group: &[u8; heads::GROUP_BYTES] = bytes[..].try_into().unwrap();
    let present = random.below(2 * heads::GROUP);
    let rank = heads.iter().take(present).take_while(|&&other| other <= head).count();
    let after_first = heads[1..].iter().filter(|&&other| other <= head).count();
    struct Expected<'g>(&'g [u8; heads::GROUP_BYTES], usize, u64, usize, usize);
    impl ForEachKind for Expected<'_> {
        fn check(&mut self, name: &str, vectors: impl Vectors) {
            let Expected(group, present, head, rank, after_first) = *self;
            assert_eq!(vectors.rank_in_group(group, present, head), rank, "{name}: {head} in {group:?}");
            assert_eq!(vectors.rank_after_first(group, head), after_first, "{name}: {head} in {group:?}");
        }
    }
    let mut expected = Expected(group, present, head, rank, after_first);
    heads::for_each_kind(&mut expected);
    expected.check("detected", heads::Detected);
}

fn check_two_groups(random: &mut Random, heads: &[u64; 2 * heads::GROUP], head: u64) {
    let bytes: Vec<u8> = heads.iter().flat_map(|other| other.to_le_bytes()).collect();
    let present = random.below(heads.len() + 9);
    let rank = heads.iter().take(present).take_while(|&&other| other <= head).count();
    struct Expected<'g>(&'g [u8], usize, u64, usize);
    impl ForEachKind for Expected<'_> {
        fn check(&mut self, name: &str, vectors: impl Vectors) {
            let Expected(groups, present, head, rank) = *self;
            let found = vectors.rank_in_two_groups(groups.try_into().unwrap(), present, head);
            assert_eq!(found, rank, "{name}: {head} among {present} of {groups:?}");
        }
    }
    let mut expected = Expected(&bytes, present, head, rank);
    heads::for_each_kind(&mut expected);
    expected.check("detected", heads::Detected);
}

#[test]
fn variants_agree_on_two_groups() {
    let mut random = Random::new(seed());
    for _ in 0..2000 {
        let bits = 1 + random.below(64) as u32;
        let mut heads = std::array::from_fn(|_| random.next() >> (64 - bits));
        heads.sort_unstable();
        for head in heads.into_iter().chain([0, u64::MAX]) {
            check_two_groups(&mut random, &heads, head);
            check_two_groups(&mut random, &heads, head.wrapping_sub(1));
        }
    }
}

fn check_next_heads(random: &mut Random, heads: &[[u64; 2]; heads::GROUP], [head, next]: [u64; 2]) {
    let column = |of: usize| -> Vec<u8> { heads.iter().flat_map(|both| both[of].to_le_bytes()).collect() };
    let present = random.below(heads.len() + 1);
    let is_greater = |both: &[u64; 2]| both[0] == head && both[1] > next;
    let rank = heads[..present].iter().position(is_greater).unwrap_or(present);
    struct Expected([Vec<u8>; 2], usize, [u64; 2], usize);
    impl ForEachKind for Expected {
        fn check(&mut self, name: &str, vectors: impl Vectors) {
            let Expected(columns, present, key, rank) = self;
            let both = [0, 1].map(|of| columns[of][..].try_into().unwrap());
            let found = vectors.rank_of_next_head(both, *present, *key);
            assert_eq!(found, *rank, "{name}: {key:?} among {present} of {columns:?}");
        }
    }
    let mut expected = Expected([column(0), column(1)], present, [head, next], rank);
    heads::for_each_kind(&mut expected);
    expected.check("detected", heads::Detected);
}

#[test]
fn variants_agree_on_next_heads() {
    let mut random = Random::new(seed());
    let edges = [0, 1, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    for _ in 0..2000 {
        let mut heads: [[u64; 2]; heads::GROUP] =
            std::array::from_fn(|_| std::array::from_fn(|_| edges[random.below(edges.len())]));
        heads.sort_unstable();
        for _ in 0..16 {
            let key = std::array::from_fn(|_| edges[random.below(edges.len())]);
            check_next_heads(&mut random, &heads, key);
        }
    }
}

#[test]
fn variants_agree_on_groups() {
    let mut random = Random::new(seed());
    let edges = [0, 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
    for _ in 0..2000 {
        let bits = 1 + random.below(64) as u32;
        let mut heads = std::array::from_fn(|_| match random.below(8) {
            0 => edges[random.below(edges.len())],
            _ => random.next() >> (64 - bits),
        });
        heads[1..].sort_unstable();
        for head in heads.into_iter().chain(edges) {
            check_group(&mut random, &heads, head);
            check_group(&mut random, &heads, head.wrapping_sub(1));
        }
    }
}

#[test]
fn variants_agree_on_edges() {
    let edges = [0, 1, 2, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
    for count in 0..=64 {
        for (at, &first) in edges.iter().enumerate() {
            for &second in &edges[at..] {
                for split in [0, count / 2, count] {
                    let mut heads = vec![first; split];
                    heads.resize(count, second);
                    edges.iter().for_each(|&head| check(&heads, head));
                }
            }
        }
    }
}

#[test]
fn variants_agree_on_random_heads() {
    let mut random = Random::new(seed());
    for round in 0..2000 {
        let bits = 1 + random.below(64) as u32;
        let mut heads: Vec<u64> = (0..round % 65).map(|_| random.next() >> (64 - bits)).collect();
        heads.sort_unstable();
        for _ in 0..8 {
            check(&heads, random.next() >> (64 - bits));
            heads.get(random.below(65)).into_iter().for_each(|&head| check(&heads, head));
        }
    }
}

#[test]
fn an_incomplete_head_is_ignored() {
    let bytes: Vec<u8> = [1_u64, 2, 3].iter().flat_map(|head| head.to_le_bytes()).collect();
    for end in 0..=bytes.len() {
        for (name, variant) in heads::variants() {
            assert_eq!(variant(&bytes[..end], 9), end / 8, "{name}");
        }
    }
}
