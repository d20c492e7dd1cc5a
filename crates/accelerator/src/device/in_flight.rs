//! A request that a device executes.

use honeycomb_layout::{completion, completion_outcome as outcome};

use crate::completion::{Completion, parse};
use crate::status::Status;

/// A request of a reader. A device returns an overflow value before it knows whether all reads of the value
/// succeed. The next completion says so, and the reader gets the value only then.
pub(super) struct InFlight {
    /// The identifier that the reader chose.
    pub(super) identifier: u64,
    /// The completion with the value.
    value: Option<Vec<u8>>,
}

impl InFlight {
    pub(super) fn new(identifier: u64) -> Self {
        Self { identifier, value: None }
    }

    /// Accepts a completion of the device. Returns the completion for the reader, if there is one now.
    pub(super) fn receive(&mut self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let Some((completion, _)) = parse(&bytes) else { return Some(bytes) };
        if is_value_to_confirm(&completion) {
            self.value = Some(bytes);
            return None;
        }
        match self.value.take() {
            Some(value) if completion.status == Status::Found => Some(as_last(value)),
            _ => Some(bytes),
        }
    }
}

/// Whether a completion has a value. Parts of scans that are continued have pairs.
fn is_value_to_confirm(completion: &Completion<'_>) -> bool {
    completion.continued && completion.pair_count == 0
}

/// Returns a completion that no other one continues.
fn as_last(mut bytes: Vec<u8>) -> Vec<u8> {
    let field = completion::OUTCOME_OFFSET..completion::OUTCOME_OFFSET + completion::OUTCOME_BYTES;
    let word: [u8; completion::OUTCOME_BYTES] = bytes[field.clone()].try_into().expect("a field");
    let word = outcome::with_continued(u32::from_le_bytes(word).into(), 0) as u32;
    bytes[field].copy_from_slice(&word.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::completion::Completions;

    const IDENTIFIER: u64 = 7;

    fn part(value: &[u8], status: Status, continued: bool) -> Vec<u8> {
        let (mut whole, mut part) = (Completions::default(), Completions::default());
        match status {
            Status::Found => whole.push_get(IDENTIFIER, 5, Some((value, 3))),
            Status::Absent => whole.push_get(IDENTIFIER, 5, None),
            _ => whole.push_rejection(IDENTIFIER, status),
        }
        let (completion, _) = parse(whole.bytes()).expect("a completion");
        part.push_part(&completion, IDENTIFIER, continued, false);
        part.bytes().to_vec()
    }

    #[test]
    fn a_value_waits_for_its_confirmation() {
        let mut request = InFlight::new(IDENTIFIER);
        assert_eq!(request.receive(part(b"value", Status::Found, true)), None);
        let whole = request.receive(part(b"", Status::Found, false));
        assert_eq!(whole, Some(part(b"value", Status::Found, false)));
    }

    #[test]
    fn a_value_whose_read_fails_is_void() {
        let mut request = InFlight::new(IDENTIFIER);
        assert_eq!(request.receive(part(b"value", Status::Found, true)), None);
        let fault = part(b"", Status::Fault, false);
        assert_eq!(request.receive(fault.clone()), Some(fault));
    }

    #[test]
    fn other_completions_pass_unchanged() {
        for bytes in [part(b"inline", Status::Found, false), part(b"", Status::Absent, false), vec![1; 9]] {
            assert_eq!(InFlight::new(IDENTIFIER).receive(bytes.clone()), Some(bytes));
        }
    }
}
