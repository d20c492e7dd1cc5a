//! The unordered tables whose operations an accelerator executes.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, PoisonError, RwLock};

use honeycomb_hashtable::{Answers, Request, Table};
use honeycomb_memory::Memory;

/// An unordered table, as an accelerator uses it.
///
/// The owner of the table determines the path of its writes. A [`Table`] passes them to its recorder and
/// waits for no log. An owner whose completions have to wait for one implements this trait itself.
pub trait UnorderedTable: Send + Sync {
    /// Executes the operations of a batch, with the same answers as if it executed them one by one in their
    /// order. When it returns, the effects of all writes are final.
    fn execute(&self, requests: &[Request<'_>], answers: &mut Answers);
}

impl<M: Deref<Target = Memory> + Send + Sync> UnorderedTable for Table<M> {
    fn execute(&self, requests: &[Request<'_>], answers: &mut Answers) {
        Self::execute(self, requests, answers);
    }
}

/// The tables by number.
#[derive(Default)]
pub(crate) struct UnorderedTables(RwLock<BTreeMap<u16, Arc<dyn UnorderedTable>>>);

impl UnorderedTables {
    pub(crate) fn set(&self, number: u16, table: Option<Arc<dyn UnorderedTable>>) {
        let mut tables = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let former = match table {
            Some(table) => tables.insert(number, table),
            None => tables.remove(&number),
        };
        drop(tables);
        // The memory of a table is freed without the lock, because that takes long.
        drop(former);
    }

    pub(crate) fn get(&self, number: u16) -> Option<Arc<dyn UnorderedTable>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(&number).cloned()
    }
}
