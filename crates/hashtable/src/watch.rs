//! Reads of several keys at one moment: the caller watches all keys, reads them, and checks that no stripe
//! has changed since.

use crate::error::Error;
use crate::hash::hash;
use crate::index::check_key;
use crate::table::Session;

/// The state of the stripe of a key at the moment of [`Session::watch`].
#[derive(Debug, Clone, Copy)]
pub struct Watch {
    stripe: usize,
    number: u64,
}

impl Session<'_> {
    /// Begins to watch the stripe of a key. Waits while a writer holds it.
    ///
    /// # Errors
    /// [`Error::KeyLength`].
    pub fn watch(&self, key: &[u8]) -> Result<Watch, Error> {
        check_key(key)?;
        let stripe = self.index.stripe_number(hash(self.index.config.seed, key));
        Ok(Watch { stripe, number: self.index.stripes[stripe].lock.begin() })
    }

    /// Whether no write to the stripe has begun since the watch began. Then all reads of its keys meanwhile
    /// have returned the values of one moment. The watch must be of this table.
    #[must_use]
    pub fn is_unchanged(&self, watch: &Watch) -> bool {
        let stripe = self.index.stripes.get(watch.stripe);
        stripe.is_some_and(|stripe| stripe.lock.unchanged(watch.number))
    }
}
