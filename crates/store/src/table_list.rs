//! The tables of a batch or of a transaction.

use std::collections::BTreeMap;

use crate::table_handle::{TableHandle, TableRef};

/// Number of tables that [`TableList::place`] compares one by one. Most lists have no more.
const COMPARED: usize = 8;

/// Handles to tables without duplicates, each with a place in the list.
///
/// ```
/// use honeycomb_store::{Config, Store, TableList};
///
/// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
/// let (orders, stock) = (store.table("orders")?, store.table("stock")?);
/// let mut tables = TableList::default();
/// assert_eq!([&orders, &stock, &orders].map(|table| tables.place(table)), [0, 1, 0]);
/// assert_eq!(tables.handles().len(), 2);
/// # Ok::<(), honeycomb_store::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct TableList {
    handles: Vec<TableHandle>,
    /// The places from [`COMPARED`] on, by the identifiers of the tables.
    places: BTreeMap<u64, usize>,
    #[cfg(test)]
    comparisons: std::cell::Cell<usize>,
}

impl TableList {
    /// Returns the place of a table, and adds the table if it is new. It takes about the same time in a long
    /// list as in a short one.
    #[inline]
    pub fn place<'t>(&mut self, table: impl Into<TableRef<'t>>) -> usize {
        let table = table.into();
        self.find(table).unwrap_or_else(|| self.add(table))
    }

    /// Returns the tables in the order of their places.
    #[must_use]
    #[inline]
    pub fn handles(&self) -> &[TableHandle] {
        &self.handles
    }

    /// Removes all tables.
    pub fn clear(&mut self) {
        self.handles.clear();
        self.places.clear();
    }

    #[inline]
    fn find(&self, table: TableRef<'_>) -> Option<usize> {
        let compared = &self.handles[..self.handles.len().min(COMPARED)];
        let found = compared.iter().position(|known| self.is(known, table));
        if found.is_some() || self.handles.len() < COMPARED { found } else { self.find_later(table) }
    }

    /// The table of another store may have the same identifier. Then it is added each time, and the
    /// operation on several stores fails.
    #[cold]
    fn find_later(&self, table: TableRef<'_>) -> Option<usize> {
        let place = *self.places.get(&table.tree())?;
        self.is(&self.handles[place], table).then_some(place)
    }

    #[inline]
    fn is(&self, known: &TableHandle, table: TableRef<'_>) -> bool {
        #[cfg(test)]
        self.comparisons.set(self.comparisons.get() + 1);
        known.is_of(table)
    }

    fn add(&mut self, table: TableRef<'_>) -> usize {
        let place = self.handles.len();
        if place >= COMPARED {
            self.places.insert(table.tree(), place);
        }
        self.handles.push(table.to_handle());
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Store, Table};

    fn tables(count: usize) -> Vec<Table> {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        (0..count).map(|number| store.table(&number.to_string()).unwrap()).collect()
    }

    #[test]
    fn a_place_in_a_long_list_takes_few_comparisons() {
        const TABLES: usize = 200;
        let (tables, mut list) = (tables(TABLES), TableList::default());
        for _ in 0..2 {
            for (place, table) in tables.iter().enumerate() {
                assert_eq!(list.place(table), place);
            }
        }
        assert_eq!(list.handles().len(), TABLES);
        assert!(list.comparisons.get() <= 2 * TABLES * (COMPARED + 1), "{}", list.comparisons.get());
        list.clear();
        assert_eq!([&tables[9], &tables[1]].map(|table| list.place(table)), [0, 1]);
    }

    #[test]
    fn a_table_of_another_store_is_another_table() {
        let (tables, others, mut list) = (tables(COMPARED + 2), tables(COMPARED + 2), TableList::default());
        for (table, other) in tables.iter().zip(&others) {
            assert_ne!(list.place(table), list.place(other));
        }
    }
}
