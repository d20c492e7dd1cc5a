//! The window of requests in flight.

use std::collections::{HashMap, VecDeque};

use honeycomb_layout::{completion, completion_outcome};

/// The requests in flight, numbered from 1 in the order of their submission.
#[derive(Debug)]
pub struct RequestWindow {
    /// Request numbers by identifier.
    numbers: HashMap<u64, u64>,
    /// Completion state of each request, starting with the oldest in flight.
    completed: VecDeque<bool>,
    oldest: u64,
}

impl Default for RequestWindow {
    fn default() -> Self {
        Self { numbers: HashMap::new(), completed: VecDeque::new(), oldest: 1 }
    }
}

impl RequestWindow {
    /// Returns the numbers of the oldest request in flight and of the newest submitted request.
    pub fn bounds(&self) -> (u64, u64) {
        (self.oldest, self.oldest + self.completed.len() as u64 - 1)
    }

    /// Returns how many requests are in flight.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns whether no request is in flight.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// Adds a request.
    pub fn submit(&mut self, identifier: u64) {
        self.completed.push_back(false);
        self.numbers.insert(identifier, self.bounds().1);
    }

    /// Records a completion. A completion that is continued leaves its request in flight.
    ///
    /// # Panics
    /// If no request with this identifier is in flight.
    pub fn complete(&mut self, completion: &[u8]) {
        let outcome = word(completion, completion::BYTES_OFFSET) >> 32;
        if completion_outcome::continued(outcome) != 0 {
            return;
        }
        let identifier = word(completion, completion::IDENTIFIER_OFFSET);
        let number = self.numbers.remove(&identifier).expect("received a completion for an unknown request");
        self.completed[(number - self.oldest) as usize] = true;
        while self.completed.front() == Some(&true) {
            self.completed.pop_front();
            self.oldest += 1;
        }
    }
}

/// Returns the word at a byte offset of a request or completion.
pub(crate) fn word(bytes: &[u8], offset: usize) -> u64 {
    bytes[offset..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(identifier: u64, is_continued: bool) -> Vec<u8> {
        let outcome = completion_outcome::with_continued(0, u64::from(is_continued));
        [identifier, 0, 0, outcome << 32].map(u64::to_le_bytes).concat()
    }

    #[test]
    fn the_window_begins_at_the_oldest_request_in_flight() {
        let mut window = RequestWindow::default();
        assert_eq!(window.bounds(), (1, 0));
        (10..14).for_each(|identifier| window.submit(identifier));
        assert_eq!(window.bounds(), (1, 4));
        window.complete(&completion(11, false));
        window.complete(&completion(10, true));
        assert_eq!(window.bounds(), (1, 4));
        window.complete(&completion(10, false));
        assert_eq!(window.bounds(), (3, 4));
        window.complete(&completion(13, false));
        window.complete(&completion(12, false));
        assert_eq!(window.bounds(), (5, 4));
    }
}
