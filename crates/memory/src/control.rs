//! What writers tell devices that have a page table and a read version of their own.
//!
//! 1. A mapping is told before the page table has it. Who locks the new buffer has found it there, so of
//!    one LID a device is told in the order of the locks, and who finds a sibling LID finds it mapped.
//! 2. A version is told when all writes up to it are in memory, and before new readers on the CPU have
//!    it. Several writers may tell at the same time, so versions come in any order and the greatest
//!    counts. So a write is answered after every device was told of it.
//! 3. An operation of a device is in its window ([`Device`](crate::Device)) before it takes its read
//!    version, and takes the device's, which is never behind that of the CPU at this moment.
//! 4. What is retired is reclaimed once the window has passed the operations that were in it then: those
//!    that begin later are told of what replaced it, by 1 to 3, so they do not come there.
//! 5. A device may be ahead of the CPU: so an answer of a device goes out once new readers on the CPU
//!    have the version that was read. Whoever waits for that may release it.
//! 6. Devices are registered before the first mapping. From then on the list of them does not change.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::address::{BusAddress, Lid};
use crate::error::MemoryError;
use crate::sync::{Mutex, lock};

/// Takes what writers tell a device. Writers call it while they hold locks of nodes: it must not wait for
/// one of them.
pub trait Control: Debug + Send + Sync {
    /// From now on, the LID leads to the node at this address, all of whose bytes are in memory.
    fn map(&self, lid: Lid, address: BusAddress);

    /// All writes up to this version are in memory. Of several versions the greatest counts.
    fn publish(&self, version: u64);
}

/// The devices that are told.
#[derive(Debug)]
pub(crate) struct Controls {
    /// Those registered so far; none once the list is closed.
    open: Mutex<Option<Vec<Arc<dyn Control>>>>,
    closed: OnceLock<Box<[Arc<dyn Control>]>>,
    max: usize,
}

impl Controls {
    pub(crate) fn new(max: usize) -> Self {
        Self { open: Mutex::new(Some(Vec::new())), closed: OnceLock::new(), max }
    }

    pub(crate) fn register(&self, control: Arc<dyn Control>) -> Result<(), MemoryError> {
        let mut open = lock(&self.open);
        let registered = open.as_mut().ok_or(MemoryError::RegisteredTooLate)?;
        if registered.len() == self.max {
            return Err(MemoryError::TooManyDevices { max: self.max });
        }
        registered.push(control);
        Ok(())
    }

    /// Tells all that are registered: from the first call on, none can be any more.
    #[inline]
    pub(crate) fn tell(&self, tell: impl Fn(&dyn Control)) {
        let all = self.closed.get().map_or_else(|| self.close(), |all| &**all);
        if !all.is_empty() {
            tell_each(all, tell);
        }
    }

    #[cold]
    fn close(&self) -> &[Arc<dyn Control>] {
        self.closed.get_or_init(|| lock(&self.open).take().unwrap_or_default().into())
    }
}

/// Mostly there is none to tell.
#[cold]
fn tell_each(all: &[Arc<dyn Control>], tell: impl Fn(&dyn Control)) {
    all.iter().for_each(|control| tell(&**control));
}
