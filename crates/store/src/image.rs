//! Images: all tables of one version as a stream of bytes, in the format of checkpoints. Images in the former
//! format can be read.

mod failure;
mod former;
mod load;
mod save;
mod tables;

pub(crate) use load::load;
pub(crate) use save::save;
