//! An update of a value with a function, as a batch keeps it and as a tree executes it.

use std::sync::Arc;

use honeycomb_btree::ValueFunction;
use honeycomb_hashtable::{Functions, Operation, Outcome};

use crate::error::Error;

/// The way in which a function is applied.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FunctionForm {
    Scalar,
    VectorWithScalar,
    VectorWithVector,
}

/// An update with a function.
#[derive(Debug, Clone)]
pub(crate) struct ValueUpdate {
    pub(crate) functions: Arc<Functions>,
    pub(crate) form: FunctionForm,
    /// The number of the function.
    pub(crate) function: u32,
    pub(crate) operands: Vec<u8>,
}

impl ValueUpdate {
    /// The operation of an unordered table that does the same.
    pub(crate) fn operation(&self) -> Operation<'_> {
        let (function, operands) = (self.function, &self.operands[..]);
        match self.form {
            FunctionForm::Scalar => Operation::UpdateScalar { function, operands },
            FunctionForm::VectorWithScalar => Operation::UpdateVectorWithScalar { function, operands },
            FunctionForm::VectorWithVector => {
                Operation::UpdateVectorWithVector { function, vector: operands }
            }
        }
    }

    /// # Errors
    /// [`Error::Function`]: the function does not exist or has other operands.
    pub(crate) fn check(&self) -> Result<(), Error> {
        Ok(self.operation().check(&self.functions)?)
    }
}

impl ValueFunction for ValueUpdate {
    fn apply(&self, value: &[u8]) -> Option<Vec<u8>> {
        let (mut updated, mut original) = (Vec::new(), Vec::new());
        let outcome = self.operation().execute(value, &self.functions, &mut updated, &mut original);
        matches!(outcome, Ok(Outcome::Original(_))).then_some(updated)
    }
}
