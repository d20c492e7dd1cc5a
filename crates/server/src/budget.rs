//! The budget of a command on the thread of a core.
//!
//! A command that reads or writes more pairs or bytes would delay other clients of the core. It stops with
//! [`Failure::Long`] and executes again, from the beginning and without a budget, on the
//! [background thread](crate::background).

use honeycomb_protocol::resp::ParsedRequest;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Maximum number of pairs that a command reads or writes on the thread of a core.
pub(crate) const PAIRS_MAX: usize = 256;
/// Maximum number of bytes of these pairs.
pub(crate) const BYTES_MAX: usize = 64 << 10;
/// Maximum number of arguments of a command on the thread of a core.
const ARGUMENTS_MAX: usize = 2 * PAIRS_MAX;

/// The pairs and bytes that a command may still read and write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pairs: usize,
    bytes: usize,
    is_limited: bool,
}

impl Budget {
    /// The budget of a command on the thread of a core.
    pub(crate) const CORE: Self = Self { pairs: PAIRS_MAX, bytes: BYTES_MAX, is_limited: true };
    /// No limits.
    pub(crate) const UNLIMITED: Self = Self { pairs: usize::MAX, bytes: usize::MAX, is_limited: false };

    /// Spends a part of the budget: pairs, and bytes of them.
    pub(crate) fn spend(&mut self, pairs: usize, bytes: usize) -> Result<(), Failure> {
        if !self.is_limited {
            return Ok(());
        }
        self.pairs = self.pairs.checked_sub(pairs).ok_or(Failure::Long)?;
        self.bytes = self.bytes.checked_sub(bytes).ok_or(Failure::Long)?;
        Ok(())
    }

    /// Returns an error if the budget does not suffice for a number of bytes.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), Failure> {
        if self.is_limited && bytes > self.bytes { Err(Failure::Long) } else { Ok(()) }
    }

    /// Returns an error if the budget does not suffice for a number of pairs.
    pub(crate) fn check_pairs(&self, pairs: usize) -> Result<(), Failure> {
        if self.is_limited && pairs > self.pairs { Err(Failure::Long) } else { Ok(()) }
    }

    /// Returns an error if a request alone exceeds the budget.
    pub(crate) fn check_request(
        &self,
        request: &ParsedRequest,
        arguments: &Arguments<'_>,
    ) -> Result<(), Failure> {
        let is_long = has_many_arguments(arguments) || request.bytes() > BYTES_MAX;
        if self.is_limited && is_long { Err(Failure::Long) } else { Ok(()) }
    }

    /// Returns the bytes that remain.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Returns whether the number of its arguments alone makes a command execute in the background.
#[inline]
pub(crate) fn has_many_arguments(arguments: &Arguments<'_>) -> bool {
    arguments.len() > ARGUMENTS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_up_to_its_limits() {
        let mut budget = Budget::CORE;
        assert_eq!(budget.check(BYTES_MAX), Ok(()));
        assert_eq!(budget.check(BYTES_MAX + 1), Err(Failure::Long));
        assert_eq!(budget.check_pairs(PAIRS_MAX), Ok(()));
        assert_eq!(budget.check_pairs(PAIRS_MAX + 1), Err(Failure::Long));
        assert_eq!(budget.spend(PAIRS_MAX, BYTES_MAX), Ok(()));
        assert_eq!(budget.spend(0, 0), Ok(()));
        assert_eq!(budget.spend(1, 0), Err(Failure::Long));
        assert_eq!(budget.spend(0, 1), Err(Failure::Long));
        let mut unlimited = Budget::UNLIMITED;
        assert_eq!(unlimited.check_pairs(usize::MAX), Ok(()));
        assert_eq!(unlimited.spend(usize::MAX, usize::MAX), Ok(()));
        assert_eq!(unlimited.spend(usize::MAX, usize::MAX), Ok(()));
    }
}
