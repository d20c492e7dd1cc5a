//! Gets of an unordered table that pass values to a function.

use super::table::UnorderedTable;
use crate::error::Error;

impl UnorderedTable {
    /// Passes the value of a key to `visit`, and returns its result; `None` if the key is absent. Copies a
    /// value of at most 32 bytes only to the stack. `visit` should be short: memory that is retired meanwhile
    /// cannot be reclaimed.
    ///
    /// ```
    /// use honeycomb_store::{Config, Store, UnorderedConfig};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let stock = store.unordered_table("stock", UnorderedConfig::default())?;
    /// stock.put(&7_u64.to_le_bytes(), &12_u32.to_le_bytes())?;
    /// let number = |value: &[u8]| value.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
    /// assert_eq!(stock.get_with(7_u64.to_le_bytes(), number)?, Some(12));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn get_with<R>(
        &self,
        key: impl AsRef<[u8]>,
        visit: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>, Error> {
        let result = self.entry().table.session().get_with(key, visit)?;
        self.state().catch_up();
        Ok(result)
    }

    /// Passes the value of each key, or `None` if the key is absent, to `visit`, together with the index of
    /// the key. The gets are of different moments and in no order. It is the fastest way to get many values,
    /// above all for keys of a type with a fixed length, such as `[u8; 8]`.
    ///
    /// # Errors
    /// [`Error::KeyLength`]: `visit` is not called.
    pub fn get_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        visit: impl FnMut(usize, Option<&[u8]>),
    ) -> Result<(), Error> {
        self.entry().table.get_many(keys, visit)?;
        self.state().catch_up();
        Ok(())
    }
}
