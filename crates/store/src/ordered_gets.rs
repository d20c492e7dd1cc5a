//! The gets of a batch of reads from ordered tables: each has the number of its table.

use honeycomb_accelerator::{DirectReader, Get};

use crate::error::Error;
use crate::gets::Gets;
use crate::lanes::check;
use crate::values::{Found, Values};

pub(crate) type OrderedGets = Gets<u16>;

impl OrderedGets {
    /// Iterates over the gets, each with its position in the batch.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, Get<'_>)> {
        self.part(0, self.len())
            .enumerate()
            .map(|(index, (table, key))| (self.read(index), Get { table, key }))
    }

    /// Executes all gets, and passes each read with its result to `done`. Other results occupy `used` bytes
    /// of their limit.
    pub(crate) fn run(
        &self,
        reader: &DirectReader<'_>,
        values: &mut Values,
        used: usize,
        mut done: impl FnMut(usize, Found),
    ) -> Result<(), Error> {
        let keep = |index: usize, found: Option<(&[u8], _)>| {
            let found = found.map_or(Found::Absent, |(value, _)| values.keep(value, used));
            done(self.read(index), found);
        };
        let gets = self.part(0, self.len()).map(|(table, key)| Get { table, key });
        reader.get_each(gets, keep).or_else(check)
    }
}
