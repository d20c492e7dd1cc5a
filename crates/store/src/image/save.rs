//! Writing of images: the checkpoint format.

use std::io::Write;
use std::ops::Bound;
use std::sync::Arc;

use honeycomb_hashtable::WalkedPairs;
use honeycomb_log::CheckpointWriter;

use super::failure::{NAME, failure};
use crate::directory::Entry;
use crate::error::Error;
use crate::iter::{Iter, PageSource};
use crate::store_state::StoreState;
use crate::table::Table;
use crate::unordered::table::UnorderedTable;

/// Writes all tables and returns the number of their pairs.
pub(crate) fn save(state: &Arc<StoreState>, writer: impl Write) -> Result<u64, Error> {
    let (mut ordered, mut unordered) = (Vec::new(), Vec::new());
    let source = {
        // The lock makes the list of tables and the snapshot consistent.
        let directory = state.directory.read();
        for entry in directory.values().cloned() {
            match entry {
                Entry::Ordered(entry) => ordered.push(Table::new(state.clone(), entry)),
                Entry::Unordered(entry) => unordered.push(UnorderedTable::new(state.clone(), entry)),
            }
        }
        PageSource::of(state)?
    };
    let (version, time) = origin(state, &source);
    let mut image = CheckpointWriter::image(writer, NAME, version, time).map_err(failure)?;
    let mut position = 0;
    let mut id_of = |tree| {
        position += 1;
        if version > 0 { tree } else { position }
    };
    for table in ordered {
        image.table(id_of(table.root().lid().get()), table.name()).map_err(failure)?;
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
    for table in unordered {
        let parameters = table.config().encode();
        image.unordered_table(id_of(table.entry().tree), table.name(), &parameters).map_err(failure)?;
        save_unordered(&table, &mut image)?;
    }
    if version > 0 {
        wait_durable(state)?;
    }
    image.end().map_err(failure)
}

/// Waits until all writes that the image may contain are durable. After a power cut other writes would have
/// the versions of those that were lost, and a restore with the log would mix both.
fn wait_durable(state: &StoreState) -> Result<(), Error> {
    let Some(log) = state.log() else { return Ok(()) };
    log.wait_durable_with_room(state.forest.catch_up(), || Ok(()))
}

/// Writes the pairs of an unordered table.
fn save_unordered(table: &UnorderedTable, image: &mut CheckpointWriter<impl Write>) -> Result<(), Error> {
    let (mut walked, mut cursor) = (WalkedPairs::default(), 0);
    loop {
        cursor = table.walk(cursor, usize::MAX, &mut walked);
        walked.iter().try_for_each(|(key, value)| image.push(key, value)).map_err(failure)?;
        if cursor == 0 {
            return Ok(());
        }
    }
}

/// The version and the time of an image. They connect it with the log; without a log they are 0, so that
/// equal stores have equal images. They are 0 as well if the log has failed: the image has writes that the
/// log may not have.
fn origin(state: &StoreState, source: &PageSource) -> (u64, u64) {
    match (state.log(), source) {
        (Some(log), PageSource::At(snapshot)) if log.check_failed().is_ok() => {
            (snapshot.version(), log.clock.milliseconds())
        }
        _ => (0, 0),
    }
}
