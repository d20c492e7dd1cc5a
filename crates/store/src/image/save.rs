//! Writing of images: the checkpoint format.

use std::io::Write;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_log::CheckpointWriter;

use super::failure::{NAME, failure};
use crate::error::Error;
use crate::iter::{Iter, PageSource};
use crate::store_state::StoreState;
use crate::table::Table;

/// Writes all tables and returns the number of their pairs.
pub(crate) fn save(state: &Arc<StoreState>, writer: impl Write) -> Result<u64, Error> {
    let (source, tables) = {
        // The lock makes the list of tables and the snapshot consistent.
        let directory = state.directory.read();
        let tables: Vec<_> =
            directory.values().map(|entry| Table::new(state.clone(), entry.clone())).collect();
        (PageSource::of(state)?, tables)
    };
    let (version, time) = origin(state, &source);
    let mut image = CheckpointWriter::image(writer, NAME, version, time).map_err(failure)?;
    for (position, table) in tables.into_iter().enumerate() {
        let tree = if version > 0 { table.root().lid().get() } else { position as u64 + 1 };
        image.table(tree, table.name()).map_err(failure)?;
        let mut iter = Iter::new(source.clone(), table, (Bound::Unbounded, Bound::Unbounded));
        loop {
            let page = iter.next_page()?;
            if page.is_empty() {
                break;
            }
            page.iter().try_for_each(|(key, value)| image.push(key, value)).map_err(failure)?;
            source.renew()?;
        }
    }
    image.end().map_err(failure)
}

/// The version and the time of an image. They connect it with the log; without a log they are 0, so that
/// equal stores have equal images.
fn origin(state: &StoreState, source: &PageSource) -> (u64, u64) {
    match (state.log(), source) {
        (Some(log), PageSource::At(snapshot)) => (snapshot.version(), log.clock.milliseconds()),
        _ => (0, 0),
    }
}
