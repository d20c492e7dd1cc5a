//! Functions on values of an ordered table, as those of unordered tables.

use honeycomb_btree::{Operation, Outcome};
use honeycomb_hashtable::{Operation as Function, Outcome as FunctionOutcome};

use crate::error::Error;
use crate::table::Table;
use crate::value_update::{FunctionForm, ValueUpdate};

impl Table {
    /// Applies a function to a value of one element, and returns the original value; `None` if the key is
    /// absent. [`BuiltIn::number`](crate::unordered::BuiltIn::number) returns the numbers of the built-in
    /// functions.
    ///
    /// ```
    /// use honeycomb_store::unordered::{BuiltIn, Element};
    /// use honeycomb_store::{Config, Store};
    ///
    /// let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() })?;
    /// let stock = store.table("stock")?;
    /// stock.put(b"apple", &12_u32.to_le_bytes())?;
    /// let subtract = BuiltIn::Subtract.number(Element::U32);
    /// let before = stock.update_scalar(b"apple", subtract, &5_u32.to_le_bytes())?;
    /// assert_eq!(before.as_deref(), Some(&12_u32.to_le_bytes()[..]));
    /// assert_eq!(stock.get(b"apple")?.as_deref(), Some(&7_u32.to_le_bytes()[..]));
    /// # Ok::<(), honeycomb_store::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Function`], [`Error::NotElements`], and the same as for [`Table::put`].
    pub fn update_scalar(
        &self,
        key: &[u8],
        function: u32,
        operands: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.update_with(key, (FunctionForm::Scalar, function), operands)
    }

    /// Applies a function to each element of a value, with the same operands, and returns the original value;
    /// `None` if the key is absent. Other writes to the leaf wait for a time in proportion to the value.
    ///
    /// # Errors
    /// The same as for [`Table::update_scalar`].
    pub fn update_vector_with_scalar(
        &self,
        key: &[u8],
        function: u32,
        operands: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.update_with(key, (FunctionForm::VectorWithScalar, function), operands)
    }

    /// Applies a function of one operand to each element of a value and the element at the same index of a
    /// vector of the same length. Returns the original value; `None` if the key is absent.
    ///
    /// # Errors
    /// The same as for [`Table::update_scalar`].
    pub fn update_vector_with_vector(
        &self,
        key: &[u8],
        function: u32,
        vector: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        self.update_with(key, (FunctionForm::VectorWithVector, function), vector)
    }

    /// Folds all elements of a value with a function of one operand, in their order, and returns the result;
    /// `None` if the key is absent. [`Table::push_down`] folds the values of a range.
    ///
    /// # Errors
    /// [`Error::KeyLength`], [`Error::Function`], [`Error::NotElements`].
    pub fn reduce(&self, key: &[u8], function: u32, initial: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.apply(key, &Function::Reduce { function, initial })
    }

    /// Returns the elements of a value that satisfy a predicate; `None` if the key is absent.
    ///
    /// # Errors
    /// The same as for [`Table::reduce`].
    pub fn filter(&self, key: &[u8], function: u32, operands: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        self.apply(key, &Function::Filter { function, operands })
    }

    fn update_with(
        &self,
        key: &[u8],
        (form, function): (FunctionForm, u32),
        operands: &[u8],
    ) -> Result<Option<Vec<u8>>, Error> {
        let functions = self.state().functions().clone();
        let update = ValueUpdate { functions, form, function, operands: operands.to_vec() };
        update.check()?;
        match self.write(key, Operation::Function(&update))? {
            Outcome::Original(before) => Ok(Some(before.value)),
            Outcome::NotElements { bytes } => Err(Error::NotElements { bytes }),
            _ => Ok(None),
        }
    }

    fn apply(&self, key: &[u8], function: &Function<'_>) -> Result<Option<Vec<u8>>, Error> {
        let functions = self.state().functions();
        function.check(functions)?;
        let Some(value) = self.get(key)? else { return Ok(None) };
        let mut result = Vec::new();
        match function.execute(&value, functions, &mut Vec::new(), &mut result)? {
            FunctionOutcome::NotElements { bytes } => Err(Error::NotElements { bytes }),
            _ => Ok(Some(result)),
        }
    }
}
