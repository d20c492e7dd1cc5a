//! The errors of a table.

use honeycomb_memory::MemoryError;
use thiserror::Error as ThisError;

/// Why an operation failed. A failed operation changes nothing.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// A parameter of the table is invalid.
    #[error("{name} is {value}, must be {allowed}")]
    InvalidConfig {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The memory is full, or the table has reached its limit.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// A key is empty or too long.
    #[error("key of {bytes} bytes: a key has {min} to {max} bytes")]
    KeyLength {
        /// Length of the key in bytes.
        bytes: usize,
        /// Minimum length in bytes.
        min: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// A value is too long.
    #[error("value of {bytes} bytes: a value has at most {max} bytes")]
    ValueLength {
        /// Length of the value in bytes.
        bytes: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// No function has this number.
    #[error("no function has the number {number}")]
    UnknownFunction {
        /// The number.
        number: u32,
    },
    /// A filter needs a predicate; updates and reductions need an update.
    #[error("function {number} is not {allowed}")]
    WrongFunction {
        /// The number of the function.
        number: u32,
        /// What the operation needs.
        allowed: &'static str,
    },
    /// A function is registered with too many operands.
    #[error("{count} operands: a function has at most {max}")]
    OperandCount {
        /// Number of operands.
        count: usize,
        /// Maximum number of operands.
        max: usize,
    },
    /// The operands have the wrong length.
    #[error("operands of {bytes} bytes: function {number} has operands of {expected} bytes")]
    OperandLength {
        /// The number of the function.
        number: u32,
        /// Length of the operands in bytes.
        bytes: usize,
        /// Expected length in bytes.
        expected: usize,
    },
    /// A reduction, or an update with a vector, needs a function of one operand.
    #[error("function {number} has {operands} operands, must have 1 for a vector or a reduction")]
    NotBinary {
        /// The number of the function.
        number: u32,
        /// Number of its operands.
        operands: usize,
    },
}
