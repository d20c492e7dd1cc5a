//! What only tells the worth of a choice changes no answer: how many tags gets look at, and what is asked for
//! ahead.

use honeycomb_btree::{Config, Forest, Operation, Shape};
use honeycomb_memory::MemoryConfig;
use honeycomb_testing::index::{Keys, MIB, key, tiny};

const PAIRS: u64 = 500;

#[test]
fn gets_find_the_newest_values_by_any_number_of_tags() {
    for (log_tags, prefetch_bytes) in [(0, 0), (1, 64), (15, 512), (16, 1 << 20), (usize::MAX, usize::MAX)] {
        let memory =
            MemoryConfig { arena_bytes: MIB, huge_pages: false, prefetch_bytes, ..MemoryConfig::default() };
        // Room for more entries than have tags.
        let shape = Shape { node_bytes: 4096, ..tiny(2048) };
        let forest = Forest::new(Config { memory, shape, log_tags, ..Config::default() }).unwrap();
        let root = forest.create_tree().unwrap();
        for round in 0..3_u64 {
            for number in 0..PAIRS {
                let (key, value) = (key(Keys::Random, number, 8), (number + round).to_le_bytes());
                forest.write(root, &key, Operation::Put(&value)).unwrap();
                let found = forest.reader().get(root, &key).map(|found| found.value.to_vec());
                assert_eq!(found.as_deref(), Some(&value[..]), "{log_tags} tags, pair {number}");
            }
            let absent = key(Keys::Random, PAIRS + round, 8);
            assert_eq!(forest.reader().get(root, &absent), None, "{log_tags} tags");
        }
    }
}
