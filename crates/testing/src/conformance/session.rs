//! A queue, what it was asked, and what it answered.

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
    /// What was submitted, and the version that was visible then.
    submitted: Vec<(Vec<u8>, Version)>,
    request_count: usize,
}

/// Polls after which nothing can be in flight any more.
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

    /// Asks and checks all answers.
    pub(super) fn ask(&mut self, world: &World, requests: &[u8]) {
        self.submit(world, requests);
        self.finish(world);
    }

    /// Submits all requests, and polls when the queue takes no more.
    pub(super) fn submit(&mut self, world: &World, requests: &[u8]) {
        let mut rest = requests;
        for _ in 0..POLLS_MAX {
            rest = &rest[self.offer(world, rest)..];
            if rest.is_empty() {
                return;
            }
            self.poll();
        }
        panic!("{} bytes of requests are never taken", rest.len());
    }

    /// Submits what the queue takes.
    pub(super) fn offer(&mut self, world: &World, requests: &[u8]) -> usize {
        let taken = self.queue.submit(requests);
        let whole = count(requests) - count(&requests[taken..]);
        assert_eq!(count(&requests[..taken]), whole, "only whole requests are taken");
        self.request_count += whole;
        self.submitted.push((requests[..taken].to_vec(), world.forest.read_version()));
        taken
    }

    /// Polls once. Returns how many requests are in flight.
    pub(super) fn poll(&mut self) -> usize {
        self.completions.clear();
        let in_flight = self.queue.poll(&mut self.completions);
        self.answers.take(&self.completions);
        let answered = self.answers.whole.len();
        assert_eq!(in_flight + answered, self.request_count, "each request is in flight or answered");
        in_flight
    }

    /// Polls until nothing is in flight, and checks all answers.
    pub(super) fn finish(&mut self, world: &World) {
        let finished = (0..POLLS_MAX).any(|_| self.poll() == 0);
        assert!(finished && self.answers.open_count() == 0, "every request is answered in the end");
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
        assert!(answers.values().all(Vec::is_empty), "nobody asked for {answers:?}");
    }

    /// The answer to a request that was answered already and is not checked yet.
    pub(super) fn answer(&self, identifier: u64) -> Option<&Answer> {
        let mut whole = self.answers.whole.iter();
        whole.find(|(other, _)| *other == identifier).map(|(_, answer)| answer)
    }
}

/// How many requests there are.
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
