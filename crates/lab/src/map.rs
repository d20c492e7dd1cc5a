//! The interface of the measured maps.

pub use honeycomb_workload::Failure;

/// A concurrent ordered map, with single operations and batches.
///
/// The benchmark inserts only absent keys and updates only existing keys, so a map that does not distinguish
/// the two needs no additional lookup.
pub trait OrderedMap: Sync + Sized {
    /// The result buffer of scans. Each thread reuses one.
    type Items: Items;

    /// Whether gets and scans can miss a pair while another thread updates it.
    const MISSES_UPDATED: bool = false;

    /// Inserts a pair with an absent key.
    fn insert(&self, key: &[u8], value: &[u8]) -> Result<(), Failure>;

    /// Updates the value of a key. Returns whether the key existed, or true if the map does not report it.
    fn update(&self, key: &[u8], value: &[u8]) -> Result<bool, Failure>;

    /// Replaces `value` with the value of a key. Returns whether the key exists.
    fn get(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, Failure>;

    /// Replaces `items` with up to `limit` pairs in key order, starting at the first key >= `from`. Returns
    /// their number.
    fn scan(&self, from: &[u8], limit: usize, items: &mut Self::Items) -> Result<usize, Failure>;

    /// Same as [`scan`](Self::scan), starting at the largest key <= `from`. The benchmark starts at existing
    /// keys, so a map without such scans needs no second lookup.
    fn scan_from_floor(&self, from: &[u8], limit: usize, items: &mut Self::Items) -> Result<usize, Failure> {
        self.scan(from, limit, items)
    }

    /// Executes a batch of gets. Calls `found` with the position and the value of each existing key.
    fn get_many(
        &self,
        keys: &Strings,
        buffers: &mut Buffers<Self::Items>,
        mut found: impl FnMut(usize, &[u8]),
    ) -> Result<(), Failure> {
        for (number, key) in keys.iter().enumerate() {
            if self.get(key, &mut buffers.value)? {
                found(number, &buffers.value);
            }
        }
        Ok(())
    }

    /// Executes a batch of scans. Calls `found` with the position and the pairs of each scan.
    fn scan_many(
        &self,
        scans: &Scans,
        buffers: &mut Buffers<Self::Items>,
        mut found: impl FnMut(usize, &mut dyn Iterator<Item = (&[u8], &[u8])>),
    ) -> Result<(), Failure> {
        for (number, (from, &limit)) in scans.from.iter().zip(&scans.limits).enumerate() {
            if scans.from_floor {
                self.scan_from_floor(from, limit, &mut buffers.items)?;
            } else {
                self.scan(from, limit, &mut buffers.items)?;
            }
            found(number, &mut buffers.items.iter());
        }
        Ok(())
    }

    /// Executes a batch of independent inserts and updates. Returns how many changed the map; an update of an
    /// absent key does not.
    fn write_many(&self, writes: &Writes, _buffers: &mut Buffers<Self::Items>) -> Result<usize, Failure> {
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

    /// Returns the bytes that the map reports to use, if it reports them.
    fn accounted_bytes(&self) -> Option<u64> {
        None
    }
}

/// The result buffers of a thread, which it reuses.
#[derive(Debug, Default)]
pub struct Buffers<I> {
    /// The value of a get.
    pub value: Vec<u8>,
    /// The pairs of a scan.
    pub items: I,
}

/// The scans of a batch.
#[derive(Debug, Default)]
pub struct Scans {
    /// The start keys.
    pub from: Strings,
    /// Whether scans start at the largest key <= their start key, instead of the first key >= it.
    pub from_floor: bool,
    /// The most pairs of each scan.
    pub limits: Vec<usize>,
}

/// The writes of a batch.
#[derive(Debug, Default)]
pub struct Writes {
    /// The keys.
    pub keys: Strings,
    /// The values.
    pub values: Strings,
    /// Whether each write is an insert. Otherwise it is an update.
    pub inserts: Vec<bool>,
}

/// Byte strings in one buffer.
#[derive(Debug, Default)]
pub struct Strings {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// Removes all strings.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Returns the number of strings.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Adds the bytes that `append` appends to its argument.
    pub fn push_with(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        append(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Iterates over all strings in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).map(|(start, end)| &self.bytes[start..*end])
    }
}

/// The pairs of a scan.
pub trait Items: Default {
    /// Iterates over the pairs in the order of the scan.
    fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])>;
}

/// Copied pairs in one buffer.
#[derive(Debug, Default)]
pub struct Copied(Strings);

impl Copied {
    /// Removes all pairs.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the number of pairs.
    pub fn len(&self) -> usize {
        self.0.len() / 2
    }

    /// Returns whether the buffer is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a copy of a pair.
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
