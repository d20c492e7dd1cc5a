//! What the benchmark asks of an ordered map.

pub use honeycomb_workload::Failure;

/// An ordered map that several threads use at once, one operation at a time or in batches.
///
/// The benchmark inserts only keys that are absent and updates only keys that are there, so that maps that do
/// not tell the two apart are not made to look first.
pub trait OrderedMap: Sync + Sized {
    /// Where a thread's scans put the pairs they find; made once a thread and reused.
    type Items: Items;

    /// Whether gets and scans do not find a pair at the moment in which another thread updates it.
    const MISSES_UPDATED: bool = false;

    /// Adds a pair whose key is absent.
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure>;

    /// Gives a key that is there a new value. Whether it was there; always true where a map cannot tell.
    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure>;

    /// Copies the value of a key into `value`, replacing what that held. Whether the key is there.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure>;

    /// Copies up to `limit` pairs in key order, from the first key >= `from`, into `items`, replacing what
    /// that held. How many there were.
    fn scan(&self, from: &[u8], limit: usize, items: &mut Self::Items) -> Result<usize, Failure>;

    /// The same from the largest key <= `from`. The benchmark starts at keys that are there, so that a map
    /// which knows no such start is not made to look twice.
    fn scan_from_floor(&self, from: &[u8], limit: usize, items: &mut Self::Items) -> Result<usize, Failure> {
        self.scan(from, limit, items)
    }

    /// Gets that run together; `found` is told the number of each key that is there, and its value.
    fn get_many(
        &self,
        keys: &Strings,
        room: &mut Room<Self::Items>,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        for (number, key) in keys.iter().enumerate() {
            if self.get(key, &mut room.value)? {
                found(number, &room.value);
            }
        }
        Ok(())
    }

    /// Scans that run together; `found` is told the number of each and what it found.
    fn scan_many(
        &self,
        scans: &Scans,
        room: &mut Room<Self::Items>,
        mut found: impl FnMut(usize, &mut dyn Iterator<Item = (&[u8], &[u8])>),
    ) -> Result<(), Failure> {
        for (number, (from, &limit)) in scans.from.iter().zip(&scans.limits).enumerate() {
            if scans.from_floor {
                self.scan_from_floor(from, limit, &mut room.items)?;
            } else {
                self.scan(from, limit, &mut room.items)?;
            }
            found(number, &mut room.items.iter());
        }
        Ok(())
    }

    /// Inserts and updates that run together, each for itself. How many were done: an update whose key is not
    /// there is not.
    fn write_many(&self, writes: &Writes, _room: &mut Room<Self::Items>) -> Result<usize, Failure> {
        let mut done = 0;
        let pairs = writes.keys.iter().zip(writes.values.iter());
        for ((key, value), is_insert) in pairs.zip(&writes.inserts) {
            done += if *is_insert {
                self.insert(key, value)?;
                1
            } else {
                usize::from(self.update(key, value)?)
            };
        }
        Ok(done)
    }

    /// Bytes that the map itself says it takes, if it says so.
    fn accounted_bytes(&self) -> Option<u64> {
        None
    }
}

/// What a thread's operations put what they find into; made once a thread and reused.
#[derive(Debug, Default)]
pub struct Room<I> {
    /// What a get found.
    pub value: Vec<u8>,
    /// What a scan found.
    pub items: I,
}

/// The scans of a batch.
#[derive(Debug, Default)]
pub struct Scans {
    /// The keys they start at.
    pub from: Strings,
    /// Whether they start at the largest key <= theirs, and not at the first key >= theirs.
    pub from_floor: bool,
    /// How many pairs each may find.
    pub limits: Vec<usize>,
}

/// The writes of a batch.
#[derive(Debug, Default)]
pub struct Writes {
    /// The keys.
    pub keys: Strings,
    /// The values.
    pub values: Strings,
    /// Which of them are inserts; the others are updates.
    pub inserts: Vec<bool>,
}

/// Byte strings one behind the other.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds what `append` appends.
    pub fn push_with(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// All of them in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// What a scan found.
pub trait Items: Default {
    /// The pairs, in the order found.
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])>;
}

/// Pairs copied out one behind the other.
#[derive(Debug, Default)]
pub struct Copied(Strings);

impl Copied {
    /// Forgets all pairs.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many pairs there are.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Copies one more pair.
    pub fn push(&mut self, key: &[u8], value: &[u8]) {
        for part in [key, value] {
            self.0.push_with(|bytes| bytes.extend_from_slice(part));
        }
    }
}

impl Items for Copied {
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.0.iter().step_by(2).zip(self.0.iter().skip(1).step_by(2))
    }
}
