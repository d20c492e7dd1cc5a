//! Each damage of a table is a violation, and the error names it.

use honeycomb_layout::{bucket_slot, bucket_state, value_reference};
use honeycomb_memory::{Memory, MemoryConfig};

use super::*;
use crate::bucket::{SLOT, Slab, WORDS};
use crate::form::HEADER;
use crate::functions::Functions;
use crate::operation::Operation;
use crate::{Table, TableConfig};

/// The word of a bucket with its state.
const STATE: usize = bucket::STATE_OFFSET / 8;

/// A table of two buckets, and its memory.
struct Damaged<'m> {
    memory: &'m Memory,
    table: Table<&'m Memory>,
}

fn memory() -> Memory {
    let config = MemoryConfig { arena_bytes: 4 << 20, huge_pages: false, ..MemoryConfig::default() };
    Memory::new(config).unwrap()
}

/// The number of the bucket of a key.
fn bucket_of(key: &[u8]) -> u64 {
    number_of(hash(0, key), 2)
}

/// Returns some keys of a length, all of bucket 0.
fn keys(length: usize) -> impl Iterator<Item = Vec<u8>> {
    let numbered = move |number: u8| [&[number], &vec![b'k'; length - 1][..]].concat();
    (0..=u8::MAX).map(numbered).filter(|key| bucket_of(key) == 0)
}

impl<'m> Damaged<'m> {
    /// A table with pairs of keys of bucket 0 and values of some lengths.
    fn new(memory: &'m Memory, pairs: &[(Vec<u8>, usize)]) -> Self {
        let config = TableConfig { buckets: 2, fill_percent: None, seed: 0, ..TableConfig::default() };
        let table = Table::new(memory, config, Functions::default()).unwrap();
        for (key, length) in pairs {
            table.apply(key, Operation::Put(&vec![b'v'; *length]), &mut Vec::new()).unwrap();
        }
        table.verify().unwrap();
        Self { memory, table }
    }

    /// Replaces a bucket, and returns the violation. Restores the bucket at the end.
    fn with(&self, address: u32, replacement: &Bucket) -> Option<String> {
        let pin = self.memory.pin();
        let access = Access::new(self.memory, &pin);
        let before = access.bucket(address);
        access.store_bucket(address, replacement);
        let violation = self.table.verify().err().map(|error| error.to_string());
        access.store_bucket(address, &before);
        self.table.verify().unwrap();
        violation
    }

    /// The first bucket: its address and its image.
    fn first(&self) -> (u32, Bucket) {
        let pin = self.memory.pin();
        let address = self.table.index.directory.address(0);
        (address, Access::new(self.memory, &pin).bucket(address))
    }

    /// Damages the first bucket, and returns the violation.
    fn damaged(&self, damage: impl FnOnce(&mut Bucket)) -> String {
        let (address, mut bucket) = self.first();
        damage(&mut bucket);
        self.with(address, &bucket).expect("the damage is not found")
    }

    /// Flips a bit of a slab, and returns the violation. Restores the slab at the end.
    fn with_flipped(&self, slab: Slab, bit: usize) -> Option<String> {
        let pin = self.memory.pin();
        let access = Access::new(self.memory, &pin);
        let before = access.record(slab).bytes()[bit / 8];
        access.slab(slab).words.store_bytes(bit / 8, &[before ^ 1 << (bit % 8)]);
        let violation = self.table.verify().err();
        access.slab(slab).words.store_bytes(bit / 8, &[before]);
        violation
    }

    /// The slab of a slot of the first bucket, and its bytes.
    fn slab(&self, slot: usize) -> (Slab, Vec<u8>) {
        let (slab, pin) = (slab_of(&self.first().1, slot), self.memory.pin());
        (slab, Access::new(self.memory, &pin).record(slab).bytes().to_vec())
    }
}

#[track_caller]
fn assert_names(violation: &str, part: &str) {
    assert!(violation.contains(part), "{violation:?} is not {part:?}");
}

fn slab_of(bucket: &Bucket, slot: usize) -> Slab {
    let pairs: Vec<_> = bucket.pairs().collect();
    let Stored::Slab(slab) = pairs[slot] else { panic!("{pairs:?}") };
    slab.slab
}

/// Two pairs in slabs of 64 bytes.
fn pairs_in_slabs() -> Vec<(Vec<u8>, usize)> {
    keys(10).take(2).map(|key| (key, 40)).collect()
}

#[test]
fn a_second_hash_is_compared_with_the_key() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    for bit in 0..bucket_slot::SECOND_HASH_MASK.count_ones() {
        let flipped = bucket_slot::with_second_hash(0, 1 << bit);
        let violation = table.damaged(|bucket| bucket.0[0] ^= flipped);
        assert_names(&violation, "slot 0 has a wrong second hash");
    }
}

#[test]
fn marks_and_free_bytes_are_those_of_the_pairs() {
    let memory = memory();
    // An inline pair of two slots, with a mark for the last byte of the key and of the value.
    let table = Damaged::new(&memory, &[(keys(2).next().unwrap(), 5)]);
    let mark = |byte: usize| 1 << (8 * (bucket::MARKS_OFFSET % 8) + byte);
    let marks = bucket::MARKS_OFFSET / 8;
    let violation = table.damaged(|bucket| bucket.0[marks] &= !(mark(1) | mark(6)));
    assert_names(&violation, "a slot is of no pair");
    let violation = table.damaged(|bucket| bucket.0[marks] |= mark(4));
    assert_names(&violation, "a slot is of no pair");
    for byte in [7, 9, 10, 47] {
        let violation = table.damaged(|bucket| bucket.0[marks] |= mark(byte));
        assert_names(&violation, "the bucket has bits of no pair");
    }
    // The last two marks are in the state.
    let violation = table.damaged(|bucket| {
        bucket.0[STATE] = bucket_state::with_marks_high(bucket.0[STATE], 2);
    });
    assert_names(&violation, "the bucket has bits of no pair");
    let violation = table.damaged(|bucket| bucket.0[1] |= 1 << 63);
    assert_names(&violation, "the bucket has bits of no pair");
}

/// A reader skips a pair only by a flipped bit in its value.
#[test]
fn each_flipped_bit_of_a_bucket_of_slabs_is_found() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    let (address, bucket) = table.first();
    for bit in 0..64 * WORDS {
        let mut flipped = bucket;
        flipped.0[bit / 64] ^= 1 << (bit % 64);
        assert!(table.with(address, &flipped).is_some(), "bit {bit}");
    }
}

#[test]
fn no_flipped_bit_of_a_bucket_is_a_panic() {
    let memory = memory();
    // Two inline pairs, and one in a slab of each form.
    let lengths = [(2, 5), (3, 0), (10, 22), (10, 40), (10, 300), (10, 1000)];
    let pairs: Vec<_> = lengths.iter().map(|&(key, value)| (keys(key).next().unwrap(), value)).collect();
    let table = Damaged::new(&memory, &pairs);
    let (address, bucket) = table.first();
    for bit in 0..64 * WORDS {
        let mut flipped = bucket;
        flipped.0[bit / 64] ^= 1 << (bit % 64);
        table.with(address, &flipped);
    }
}

#[test]
fn no_flipped_bit_of_a_slab_is_a_panic_and_those_of_a_key_are_found() {
    let memory = memory();
    for (key_length, value_length) in [(10, 22), (10, 40), (10, 300), (30, 40), (10, 1000)] {
        let pair = (keys(key_length).next().unwrap(), value_length);
        let table = Damaged::new(&memory, std::slice::from_ref(&pair));
        let (slab, bytes) = table.slab(0);
        let key = bytes.windows(key_length).position(|window| window == pair.0).unwrap();
        for bit in 0..8 * bytes.len() {
            let is_found = table.with_flipped(slab, bit).is_some();
            let is_of_key = (key..key + key_length).contains(&(bit / 8));
            assert!(is_found || !is_of_key, "bit {bit} of {key_length} + {value_length} bytes");
        }
    }
}

#[test]
fn an_overflow_value_is_one_in_use_of_one_pair() {
    let memory = memory();
    let pairs: Vec<_> = keys(10).take(2).map(|key| (key, 1000)).collect();
    let table = Damaged::new(&memory, &pairs);
    let (slab, bytes) = table.slab(0);
    let reference = HEADER + 10;
    let length = 8 * (reference + value_reference::LENGTH_OFFSET);
    for bit in 8 * reference..length {
        assert!(table.with_flipped(slab, bit).is_some(), "bit {bit}");
    }
    // A length that needs as many units as that of the value is valid.
    for bit in ALLOCATION_UNIT_BYTES.ilog2()..8 * value_reference::LENGTH_BYTES as u32 {
        let violation = table.with_flipped(slab, length + bit as usize).unwrap();
        assert_names(&violation, "slot 0 refers to no value of its own");
    }
    let (of_other, pin) = (table.slab(1).1, memory.pin());
    let words = Access::new(&memory, &pin).slab(slab).words;
    words.store_bytes(reference, &of_other[reference..][..value_reference::SIZE]);
    let violation = table.table.verify().unwrap_err();
    assert_names(&violation, "slot 1 refers to no value of its own");
    words.store_bytes(reference, &bytes[reference..][..value_reference::SIZE]);
    table.table.verify().unwrap();
}

#[test]
fn a_value_that_a_slab_has_room_for_is_in_the_slab() {
    let memory = memory();
    let key = keys(10).next().unwrap();
    let table = Damaged::new(&memory, &[(key.clone(), 501)]);
    let ((slab, bytes), pin) = (table.slab(0), memory.pin());
    let words = Access::new(&memory, &pin).slab(slab).words;
    let length = HEADER + 10 + value_reference::LENGTH_OFFSET;
    // With its key it needs as large a slab as the reference does.
    words.store_bytes(length, &10_u32.to_le_bytes());
    assert_names(&table.table.verify().unwrap_err(), "slot 0 has a slab of a wrong form");
    words.store_bytes(length, &bytes[length..][..4]);
    table.table.verify().unwrap();
}

#[test]
fn counters_are_compared_with_the_buckets() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    let stripe = &table.table.index.stripes[0];
    for counter in [&stripe.pairs, &stripe.used_slots] {
        counter.fetch_add(1, Ordering::Relaxed);
        assert_names(&table.table.verify().unwrap_err().to_string(), "stripe 0 counts");
        counter.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn a_slab_has_one_owner() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    // The second slot becomes a copy of the first one.
    let violation = table.damaged(|bucket| {
        let slots = *bucket;
        bucket.remove(1, 1);
        bucket.push_slots(&slots, 0, 1);
    });
    assert_names(&violation, "the slab of slot 1 overlaps a bucket or another slab");
    let (address, bucket) = table.first();
    let with_address = |address| {
        let mut damaged = bucket;
        let slot = bucket_slot::with_address(bucket.word_at(0), u64::from(address));
        damaged.patch(0, &slot.to_le_bytes()[..SLOT]);
        damaged
    };
    // The first bucket, the lower and the upper half of the other slab, and a page that no table has.
    let other = slab_of(&bucket, 1).address;
    let violation = |address_of_slab| table.with(address, &with_address(address_of_slab)).unwrap();
    assert_names(&violation(address), "the slab of slot 0 overlaps a bucket or another slab");
    assert_names(&violation(u32::MAX >> 1), "slot 0 has no valid slab");
    for half in [other, other + 1] {
        assert!(!violation(half).is_empty());
    }
}

#[test]
fn all_slabs_in_use_are_of_the_table() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    let slabs = &table.table.index.slabs;
    let lost = slabs.allocate(&memory, 2).unwrap();
    let violation = table.table.verify().unwrap_err().to_string();
    assert_names(&violation, "slabs of 256 bytes are allocated, but the table uses 128");
    slabs.free(&memory, 2, lost);
}

#[test]
fn a_slab_has_the_form_of_its_pair() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    let (_, bucket) = table.first();
    let (slab, pin) = (slab_of(&bucket, 0), memory.pin());
    let key = keys(10).next().unwrap();
    let access = Access::new(&memory, &pin);
    // A pair that a smaller slab has room for.
    access.store_slab(slab, &key, b"short", None);
    let violation = table.table.verify().unwrap_err().to_string();
    assert_names(&violation, "slot 0 has a slab of a wrong form");
    access.store_slab(slab, &key, &[b'v'; 40], None);
    table.table.verify().unwrap();
}

#[test]
fn slots_in_use_come_first() {
    let memory = memory();
    let table = Damaged::new(&memory, &pairs_in_slabs());
    let violation = table.damaged(|bucket| {
        let types = bucket_state::types(bucket.0[STATE]);
        bucket.0[STATE] = bucket_state::with_types(bucket.0[STATE], types & !7);
    });
    assert_names(&violation, "slot 1 follows slot 0");
}

#[test]
fn inline_pairs_are_short_unique_and_in_their_bucket() {
    let memory = memory();
    let key = keys(10).next().unwrap();
    let table = Damaged::new(&memory, &[(key.clone(), 3)]);
    let with = |entries: &[Entry]| {
        let mut bucket = Bucket::default();
        entries.iter().for_each(|entry| bucket.push(entry));
        table.with(table.first().0, &bucket).unwrap()
    };
    assert_names(&with(&[Entry::inline(&key, &[1; 21])]), "has a pair that is too long for a bucket");
    assert_names(&with(&[Entry::inline(&key, b"1"), Entry::inline(&key, b"2")]), "a key exists twice");
    let other = (0..=u8::MAX).map(|number| [number; 4]).find(|key| bucket_of(key) == 1).unwrap();
    assert_names(&with(&[Entry::inline(&other, b"1")]), "belongs to another bucket");
}

#[test]
fn chains_have_buckets_with_pairs_and_no_cycles() {
    let memory = memory();
    let pairs: Vec<_> = keys(10).take(BUCKET_SLOTS + 1).map(|key| (key, 40)).collect();
    let table = Damaged::new(&memory, &pairs);
    let (address, bucket) = table.first();
    let chained = bucket.next().expect("the bucket is full");
    let violation = table.with(chained, &Bucket::default()).unwrap();
    assert_names(&violation, "a chained bucket is empty");
    let with_next = |next| {
        let mut damaged = bucket;
        damaged.set_next(Some(next));
        table.with(address, &damaged).unwrap()
    };
    assert_names(&with_next(address), "bucket 2 of the chain overlaps another bucket or a slab");
    assert_names(&with_next(slab_of(&bucket, 0).address), "bucket 2 of the chain overlaps");
    assert_names(&with_next(chained + 1), "bucket 2 of the chain has no page");
    assert_names(&with_next(u32::MAX >> 1), "bucket 2 of the chain has no page");
}
