//! Bulk loads: all pairs in a tree that passes verification, or no change.
#![allow(missing_docs)]

use std::ops::Bound;

use honeycomb_btree::{Config, Error, Forest, Loader, Operation, Root, Shape};
use honeycomb_layout::COLUMN_HEADS_OFFSET;
use honeycomb_memory::{Faults, MemoryConfig};
use honeycomb_testing::index::{Keys, MIB, Model, Pairs, everything, forest, key, tiny};

/// Returns `pairs` pairs, some with overflow values.
fn model(keys: Keys, pairs: u64, key_bytes_max: usize) -> Model {
    let value = |number: u64| vec![number as u8; if number % 50 == 7 { 700 } else { number as usize % 40 }];
    (0..pairs).map(|number| (key(keys, number, key_bytes_max), value(number))).collect()
}

fn push_all(loader: &mut Loader<'_>, model: &Model) -> Result<(), Error> {
    model.iter().try_for_each(|(key, value)| loader.push(key, value))
}

fn load(forest: &Forest, root: Root, model: &Model, fill_percent: usize) -> Result<u64, Error> {
    let mut loader = forest.loader(root, fill_percent)?;
    push_all(&mut loader, model)?;
    loader.finish()
}

/// Loads a model in parts, each built by a thread of its own.
fn load_parts(
    forest: &Forest,
    root: Root,
    model: &Model,
    (parts, fill_percent): (usize, usize),
) -> Result<u64, Error> {
    let pairs: Vec<_> = model.iter().collect();
    let bounds: Vec<_> = (0..=parts).map(|part| part * pairs.len() / parts).collect();
    let mut loader = forest.loader(root, fill_percent)?;
    std::thread::scope(|scope| {
        let build = |range: &[usize]| {
            let pairs = &pairs[range[0]..range[1]];
            let low = if range[0] == 0 { &[][..] } else { pairs.first().map_or(&[][..], |(key, _)| key) };
            let mut part = forest.loader_part(low, fill_percent)?;
            pairs.iter().try_for_each(|(key, value)| part.push(key, value))?;
            assert_eq!(part.pairs(), pairs.len() as u64);
            Ok::<_, Error>(part)
        };
        let threads: Vec<_> = bounds.windows(2).map(|range| scope.spawn(move || build(range))).collect();
        let mut built = threads.into_iter().map(|thread| thread.join().unwrap());
        built.try_for_each(|part| loader.append(part?))
    })?;
    loader.finish()
}

/// Returns the numbers of bytes and LIDs that are not free.
fn in_use(forest: &Forest) -> (usize, usize) {
    let now = forest.memory().accounting();
    (
        now.arena_bytes - now.free_bytes - now.free_list_bytes,
        now.live_lids + now.reserved_lids + now.retired_lids,
    )
}

fn contents(forest: &Forest, root: Root) -> Pairs {
    everything(&forest.reader(), root)
}

/// Loads a tree, in several parts or as a whole, reads it with all kinds of reads, and writes to it.
fn check(shape: Shape, keys: Keys, pairs: u64, (parts, fill_percent): (usize, usize)) {
    let forest = forest(shape, 64 * MIB, true);
    let root = forest.create_tree().unwrap();
    let mut model = model(keys, pairs, shape.key_bytes_max());
    let before = forest.reader().version();
    let loaded = match parts {
        1 => load(&forest, root, &model, fill_percent),
        _ => load_parts(&forest, root, &model, (parts, fill_percent)),
    };
    assert_eq!(loaded.unwrap(), model.len() as u64);
    assert_eq!(
        forest.reader().version(),
        before + u64::from(!model.is_empty()),
        "all pairs have one version"
    );
    let verified =
        forest.verify(&[root]).unwrap_or_else(|wrong| panic!("{shape:?} {keys:?} {pairs}: {wrong}"));
    assert_eq!(verified.pairs, model.len() as u64);
    assert!(contents(&forest, root) == model.clone().into_iter().collect::<Pairs>());
    for (key, value) in &model {
        assert_eq!(forest.reader().get(root, key).map(|found| found.value), Some(&value[..]), "{key:?}");
    }
    for number in (0..pairs + 50).step_by(3) {
        let key = key(keys, number, shape.key_bytes_max());
        forest.write(root, &key, Operation::Put(b"changed")).unwrap();
        model.insert(key, b"changed".to_vec());
    }
    forest.verify(&[root]).unwrap();
    assert!(contents(&forest, root) == model.into_iter().collect::<Pairs>());
}

#[test]
fn trees_of_every_size_pass_every_check() {
    for keys in Keys::ALL {
        for pairs in [0, 1, 2, 3, 7, 30, 100, 400, 1_500] {
            for fill_percent in [10, 60, 90, 100] {
                check(tiny(128), keys, pairs, (1, fill_percent));
            }
            for parts in [2, 5, 40] {
                check(tiny(128), keys, pairs, (parts, 60));
            }
        }
        for parts in [1, 7] {
            check(Shape::default(), keys, 5_000, (parts, 90));
        }
    }
}

#[test]
fn leaves_have_the_requested_fill_factor() {
    let shape = Shape::default();
    for (fill_percent, least, most) in [(50, 0.49, 0.51), (90, 0.89, 0.91), (100, 0.96, 0.985)] {
        let forest = forest(shape, 64 * MIB, true);
        let root = forest.create_tree().unwrap();
        let mut loader = forest.loader(root, fill_percent).unwrap();
        (0..50_000_u64).for_each(|number| loader.push(&number.to_be_bytes(), &[7; 16]).unwrap());
        assert_eq!(loader.finish().unwrap(), 50_000);
        let verified = forest.verify(&[root]).unwrap();
        let start = COLUMN_HEADS_OFFSET as u64;
        let used = verified.leaf_bytes_used / verified.leaves - start;
        let used = used as f64 / (shape.node_bytes as u64 - start) as f64;
        assert!((least..most).contains(&used), "{used} of the blocks are used at {fill_percent} %");
    }
}

#[test]
fn no_pair_is_visible_before_all_are() {
    let forest = forest(tiny(128), 64 * MIB, true);
    let root = forest.create_tree().unwrap();
    let (model, before) = (model(Keys::Random, 500, 128), forest.reader());
    let mut loader = forest.loader(root, 90).unwrap();
    push_all(&mut loader, &model).unwrap();
    assert_eq!(loader.pairs(), 500);
    assert!(contents(&forest, root).is_empty());
    loader.finish().unwrap();
    assert_eq!(contents(&forest, root).len(), 500);
    assert!(everything(&before, root).is_empty(), "an older reader sees an empty tree");
}

#[test]
fn keys_that_do_not_ascend_are_rejected() {
    let forest = forest(tiny(128), 4 * MIB, true);
    let root = forest.create_tree().unwrap();
    let before = in_use(&forest);
    let mut loader = forest.loader(root, 90).unwrap();
    for key in [b"a", b"b", b"d"] {
        loader.push(key, b"1").unwrap();
    }
    for key in [b"d", b"c", b"a"] {
        let error = loader.push(key, b"2").unwrap_err();
        assert!(matches!(error, Error::NotAscending { position: 3 }));
        let text = "pair 3, counted from 0, is not greater than the pair before it: keys must ascend";
        assert_eq!(error.to_string(), text);
    }
    assert!(matches!(loader.push(b"", b"2"), Err(Error::KeyLength { bytes: 0, .. })));
    assert!(matches!(loader.push(&[b'e'; 129], b"2"), Err(Error::KeyLength { bytes: 129, .. })));
    loader.push(b"e", b"1").unwrap();
    drop(loader);
    assert_eq!(in_use(&forest), before);
    assert!(contents(&forest, root).is_empty());
    for fill_percent in [0, 9, 101] {
        assert!(matches!(forest.loader(root, fill_percent), Err(Error::FillPercent { .. })));
    }
}

#[test]
fn parts_that_do_not_follow_are_rejected() {
    let forest = forest(tiny(128), 4 * MIB, true);
    let root = forest.create_tree().unwrap();
    let part = |low: &[u8], keys: &[&[u8]]| {
        let mut part = forest.loader_part(low, 90).unwrap();
        keys.iter().for_each(|key| part.push(key, b"v").unwrap());
        part
    };
    let mut below = part(b"m", &[]);
    assert!(matches!(below.push(b"lz", b"v"), Err(Error::NotAscending { position: 0 })));
    let mut loader = forest.loader(root, 90).unwrap();
    let rejected = |error| matches!(error, Err(Error::NotAscending { .. }));
    assert!(rejected(loader.append(part(b"b", &[b"b"]))), "the first part has all keys before it");
    loader.append(part(b"", &[b"c", b"d"])).unwrap();
    loader.append(below).unwrap();
    assert!(rejected(loader.append(part(b"d", &[b"e"]))), "d is in both");
    assert!(rejected(loader.append(part(b"", &[b"e"]))));
    loader.append(part(b"da", &[b"db", b"e"])).unwrap();
    assert!(matches!(loader.push(b"e", b"v"), Err(Error::NotAscending { position: 4 })));
    loader.push(b"f", b"v").unwrap();
    assert_eq!((loader.pairs(), loader.finish().unwrap()), (5, 5));
    forest.verify(&[root]).unwrap();
    let keys: Vec<_> = contents(&forest, root).into_iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [&b"c"[..], b"d", b"db", b"e", b"f"]);
    forest.delete_range(root, Bound::Unbounded, Bound::Unbounded).unwrap();
    assert!(matches!(forest.loader_part(b"", 9), Err(Error::FillPercent { percent: 9 })));
}

#[test]
fn trees_that_have_pairs_are_rejected() {
    let forest = forest(tiny(128), 16 * MIB, true);
    let root = forest.create_tree().unwrap();
    let mut loader = forest.loader(root, 90).unwrap();
    push_all(&mut loader, &model(Keys::Random, 400, 128)).unwrap();
    forest.write(root, b"meanwhile", Operation::Put(b"v")).unwrap();
    assert!(matches!(loader.finish(), Err(Error::NotEmpty)));
    assert_eq!(contents(&forest, root), [(b"meanwhile".to_vec(), b"v".to_vec())]);
    assert_eq!(forest.verify(&[root]).unwrap().pairs, 1);
    assert!(matches!(forest.loader(root, 90), Err(Error::NotEmpty)));
}

/// A tree whose pairs were all deleted has interior nodes until its leaves are merged.
#[test]
fn trees_whose_pairs_were_deleted_are_empty() {
    for pairs in (0..60).step_by(4) {
        let forest = forest(tiny(512), 16 * MIB, true);
        let root = forest.create_tree().unwrap();
        let keys: Vec<_> = (0..pairs).map(|number| key(Keys::Random, number, 128)).collect();
        for key in &keys {
            forest.write(root, key, Operation::Put(&[1; 20])).unwrap();
        }
        for key in &keys {
            forest.write(root, key, Operation::Delete).unwrap();
        }
        let model = model(Keys::Paths, 300, 128);
        load(&forest, root, &model, 90).unwrap();
        assert_eq!(forest.verify(&[root]).unwrap().pairs, 300);
        assert!(contents(&forest, root) == model.into_iter().collect::<Pairs>());
    }
}

fn with_faults(arena_bytes: usize) -> (Forest, Root, Faults) {
    let faults = Faults::default();
    let memory =
        MemoryConfig { arena_bytes, huge_pages: false, faults: faults.clone(), ..MemoryConfig::default() };
    let forest = Forest::new(Config { memory, shape: tiny(128), ..Config::default() }).unwrap();
    let root = forest.create_tree().unwrap();
    (forest, root, faults)
}

/// Lets the first allocation of a load fail, then the second, and so on until the load succeeds.
#[test]
fn a_load_that_runs_out_of_memory_leaks_nothing() {
    let load_whole: fn(&Forest, Root, &Model) -> _ = |forest, root, model| load(forest, root, model, 90);
    let load_parts = |forest: &Forest, root, model: &Model| load_parts(forest, root, model, (3, 90));
    for load in [load_whole, load_parts] {
        fail_each_allocation(load);
    }
}

fn fail_each_allocation(load: fn(&Forest, Root, &Model) -> Result<u64, Error>) {
    let model = model(Keys::Random, 900, 128);
    for nth in 0.. {
        let (forest, root, faults) = with_faults(4 * MIB);
        let before = in_use(&forest);
        faults.set(nth);
        let result = load(&forest, root, &model);
        faults.clear();
        match result {
            Ok(_) => {
                assert!(nth > 60, "{nth} allocations");
                break;
            }
            Err(error) => assert!(matches!(error, Error::Memory(_)), "{error}"),
        }
        assert_eq!(in_use(&forest), before, "allocation {nth} failed");
        assert_eq!(load(&forest, root, &model).unwrap(), 900);
        forest.verify(&[root]).unwrap();
    }
}

#[test]
fn a_pair_can_be_pushed_again_after_an_allocation_failure() {
    let model = model(Keys::Paths, 900, 128);
    for nth in (0..150).step_by(3) {
        let (forest, root, faults) = with_faults(4 * MIB);
        let mut loader = forest.loader(root, 90).unwrap();
        faults.set(nth);
        let mut rejected = 0;
        for (key, value) in &model {
            while loader.push(key, value).is_err() {
                faults.clear();
                rejected += 1;
            }
        }
        faults.clear();
        assert!(rejected <= 1);
        loader.finish().unwrap();
        forest.verify(&[root]).unwrap();
        assert!(contents(&forest, root) == model.clone().into_iter().collect::<Pairs>());
    }
}

#[test]
fn a_failed_load_leaves_the_arena_unchanged() {
    let (forest, root, _) = with_faults(MIB);
    let before = in_use(&forest);
    assert!(matches!(load(&forest, root, &model(Keys::Random, 100_000, 128), 90), Err(Error::Memory(_))));
    assert_eq!(in_use(&forest), before);
    assert!(load(&forest, root, &model(Keys::Random, 5_000, 128), 90).is_ok());
    forest.delete_range(root, Bound::Unbounded, Bound::Unbounded).unwrap();
    forest.verify(&[root]).unwrap();
}
