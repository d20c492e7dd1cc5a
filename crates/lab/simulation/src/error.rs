//! The errors of a run.

use std::path::PathBuf;

use honeycomb_accelerator::TooLong;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The tree could not be built or changed.
    #[error(transparent)]
    Tree(#[from] honeycomb_btree::Error),
    /// The arena could not be read.
    #[error(transparent)]
    Memory(#[from] honeycomb_memory::MemoryError),
    /// A key is too long for the accelerator.
    #[error(transparent)]
    Key(#[from] TooLong),
    /// The tree has more nodes than the accelerator's page table has entries.
    #[error("the tree has {nodes} nodes, but the accelerator's page table has only {max} entries")]
    TooManyNodes {
        /// Number of nodes.
        nodes: u64,
        /// Number of entries.
        max: u64,
    },
    /// A write changed nothing.
    #[error("the write of pair {index} changed nothing")]
    NotWritten {
        /// The pair.
        index: u64,
    },
    /// A completion has an unexpected status.
    #[error("request {identifier} completed with status {status}")]
    Status {
        /// The request.
        identifier: u64,
        /// The status.
        status: u64,
    },
    /// The operation to explain does not exist.
    #[error("no operation {number} to explain; expected 0 to {last}")]
    NoSuchOperation {
        /// The requested number.
        number: u64,
        /// The greatest valid number.
        last: u64,
    },
    /// The operation to explain is a write.
    #[error("operation {number} is a write; the accelerator receives only its mappings")]
    IsWrite {
        /// The operation.
        number: u64,
    },
    /// The file of a waveform could not be created.
    #[error("cannot write a waveform to {}", path.display())]
    Waveform {
        /// The file.
        path: PathBuf,
    },
    /// The model was built without waveforms.
    #[error("this build does not support waveforms; rebuild it with --features trace")]
    NoWaveforms,
}
