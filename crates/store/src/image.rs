//! Images: all tables of one version as a stream of bytes. [`format`] defines the bytes.

mod format;
mod load;
mod save;

pub(crate) use load::load;
pub(crate) use save::save;
