//! `RI.REDUCE`, `RI.FILTER`, `RI.TOP`, and `RI.COUNT` with conditions: functions on the elements of all
//! values of a range, in the scan.
//!
//! The functions and types are those of `KV.REDUCE` and `KV.FILTER`. The background thread executes the scan
//! page by page, all of one snapshot, and other commands between two pages.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use honeycomb_protocol::batch::RangeFunction;
use honeycomb_protocol::resp::Replies;
use honeycomb_store::unordered::{Element, Functions};
use honeycomb_store::{Error, FirstPairs, PushDown, Ranking, Snapshot, Table};

use crate::arguments::{Arguments, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::functions::{element, function_at, number, numbers, text};
use crate::commands::ordered::between;
use crate::config::RANGE_FUNCTIONS_MAX;
use crate::context::Context;
use crate::envelope::{AliveAt, Envelope};
use crate::failure::Failure;
use crate::task::errand::Errand;
use crate::task::progress::Progress;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "ri.filter",
        arity: -8,
        keys: Keys::None,
        form: CommandForm::Errand(filter_range),
        usage: "lower upper count WHERE offset type predicate [operand [operand ...]] \
            [WHERE offset type predicate [operand [operand ...]]] ...",
        summary: "Returns the first pairs between two bounds whose values satisfy all conditions, at one \
            version.",
    },
    Command {
        name: "ri.reduce",
        arity: -6,
        keys: Keys::None,
        form: CommandForm::Errand(reduce_range),
        usage: "lower upper type function initial [OFFSET offset] [WHERE offset type predicate [operand \
            [operand ...]]] ...",
        summary: "Folds the elements at an offset of all values between two bounds, at one version; returns \
            the result as text.",
    },
    Command {
        name: "ri.top",
        arity: -5,
        keys: Keys::None,
        form: CommandForm::Errand(top_of_range),
        usage: "lower upper count type [OFFSET offset] [WHERE offset type predicate [operand \
            [operand ...]]] ...",
        summary: "Returns the pairs between two bounds with the greatest elements at an offset of their \
            values, the greatest first, at one version.",
    },
];

/// Maximum number of pairs of a reply.
const PAIRS_MAX: usize = 1024;
/// Maximum number of conditions, as in datagrams.
const CONDITIONS_MAX: usize = RangeFunction::CONDITIONS_MAX;
/// Bytes of keys and values after which a reply ends, unless it has only one pair.
const REPLY_BYTES_MAX: usize = 1 << 20;

/// Duration of a step, approximately: it ends after the page in which this is over.
const STEP: Duration = Duration::from_millis(1);
/// Bytes of further pairs after which the core counts them.
const UNCOUNTED_BYTES_MAX: usize = 64 << 10;
/// Number of times that a scan starts again after the loss of its snapshot.
const RESTARTS_MAX: usize = 3;

/// A function inside the scan of a range.
struct RangeFunctions {
    range: Range,
    result: RangeResult,
    scan: Option<RangeScan>,
    restarts: usize,
    /// The memory that the core has counted.
    counted_bytes: usize,
}

/// A range with conditions.
struct Range {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    conditions: Vec<RangeCondition>,
    /// Time of the command in milliseconds since 1970. Pairs that had expired by then do not count.
    now: u64,
}

/// The result of the pairs so far.
enum RangeResult {
    /// The number of pairs.
    Count(u64),
    /// The fold of the elements at an offset.
    Fold { element: Element, function: u32, initial: Vec<u8>, offset: usize, folded: Vec<u8> },
    /// The first pairs.
    Pairs { count: usize, first: FirstPairs },
    /// The pairs with the greatest elements at an offset.
    Top { count: usize, element: Element, offset: usize, ranking: Ranking },
}

/// A scan in progress.
struct RangeScan {
    snapshot: Snapshot,
    /// The key after which the scan continues.
    last: Option<Vec<u8>>,
    /// The clone of [`ServerState::range_functions`](crate::server_state::ServerState::range_functions).
    _counted: Arc<()>,
}

/// A predicate of an element at an offset.
struct RangeCondition {
    offset: usize,
    function: u32,
    operands: Vec<u8>,
}

/// Begins `RI.COUNT` with conditions. Returns `None` if the arguments have none.
///
/// # Errors
/// A [`Failure`] within a transaction, as the other functions on ranges.
pub(super) fn count_range(
    context: &mut Context<'_>,
    arguments: &Arguments<'_>,
) -> Result<Option<Box<dyn Errand>>, Failure> {
    if !arguments.get(3).is_some_and(|word| is(word, "where")) {
        return Ok(None);
    }
    if context.transaction.is_some() {
        return Err(Failure::other("RI.COUNT with WHERE is not allowed inside a transaction"));
    }
    RangeFunctions::parse(context, arguments, 3, RangeResult::Count(0)).map(Some)
}

fn reduce_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (element, function) = function_at(context.shared.databases.functions(), arguments, 3)?;
    let initial = number(element, &arguments[5])?;
    let folded = initial.clone();
    let result = RangeResult::Fold { element, function, initial, offset: 0, folded };
    RangeFunctions::parse(context, arguments, 6, result)
}

fn filter_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let count = count(&arguments[3])?;
    let first = FirstPairs::new(count, REPLY_BYTES_MAX);
    RangeFunctions::parse(context, arguments, 4, RangeResult::Pairs { count, first })
}

fn top_of_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (count, element) = (count(&arguments[3])?, element(&arguments[4])?);
    let ranking = Ranking::new(count, REPLY_BYTES_MAX);
    RangeFunctions::parse(context, arguments, 5, RangeResult::Top { count, element, offset: 0, ranking })
}

/// Parses a number of pairs.
fn count(argument: &[u8]) -> Result<usize, Failure> {
    let count = usize::try_from(integer(argument)?).unwrap_or(0);
    if (1..=PAIRS_MAX).contains(&count) {
        return Ok(count);
    }
    Err(Failure::other(format!("invalid count: allowed are 1 to {PAIRS_MAX}")))
}

impl RangeFunctions {
    /// Parses the bounds, and the options from an argument on.
    fn parse(
        context: &mut Context<'_>,
        arguments: &Arguments<'_>,
        options: usize,
        result: RangeResult,
    ) -> Result<Box<dyn Errand>, Failure> {
        let (bounds, table) = (between(arguments)?, context.ordered()?.clone());
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        let (lower, upper, conditions) = (owned(bounds.lower), owned(bounds.upper), Vec::new());
        let range = Range { table, lower, upper, conditions, now: context.now };
        let mut parsed = Self { range, result, scan: None, restarts: 0, counted_bytes: 0 };
        parsed.parse_options(context.shared.databases.functions(), arguments, options)?;
        Ok(Box::new(parsed))
    }

    /// Parses `OFFSET offset` and `WHERE offset type predicate [operand [operand ...]]`.
    fn parse_options(
        &mut self,
        functions: &Functions,
        arguments: &Arguments<'_>,
        mut at: usize,
    ) -> Result<(), Failure> {
        let is_word = |at: usize| ["offset", "where"].iter().any(|word| is(&arguments[at], word));
        while at < arguments.len() {
            let end = (at + 1..arguments.len()).find(|at| is_word(*at)).unwrap_or(arguments.len());
            let offset = arguments.get(at + 1).filter(|_| at + 1 < end).ok_or(Failure::Syntax)?;
            let offset = usize::try_from(integer(offset)?).map_err(|_| Failure::NotInteger)?;
            match &arguments[at] {
                word if is(word, "offset") && end == at + 2 => self.set_offset(offset)?,
                word if is(word, "where") && end >= at + 4 => {
                    self.check_room()?;
                    let (element, function) = function_at(functions, arguments, at + 2)?;
                    let operands = numbers(element, &arguments.part(at + 4..end))?;
                    self.range.conditions.push(RangeCondition { offset, function, operands });
                }
                _ => return Err(Failure::Syntax),
            }
            at = end;
        }
        Ok(())
    }

    /// Returns an error if another condition is not allowed: every pair of the range is compared with each of
    /// them.
    fn check_room(&self) -> Result<(), Failure> {
        if self.range.conditions.len() < CONDITIONS_MAX {
            return Ok(());
        }
        Err(Failure::other(format!("too many conditions: at most {CONDITIONS_MAX} are allowed")))
    }

    fn set_offset(&mut self, new: usize) -> Result<(), Failure> {
        match &mut self.result {
            RangeResult::Fold { offset, .. } | RangeResult::Top { offset, .. } => *offset = new,
            RangeResult::Count(_) | RangeResult::Pairs { .. } => return Err(Failure::Syntax),
        }
        Ok(())
    }
}

impl Errand for RangeFunctions {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let Self { range, result, scan, .. } = self;
        let scan = match scan {
            Some(scan) => scan,
            // Only this thread begins scans, so no other one begins meanwhile.
            None if Arc::strong_count(&context.shared.range_functions) > RANGE_FUNCTIONS_MAX => {
                return Ok(Progress::Wait);
            }
            None => scan.insert(RangeScan::new(range, &context.shared.range_functions)?),
        };
        if scan.continues(range, result, context)? {
            return Ok(self.next_step());
        }
        result.reply(context.replies);
        Ok(Progress::Done)
    }

    fn restart(&mut self) -> bool {
        self.restarts += 1;
        (self.scan, self.counted_bytes) = (None, 0);
        self.result.restart();
        self.restarts <= RESTARTS_MAX
    }

    fn memory_bytes(&self) -> usize {
        let last = self.scan.as_ref().and_then(|scan| scan.last.as_ref());
        size_of::<Self>() + last.map_or(0, Vec::len) + self.result.memory_bytes()
    }
}

impl RangeFunctions {
    /// The core counts the memory of a task that returns to it.
    fn next_step(&mut self) -> Progress {
        let bytes = self.memory_bytes();
        if bytes < self.counted_bytes + UNCOUNTED_BYTES_MAX {
            return Progress::Background;
        }
        self.counted_bytes = bytes;
        Progress::More
    }
}

impl Range {
    /// Returns the rest of the range after a key, with its conditions, at the version of a snapshot.
    fn after(&self, last: Option<&[u8]>, snapshot: &Snapshot) -> PushDown<'_> {
        let lower = last.map_or(self.lower.as_ref().map(Vec::as_slice), Bound::Excluded);
        let upper = self.upper.as_ref().map(Vec::as_slice);
        let rest = self.table.push_down::<[u8]>((lower, upper)).at(snapshot).seeing(AliveAt(self.now));
        self.conditions.iter().fold(rest, |rest, RangeCondition { offset, function, operands }| {
            rest.only(*offset, *function, operands)
        })
    }
}

impl RangeScan {
    /// Takes a snapshot.
    fn new(range: &Range, count: &Arc<()>) -> Result<Self, Error> {
        Ok(Self { snapshot: range.table.snapshot()?, last: None, _counted: count.clone() })
    }

    /// Adds pages to the result for the duration of a step. Returns whether there are more.
    fn continues(
        &mut self,
        range: &Range,
        result: &mut RangeResult,
        context: &Context<'_>,
    ) -> Result<bool, Error> {
        self.snapshot.renew()?;
        let time = &context.shared.time;
        let began = time.instant();
        loop {
            self.last = result.add_page(&range.after(self.last.as_deref(), &self.snapshot))?;
            let is_over = time.instant().saturating_duration_since(began) >= STEP;
            if is_over || self.last.is_none() {
                return Ok(self.last.is_some());
            }
        }
    }
}

impl RangeResult {
    /// Adds the pairs of the first page of a range. Returns the key after which the scan continues; `None` if
    /// the result is complete.
    fn add_page(&mut self, range: &PushDown<'_>) -> Result<Option<Vec<u8>>, Error> {
        match self {
            Self::Count(count) => {
                let part = range.count_part(1)?;
                *count += part.result;
                Ok(part.last)
            }
            Self::Fold { function, offset, folded, .. } => {
                let part = range.reduce_part(1, *offset, *function, folded)?;
                *folded = part.result;
                Ok(part.last)
            }
            Self::Pairs { first, .. } => {
                let last = range.first_part(1, first)?;
                Ok(last.filter(|_| !first.is_full()))
            }
            Self::Top { element, offset, ranking, .. } => range.rank_part(1, *offset, *element, ranking),
        }
    }

    /// Forgets all pairs.
    fn restart(&mut self) {
        match self {
            Self::Count(count) => *count = 0,
            Self::Fold { initial, folded, .. } => folded.clone_from(initial),
            Self::Pairs { count, first } => *first = FirstPairs::new(*count, REPLY_BYTES_MAX),
            Self::Top { count, ranking, .. } => *ranking = Ranking::new(*count, REPLY_BYTES_MAX),
        }
    }

    fn reply(&mut self, replies: &mut Replies) {
        let pairs = match self {
            Self::Count(count) => return replies.integer(*count as i64),
            Self::Fold { element, folded, .. } => return replies.bulk(text(*element, folded).as_bytes()),
            Self::Pairs { first, .. } => first.take_pairs(),
            Self::Top { ranking, .. } => ranking.take_pairs(),
        };
        replies.array(2 * pairs.len());
        for (key, value) in &pairs {
            replies.bulk(key);
            // The view of the range has opened it.
            replies.bulk(Envelope::open(value).map_or(&[][..], |envelope| envelope.data));
        }
    }

    /// Returns the bytes of the pairs that it keeps.
    fn memory_bytes(&self) -> usize {
        match self {
            Self::Count(_) | Self::Fold { .. } => 0,
            Self::Pairs { first, .. } => first.bytes(),
            Self::Top { ranking, .. } => ranking.bytes(),
        }
    }
}
