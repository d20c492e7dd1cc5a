//! A queue, its requests and their answers.

use std::collections::HashMap;

use honeycomb_accelerator::{Completions, Queue, Request, Requests, parse_request};
use honeycomb_btree::Version;

use crate::conformance::answers::{Answer, Answers};
use crate::conformance::oracle::SubmittedRequest;
use crate::conformance::world::World;

pub(super) struct Session {
    queue: Box<dyn Queue>,
    completions: Completions,
    answers: Answers,
    /// The submitted requests, and the newest visible version at their submission.
    submitted: Vec<(Vec<u8>, Version)>,
    request_count: usize,
}

/// Maximum number of polls until every request must be complete.
const POLLS_MAX: usize = 1_000_000;

impl World {
    /// Opens a queue.
    pub(super) fn session(&self) -> Session {
        Session::new(self.accelerator.queue())
    }
}

impl Session {
    pub(super) fn new(queue: Box<dyn Queue>) -> Self {
        Self {
            queue,
            completions: Completions::default(),
            answers: Answers::default(),
            submitted: Vec::new(),
            request_count: 0,
        }
    }

    /// Executes requests, and checks their answers.
    pub(super) fn execute(&mut self, world: &World, requests: &[u8]) {
        self.submit(world, requests);
        self.finish(world);
    }

    /// Submits all requests. Polls whenever the queue is full.
    pub(super) fn submit(&mut self, world: &World, requests: &[u8]) {
        let mut rest = requests;
        for _ in 0..POLLS_MAX {
            rest = &rest[self.offer(world, rest)..];
            if rest.is_empty() {
                return;
            }
            self.poll();
        }
        panic!("the queue never accepts {} bytes of requests", rest.len());
    }

    /// Submits as many requests as the queue accepts. Returns their number of bytes.
    pub(super) fn offer(&mut self, world: &World, requests: &[u8]) -> usize {
        let accepted = self.queue.submit(requests);
        let whole = count(requests) - count(&requests[accepted..]);
        assert_eq!(count(&requests[..accepted]), whole, "the queue accepts only whole requests");
        self.request_count += whole;
        self.submitted.push((requests[..accepted].to_vec(), world.forest.read_version()));
        accepted
    }

    /// Polls once. Returns the number of requests in flight.
    pub(super) fn poll(&mut self) -> usize {
        self.completions.clear();
        let in_flight = self.queue.poll(&mut self.completions);
        self.answers.append(&self.completions);
        let answered = self.answers.whole.len();
        assert_eq!(in_flight + answered, self.request_count, "every request is in flight or answered");
        in_flight
    }

    /// Polls until no request is in flight, and checks all answers.
    pub(super) fn finish(&mut self, world: &World) {
        let finished = (0..POLLS_MAX).any(|_| self.poll() == 0);
        assert!(finished && self.answers.open_count() == 0, "every request is answered at last");
        self.request_count = 0;
        let mut answers: HashMap<u64, Vec<Answer>> = HashMap::new();
        for (identifier, answer) in std::mem::take(&mut self.answers.whole) {
            answers.entry(identifier).or_default().push(answer);
        }
        for (requests, since) in std::mem::take(&mut self.submitted) {
            let mut rest = &requests[..];
            while !rest.is_empty() {
                let (request, length) = parse_request(rest);
                SubmittedRequest { request, since }.check(world, &mut answers);
                rest = &rest[length..];
            }
        }
        assert!(answers.values().all(Vec::is_empty), "answers to unknown requests: {answers:?}");
    }

    /// The answer to a request, if it is complete.
    pub(super) fn answer(&self, identifier: u64) -> Option<&Answer> {
        let mut whole = self.answers.whole.iter();
        whole.find(|(other, _)| *other == identifier).map(|(_, answer)| answer)
    }
}

/// Counts requests.
fn count(mut requests: &[u8]) -> usize {
    let mut count = 0;
    while !requests.is_empty() {
        requests = &requests[parse_request(requests).1..];
        count += 1;
    }
    count
}

/// A batch of one request.
pub(super) fn one(request: &Request<'_>) -> Requests {
    let mut requests = Requests::default();
    requests.push(request).expect("the keys are not too long");
    requests
}
