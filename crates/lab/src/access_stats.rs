//! Access statistics of searches in a Honeycomb. They are counts, so they do not depend on the machine.

use honeycomb_store::AccessCounts;
use honeycomb_workload::{Distribution, Sizes, Stream, Workload};
use serde::{Deserialize, Serialize};

use crate::adapters::{Contents, Honeycomb, Peer};
use crate::driver::Driver;
use crate::map::Failure;
use crate::slice::{Extent, load};

/// The memory that searches access, over all levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessStats {
    /// The Honeycomb.
    pub peer: Peer,
    /// Number of pairs.
    pub pairs: u64,
    /// Sizes of keys and values.
    pub sizes: Sizes,
    /// Gets.
    pub get: SearchAccess,
    /// Searches for the first pair of a scan, without its further reads.
    pub scan: SearchAccess,
}

/// Averages over searches.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SearchAccess {
    /// Bytes.
    pub bytes: f64,
    /// Cache lines of 64 bytes.
    pub lines: f64,
}

/// Most pairs of the tree. More pairs make the tree higher, but do not affect the accesses to a node.
const PAIRS_MAX: u64 = 1_000_000;
const SEARCHES: u32 = 100_000;
const SEED: u64 = 1;

/// Collects the statistics in a separate map. Returns `None` if the map is not a Honeycomb.
pub fn collect(peer: Peer, Contents { pairs, sizes }: Contents) -> Result<Option<AccessStats>, Failure> {
    let Peer::Honeycomb(options) = peer else { return Ok(None) };
    let pairs = pairs.min(PAIRS_MAX);
    let map = Honeycomb::new(options.config_with_access_stats(), Contents { pairs, sizes })?;
    load(&map, &mut Extent { sizes, loaded: 0, next_index: 0 }, pairs, 1)?;
    let search = |workload| -> Result<SearchAccess, Failure> {
        let before = Total::of(map.access_counts());
        let mut driver = Driver::new(&map, sizes, workload);
        let mut stream = Stream::new(workload, Distribution::Uniform, pairs, SEED);
        (0..SEARCHES).try_for_each(|_| driver.one(stream.draw()))?;
        let Total { bytes, lines } = Total::of(map.access_counts());
        let mean = |after: u64, before: u64| (after - before) as f64 / f64::from(SEARCHES);
        Ok(SearchAccess { bytes: mean(bytes, before.bytes), lines: mean(lines, before.lines) })
    };
    Ok(Some(AccessStats {
        peer,
        pairs,
        sizes,
        get: search(Workload::Get)?,
        scan: search(Workload::Scan(1))?,
    }))
}

/// Sums over all levels and blocks.
struct Total {
    bytes: u64,
    lines: u64,
}

impl Total {
    fn of(counts: Option<AccessCounts>) -> Total {
        let levels = counts.map_or_else(Vec::new, |counts| counts.levels);
        let blocks = || levels.iter().flat_map(|level| [level.header, level.columns, level.items, level.log]);
        Total {
            bytes: blocks().map(|block| block.bytes).sum(),
            lines: blocks().map(|block| block.lines).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_log_block_scans_access_less() -> Result<(), Failure> {
        let collect = |name: &str| -> Result<AccessStats, Failure> {
            let contents = Contents { pairs: 20_000, sizes: Sizes::DEFAULT };
            Ok(super::collect(name.parse()?, contents)?.ok_or("no statistics")?)
        };
        let (with, without) = (collect("honeycomb")?, collect("honeycomb:log=0")?);
        // A get reads the log block only if a fingerprint matches, a scan always.
        assert!(with.scan.bytes > with.get.bytes + 50.0, "{with:?}");
        assert!((without.scan.bytes - without.get.bytes).abs() < 1.0, "{without:?}");
        assert!(with.get.lines > 4.0 && with.get.bytes < 64.0 * with.get.lines, "{with:?}");
        Ok(())
    }
}
