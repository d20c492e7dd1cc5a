//! Direct reads: gets and scans in the calling thread, without requests and completions. These exist for
//! devices, and for a reader on the same CPU they are a third of the instructions of a get.

use honeycomb_btree::{Descent, LastStart, Reader, Root, Scan, Start, Version, descend_together};
use smallvec::SmallVec;

use crate::limits::Limits;
use crate::roots::Roots;
use crate::scanned_pairs::{Scanned, ScannedPairs};
use crate::status::Status;

/// The default number of interleaved reads. A group of this size needs no allocation.
pub(crate) const GROUP: usize = 32;

/// A get of a [`DirectReader`].
#[derive(Debug, Clone, Copy)]
pub struct Get<'a> {
    /// The number of the table.
    pub table: u16,
    /// The key, of a valid length.
    pub key: &'a [u8],
}

/// A scan of a [`DirectReader`].
#[derive(Debug, Clone, Copy)]
pub struct DirectScan<'a> {
    /// The number of the table.
    pub table: u16,
    /// The range, with bounds of valid lengths, and a limit of at most [`DirectReader::scan_pairs_max`]
    /// pairs.
    pub scan: Scan<'a>,
    /// The scan ends after the pair with which keys and values reach this number of bytes.
    pub bytes_max: u32,
}

/// Executes reads in the calling thread. All of them read one version, which was visible at some moment after
/// the creation of the reader. While a reader exists, no memory that it can reach is reclaimed.
pub struct DirectReader<'a> {
    pub(crate) reader: Reader<'a>,
    pub(crate) roots: &'a Roots,
    /// Maximum number of descents that are interleaved.
    pub(crate) in_flight: usize,
    pub(crate) scan_pairs_max: usize,
}

/// Reads whose descents are interleaved.
type Group<T> = SmallVec<[T; GROUP]>;

impl DirectReader<'_> {
    /// The maximum number of pairs of a direct scan. A longer one would delay the reclamation of memory;
    /// requests are the path for it.
    #[must_use]
    pub fn scan_pairs_max(&self) -> usize {
        self.scan_pairs_max
    }

    /// Executes gets. Passes their indexes to `found` in order, each with its value and the version of the
    /// pair, or `None` if the key is absent.
    ///
    /// # Errors
    /// [`Status::UnknownTable`] for the first get of an unknown table. The gets before it have executed.
    #[inline]
    pub fn get_each<'k>(
        &self,
        mut gets: impl Iterator<Item = Get<'k>>,
        mut found: impl FnMut(usize, Option<(&[u8], Version)>),
    ) -> Result<(), Status> {
        let (mut group, mut index) = (Group::new(), 0);
        loop {
            let begun = self.begin_gets(&mut gets, &mut group);
            descend_together(&mut group);
            for descent in &group {
                found(index, descent.get().map(|found| (found.value, found.version)));
                index += 1;
            }
            if begun.is_err() || group.len() < self.in_flight {
                return begun;
            }
            group.clear();
        }
    }

    /// Executes scans, and appends their pairs to `pairs`. Passes their indexes to `found` in order, each
    /// with its result, or `None` if the pairs of earlier scans reach the limit of bytes.
    ///
    /// # Errors
    /// The same as for [`DirectReader::get_each`].
    #[inline]
    pub fn scan_each<'k>(
        &self,
        mut scans: impl Iterator<Item = DirectScan<'k>> + Clone,
        pairs: &mut ScannedPairs,
        mut found: impl FnMut(usize, Option<Scanned>),
    ) -> Result<(), Status> {
        // A second iteration takes fewer instructions than copies of the scans.
        let (mut begun_scans, mut index) = (scans.clone(), 0);
        let (mut roots, mut descents) = (Group::new(), Group::new());
        loop {
            let begun = self.begin_scans(&mut scans, &mut roots, &mut descents);
            descend_together(&mut descents);
            let mut descended = descents.iter();
            for (root, scan) in roots.iter().zip(&mut begun_scans) {
                let descent = scan.scan.start().and_then(|_| descended.next());
                found(index, pairs.have_room().then(|| self.scan(*root, &scan, descent, pairs)));
                index += 1;
            }
            if begun.is_err() || roots.len() < self.in_flight {
                return begun;
            }
            roots.clear();
            descents.clear();
        }
    }

    /// Begins the next gets, up to the first one of an unknown table.
    #[inline]
    fn begin_gets<'r, 'k>(
        &'r self,
        gets: &mut impl Iterator<Item = Get<'k>>,
        group: &mut Group<Descent<'r, 'k>>,
    ) -> Result<(), Status> {
        let mut starts = LastStart::default();
        for Get { table, key } in gets.take(self.in_flight) {
            let start = self.start(table, &mut starts)?;
            group.push(self.reader.descend_to_get(start, key));
        }
        Ok(())
    }

    /// Begins the next scans, up to the first one of an unknown table, with a descent for each that starts at
    /// a key.
    #[inline]
    fn begin_scans<'r, 'k>(
        &'r self,
        scans: &mut impl Iterator<Item = DirectScan<'k>>,
        roots: &mut Group<Root>,
        descents: &mut Group<Descent<'r, 'k>>,
    ) -> Result<(), Status> {
        let mut starts = LastStart::default();
        for direct in scans.take(self.in_flight) {
            let start = self.start(direct.table, &mut starts)?;
            if let Some(key) = direct.scan.start() {
                descents.push(self.reader.descend_to_scan(start, key, direct.scan.limit));
            }
            roots.push(start.root());
        }
        Ok(())
    }

    /// Returns the start of a read of a table.
    #[inline(always)]
    fn start<'r>(&'r self, table: u16, starts: &mut LastStart<'r, u16>) -> Result<Start<'r>, Status> {
        if let Some(start) = starts.of(table) {
            return Ok(start);
        }
        let root = self.roots.get(table).ok_or(Status::UnknownTable)?;
        Ok(starts.insert(table, self.reader.start(root)))
    }

    /// Appends the pairs of a scan.
    #[inline]
    fn scan(
        &self,
        root: Root,
        direct: &DirectScan<'_>,
        descent: Option<&Descent<'_, '_>>,
        pairs: &mut ScannedPairs,
    ) -> Scanned {
        let DirectScan { scan, bytes_max, .. } = direct;
        // The additional pair shows that the range has not ended.
        let one_more = Scan { limit: scan.limit.saturating_add(1), ..*scan };
        pairs.append(Limits { pairs: scan.limit, bytes: *bytes_max as usize }, |emit| match descent {
            Some(descent) => descent.scan_into(&one_more, emit),
            None => self.reader.scan_into(root, &one_more, emit),
        })
    }
}

impl std::fmt::Debug for DirectReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DirectReader").field("version", &self.reader.version()).finish_non_exhaustive()
    }
}
