//! Notifications of writers to devices that have their own copies of page table and read version.
//!
//! 1. Devices receive a mapping before the page table has it. A writer finds a new buffer in the page table
//!    before it locks it. So a device receives the mappings of one LID in the order of the locks, and a
//!    device that reads the LID of a sibling has its mapping.
//! 2. Devices receive a version after all writes up to it are in memory, and before new readers on the CPU
//!    have it. Several writers can notify at the same time, so versions arrive in any order and the greatest
//!    one counts. A write returns only after every device has received its version.
//! 3. An operation of a device is in the device's window ([`Device`](crate::Device)) before it chooses its
//!    read version. It uses the read version of the device, which at this moment is not older than that of
//!    the CPU.
//! 4. Retired memory is reclaimed after the operations that were in the window have ended. By rules 1 to 3,
//!    later operations use the mapping that replaced it, so they cannot reach it.
//! 5. A device can be ahead of the CPU. So the driver delivers a completion only after new readers on the CPU
//!    have the version that the device read. The waiting thread may release that version itself.
//! 6. Devices register before the first mapping. After that the list of devices does not change.

use std::fmt::Debug;
use std::sync::{Arc, OnceLock};

use crate::address::{BusAddress, Lid};
use crate::error::MemoryError;
use crate::sync::{Mutex, lock};

/// Receives the notifications for a device. Writers call it while they have locked nodes, so it must not wait
/// for a lock of a node.
pub trait Control: Debug + Send + Sync {
    /// Maps a LID to the node at this address. All bytes of the node are in memory.
    fn map(&self, lid: Lid, address: BusAddress);

    /// Announces that all writes up to this version are in memory. The greatest announced version counts.
    fn publish(&self, version: u64);
}

/// The registered devices.
#[derive(Debug)]
pub(crate) struct Controls {
    /// The devices registered so far; `None` once the list is closed.
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

    /// Notifies all registered devices. The first call closes the list.
    #[inline]
    pub(crate) fn notify(&self, notify: impl Fn(&dyn Control)) {
        let all = self.closed.get().map_or_else(|| self.close(), |all| &**all);
        if !all.is_empty() {
            notify_each(all, notify);
        }
    }

    #[cold]
    fn close(&self) -> &[Arc<dyn Control>] {
        self.closed.get_or_init(|| lock(&self.open).take().unwrap_or_default().into())
    }
}

/// Cold, because most stores have no device.
#[cold]
fn notify_each(all: &[Arc<dyn Control>], notify: impl Fn(&dyn Control)) {
    all.iter().for_each(|control| notify(&**control));
}
