//! The replay of puts and deletions in runs: while a thread applies one, the caller decodes the next one.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle, available_parallelism};

use super::run::Run;
use crate::error::Error;
use crate::store_state::StoreState;
use crate::table_handle::TableRef;

/// The part of the memory of the store that a run may occupy in addition, and its limits in bytes.
const MEMORY_SHARE: usize = 16;
const BYTES_MIN: usize = 1 << 20;
const BYTES_MAX: usize = 256 << 20;

/// The run that gets changes, and the one that is being applied.
pub(super) struct Runs<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    state: &'env Arc<StoreState>,
    bytes_max: usize,
    threads: usize,
    next: Run,
    /// Returns the applied run, without changes.
    applying: Option<ScopedJoinHandle<'scope, Result<Run, Error>>>,
}

impl<'scope, 'env> Runs<'scope, 'env> {
    pub(super) fn new(
        scope: &'scope Scope<'scope, 'env>,
        state: &'env Arc<StoreState>,
        memory_bytes: usize,
    ) -> Self {
        let bytes_max = (memory_bytes / MEMORY_SHARE).clamp(BYTES_MIN, BYTES_MAX);
        let threads = available_parallelism().map_or(1, usize::from);
        Self { scope, state, bytes_max, threads, next: Run::default(), applying: None }
    }

    /// Adds a put, or a deletion without a value.
    pub(super) fn add(
        &mut self,
        table: (u64, TableRef<'_>),
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.next.add(table, key, value);
        if self.next.bytes() < self.bytes_max { Ok(()) } else { self.send() }
    }

    /// Returns when all changes are applied.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        let applied = self.join()?;
        self.next.apply(self.state, self.threads)?;
        // It has handles to tables, and a later change may drop one.
        self.next = applied;
        Ok(())
    }

    fn send(&mut self) -> Result<(), Error> {
        let applied = self.join()?;
        let (mut run, state, threads) =
            (std::mem::replace(&mut self.next, applied), self.state, self.threads);
        self.applying = Some(self.scope.spawn(move || {
            run.apply(state, threads)?;
            run.clear();
            Ok(run)
        }));
        Ok(())
    }

    fn join(&mut self) -> Result<Run, Error> {
        let Some(thread) = self.applying.take() else { return Ok(Run::default()) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
