//! What a back answers to a batch of requests.

use std::collections::BTreeMap;

use honeycomb_accelerator::{Completion, Completions, Queue, Requests, Status};
use honeycomb_btree::Version;

use honeycomb_testing::index::Pairs;

/// The answers to a batch, by identifier.
pub(crate) type Answers = BTreeMap<u64, Answer>;

/// All parts of an answer, put together.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    status: Status,
    versions: (Version, Version),
    more: bool,
    value: Vec<u8>,
    pairs: Pairs,
    is_whole: bool,
}

impl Answer {
    fn take(answers: &mut Answers, part: &Completion<'_>) {
        let (status, versions) = (part.status, (part.read_version, part.pair_version));
        let (value, pairs) = (Vec::new(), Vec::new());
        let answer = Self { status, versions, more: false, value, pairs, is_whole: false };
        let answer = answers.entry(part.identifier).or_insert(answer);
        assert!(!answer.is_whole && (answer.status, answer.versions) == (status, versions));
        answer.value.extend_from_slice(part.value().unwrap_or_default());
        answer.pairs.extend(part.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        (answer.more, answer.is_whole) = (part.more, !part.continued);
    }
}

/// What a queue that is empty answers to a batch.
pub(crate) fn answers(queue: &mut dyn Queue, requests: &Requests) -> Answers {
    let mut completions = Completions::default();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    while queue.poll(&mut completions) > 0 {}
    let mut answers = Answers::new();
    completions.iter().for_each(|part| Answer::take(&mut answers, &part));
    assert!(answers.values().all(|answer| answer.is_whole), "an answer has no end");
    answers
}
