//! What a server knows of the last writing requests of a session, so that each is carried out once.
//!
//! Requests that only read are no matter of it: they may be carried out again.

use honeycomb_layout::BATCH_WINDOW;

/// What is known of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known<'w> {
    /// It was not here before.
    New,
    /// It is being carried out.
    Begun,
    /// What came of its writes.
    Done(&'w [u8]),
    /// So long ago that nobody knows.
    TooOld,
}

/// The requests with the newest identifiers of a session.
#[derive(Debug, Default)]
pub struct Window {
    newest: u64,
    /// Each at the place of its identifier, modulo their number. Grows as far as it is used.
    requests: Vec<Option<Writes>>,
}

/// The writes of a request, and what came of them; none until that is known.
#[derive(Debug)]
struct Writes {
    identifier: u64,
    outcomes: Option<Box<[u8]>>,
}

impl Window {
    /// What is known of a request that writes. A new one counts as begun from now on.
    pub fn begin(&mut self, identifier: u64) -> Known<'_> {
        if identifier == 0 || self.newest.saturating_sub(identifier) >= BATCH_WINDOW as u64 {
            return Known::TooOld;
        }
        self.newest = self.newest.max(identifier);
        let place = place(identifier);
        if self.requests.len() <= place {
            self.requests.resize_with(place + 1, || None);
        }
        let is_known = self.requests[place].as_ref().is_some_and(|known| known.identifier == identifier);
        if !is_known {
            self.requests[place] = Some(Writes { identifier, outcomes: None });
            return Known::New;
        }
        let outcomes = self.requests[place].as_ref().and_then(|known| known.outcomes.as_deref());
        outcomes.map_or(Known::Begun, Known::Done)
    }

    /// Notes what came of the writes of a request that was begun.
    pub fn finish(&mut self, identifier: u64, outcomes: &[u8]) {
        let known = self.requests.get_mut(place(identifier)).and_then(Option::as_mut);
        if let Some(known) = known.filter(|known| known.identifier == identifier) {
            known.outcomes = Some(outcomes.into());
        }
    }
}

fn place(identifier: u64) -> usize {
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
        assert_eq!(window.begin(5), Known::New);
        assert_eq!(window.begin(5), Known::Begun);
        window.finish(5, b"ab");
        assert_eq!(window.begin(5), Known::Done(b"ab"));
        assert_eq!(window.begin(1), Known::New);
        assert_eq!(window.begin(68), Known::New);
        assert_eq!(window.begin(5), Known::Done(b"ab"));
        assert_eq!(window.begin(69), Known::New);
        assert_eq!(window.begin(5), Known::TooOld);
        assert_eq!(window.begin(0), Known::TooOld);
        window.finish(5, b"of 69?");
        assert_eq!(window.begin(69), Known::Begun);
    }

    proptest! {
        #[test]
        fn nothing_is_carried_out_twice(identifiers in prop::collection::vec(1..200_u64, 0..300)) {
            let (mut window, mut done) = (Window::default(), BTreeMap::new());
            for (step, &identifier) in identifiers.iter().enumerate() {
                match window.begin(identifier) {
                    Known::New => {
                        let outcome = (step as u64).to_le_bytes();
                        prop_assert!(done.insert(identifier, outcome).is_none());
                        window.finish(identifier, &outcome);
                    }
                    Known::Done(outcome) => prop_assert_eq!(outcome, &done[&identifier][..]),
                    Known::TooOld => prop_assert!(done.keys().any(|&newer| newer >= identifier + 64)),
                    Known::Begun => prop_assert!(false),
                }
            }
        }
    }
}
