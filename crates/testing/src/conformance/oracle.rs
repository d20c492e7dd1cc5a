//! The expected answer to a request.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::{Bound, RangeInclusive};
use std::sync::Arc;

use honeycomb_accelerator::{RangeForm, RangeFunction, RangeTerm, Read, Rejected, Request, Status};
use honeycomb_btree::{Scan, Version};
use honeycomb_hashtable::{BuiltIn, Condition, Element, Error, Fold, Functions};
use honeycomb_layout::{RANK_BYTES_MAX, RANK_PAIRS_MAX};

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
        if let Read::Unordered(_) = request.read {
            return world.unordered.error_of(request.identifier, answer);
        }
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
            Read::Scan { scan, bytes_max } => {
                error_of_pairs(&expected_scan(table, scan, *bytes_max as usize), answer)
            }
            Read::Function(function) => error_of_function(world, table, function, answer),
            Read::Unordered(_) => None,
        }
    }

    /// Returns the possible rejections; empty if the request must succeed.
    fn rejections(&self, world: &World) -> Vec<Status> {
        let request = match &self.request {
            Ok(request) => request,
            Err(rejected) => return vec![rejected.status],
        };
        if let Read::Unordered(_) = request.read {
            return if world.accelerator.executes_unordered() { vec![] } else { vec![Status::UnknownOpcode] };
        }
        let is_pinned = request.version.is_none_or(|version| world.pinned.contains_key(&version));
        let is_known = world.roots.contains_key(&request.table);
        let mut reasons = vec![(!is_pinned, Status::VersionNotPinned), (!is_known, Status::UnknownTable)];
        if let Read::Function(function) = &request.read {
            let is_invalid = Evaluation::new(&world.functions, function).is_err();
            reasons.push((!world.executes_functions(), Status::UnknownOpcode));
            reasons.push((is_invalid, Status::InvalidFunction));
        }
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

/// Compares the pairs of an answer, and its flag `more`.
fn error_of_pairs((pairs, more): &(Expected<'_>, bool), answer: &Answer) -> Option<String> {
    if answer.status != Some(Status::Found) || answer.pair_version != 0 || !answer.value.is_empty() {
        return Some("expected pairs, or an empty scan".into());
    }
    if let Some(at) = first_difference(pairs, &answer.pairs) {
        let count = pairs.len();
        return Some(format!("expected {count} pairs, and {:?} at index {at}", pairs.get(at)));
    }
    (answer.more != *more).then(|| format!("expected the flag `more` to be {more}"))
}

/// The terms of a function. The crate of the functions tests these beside plain loops.
struct Evaluation<'f> {
    conditions: Vec<Condition<'f>>,
    fold: Option<Fold<'f>>,
    /// The type of the elements of a ranking.
    element: Option<Element>,
}

impl<'f> Evaluation<'f> {
    fn new(functions: &'f Functions, function: &RangeFunction<'_>) -> Result<Self, Error> {
        let condition =
            |it: RangeTerm<'_>| Condition::new(functions, it.function(), it.operands(), it.offset());
        let conditions = function.conditions.iter().map(condition).collect::<Result<_, _>>()?;
        let fold = match &function.form {
            RangeForm::Reduce(it) => Some(Fold::new(functions, it.function(), it.operands(), it.offset())?),
            RangeForm::Count | RangeForm::Filter { .. } | RangeForm::Rank { .. } => None,
        };
        let element = match &function.form {
            RangeForm::Rank { element, .. } => Some(Element::of_maximum(element.function())?),
            _ => None,
        };
        Ok(Self { conditions, fold, element })
    }
}

fn error_of_function(
    world: &World,
    table: &TableState,
    function: &RangeFunction<'_>,
    answer: &Answer,
) -> Option<String> {
    let Evaluation { conditions, fold, element } = Evaluation::new(&world.functions, function).ok()?;
    let scan = Scan { lower: function.lower, upper: function.upper, ..Scan::default() };
    let mut passing = in_range(table, &scan);
    passing.retain(|(_, value)| conditions.iter().all(|condition| condition.matches(value)));
    let value = match (function.form, fold) {
        (RangeForm::Filter { pairs_max, bytes_max }, _) => {
            return error_of_pairs(&within(passing, pairs_max as usize, bytes_max as usize), answer);
        }
        (RangeForm::Rank { element: term, pairs_max, bytes_max }, _) => {
            let limits = (pairs_max as usize, bytes_max as usize);
            return error_of_pairs(&ranked(passing, (element?, term.offset()), limits), answer);
        }
        (RangeForm::Reduce(term), _) if is_rounded(term.function()) => answer.value.clone(),
        (_, Some(mut fold)) => {
            fold.add(passing.iter().map(|(_, value)| *value));
            fold.into_result()
        }
        _ => (passing.len() as u64).to_le_bytes().to_vec(),
    };
    let is_equal = answer.status == Some(Status::Found) && answer.value == value;
    let is_value = answer.pairs.is_empty() && answer.pair_version == 0 && !answer.more;
    (!(is_equal && is_value)).then(|| format!("expected the result {value:?}, not {:?}", answer.value))
}

/// Whether a function is of floating-point numbers: their sums depend on the quanta.
fn is_rounded(function: u32) -> bool {
    let floats = [Element::F32, Element::F64];
    floats.iter().any(|&element| BuiltIn::ALL.iter().any(|it| it.number(element) == function))
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
    let mut range = in_range(table, scan);
    if scan.keys_only {
        range.iter_mut().for_each(|(_, value)| *value = &[]);
    }
    within(range, scan.limit, bytes_max)
}

/// Returns the first pairs, and whether a limit omits others.
fn within<'m>(
    pairs: Vec<(&'m Vec<u8>, &'m [u8])>,
    pairs_max: usize,
    bytes_max: usize,
) -> (Expected<'m>, bool) {
    let mut all = pairs.into_iter();
    let (mut pairs, mut bytes) = (Vec::new(), 0);
    while pairs.len() < pairs_max && bytes < bytes_max {
        let Some((key, value)) = all.next() else { break };
        bytes += key.len() + value.len();
        pairs.push((key.clone(), value));
    }
    (pairs, all.next().is_some())
}

/// Returns the first pairs in the order of the elements at an offset, and whether limits omit others.
fn ranked<'m>(
    mut pairs: Vec<(&'m Vec<u8>, &'m [u8])>,
    (element, offset): (Element, usize),
    (pairs_max, bytes_max): (usize, usize),
) -> (Expected<'m>, bool) {
    pairs.retain(|(_, value)| element.rank(value, offset).is_some());
    pairs.sort_by_key(|(_, value)| Reverse(element.rank(value, offset)));
    let (mut count, mut bytes) = (0, 0);
    while count < pairs.len().min(pairs_max).min(RANK_PAIRS_MAX) {
        bytes += pairs[count].0.len() + pairs[count].1.len();
        if count > 0 && bytes > bytes_max.min(RANK_BYTES_MAX) {
            break;
        }
        count += 1;
    }
    let is_limited = count < pairs.len();
    (pairs[..count].iter().map(|(key, value)| ((*key).clone(), *value)).collect(), is_limited)
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
