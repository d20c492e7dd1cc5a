//! Reading of images. It uses no content before its checksum, and checks every field even then.

use std::io::{ErrorKind, Read};

use honeycomb_log::{Block, CHECKPOINT_MAGIC, CheckpointReader};

use super::failure::{NAME, failure};
use super::former;
use super::tables::PendingTables;
use crate::error::{Error, ImageError};
use crate::store_state::StoreState;

/// Adds the tables of an image and returns the number of their pairs.
pub(crate) fn load(state: &StoreState, mut reader: impl Read) -> Result<u64, Error> {
    let magic = read_magic(&mut reader)?;
    let source = (&magic[..]).chain(reader);
    match &magic {
        CHECKPOINT_MAGIC => load_blocks(state, CheckpointReader::image(source, NAME, 0).map_err(failure)?),
        former::MAGIC => former::load(state, source),
        _ => Err(ImageError::NotAnImage.into()),
    }
}

fn read_magic(reader: &mut impl Read) -> Result<[u8; 8], ImageError> {
    let mut magic = [0; 8];
    reader.read_exact(&mut magic).map_err(|error| match error.kind() {
        ErrorKind::UnexpectedEof => ImageError::NotAnImage,
        _ => ImageError::Io(error),
    })?;
    Ok(magic)
}

fn load_blocks(state: &StoreState, mut image: CheckpointReader<impl Read>) -> Result<u64, Error> {
    let (mut pending, mut pairs) = (PendingTables::new(state), 0);
    loop {
        let malformed = match image.next_block().map_err(failure)? {
            Block::Table { name, .. } => pending.create_tree(name.as_bytes())?,
            Block::Unordered { name, parameters, .. } => {
                pending.create_unordered(name.as_bytes(), parameters)?
            }
            Block::Pairs(mut block) => loop {
                match block.next() {
                    None => break None,
                    Some(None) => break Some("a block has whole pairs"),
                    Some(Some((key, value))) => {
                        if let Some(rule) = pending.push(key, value)? {
                            break Some(rule);
                        }
                        pairs += 1;
                    }
                }
            },
            Block::End { pairs: all } if all == pairs => break,
            Block::End { .. } => Some("the last block states the number of pairs"),
        };
        if let Some(rule) = malformed {
            return Err(failure(image.corrupt(rule)));
        }
    }
    pending.publish()?;
    Ok(pairs)
}
