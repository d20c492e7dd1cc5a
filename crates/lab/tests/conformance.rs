//! Every map returns the same results as a `BTreeMap` for random operations.

use std::collections::BTreeMap;

use honeycomb_lab::adapters::{Contents, Peer, Visitor};
use honeycomb_lab::map::{Buffers, Failure, Items, OrderedMap, Scans, Strings, Writes};
use honeycomb_workload::Sizes;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const PAIRS: u64 = 3_000;
const OPERATIONS: u64 = 12_000;

struct Conformance {
    sizes: Sizes,
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

impl Visitor for Conformance {
    type Output = ();

    fn visit<M: OrderedMap>(self, make: impl FnOnce() -> Result<M, Failure>) -> Result<(), Failure> {
        let (model, random) = (BTreeMap::new(), SmallRng::seed_from_u64(1));
        let mut test = Test { map: make()?, sizes: self.sizes, model, random, buffers: Buffers::default() };
        for change in 0..OPERATIONS {
            match test.random.random_range(0..20) {
                0..8 => test.write(change)?,
                8..13 => test.get()?,
                13..17 => test.scan()?,
                17 => test.write_many(change)?,
                18 => test.get_many()?,
                _ => test.scan_many()?,
            }
        }
        test.scan_all()
    }
}

struct Test<M: OrderedMap> {
    map: M,
    sizes: Sizes,
    model: BTreeMap<Vec<u8>, Vec<u8>>,
    random: SmallRng,
    buffers: Buffers<M::Items>,
}

impl<M: OrderedMap> Test<M> {
    fn key(&mut self) -> Vec<u8> {
        let mut key = Vec::new();
        self.sizes.key(self.random.random_range(0..PAIRS), &mut key);
        key
    }

    fn value(&self, change: u64) -> Vec<u8> {
        let mut value = Vec::new();
        self.sizes.value(1, change, &mut value);
        value
    }

    /// Returns an existing key.
    fn present(&mut self) -> Option<Vec<u8>> {
        let key = self.key();
        self.model.range(key..).next().map(|(key, _)| key.clone())
    }

    fn expected(&self, from: &[u8], limit: usize) -> Pairs {
        let pairs = self.model.range(from.to_vec()..).take(limit);
        pairs.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    /// Inserts a pair, or updates it if the key exists.
    fn write(&mut self, change: u64) -> Result<(), Failure> {
        let (key, value) = (self.key(), self.value(change));
        if self.model.insert(key.clone(), value.clone()).is_none() {
            self.map.insert(&key, &value)
        } else {
            assert!(self.map.update(&key, &value)?);
            Ok(())
        }
    }

    fn write_many(&mut self, change: u64) -> Result<(), Failure> {
        let mut writes = Writes::default();
        let count = self.random.random_range(1..40);
        for number in 0..count {
            let (key, value) = (self.key(), self.value(change ^ number << 32));
            let is_insert = self.model.insert(key.clone(), value.clone()).is_none();
            writes.keys.push_with(|bytes| bytes.extend_from_slice(&key));
            writes.values.push_with(|bytes| bytes.extend_from_slice(&value));
            writes.inserts.push(is_insert);
        }
        assert_eq!(self.map.write_many(&writes, &mut self.buffers)?, count as usize);
        Ok(())
    }

    fn get(&mut self) -> Result<(), Failure> {
        let (key, mut value) = (self.key(), vec![1, 2, 3]);
        let found = self.map.get(&key, &mut value)?.then_some(value);
        assert_eq!(found, self.model.get(&key).cloned());
        Ok(())
    }

    fn get_many(&mut self) -> Result<(), Failure> {
        let keys: Vec<Vec<u8>> = (0..self.random.random_range(1..40)).map(|_| self.key()).collect();
        let mut found = vec![None; keys.len()];
        let store = |number: usize, value: &[u8]| found[number] = Some(value.to_vec());
        self.map.get_many(&strings(&keys), &mut self.buffers, store)?;
        let expected: Vec<_> = keys.iter().map(|key| self.model.get(key).cloned()).collect();
        assert_eq!(found, expected);
        Ok(())
    }

    fn scan(&mut self) -> Result<(), Failure> {
        let (from, limit) = (self.key(), self.random.random_range(1..=100));
        let count = self.map.scan(&from, limit, &mut self.buffers.items)?;
        let expected = self.expected(&from, limit);
        assert_eq!((count, collect(&mut self.buffers.items.iter())), (expected.len(), expected));
        let Some(from) = self.present() else { return Ok(()) };
        self.map.scan_from_floor(&from, limit, &mut self.buffers.items)?;
        assert_eq!(collect(&mut self.buffers.items.iter()), self.expected(&from, limit));
        Ok(())
    }

    fn scan_many(&mut self) -> Result<(), Failure> {
        let from_floor = self.random.random();
        let count = self.random.random_range(1..20);
        let from: Vec<Vec<u8>> = (0..count).filter_map(|_| self.present()).collect();
        let limits = from.iter().map(|_| self.random.random_range(1..=30)).collect();
        let scans = Scans { from: strings(&from), from_floor, limits };
        let mut found = vec![Vec::new(); from.len()];
        self.map.scan_many(&scans, &mut self.buffers, |number, pairs| found[number] = collect(pairs))?;
        let expected: Vec<Pairs> =
            from.iter().zip(&scans.limits).map(|(from, limit)| self.expected(from, *limit)).collect();
        assert_eq!(found, expected);
        Ok(())
    }

    fn scan_all(&mut self) -> Result<(), Failure> {
        let lowest = vec![0; self.sizes.longest().0];
        self.map.scan(&lowest, 2 * PAIRS as usize, &mut self.buffers.items)?;
        assert_eq!(collect(&mut self.buffers.items.iter()), self.expected(&lowest, usize::MAX));
        Ok(())
    }
}

fn strings(parts: &[Vec<u8>]) -> Strings {
    let mut strings = Strings::default();
    parts.iter().for_each(|part| strings.push_with(|bytes| bytes.extend_from_slice(part)));
    strings
}

fn collect(pairs: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Pairs {
    pairs.map(|(key, value)| (key.to_vec(), value.to_vec())).collect()
}

#[test]
fn all_maps_return_the_same_results() -> Result<(), Failure> {
    let others = ["mvcc=off", "log=0", "log=1024:in-flight=1", "node=4096:quantum=7"];
    let others = others.map(|options| format!("honeycomb:{options}").parse());
    let others: Vec<Peer> = others.into_iter().collect::<Result<_, _>>()?;
    for name in ["16+16", "8+8", "460+460", "mixed"] {
        let sizes = name.parse()?;
        for peer in Peer::DEFAULT.into_iter().chain(others.clone()) {
            if peer.unsupported(sizes).is_none() {
                let result = peer.accept(Contents { pairs: PAIRS, sizes }, Conformance { sizes });
                assert!(result.is_ok(), "{peer}, {name}: {result:?}");
            }
        }
    }
    Ok(())
}
