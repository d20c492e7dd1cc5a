//! The numbers that identify tables to an accelerator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_accelerator::Accelerator;
use honeycomb_btree::Root;
use honeycomb_layout::TABLES_MAX;

use crate::error::Error;

/// Allocates the numbers of tables.
pub(crate) struct TableNumbers {
    accelerator: Arc<dyn Accelerator>,
    allocation: Mutex<Allocation>,
}

#[derive(Default)]
struct Allocation {
    /// The smallest number that was never allocated.
    next: usize,
    free: Vec<u16>,
}

/// The number of a table. The accelerator knows the root of the table while this value exists.
pub(crate) struct TableNumber {
    numbers: Arc<TableNumbers>,
    number: u16,
}

impl TableNumbers {
    pub(crate) fn new(accelerator: Arc<dyn Accelerator>) -> Arc<Self> {
        Arc::new(Self { accelerator, allocation: Mutex::default() })
    }

    /// Allocates a number for the table with this root.
    pub(crate) fn allocate(self: &Arc<Self>, root: Root) -> Result<TableNumber, Error> {
        let number = self.lock().allocate().ok_or(Error::TooManyTables { max: TABLES_MAX })?;
        self.accelerator.set_root(number, Some(root));
        Ok(TableNumber { numbers: self.clone(), number })
    }

    fn lock(&self) -> MutexGuard<'_, Allocation> {
        self.allocation.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocation {
    fn allocate(&mut self) -> Option<u16> {
        self.free.pop().or_else(|| {
            let number = u16::try_from(self.next).ok()?;
            self.next += 1;
            Some(number)
        })
    }
}

impl TableNumber {
    pub(crate) fn get(&self) -> u16 {
        self.number
    }
}

impl Drop for TableNumber {
    fn drop(&mut self) {
        self.numbers.accelerator.set_root(self.number, None);
        self.numbers.lock().free.push(self.number);
    }
}
