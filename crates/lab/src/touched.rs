//! What looking for keys touches of a Honeycomb's memory, counted and not timed: the same on every machine.

use honeycomb_store::AccessCounts;
use honeycomb_workload::{Distribution, Sizes, Stream, Workload};
use serde::{Deserialize, Serialize};

use crate::adapters::{Contents, Honeycomb, Peer};
use crate::driver::Driver;
use crate::map::Failure;
use crate::slice::{Extent, load};

/// What a search touches, all levels together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AccessStats {
    /// The Honeycomb.
    pub peer: Peer,
    /// How many pairs it held.
    pub pairs: u64,
    /// How long keys and values were.
    pub sizes: Sizes,
    /// Getting a pair.
    pub get: Search,
    /// Finding where a scan starts; what it goes on to read is not counted.
    pub scan: Search,
}

/// The mean of a search.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Search {
    /// Bytes.
    pub bytes: f64,
    /// Cache lines of 64 bytes.
    pub lines: f64,
}

/// Most pairs it is counted with: more make a tree higher, but touch the same in a node.
const PAIRS_MAX: u64 = 1_000_000;
const SEARCHES: u32 = 100_000;
const SEED: u64 = 1;

/// Counts in a map of its own; nothing if it is no Honeycomb.
pub fn count(peer: Peer, Contents { pairs, sizes }: Contents) -> Result<Option<AccessStats>, Failure> {
    let Peer::Honeycomb(choices) = peer else { return Ok(None) };
    let pairs = pairs.min(PAIRS_MAX);
    let map = Honeycomb::new(choices.config_that_counts(), Contents { pairs, sizes })?;
    load(&map, &mut Extent { sizes, loaded: 0, fresh: 0 }, pairs, 1)?;
    let search = |workload| -> Result<Search, Failure> {
        let before = Total::of(map.touched());
        let mut driver = Driver::new(&map, sizes, workload);
        let mut stream = Stream::new(workload, Distribution::Uniform, pairs, SEED);
        (0..SEARCHES).try_for_each(|_| driver.one(stream.draw()))?;
        let Total { bytes, lines } = Total::of(map.touched());
        let mean = |after: u64, before: u64| (after - before) as f64 / f64::from(SEARCHES);
        Ok(Search { bytes: mean(bytes, before.bytes), lines: mean(lines, before.lines) })
    };
    Ok(Some(AccessStats {
        peer,
        pairs,
        sizes,
        get: search(Workload::Get)?,
        scan: search(Workload::Scan(1))?,
    }))
}

/// All levels and blocks together.
struct Total {
    bytes: u64,
    lines: u64,
}

impl Total {
    fn of(counts: Option<AccessCounts>) -> Total {
        let levels = counts.map_or_else(Vec::new, |counts| counts.levels);
        let blocks = || levels.iter().flat_map(|level| [level.shortcuts, level.segments, level.log]);
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
    fn without_a_log_block_scans_touch_less() -> Result<(), Failure> {
        let count = |name: &str| -> Result<AccessStats, Failure> {
            let contents = Contents { pairs: 20_000, sizes: Sizes::DEFAULT };
            Ok(count(name.parse()?, contents)?.ok_or("not counted")?)
        };
        let (with, without) = (count("honeycomb")?, count("honeycomb:log=0")?);
        // A get reads the log block only for an equal tag, a scan always.
        assert!(with.scan.bytes > with.get.bytes + 50.0, "{with:?}");
        assert!((without.scan.bytes - without.get.bytes).abs() < 1.0, "{without:?}");
        assert!(with.get.lines > 5.0 && with.get.bytes < 64.0 * with.get.lines, "{with:?}");
        Ok(())
    }
}
