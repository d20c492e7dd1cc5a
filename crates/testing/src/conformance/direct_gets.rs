//! Direct gets: they find the same pairs as requests.

use honeycomb_accelerator::{Get, Status};
use honeycomb_btree::{Operation, Version};

use crate::conformance::world::{TABLES, World};

/// Executes groups of gets. Between them, writers consolidate, split and merge nodes. Accelerators without
/// direct gets pass.
pub(super) fn direct_gets_find_the_newest_pairs(world: &mut World) {
    if world.accelerator.direct_gets().is_none() {
        return;
    }
    world.fill();
    for _ in 0..40 {
        let count = world.random.pick(&[0, 1, 2, 31, 32, 33, 100]);
        find_some(world, count);
        let count = world.random.below(100);
        world.write(count);
        world.forget();
    }
    a_get_of_an_unknown_table_is_the_last(world);
    if world.forest.mvcc() {
        all_gets_read_one_version(world);
    }
}

/// A write while the gets execute: the later ones do not find it.
fn all_gets_read_one_version(world: &mut World) {
    world.put(TABLES[0], b"key", b"before");
    let gets = [Get { table: TABLES[0], key: b"key" }; 100];
    let direct = world.accelerator.direct_gets().expect("the accelerator has direct gets");
    let (forest, root) = (&world.forest, world.roots[&TABLES[0]]);
    let mut check = |index: usize, found: Option<(&[u8], Version)>| {
        assert_eq!(found.map(|(value, _)| value), Some(&b"before"[..]), "get {index}");
        if index == 0 {
            forest.write(root, b"key", Operation::Put(b"after")).expect("there is room");
        }
    };
    assert_eq!(direct.get_each(&mut gets.iter().copied(), &mut check), Ok(()));
    world.put(TABLES[0], b"key", b"after");
}

fn find_some(world: &mut World, count: usize) {
    let wanted: Vec<(u16, Vec<u8>)> = (0..count)
        .map(|_| {
            let table = world.table();
            (table, world.key(table))
        })
        .collect();
    let gets: Vec<Get<'_>> = wanted.iter().map(|(table, key)| Get { table: *table, key }).collect();
    let (found, ended) = execute(world, &gets);
    assert_eq!(ended, Ok(()));
    assert_eq!(found.len(), count);
    for ((table, key), found) in wanted.iter().zip(found) {
        let expected = world.state[table].get(key).map(|value| value.to_vec());
        assert_eq!(found.as_ref().map(|(value, _)| value.clone()), expected, "{table} {key:?}");
        assert!(found.is_none_or(|(_, version)| version <= world.forest.read_version()));
    }
}

fn a_get_of_an_unknown_table_is_the_last(world: &World) {
    let unknown = TABLES.iter().max().map_or(0, |table| table - 1);
    for position in [0, 1, 40] {
        let mut gets = vec![Get { table: TABLES[0], key: b"key" }; 50];
        gets[position].table = unknown;
        let (found, ended) = execute(world, &gets);
        assert_eq!((found.len(), ended), (position, Err(Status::UnknownTable)));
        let (found, ended) = execute(world, &gets[position..][..1]);
        assert_eq!((found.len(), ended), (0, Err(Status::UnknownTable)));
    }
}

/// The values that gets have found, with their versions, and the end of their execution.
type Executed = (Vec<Option<(Vec<u8>, Version)>>, Result<(), Status>);

fn execute(world: &World, gets: &[Get<'_>]) -> Executed {
    let direct = world.accelerator.direct_gets().expect("the accelerator has direct gets");
    let mut all = Vec::new();
    let mut keep = |index: usize, found: Option<(&[u8], Version)>| {
        assert_eq!(index, all.len(), "in order");
        all.push(found.map(|(value, version)| (value.to_vec(), version)));
    };
    let ended = direct.get_each(&mut gets.iter().copied(), &mut keep);
    (all, ended)
}
