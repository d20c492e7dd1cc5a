//! The newest requests with writes of a session, which the server stores to execute each once.
//!
//! Requests that only read are not part of the window: the server may execute them again.

use honeycomb_layout::BATCH_WINDOW;

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestState<'w> {
    /// It is new.
    New,
    /// It is executing.
    Executing,
    /// It was executed. These are the outcomes of its writes.
    Executed(&'w [u8]),
    /// It is older than the window, so its state is unknown.
    TooOld,
}

/// The requests with the newest identifiers of a session.
#[derive(Debug, Default)]
pub struct Window {
    newest: u64,
    /// Request `i` is at index `i` modulo the length of the window. The vector grows on demand.
    requests: Vec<Option<Writes>>,
    /// Bytes of all stored outcomes.
    outcome_bytes: usize,
}

/// Bytes of memory of an allocation in addition to its contents.
const ALLOCATION_BYTES: usize = 16;

/// A request with its outcomes, once they are stored.
#[derive(Debug)]
struct Writes {
    identifier: u64,
    outcomes: Option<Box<[u8]>>,
}

impl Window {
    /// Returns the state of a request with writes. A new request counts as executing from now on.
    pub fn begin(&mut self, identifier: u64) -> RequestState<'_> {
        if identifier == 0 || self.newest.saturating_sub(identifier) >= BATCH_WINDOW as u64 {
            return RequestState::TooOld;
        }
        self.newest = self.newest.max(identifier);
        let index = index(identifier);
        if self.requests.len() <= index {
            self.requests.resize_with(index + 1, || None);
        }
        let is_stored = self.requests[index].as_ref().is_some_and(|stored| stored.identifier == identifier);
        if !is_stored {
            self.outcome_bytes -= self.requests[index].as_ref().map_or(0, Writes::bytes);
            self.requests[index] = Some(Writes { identifier, outcomes: None });
            return RequestState::New;
        }
        let outcomes = self.requests[index].as_ref().and_then(|stored| stored.outcomes.as_deref());
        outcomes.map_or(RequestState::Executing, RequestState::Executed)
    }

    /// Stores the outcomes of the writes of an executing request.
    pub fn finish(&mut self, identifier: u64, outcomes: &[u8]) {
        let stored = self.requests.get_mut(index(identifier)).and_then(Option::as_mut);
        if let Some(stored) = stored.filter(|stored| stored.identifier == identifier) {
            self.outcome_bytes = self.outcome_bytes - stored.bytes() + outcomes.len();
            stored.outcomes = Some(outcomes.into());
        }
    }

    /// Returns the bytes of memory in use.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.requests.capacity() * (size_of::<Option<Writes>>() + ALLOCATION_BYTES) + self.outcome_bytes
    }
}

impl Writes {
    fn bytes(&self) -> usize {
        self.outcomes.as_ref().map_or(0, |outcomes| outcomes.len())
    }
}

fn index(identifier: u64) -> usize {
    (identifier % BATCH_WINDOW as u64) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_is_new_once() {
        let mut window = Window::default();
        assert_eq!(window.begin(5), RequestState::New);
        assert_eq!(window.begin(5), RequestState::Executing);
        window.finish(5, b"ab");
        assert_eq!(window.begin(5), RequestState::Executed(b"ab"));
        assert_eq!(window.begin(1), RequestState::New);
        assert_eq!(window.begin(68), RequestState::New);
        assert_eq!(window.begin(5), RequestState::Executed(b"ab"));
        assert_eq!(window.begin(69), RequestState::New);
        assert_eq!(window.begin(5), RequestState::TooOld);
        assert_eq!(window.begin(0), RequestState::TooOld);
        window.finish(5, b"another request");
        assert_eq!(window.begin(69), RequestState::Executing);
    }

    #[test]
    fn stored_outcomes_count_as_memory() {
        let mut window = Window::default();
        window.begin(1);
        let empty = window.memory_bytes();
        for bytes in [1000, 10] {
            window.finish(1, &vec![0; bytes]);
            assert_eq!(window.memory_bytes(), empty + bytes);
        }
        for identifier in 2..65 {
            window.begin(identifier);
            window.finish(identifier, &[0; 100]);
        }
        let full = window.memory_bytes();
        window.begin(65);
        assert_eq!(window.memory_bytes(), full - 10);
    }

    proptest! {
        #[test]
        fn no_request_executes_twice(identifiers in prop::collection::vec(1..200_u64, 0..300)) {
            let (mut window, mut done) = (Window::default(), BTreeMap::new());
            for (step, &identifier) in identifiers.iter().enumerate() {
                match window.begin(identifier) {
                    RequestState::New => {
                        let outcome = (step as u64).to_le_bytes();
                        prop_assert!(done.insert(identifier, outcome).is_none());
                        window.finish(identifier, &outcome);
                    }
                    RequestState::Executed(outcome) => prop_assert_eq!(outcome, &done[&identifier][..]),
                    RequestState::TooOld => prop_assert!(done.keys().any(|&newer| newer >= identifier + 64)),
                    RequestState::Executing => prop_assert!(false),
                }
            }
        }
    }
}
