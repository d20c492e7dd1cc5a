//! The description of a scan.

use std::borrow::Cow;
use std::ops::{Bound, RangeBounds};

use crate::range;

/// A range of keys with a direction, limits and options.
///
/// Bounds may have any length. Keys compare as byte strings.
///
/// ```
/// use honeycomb_store::Scan;
///
/// let newest_ten = Scan::prefix("log/").backward().limit(10);
/// let names_only = Scan::range("a".."c").keys_only();
/// let chunk_of_an_offset = Scan::from(&[0, 0, 7][..]).floor_start().limit(1);
/// # let _ = (newest_ten, names_only, chunk_of_an_offset);
/// ```
#[derive(Debug, Clone)]
pub struct Scan<'a> {
    lower: Bound<&'a [u8]>,
    upper: Bound<Cow<'a, [u8]>>,
    floor_start: bool,
    backward: bool,
    keys_only: bool,
    limit: usize,
    pub(crate) bytes_max: u32,
}

impl<'a> Scan<'a> {
    /// All pairs of a table.
    #[must_use]
    pub fn all() -> Self {
        Self::between((Bound::Unbounded, Bound::Unbounded))
    }

    /// The pairs with keys in a range, such as `"a".."c"`, `&low..=&high` or `(Bound::Excluded(low),
    /// Bound::Unbounded)`.
    #[must_use]
    pub fn range<K: AsRef<[u8]> + ?Sized + 'a>(range: impl RangeBounds<&'a K>) -> Self {
        Self::between(range::bounds(&range))
    }

    /// The pairs whose keys are at or above `key`.
    #[must_use]
    pub fn from<K: AsRef<[u8]> + ?Sized>(key: &'a K) -> Self {
        Self::between((Bound::Included(key.as_ref()), Bound::Unbounded))
    }

    /// The pairs whose keys start with `prefix`.
    #[must_use]
    pub fn prefix<K: AsRef<[u8]> + ?Sized>(prefix: &'a K) -> Self {
        let prefix = prefix.as_ref();
        let end = range::prefix_end(prefix);
        let upper = end.map_or(Bound::Unbounded, |end| Bound::Excluded(Cow::Owned(end)));
        Self { lower: Bound::Included(prefix), upper, ..Self::all() }
    }

    /// Starts at the largest key that is not greater than the lower bound, whether the bound is included or
    /// excluded, even though that key is before the range. If there is no such key, or it is above the upper
    /// bound, this has no effect. It also has no effect on backward scans and on scans without a lower bound.
    #[must_use]
    pub fn floor_start(mut self) -> Self {
        self.floor_start = true;
        self
    }

    /// Scans in descending order of the keys.
    #[must_use]
    pub fn backward(mut self) -> Self {
        self.backward = true;
        self
    }

    /// Returns only keys. All values are empty.
    #[must_use]
    pub fn keys_only(mut self) -> Self {
        self.keys_only = true;
        self
    }

    /// Limits the number of pairs.
    #[must_use]
    pub fn limit(mut self, pairs: usize) -> Self {
        self.limit = pairs;
        self
    }

    /// Ends the scan with the pair at which the total length of keys and values reaches `bytes`; at most 4
    /// GiB.
    ///
    /// ```
    /// use honeycomb_store::{Config, Scan, Store};
    ///
    /// let table = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?.table("letters")?;
    /// for key in [b"a", b"b", b"c", b"d"] {
    ///     table.put(key, b"1234")?;
    /// }
    /// let pairs = table.scan(&Scan::all().bytes_max(6))?;
    /// assert_eq!((pairs.len(), pairs.more()), (2, true));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    #[must_use]
    pub fn bytes_max(mut self, bytes: usize) -> Self {
        self.bytes_max = u32::try_from(bytes).unwrap_or(u32::MAX);
        self
    }

    fn between((lower, upper): range::Bounds<'a>) -> Self {
        let upper = upper.map(Cow::Borrowed);
        Self {
            lower,
            upper,
            floor_start: false,
            backward: false,
            keys_only: false,
            limit: usize::MAX,
            bytes_max: u32::MAX,
        }
    }

    /// The tree scan for this scan, or `None` if no key can be in the range.
    #[inline(always)]
    pub(crate) fn request(
        &self,
        key_bytes_max: usize,
        pairs_max: usize,
    ) -> Option<honeycomb_btree::Scan<'_>> {
        let upper = match &self.upper {
            Bound::Included(key) => Bound::Included(&**key),
            Bound::Excluded(key) => Bound::Excluded(&**key),
            Bound::Unbounded => Bound::Unbounded,
        };
        let floor_start = self.floor_start && !self.backward;
        let (lower, upper) = range::normalize((self.lower, upper), floor_start, key_bytes_max)?;
        let (backward, keys_only, limit) = (self.backward, self.keys_only, self.limit.min(pairs_max));
        Some(honeycomb_btree::Scan { lower, upper, floor_start, backward, keys_only, limit })
    }
}
