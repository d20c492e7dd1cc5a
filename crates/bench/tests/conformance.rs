//! Every map does what a `BTreeMap` does: the same random operations, the same answers.

use std::collections::BTreeMap;

use clap::ValueEnum;
use honeycomb_bench::adapters::{Peer, Visitor};
use honeycomb_bench::keys::{Key, Value, key, value};
use honeycomb_bench::map::{Failure, Items, OrderedMap};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

const PAIRS: u64 = 5_000;
const OPERATIONS: u64 = 100_000;

struct Conforms;

impl Visitor for Conforms {
    type Output = ();

    fn visit<M: OrderedMap>(self) -> Result<(), Failure> {
        let mut test = Test { map: M::new(PAIRS)?, model: BTreeMap::new() };
        let mut random = SmallRng::seed_from_u64(1);
        for step in 0..OPERATIONS {
            let index = random.random_range(0..PAIRS);
            match random.random_range(0..10) {
                0..4 => test.write(index, step)?,
                4..7 => test.get(index)?,
                _ => test.scan(&key(index), random.random_range(1..=100))?,
            }
        }
        test.scan(&[0; 16], 2 * PAIRS as usize)
    }
}

struct Test<M> {
    map: M,
    model: BTreeMap<Key, Value>,
}

impl<M: OrderedMap> Test<M> {
    /// Inserts a pair or, if it is there, updates it.
    fn write(&mut self, index: u64, change: u64) -> Result<(), Failure> {
        let (key, value) = (key(index), value(index, change));
        if self.model.insert(key, value).is_none() {
            self.map.insert(&key, &value)
        } else {
            assert!(self.map.update(&key, &value)?);
            Ok(())
        }
    }

    fn get(&self, index: u64) -> Result<(), Failure> {
        let mut value = vec![1, 2, 3];
        let found = self.map.get(&key(index), &mut value)?.then_some(value);
        assert_eq!(found.as_deref(), self.model.get(&key(index)).map(Value::as_slice));
        Ok(())
    }

    fn scan(&self, from: &Key, limit: usize) -> Result<(), Failure> {
        let mut items = M::Items::default();
        // What a scan finds takes the place of what another found.
        self.map.scan(&key(1), 3, &mut items)?;
        let count = self.map.scan(from, limit, &mut items)?;
        let expected = self.model.range(*from..).take(limit);
        let expected: Vec<_> = expected.map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        assert_eq!((count, items.pairs()), (expected.len(), expected));
        Ok(())
    }
}

#[test]
fn all_maps_answer_alike() {
    for peer in Peer::value_variants() {
        let done = peer.accept(Conforms);
        assert!(done.is_ok(), "{}: {done:?}", peer.name());
    }
}
