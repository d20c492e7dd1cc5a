//! What the answer to a request must be.

use std::collections::HashMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use honeycomb_accelerator::{Read, Rejected, Request, Status};
use honeycomb_btree::{Scan, Version};

use crate::conformance::answers::Answer;
use crate::conformance::world::{Model, World};

/// What was asked.
pub(super) struct SubmittedRequest<'q> {
    pub(super) request: Result<Request<'q>, Rejected>,
    /// The version that was visible when it was submitted.
    pub(super) since: Version,
}

impl SubmittedRequest<'_> {
    /// Takes the answer from those of its identifier. If requests share it, any of their answers may be
    /// this one's.
    pub(super) fn check(&self, world: &World, answers: &mut HashMap<u64, Vec<Answer>>) {
        let identifier = match &self.request {
            Ok(request) => request.identifier,
            Err(rejected) => rejected.identifier,
        };
        let answers = answers.entry(identifier).or_default();
        let right = answers.iter().position(|answer| self.objection(world, answer).is_none());
        let Some(right) = right else {
            let objection = answers.first().and_then(|answer| self.objection(world, answer));
            let asked = format!("{:?}, submitted at version {}", self.request, self.since);
            panic!("{asked}:\n{}\n{:?}", objection.unwrap_or("no answer".into()), answers.first());
        };
        answers.swap_remove(right);
    }

    /// What is wrong with an answer.
    fn objection(&self, world: &World, answer: &Answer) -> Option<String> {
        let refusals = self.refusals(world);
        if !refusals.is_empty() {
            let fine = answer.status.is_some_and(|status| refusals.contains(&status));
            return (!fine).then(|| format!("refused with one of {refusals:?}"));
        }
        let Ok(request) = &self.request else { return None };
        let versions = self.versions(world, request);
        if !versions.contains(&answer.read_version) {
            return Some(format!("read at {versions:?}"));
        }
        let Some(state) = world.noted.get(&answer.read_version) else {
            return Some(format!("read at one of {:?}", world.noted.keys()));
        };
        let nothing = Model::new();
        let model = state.get(&request.table).unwrap_or(&nothing);
        match &request.read {
            Read::Get(key) => object_to_get(world, request, model.get(*key), answer),
            Read::Scan { scan, bytes_max } => object_to_scan(model, scan, *bytes_max, answer),
        }
    }

    /// The refusals that are right; none if the request must not be refused.
    fn refusals(&self, world: &World) -> Vec<Status> {
        let request = match &self.request {
            Ok(request) => request,
            Err(rejected) => return vec![rejected.status],
        };
        let is_held = request.version.is_none_or(|version| world.held.contains_key(&version));
        let is_known = world.roots.contains_key(&request.table);
        let reasons = [(!is_held, Status::VersionNotHeld), (!is_known, Status::UnknownTable)];
        reasons.into_iter().filter_map(|(holds, status)| holds.then_some(status)).collect()
    }

    fn versions(&self, world: &World, request: &Request<'_>) -> RangeInclusive<Version> {
        match request.version {
            Some(version) => version..=version,
            None => self.since..=world.forest.read_version(),
        }
    }
}

fn object_to_get(
    world: &World,
    request: &Request<'_>,
    expected: Option<&Arc<[u8]>>,
    answer: &Answer,
) -> Option<String> {
    let status = if expected.is_some() { Status::Found } else { Status::Absent };
    let value = expected.map_or(&[][..], |value| value);
    let same = answer.status == Some(status) && answer.value == value && answer.pairs.is_empty();
    if !same || answer.more {
        return Some(format!("the value is {expected:?}"));
    }
    let version = pair_version(world, request, answer).unwrap_or(answer.pair_version);
    let fine = answer.pair_version == version && version <= answer.read_version;
    (!fine).then(|| format!("the version of the pair is {version}"))
}

/// The version of the pair that a get finds, if what it read is what is visible now.
fn pair_version(world: &World, request: &Request<'_>, answer: &Answer) -> Option<Version> {
    let Read::Get(key) = request.read else { return None };
    let reader = world.forest.reader();
    let found = reader.get(world.roots[&request.table], key).map(|found| found.version);
    (answer.read_version == reader.version()).then_some(found.unwrap_or(0))
}

fn object_to_scan(model: &Model, scan: &Scan<'_>, bytes_max: u32, answer: &Answer) -> Option<String> {
    let (pairs, more) = expected_scan(model, scan, bytes_max as usize);
    if answer.status != Some(Status::Found) || answer.pair_version != 0 || !answer.value.is_empty() {
        return Some("a scan finds pairs, if only none".into());
    }
    if let Some(at) = first_difference(&pairs, &answer.pairs) {
        let count = pairs.len();
        return Some(format!("there are {count} pairs, and {:?} at {at}", pairs.get(at)));
    }
    (answer.more != more).then(|| format!("that there are more is {more}"))
}

/// What a scan must emit.
type Expected<'m> = Vec<(Vec<u8>, &'m [u8])>;

fn first_difference(expected: &Expected<'_>, found: &[(Vec<u8>, Vec<u8>)]) -> Option<usize> {
    let same = |at: usize| expected[at].0 == found[at].0 && expected[at].1 == found[at].1;
    let shorter = expected.len().min(found.len());
    let differs = (0..shorter).find(|&at| !same(at));
    differs.or((expected.len() != found.len()).then_some(shorter))
}

/// The pairs that a scan emits, and whether a limit ends it.
fn expected_scan<'m>(model: &'m Model, scan: &Scan<'_>, bytes_max: usize) -> (Expected<'m>, bool) {
    let mut range = in_range(model, scan).into_iter();
    let (mut pairs, mut bytes) = (Vec::new(), 0);
    while pairs.len() < scan.limit && bytes < bytes_max {
        let Some((key, value)) = range.next() else { break };
        let value = if scan.keys_only { &[][..] } else { value };
        bytes += key.len() + value.len();
        pairs.push((key.clone(), value));
    }
    (pairs, range.next().is_some())
}

/// All pairs of a range, in the order of the scan.
fn in_range<'m>(model: &'m Model, scan: &Scan<'_>) -> Vec<(&'m Vec<u8>, &'m [u8])> {
    let floor = match scan.lower {
        Bound::Included(key) | Bound::Excluded(key) if scan.floor_start => {
            model.range::<[u8], _>((Bound::Unbounded, Bound::Included(key))).next_back().map(|(key, _)| key)
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
    let pairs = model.iter().filter(|(key, _)| inside(key)).map(|(key, value)| (key, &value[..]));
    if scan.backward { pairs.rev().collect() } else { pairs.collect() }
}
