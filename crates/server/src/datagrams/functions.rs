//! Functions of batch datagrams on values, as `KV.UPDATE`, `KV.REDUCE` and `KV.FILTER` have them.

use honeycomb_protocol::batch::{FunctionForm, Operation};
use honeycomb_store::unordered::{Functions, Operation as Applied, Outcome as Applying};

use crate::datagrams::outcome::Outcome;
use crate::embedder;

/// Maximum length of a value that datagrams apply functions to. A datagram may contain hundreds of functions,
/// and other clients wait meanwhile.
pub(super) const VALUE_BYTES_MAX: usize = 64 << 10;

/// The results of a function.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// The original value, the result of a reduction, or the elements that a filter returns.
    pub(super) answer: Vec<u8>,
    /// The new value.
    pub(super) updated: Vec<u8>,
}

/// Applies the function of an operation to a value. Returns `None` if the operation has no function.
pub(super) fn apply(
    operation: &Operation<'_>,
    value: &[u8],
    functions: &Functions,
) -> Option<Result<Results, Outcome>> {
    let Operation::Function { form, function, operands, .. } = *operation else { return None };
    if value.len() > VALUE_BYTES_MAX {
        return Some(Err(Outcome::TooLarge));
    }
    let function = function.into();
    let applied = match form {
        FunctionForm::UpdateScalar => Applied::UpdateScalar { function, operands },
        FunctionForm::UpdateVectorWithScalar => Applied::UpdateVectorWithScalar { function, operands },
        FunctionForm::UpdateVectorWithVector => {
            Applied::UpdateVectorWithVector { function, vector: operands }
        }
        FunctionForm::Reduce => Applied::Reduce { function, initial: operands },
        FunctionForm::Filter => Applied::Filter { function, operands },
    };
    let mut results = Results::default();
    let Results { answer, updated } = &mut results;
    Some(match embedder::call(|| applied.execute(value, functions, updated, answer)) {
        Err(panicked) => Err(panicked.into()),
        Ok(Err(_) | Ok(Applying::NotElements { .. })) => Err(Outcome::NotApplicable),
        Ok(Ok(_)) => Ok(results),
    })
}
