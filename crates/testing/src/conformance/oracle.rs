//! The expected answer to a request.

use std::collections::HashMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use honeycomb_accelerator::{Read, Rejected, Request, Status};
use honeycomb_btree::{Scan, Version};

use crate::conformance::answers::Answer;
use crate::conformance::world::{TableState, World};

/// A request, and the moment of its submission.
pub(super) struct SubmittedRequest<'q> {
    pub(super) request: Result<Request<'q>, Rejected>,
    /// The newest visible version at its submission.
    pub(super) since: Version,
}

impl SubmittedRequest<'_> {
    /// Removes the answer to this request from the answers with its identifier. If several requests have the
    /// same identifier, any of their answers can belong to this one.
    ///
    /// # Panics
    /// If no answer is correct.
    pub(super) fn check(&self, world: &World, answers: &mut HashMap<u64, Vec<Answer>>) {
        let identifier = match &self.request {
            Ok(request) => request.identifier,
            Err(rejected) => rejected.identifier,
        };
        let answers = answers.entry(identifier).or_default();
        let correct = answers.iter().position(|answer| self.error_of(world, answer).is_none());
        let Some(correct) = correct else {
            let error = answers.first().and_then(|answer| self.error_of(world, answer));
            let request = format!("{:?}, submitted at version {}", self.request, self.since);
            panic!("{request}:\n{}\n{:?}", error.unwrap_or("no answer".into()), answers.first());
        };
        answers.swap_remove(correct);
    }

    /// Returns the expectation that an answer does not meet; `None` if the answer is correct.
    fn error_of(&self, world: &World, answer: &Answer) -> Option<String> {
        let rejections = self.rejections(world);
        if !rejections.is_empty() {
            let is_correct = answer.status.is_some_and(|status| rejections.contains(&status));
            return (!is_correct).then(|| format!("expected a rejection with one of {rejections:?}"));
        }
        let Ok(request) = &self.request else { return None };
        let versions = self.versions(world, request);
        if !versions.contains(&answer.read_version) {
            return Some(format!("expected a read version in {versions:?}"));
        }
        let Some(state) = world.recorded.get(&answer.read_version) else {
            return Some(format!("expected a read version among {:?}", world.recorded.keys()));
        };
        let empty = TableState::new();
        let table = state.get(&request.table).unwrap_or(&empty);
        match &request.read {
            Read::Get(key) => error_of_get(world, request, table.get(*key), answer),
            Read::Scan { scan, bytes_max } => error_of_scan(table, scan, *bytes_max, answer),
        }
    }

    /// Returns the possible rejections; empty if the request must succeed.
    fn rejections(&self, world: &World) -> Vec<Status> {
        let request = match &self.request {
            Ok(request) => request,
            Err(rejected) => return vec![rejected.status],
        };
        let is_pinned = request.version.is_none_or(|version| world.pinned.contains_key(&version));
        let is_known = world.roots.contains_key(&request.table);
        let reasons = [(!is_pinned, Status::VersionNotPinned), (!is_known, Status::UnknownTable)];
        reasons.into_iter().filter_map(|(applies, status)| applies.then_some(status)).collect()
    }

    fn versions(&self, world: &World, request: &Request<'_>) -> RangeInclusive<Version> {
        match request.version {
            Some(version) => version..=version,
            None => self.since..=world.forest.read_version(),
        }
    }
}

fn error_of_get(
    world: &World,
    request: &Request<'_>,
    expected: Option<&Arc<[u8]>>,
    answer: &Answer,
) -> Option<String> {
    let status = if expected.is_some() { Status::Found } else { Status::Absent };
    let value = expected.map_or(&[][..], |value| value);
    let is_equal = answer.status == Some(status) && answer.value == value && answer.pairs.is_empty();
    if !is_equal || answer.more {
        return Some(format!("expected the value {expected:?}"));
    }
    let version = pair_version(world, request, answer).unwrap_or(answer.pair_version);
    let is_correct = answer.pair_version == version && version <= answer.read_version;
    (!is_correct).then(|| format!("expected the pair version {version}"))
}

/// Returns the version of a pair, if the get has read the newest visible version.
fn pair_version(world: &World, request: &Request<'_>, answer: &Answer) -> Option<Version> {
    let Read::Get(key) = request.read else { return None };
    let reader = world.forest.reader();
    let version = reader.get(world.roots[&request.table], key).map(|pair| pair.version);
    (answer.read_version == reader.version()).then_some(version.unwrap_or(0))
}

fn error_of_scan(table: &TableState, scan: &Scan<'_>, bytes_max: u32, answer: &Answer) -> Option<String> {
    let (pairs, more) = expected_scan(table, scan, bytes_max as usize);
    if answer.status != Some(Status::Found) || answer.pair_version != 0 || !answer.value.is_empty() {
        return Some("expected pairs, or an empty scan".into());
    }
    if let Some(at) = first_difference(&pairs, &answer.pairs) {
        let count = pairs.len();
        return Some(format!("expected {count} pairs, and {:?} at index {at}", pairs.get(at)));
    }
    (answer.more != more).then(|| format!("expected the flag `more` to be {more}"))
}

/// The expected pairs of a scan.
type Expected<'m> = Vec<(Vec<u8>, &'m [u8])>;

fn first_difference(expected: &Expected<'_>, actual: &[(Vec<u8>, Vec<u8>)]) -> Option<usize> {
    let is_equal = |at: usize| expected[at].0 == actual[at].0 && expected[at].1 == actual[at].1;
    let shorter = expected.len().min(actual.len());
    let differs = (0..shorter).find(|&at| !is_equal(at));
    differs.or((expected.len() != actual.len()).then_some(shorter))
}

/// Returns the pairs that a scan emits, and whether a limit ends it.
fn expected_scan<'m>(table: &'m TableState, scan: &Scan<'_>, bytes_max: usize) -> (Expected<'m>, bool) {
    let mut range = in_range(table, scan).into_iter();
    let (mut pairs, mut bytes) = (Vec::new(), 0);
    while pairs.len() < scan.limit && bytes < bytes_max {
        let Some((key, value)) = range.next() else { break };
        let value = if scan.keys_only { &[][..] } else { value };
        bytes += key.len() + value.len();
        pairs.push((key.clone(), value));
    }
    (pairs, range.next().is_some())
}

/// Returns all pairs of a range, in the order of the scan.
fn in_range<'m>(table: &'m TableState, scan: &Scan<'_>) -> Vec<(&'m Vec<u8>, &'m [u8])> {
    let floor = match scan.lower {
        Bound::Included(key) | Bound::Excluded(key) if scan.floor_start => {
            table.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back().map(|(key, _)| key)
        }
        _ => None,
    };
    let above = |key: &[u8]| match scan.lower {
        Bound::Included(lower) => key >= lower,
        Bound::Excluded(lower) => key > lower,
        Bound::Unbounded => true,
    };
    let below = |key: &[u8]| match scan.upper {
        Bound::Included(upper) => key <= upper,
        Bound::Excluded(upper) => key < upper,
        Bound::Unbounded => true,
    };
    let inside = |key: &&Vec<u8>| (above(key) || Some(*key) == floor) && below(key);
    let pairs = table.iter().filter(|(key, _)| inside(key)).map(|(key, value)| (key, &value[..]));
    if scan.backward { pairs.rev().collect() } else { pairs.collect() }
}
