//! Gets find the newest values in logs with more entries than the header has fingerprints.

use honeycomb_btree::{Config, Forest, Operation, Shape};
use honeycomb_memory::MemoryConfig;
use honeycomb_testing::index::{Keys, MIB, key, tiny};

const PAIRS: u64 = 500;

#[test]
fn gets_find_the_newest_values_beyond_the_fingerprints() {
    let memory = MemoryConfig { arena_bytes: MIB, huge_pages: false, ..MemoryConfig::default() };
    let shape = Shape { node_bytes: 4096, ..tiny(2048) };
    let forest = Forest::new(Config { memory, shape, ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    for round in 0..3_u64 {
        for number in 0..PAIRS {
            let (key, value) = (key(Keys::Random, number, 8), (number + round).to_le_bytes());
            forest.write(root, &key, Operation::Put(&value)).unwrap();
            let found = forest.reader().get(root, &key).map(|found| found.value.to_vec());
            assert_eq!(found.as_deref(), Some(&value[..]), "pair {number}");
        }
        let absent = key(Keys::Random, PAIRS + round, 8);
        assert_eq!(forest.reader().get(root, &absent), None);
    }
}
