//! The results of a batch of requests.

use std::collections::BTreeMap;

use honeycomb_accelerator::{Completion, Completions, Queue, Requests, Status};
use honeycomb_btree::Version;
use honeycomb_testing::index::Pairs;

/// The results of a batch, by identifier.
pub(crate) type ReadResults = BTreeMap<u64, ReadResult>;

/// The result of a request, assembled from its completions.
#[derive(Debug, PartialEq)]
pub(crate) struct ReadResult {
    status: Status,
    versions: (Version, Version),
    more: bool,
    value: Vec<u8>,
    pairs: Pairs,
    is_complete: bool,
}

impl ReadResult {
    fn add(results: &mut ReadResults, part: &Completion<'_>) {
        let (status, versions) = (part.status, (part.read_version, part.pair_version));
        let (value, pairs) = (Vec::new(), Vec::new());
        let result = Self { status, versions, more: false, value, pairs, is_complete: false };
        let result = results.entry(part.identifier).or_insert(result);
        assert!(!result.is_complete && (result.status, result.versions) == (status, versions));
        result.value.extend_from_slice(part.value().unwrap_or_default());
        result.pairs.extend(part.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        (result.more, result.is_complete) = (part.more, !part.continued);
    }
}

/// Executes a batch on an empty queue.
pub(crate) fn execute(queue: &mut dyn Queue, requests: &Requests) -> ReadResults {
    let mut completions = Completions::default();
    assert_eq!(queue.submit(requests.bytes()), requests.bytes().len());
    while queue.poll(&mut completions) > 0 {}
    let mut results = ReadResults::new();
    completions.iter().for_each(|part| ReadResult::add(&mut results, &part));
    assert!(results.values().all(|result| result.is_complete), "a request has no last completion");
    results
}
