//! Forests, keys and values for tests of the ordered index, and a sorted map as the model of a tree.

use std::collections::BTreeMap;
use std::ops::{Bound, ControlFlow};

use honeycomb_btree::{
    Config, Emit, Existing, Forest, Operation, Outcome, Pair, PairRun, Reader, Root, Scan, Shape,
    ValueFunction,
};
use honeycomb_memory::MemoryConfig;
use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

/// The model of a tree: a sorted map.
pub type Model = BTreeMap<Vec<u8>, Vec<u8>>;
/// Keys and values in scan order.
pub type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

/// Bytes of a mebibyte.
pub const MIB: usize = 1 << 20;

/// A shape of nodes so small that a few pairs fill one.
#[must_use]
pub fn tiny(log_threshold_bytes: usize) -> Shape {
    Shape { node_bytes: 1024, log_threshold_bytes, ..Shape::default() }
}

/// Creates a forest with an arena of `arena_bytes` bytes.
///
/// # Panics
/// If the system provides no memory for the arena.
#[must_use]
pub fn forest(shape: Shape, arena_bytes: usize, mvcc: bool) -> Forest {
    let memory = MemoryConfig { arena_bytes, huge_pages: false, ..MemoryConfig::default() };
    Forest::new(Config { memory, shape, mvcc }).unwrap()
}

/// A pattern of keys.
#[derive(Debug, Clone, Copy)]
pub enum Keys {
    /// Eight random bytes.
    Random,
    /// One byte up to the maximum length.
    AnyLength,
    /// Paths of files, with long common prefixes.
    Paths,
    /// Equal first bytes, so that heads are equal, followed by zeros and 0xff.
    EqualHeads,
    /// Numbers, in big-endian order.
    Counting,
    /// One to seven bytes: shorter than a head.
    Short,
    /// The maximum length or a few bytes less. Three folders differ only in the last bytes before a number.
    LongPrefix,
    /// Short keys, heads and longer keys, each followed by up to eleven zeros.
    TrailingZeros,
    /// Eight random bytes, but one key of a hundred is longer. The values of [`value_for`] are as uniform.
    MostlyUniform,
}

impl Keys {
    /// All patterns.
    pub const ALL: [Self; 9] = [
        Self::Random,
        Self::AnyLength,
        Self::Paths,
        Self::EqualHeads,
        Self::Counting,
        Self::Short,
        Self::LongPrefix,
        Self::TrailingZeros,
        Self::MostlyUniform,
    ];
}

/// Returns the key of a number, with at most `max` bytes.
#[must_use]
pub fn key(keys: Keys, number: u64, max: usize) -> Vec<u8> {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    match keys {
        Keys::Random => mixed.to_be_bytes().to_vec(),
        Keys::AnyLength => {
            let length = 1 + (mixed >> 32) as usize % max;
            mixed.to_le_bytes().iter().copied().cycle().take(length).collect()
        }
        Keys::Paths => {
            let path = format!("/usr/share/{}/{}/file-{number}", mixed % 5, (mixed >> 8) % 17);
            path.into_bytes().into_iter().take(max).collect()
        }
        Keys::EqualHeads => {
            let mut key = b"same-head".to_vec();
            key.extend((0..number % 12).map(|bit| if mixed >> bit & 1 == 1 { 0xff } else { 0 }));
            key.extend(&mixed.to_be_bytes()[..(mixed % 4) as usize]);
            key
        }
        Keys::Counting => number.to_be_bytes().to_vec(),
        Keys::Short => mixed.to_be_bytes()[..1 + (number % 7) as usize].to_vec(),
        Keys::LongPrefix => long_prefix(number, max),
        Keys::TrailingZeros => {
            let (zeros, stem) = ((number % 12) as usize, number / 12);
            let mut key = b"abcdefgh"[..(stem % 9) as usize].to_vec();
            key.extend((stem / 9 + 1).to_be_bytes().iter().skip_while(|&&byte| byte == 0));
            key.resize(key.len() + zeros, 0);
            key
        }
        Keys::MostlyUniform => {
            let mut key = mixed.to_be_bytes().to_vec();
            key.resize(if number % 100 == 7 { 11 } else { 8 }, 1);
            key
        }
    }
}

/// Returns a key of `max` bytes or up to two less, which ends with a folder and a number.
fn long_prefix(number: u64, max: usize) -> Vec<u8> {
    let end = [&[b'a' + (number % 3) as u8][..], &number.to_be_bytes()[4..]].concat();
    let mut key = vec![b'p'; max - end.len() - (number / 3 % 3) as usize];
    key.extend(end);
    key
}

/// Returns a random value: mostly short, sometimes with a length near the maximum of inline values.
pub fn value(rng: &mut StdRng, inline_max: usize) -> Vec<u8> {
    let length = match rng.random_range(0..1000) {
        0..800 => rng.random_range(0..24),
        800..900 => 8,
        900..960 => rng.random_range(0..=inline_max),
        960..990 => [inline_max - 1, inline_max, inline_max + 1][rng.random_range(0..3)],
        _ => rng.random_range(inline_max..8 * inline_max),
    };
    let byte = rng.random();
    vec![byte; length]
}

/// Returns a random value for a pattern of keys.
pub fn value_for(keys: Keys, rng: &mut StdRng, inline_max: usize) -> Vec<u8> {
    match keys {
        Keys::MostlyUniform if rng.random_bool(0.995) => vec![rng.random(); 8],
        _ => value(rng, inline_max),
    }
}

/// Borrows the key of a bound.
#[must_use]
pub fn borrow(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// Whether no key can be between two bounds.
#[must_use]
pub fn is_inverted(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> bool {
    match (lower, upper) {
        (Bound::Included(a), Bound::Included(b)) => a > b,
        (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) => a >= b,
        _ => false,
    }
}

/// Returns the expected pairs of a scan.
#[must_use]
pub fn expected_scan(model: &Model, scan: &Scan<'_>) -> Pairs {
    let lower = scan.lower.map(<[u8]>::to_vec);
    let upper = scan.upper.map(<[u8]>::to_vec);
    let inverted = is_inverted(&lower, &upper);
    let inside = |key: &Vec<u8>| {
        let after = match &lower {
            Bound::Included(lower) => key >= lower,
            Bound::Excluded(lower) => key > lower,
            Bound::Unbounded => true,
        };
        let before = match &upper {
            Bound::Included(upper) => key <= upper,
            Bound::Excluded(upper) => key < upper,
            Bound::Unbounded => true,
        };
        after && before && !inverted
    };
    let pair = |(key, value): (&Vec<u8>, &Vec<u8>)| {
        (key.clone(), if scan.keys_only { Vec::new() } else { value.clone() })
    };
    let in_range = model.iter().filter(|(key, _)| inside(key)).map(pair);
    if scan.backward {
        return in_range.rev().take(scan.limit).collect();
    }
    let floor = match (&lower, scan.floor_start) {
        (Bound::Included(lower) | Bound::Excluded(lower), true) => model.range(..=lower.clone()).next_back(),
        _ => None,
    };
    let floor = floor.filter(|(key, _)| !inside(key) && below_upper(key, &upper)).map(pair);
    floor.into_iter().chain(in_range).take(scan.limit).collect()
}

fn below_upper(key: &Vec<u8>, upper: &Bound<Vec<u8>>) -> bool {
    match upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    }
}

/// Scans a tree and returns the pairs.
#[must_use]
pub fn scan(reader: &Reader<'_>, root: Root, scan: &Scan<'_>) -> Pairs {
    let mut collected = CollectedPairs { pairs: Pairs::new(), first_run: scan.limit % 4 };
    reader.scan_into(root, scan, &mut collected);
    collected.pairs
}

/// Collects pairs in both ways: as item runs and one by one.
struct CollectedPairs {
    pairs: Pairs,
    /// A number that determines how many pairs of the first run are consumed at once.
    first_run: usize,
}

impl Emit for CollectedPairs {
    fn pair(&mut self, pair: &Pair<'_>) -> ControlFlow<()> {
        self.pairs.push((pair.key(), pair.value().to_vec()));
        ControlFlow::Continue(())
    }

    fn run(&mut self, run: &mut PairRun<'_>) {
        const LENGTHS: usize = 8;
        let mut out = [0; 512];
        // From zero to three pairs.
        let most = (self.pairs.len() + self.first_run) % 4;
        let lengths = |key: usize, value: usize| (key << 32 | value).to_le_bytes();
        let written = run.write_to(&mut out, most, lengths);
        assert!(written.pairs <= most);
        let mut at = 0;
        for _ in 0..written.pairs {
            let lengths = u64::from_le_bytes(*out[at..].first_chunk::<LENGTHS>().unwrap()) as usize;
            let key = &out[at + LENGTHS..][..lengths >> 32];
            let value = &out[at + LENGTHS + key.len()..][..lengths & 0xffff_ffff];
            at += LENGTHS + key.len() + value.len();
            self.pairs.push((key.to_vec(), value.to_vec()));
        }
        assert_eq!((at, at - LENGTHS * written.pairs), (written.bytes, written.pair_bytes()));
        if let Some((key, _)) = self.pairs.last().filter(|_| written.pairs > 0) {
            assert_eq!(&out[written.last_key..][..written.last_key_bytes], key);
        }
    }
}

/// A function of values for tests: it adds one to each byte, and has no result for values of an odd length.
#[derive(Debug)]
pub struct AddToBytes;

impl ValueFunction for AddToBytes {
    fn apply(&self, value: &[u8]) -> Option<Vec<u8>> {
        let sums = value.iter().map(|byte| byte.wrapping_add(1));
        value.len().is_multiple_of(2).then(|| sums.collect())
    }
}

/// Returns all pairs of a tree.
#[must_use]
pub fn everything(reader: &Reader<'_>, root: Root) -> Pairs {
    scan(reader, root, &Scan::default())
}

/// Executes an operation on the model. `version` is the version of the pair in the store, if it has one.
pub fn apply(model: &mut Model, key: &[u8], operation: Operation<'_>, version: Option<u64>) -> Outcome {
    let old = model.get(key).cloned();
    let stored = if old.is_some() { Outcome::Updated } else { Outcome::Inserted };
    let mismatch =
        |value: Vec<u8>| Outcome::Mismatch(Box::new(Existing { value, version: version.unwrap_or(0) }));
    let (value, outcome) = match (operation, old) {
        (Operation::Put(value), _)
        | (Operation::Insert(value), None)
        | (Operation::Update(value), Some(_)) => (value.to_vec(), stored),
        (Operation::Insert(_), Some(_)) => return Outcome::Exists,
        (Operation::Add(delta), old) => {
            let existed = old.is_some();
            let old = old.unwrap_or_else(|| vec![0; 8]);
            let Ok(bytes) = <[u8; 8]>::try_from(&old[..]) else {
                return Outcome::NotCounter { bytes: old.len() };
            };
            let sum = u64::from_le_bytes(bytes).wrapping_add_signed(delta);
            let outcome = if existed { Outcome::Added { sum } } else { Outcome::AddedFirst { sum } };
            (sum.to_le_bytes().to_vec(), outcome)
        }
        (_, None) => return Outcome::Absent,
        (Operation::Function(function), Some(old)) => {
            let Some(value) = function.apply(&old) else {
                return Outcome::NotElements { bytes: old.len() };
            };
            (value, Outcome::Original(Box::new(Existing { value: old, version: 0 })))
        }
        (Operation::Delete, Some(_)) => {
            model.remove(key);
            return Outcome::Deleted;
        }
        (Operation::CompareAndSwap { expected, value }, Some(old)) => {
            if old != expected {
                return mismatch(old);
            }
            (value.to_vec(), stored)
        }
        (Operation::CompareAndDelete { expected }, Some(old)) => {
            if old != expected {
                return mismatch(old);
            }
            model.remove(key);
            return Outcome::Deleted;
        }
        (Operation::CompareVersionAndSwap { version: expected, value }, Some(old)) => {
            if version != Some(expected) {
                return mismatch(old);
            }
            (value.to_vec(), stored)
        }
    };
    model.insert(key.to_vec(), value);
    outcome
}

/// Picks a random element of a list.
///
/// # Panics
/// If the list is empty.
pub fn pick<'a, T>(rng: &mut StdRng, of: &'a [T]) -> &'a T {
    of.choose(rng).unwrap()
}

/// Returns a key of 16 bytes. Consecutive numbers have keys in random order.
#[must_use]
pub fn scattered_key(number: u64) -> [u8; 16] {
    let high = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let high = (high ^ high >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let mut key = [0; 16];
    key[..8].copy_from_slice(&(high ^ high >> 32).to_be_bytes());
    key[8..].copy_from_slice(&number.to_be_bytes());
    key
}
