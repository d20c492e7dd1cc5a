//! The thread that commits memory before the store allocates it.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use honeycomb_btree::Forest;
use honeycomb_memory::lower_priority;
use honeycomb_memory::sync::{AtomicBool, Ordering};

use crate::error::Error;

/// A thread that ends when this is dropped.
pub(crate) struct CommitThread {
    handle: Option<JoinHandle<()>>,
    is_stopped: Arc<AtomicBool>,
}

impl CommitThread {
    pub(crate) fn start(forest: &Arc<Forest>) -> Result<Self, Error> {
        let is_stopped = Arc::new(AtomicBool::new(false));
        let (forest, stopped) = (forest.clone(), is_stopped.clone());
        let commit = move || {
            // Without it the thread only takes time from the others.
            let _ = lower_priority();
            forest.memory().commit_ahead(|| stopped.load(Ordering::Acquire));
        };
        let thread = thread::Builder::new().name("honeycomb-pages".to_owned());
        Ok(Self { handle: Some(thread.spawn(commit).map_err(Error::Thread)?), is_stopped })
    }
}

impl Drop for CommitThread {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Release);
        if let Some(handle) = self.handle.take() {
            handle.thread().unpark();
            let _ = handle.join();
        }
    }
}
