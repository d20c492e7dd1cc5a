//! `EXEC`: executes the commands since `MULTI`, several per slice, with one commit at the end.
//!
//! If a pair that the commands have read has changed, they execute again. After [`CONFLICTS_MAX`] conflicts
//! they execute without interruption, so that a long transaction completes in spite of many short ones. If
//! that takes too long, the rest executes on the background thread.
//!
//! A transaction that reads or writes much continues on the background thread, and commits there. Only
//! commands that access the server or the connection execute on the core in any case. If a command exceeds
//! its budget, the transaction restarts, because the command may have written some of its pairs.
//!
//! A command that accesses the server or the connection takes effect at once, also if the transaction has a
//! conflict later. So it executes only once, and the transaction repeats its reply.

use std::collections::BTreeMap;
use std::time::Duration;

use honeycomb_protocol::resp::RequestBuffer;

use crate::budget::Budget;
use crate::command::{Command, CommandForm, CommandRef};
use crate::commands::by_number;
use crate::commands::range::{Origin, Walk};
use crate::commands::watch;
use crate::context::Context;
use crate::databases::is_exclusive;
use crate::digest::RangeDigest;
use crate::envelope::Envelope;
use crate::failure::Failure;
use crate::session::{Queue, Watched};
use crate::task::progress::Progress;
use crate::task::{Work, start};
use crate::transaction::OptimisticTransaction;

/// The budget of a slice. A command costs 1, and more if its reply is long.
const SLICE: usize = 256;
/// Bytes of replies that cost as much as a command.
const BYTES_EACH: usize = 256;
/// Maximum duration of a slice, whatever its cost.
const SLICE_TIME: Duration = Duration::from_micros(100);
/// Conflicts after which a transaction executes without interruption.
const CONFLICTS_MAX: u32 = 2;

/// The same for a transaction that executes without interruption.
const UNINTERRUPTED_TIME: Duration = Duration::from_millis(2);
/// Time after which other tasks in the background come first, unless all cores wait for the transaction.
const BACKGROUND_TIME: Duration = Duration::from_millis(20);

/// Commands of the form `Serve` that send messages at the commit, or select a table. They execute again after
/// a conflict.
const PART_OF_TRANSACTION: [&str; 2] = ["publish", "select"];

/// A transaction in progress.
pub(crate) struct Exec {
    queue: Queue,
    watched: Watched,
    transaction: OptimisticTransaction,
    /// The table that was selected at the start.
    database: usize,
    /// The number of table swaps at the start. A later swap restarts the transaction.
    swap_count: usize,
    now: u64,
    stage: Stage,
    /// The replies of commands that must not execute again, by their positions in the queue.
    replied: BTreeMap<usize, Vec<u8>>,
    conflicts: u32,
    /// The budget of each command.
    budget: Budget,
    /// Whether the rest executes on the background thread.
    is_long: bool,
}

/// The next step.
enum Stage {
    /// Start or restart.
    Begin,
    /// Compare a watched range.
    Watch { range: usize, walk: Box<Walk>, digest: RangeDigest },
    /// Execute a command, which may be in progress.
    Execute { next: usize, begun: Option<Begun> },
}

/// A command that takes more than a slice, and the offset of its reply.
struct Begun {
    work: Work,
    before: usize,
}

impl Exec {
    /// Returns the transaction of the queued commands of a client.
    pub(crate) fn begin(context: &mut Context<'_>) -> Result<Self, Failure> {
        let queue = context.session.queue.take().ok_or_else(|| Failure::other("EXEC without MULTI"))?;
        let watched = std::mem::take(&mut context.session.watched);
        if queue.aborted {
            return Err(Failure::Aborted);
        }
        Ok(Self {
            queue,
            watched,
            transaction: OptimisticTransaction::default(),
            database: context.session.database,
            swap_count: 0,
            now: context.now,
            stage: Stage::Begin,
            replied: BTreeMap::new(),
            conflicts: 0,
            budget: Budget::CORE,
            is_long: false,
        })
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let replied = self.replied.values().map(Vec::len).sum::<usize>();
        self.queue.memory_bytes() + self.watched.memory_bytes() + self.transaction.memory_bytes() + replied
    }

    /// Returns the bytes of its memory that are charged.
    pub(super) fn charged_bytes(&self) -> usize {
        self.watched.memory_bytes()
    }

    /// Frees the memory of a completed transaction.
    pub(super) fn clear(&mut self) {
        (self.queue, self.watched) = (Queue::default(), Watched::default());
        self.replied.clear();
        self.transaction = OptimisticTransaction::default();
    }

    /// Removes the buffers of the queued commands.
    pub(super) fn take_requests(&mut self) -> Vec<RequestBuffer> {
        std::mem::take(&mut self.queue).into_requests().collect()
    }

    /// Executes the transaction on the background thread, until it completes, has a conflict, needs its core,
    /// or has executed for a while. Stops if `goes_on`, which receives the bytes of memory in use, returns
    /// false.
    pub(super) fn run(
        &mut self,
        context: &mut Context<'_>,
        goes_on: impl Fn(usize) -> bool,
    ) -> Result<Progress, Failure> {
        self.budget = Budget::UNLIMITED;
        let (conflicts, time) = (self.conflicts, &*context.shared.time);
        let until = time.instant() + BACKGROUND_TIME;
        while goes_on(self.memory_bytes() + context.replies.capacity()) {
            if self.needs_core() {
                return Ok(Progress::More);
            }
            if self.must_be_exclusive() && !is_exclusive() {
                return Ok(Progress::Exclusive);
            }
            match self.advance(context)? {
                Progress::More if context.replies.exceed_limit() => return Ok(Progress::Done),
                Progress::More if self.conflicts > conflicts => return Ok(Progress::Background),
                Progress::More if !is_exclusive() && time.instant() >= until => {
                    return Ok(Progress::Background);
                }
                Progress::More => {}
                other => return Ok(other),
            }
        }
        Ok(Progress::Done)
    }

    /// Returns whether all cores must wait for the next step: after many conflicts, and for a commit that
    /// swaps tables.
    fn must_be_exclusive(&self) -> bool {
        let swaps = self.is_at_commit() && !self.transaction.swaps.is_empty();
        swaps || self.conflicts >= super::CONFLICTS_MAX
    }

    /// Returns whether all commands have executed.
    fn is_at_commit(&self) -> bool {
        matches!(self.stage, Stage::Execute { next, .. } if next == self.queue.len())
    }

    /// Returns whether the next command may change state that only the core may access.
    fn needs_core(&self) -> bool {
        let Stage::Execute { next, .. } = &self.stage else { return false };
        self.queue
            .command(*next)
            .map(by_number)
            .is_some_and(|command| matches!(command.form, CommandForm::Serve(_)))
    }

    /// Executes a slice on the core.
    pub(super) fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        self.budget = Budget::CORE;
        let is_sliced = self.conflicts < CONFLICTS_MAX;
        let mut budget = if is_sliced { SLICE } else { usize::MAX };
        let time = &*context.shared.time;
        let until = time.instant() + if is_sliced { SLICE_TIME } else { UNINTERRUPTED_TIME };
        while budget > 0 {
            self.is_long |= self.has_grown_long();
            if self.is_long && !self.needs_core() {
                return Ok(Progress::Background);
            }
            let before = context.replies.len();
            let progress = match self.advance(context) {
                Err(Failure::Long) => self.move_away(context),
                progress => progress?,
            };
            match progress {
                Progress::More if context.replies.exceed_limit() => return Ok(Progress::Done),
                Progress::More if is_sliced && self.is_within_long_work() => break,
                Progress::More if time.instant() >= until => {
                    self.is_long |= !is_sliced;
                    break;
                }
                Progress::More => {}
                other => return Ok(other),
            }
            let bytes = context.replies.len().saturating_sub(before);
            budget = budget.saturating_sub(1 + bytes / BYTES_EACH);
        }
        Ok(Progress::More)
    }

    /// Returns whether the rest of the transaction would delay the other clients of the core.
    fn has_grown_long(&self) -> bool {
        if self.is_at_commit() { self.transaction.has_long_commit() } else { self.transaction.is_long() }
    }

    /// Restarts on the background thread.
    fn move_away(&mut self, context: &mut Context<'_>) -> Progress {
        self.is_long = true;
        self.restart(context);
        Progress::Background
    }

    /// Returns whether a range or a long value is in progress. Each of its pages or parts is a slice.
    fn is_within_long_work(&self) -> bool {
        matches!(self.stage, Stage::Watch { .. } | Stage::Execute { begun: Some(_), .. })
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        match &self.stage {
            Stage::Begin => self.compare_pairs(context),
            Stage::Watch { .. } => self.compare_range(context),
            Stage::Execute { next, .. } if *next < self.queue.len() => self.execute_next(context),
            Stage::Execute { .. } => self.commit(context),
        }
    }

    /// Starts the transaction, or aborts it if a watched pair has changed.
    fn compare_pairs(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        // A snapshot does not have the pairs of unordered tables.
        let reads_snapshot = !context.shared.databases.has_unordered()
            && self.queue.commands().map(by_number).all(|command| command.only_reads());
        self.transaction = match reads_snapshot {
            true => OptimisticTransaction::reading(context.shared.store.snapshot()?),
            false => OptimisticTransaction::new(context.shared.config().transaction_bytes_max()),
        };
        self.transaction.begin_command(self.budget);
        self.now = context.now;
        self.swap_count = context.shared.databases.swap_count();
        for watched in &self.watched.pairs {
            let table = context.shared.table(watched.database);
            let stored = self.transaction.get(table, &watched.key)?;
            if stored.filter(|value| !Envelope::has_expired(value, self.now)) != watched.seen.as_deref() {
                return Ok(Self::abort(context));
            }
        }
        self.watch_next(0, context)
    }

    fn watch_next(&mut self, range: usize, context: &mut Context<'_>) -> Result<Progress, Failure> {
        self.stage = match self.watched.ranges.get(range) {
            Some(watched) => {
                let (walk, digest) = (
                    Box::new(watch::walk(watched, &context.shared.databases)?),
                    context.shared.digests.begin(),
                );
                Stage::Watch { range, walk, digest }
            }
            None => {
                context.replies.array(self.queue.len());
                Stage::Execute { next: 0, begun: None }
            }
        };
        Ok(Progress::More)
    }

    /// Reads a page of a watched range. The transaction records it, so the commit fails if the range changes
    /// later.
    fn compare_range(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let Stage::Watch { range, walk, digest } = &mut self.stage else { return Ok(Progress::More) };
        let range = *range;
        let origin = &mut Origin::Transaction(&mut self.transaction);
        if walk.page(origin, self.now, |key, data| digest.add(key, data))?.is_none() {
            return Ok(Progress::More);
        }
        let is_same = self.watched.ranges.get(range).map(|range| range.digest) == Some(digest.end());
        if is_same { self.watch_next(range + 1, context) } else { Ok(Self::abort(context)) }
    }

    /// Executes the next command or continues it. A command that fails replies its error, and the others
    /// execute.
    fn execute_next(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let Stage::Execute { next, begun } = &mut self.stage else { return Ok(Progress::More) };
        let Some(named) = self.queue.command(*next).map(by_number) else { return Ok(Progress::More) };
        if executes_once(&named) {
            let at = *next;
            *next += 1;
            self.execute_once(context, named, at);
            return Ok(Progress::More);
        }
        let (found, arguments) = self.queue.request(*next);
        let is_serve = matches!(named.form, CommandForm::Serve(_));
        let (now, budget) = (self.now, if is_serve { Budget::UNLIMITED } else { self.budget });
        self.transaction.begin_command(budget);
        self.transaction.begin_events(context.shared, &arguments[0]);
        let Context { shared, session, replies, .. } = context;
        let before = begun.as_ref().map_or(replies.len(), |begun| begun.before);
        let transaction = Some(&mut self.transaction);
        let mut inner = Context { shared, session, replies, transaction, now, budget };
        let begun_work = begun.take().map(|begun| begun.work);
        let work = match begun_work
            .map_or_else(|| start(&mut inner, named, (found, &arguments)), |work| Ok(Some(work)))
        {
            Ok(None) => {
                *next += 1;
                return Ok(Progress::More);
            }
            Ok(Some(work)) => Ok(work),
            Err(failure) => Err(failure),
        };
        let stepped = work.and_then(|mut work| Ok((work.step(&mut inner, &arguments)?, work)));
        match stepped {
            Ok((Progress::Done, _)) => *next += 1,
            Ok((progress, work)) => {
                *begun = Some(Begun { work, before });
                return Ok(progress);
            }
            // The transaction restarts, or waits.
            Err(failure @ (Failure::SnapshotLost | Failure::NoSnapshot | Failure::Long)) => {
                return Err(failure);
            }
            Err(failure) => {
                failure.reply_after(before, context.replies);
                *next += 1;
            }
        }
        Ok(Progress::More)
    }

    /// Executes a command that takes effect at once, or repeats its reply if it has executed before a
    /// conflict.
    fn execute_once(&mut self, context: &mut Context<'_>, named: CommandRef, at: usize) {
        let Context { shared, session, replies, .. } = context;
        if !self.replied.contains_key(&at) {
            let (found, arguments) = self.queue.request(at);
            let (mut own, transaction) = (replies.new_alike(), Some(&mut self.transaction));
            let (now, budget) = (self.now, Budget::UNLIMITED);
            let mut inner = Context { shared, session, replies: &mut own, transaction, now, budget };
            if let Err(failure) = start(&mut inner, named, (found, &arguments)) {
                failure.reply_after(0, &mut own);
            }
            replies.set_version(own.version());
            self.replied.insert(at, own.to_vec());
        }
        replies.append_encoded(&self.replied[&at]);
    }

    /// Commits, or restarts the transaction if its reads are not valid any more.
    fn commit(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let (shared, transaction) = (context.shared, &self.transaction);
        let commit = || transaction.commit(shared);
        match shared.databases.commit(self.swap_count, &transaction.swaps, commit) {
            Ok(true) => Ok(Progress::Done),
            Ok(false) => {
                self.conflicts += 1;
                self.restart(context);
                Ok(Progress::More)
            }
            Err(failure) => {
                self.restart(context);
                Err(failure)
            }
        }
    }

    pub(super) fn restart(&mut self, context: &mut Context<'_>) {
        context.replies.truncate(0);
        context.session.database = self.database;
        self.transaction = OptimisticTransaction::default();
        self.stage = Stage::Begin;
    }

    fn abort(context: &mut Context<'_>) -> Progress {
        context.replies.null_array();
        Progress::Done
    }
}

/// Returns whether a command takes effect at once, although the transaction may have a conflict later.
fn executes_once(command: &Command) -> bool {
    matches!(command.form, CommandForm::Serve(_)) && !PART_OF_TRANSACTION.contains(&command.name)
}
