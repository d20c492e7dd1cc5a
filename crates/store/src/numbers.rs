//! The numbers by which an accelerator knows the tables.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_accelerator::Accelerator;
use honeycomb_btree::Root;
use honeycomb_layout::TABLES_MAX;

use crate::error::Error;

/// Who has which number.
pub(crate) struct Numbers {
    accelerator: Arc<dyn Accelerator>,
    allotted: Mutex<Allotted>,
}

#[derive(Default)]
struct Allotted {
    /// Numbers from here on were never given.
    next: usize,
    given_back: Vec<u16>,
}

/// A table's number. The accelerator knows the table's root as long as this lives.
pub(crate) struct Number {
    numbers: Arc<Numbers>,
    number: u16,
}

impl Numbers {
    pub(crate) fn new(accelerator: Arc<dyn Accelerator>) -> Arc<Self> {
        Arc::new(Self { accelerator, allotted: Mutex::default() })
    }

    /// A number for the table with this root.
    pub(crate) fn take(self: &Arc<Self>, root: Root) -> Result<Number, Error> {
        let number = self.lock().take().ok_or(Error::TooManyTables { max: TABLES_MAX })?;
        self.accelerator.set_root(number, Some(root));
        Ok(Number { numbers: self.clone(), number })
    }

    fn lock(&self) -> MutexGuard<'_, Allotted> {
        self.allotted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allotted {
    fn take(&mut self) -> Option<u16> {
        self.given_back.pop().or_else(|| {
            let number = u16::try_from(self.next).ok()?;
            self.next += 1;
            Some(number)
        })
    }
}

impl Number {
    pub(crate) fn get(&self) -> u16 {
        self.number
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        self.numbers.accelerator.set_root(self.number, None);
        self.numbers.lock().given_back.push(self.number);
    }
}
