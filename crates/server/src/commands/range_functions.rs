//! `RI.REDUCE`, `RI.FILTER`, `RI.TOP`, and `RI.COUNT` with conditions: functions on the elements of all
//! values of a range, in the scan.
//!
//! The functions and types are those of `KV.REDUCE` and `KV.FILTER`. The background thread executes the scan.

use std::ops::Bound;

use honeycomb_protocol::batch::RangeFunction;
use honeycomb_store::unordered::{Element, Functions};
use honeycomb_store::{PushDown, Table};

use crate::arguments::{Arguments, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::functions::{element, function_at, number, numbers, text};
use crate::commands::ordered::between;
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

/// Functions inside the scan of a range.
struct RangeFunctions {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    conditions: Vec<RangeCondition>,
    result: RangeResult,
}

/// The reply of a command.
enum RangeResult {
    /// The number of pairs.
    Count,
    /// The fold of the elements at an offset.
    Fold { element: Element, function: u32, initial: Vec<u8>, offset: usize },
    /// The first pairs.
    Pairs { count: usize },
    /// The pairs with the greatest elements at an offset.
    Top { count: usize, element: Element, offset: usize },
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
    RangeFunctions::parse(context, arguments, 3, RangeResult::Count).map(Some)
}

fn reduce_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (element, function) = function_at(context.shared.databases.functions(), arguments, 3)?;
    let initial = number(element, &arguments[5])?;
    let result = RangeResult::Fold { element, function, initial, offset: 0 };
    RangeFunctions::parse(context, arguments, 6, result)
}

fn filter_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let count = count(&arguments[3])?;
    RangeFunctions::parse(context, arguments, 4, RangeResult::Pairs { count })
}

fn top_of_range(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (count, element) = (count(&arguments[3])?, element(&arguments[4])?);
    RangeFunctions::parse(context, arguments, 5, RangeResult::Top { count, element, offset: 0 })
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
        let (range, table) = (between(arguments)?, context.ordered()?.clone());
        let owned = |bound: Bound<&[u8]>| bound.map(<[u8]>::to_vec);
        let (lower, upper, conditions) = (owned(range.lower), owned(range.upper), Vec::new());
        let mut parsed = Self { table, lower, upper, conditions, result };
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
                    self.conditions.push(RangeCondition { offset, function, operands });
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
        if self.conditions.len() < CONDITIONS_MAX {
            return Ok(());
        }
        Err(Failure::other(format!("too many conditions: at most {CONDITIONS_MAX} are allowed")))
    }

    fn set_offset(&mut self, new: usize) -> Result<(), Failure> {
        match &mut self.result {
            RangeResult::Fold { offset, .. } | RangeResult::Top { offset, .. } => *offset = new,
            RangeResult::Count | RangeResult::Pairs { .. } => return Err(Failure::Syntax),
        }
        Ok(())
    }

    /// The range with its conditions, as clients see it at a time.
    fn range<'s>(&'s self, now: u64, goes_on: &'s (dyn Fn() -> bool + Sync)) -> PushDown<'s> {
        let bounds = (self.lower.as_ref().map(Vec::as_slice), self.upper.as_ref().map(Vec::as_slice));
        let range = self.table.push_down::<[u8]>(bounds).bytes_max(REPLY_BYTES_MAX).seeing(AliveAt(now));
        let range = range.while_needed(goes_on);
        self.conditions.iter().fold(range, |range, RangeCondition { offset, function, operands }| {
            range.only(*offset, *function, operands)
        })
    }
}

impl Errand for RangeFunctions {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let away = context.session.away.clone();
        let goes_on = || away.as_ref().is_none_or(|away| !away.is_cancelled());
        let range = self.range(context.now, &goes_on);
        let pairs = match &self.result {
            RangeResult::Count => {
                context.replies.integer(range.count()? as i64);
                return Ok(Progress::Done);
            }
            RangeResult::Fold { element, function, initial, offset } => {
                let result = range.reduce(*offset, *function, initial)?;
                context.replies.bulk(text(*element, &result).as_bytes());
                return Ok(Progress::Done);
            }
            RangeResult::Pairs { count } => range.pairs(*count)?,
            RangeResult::Top { count, element, offset } => range.top(*count, *offset, *element)?,
        };
        context.replies.array(2 * pairs.len());
        for (key, value) in &pairs {
            context.replies.bulk(key);
            // The view of the range has opened it.
            context.replies.bulk(Envelope::open(value).map_or(&[][..], |envelope| envelope.data));
        }
        Ok(Progress::Done)
    }
}
