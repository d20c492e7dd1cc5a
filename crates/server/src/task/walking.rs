//! A walk through a range as a task: one page per slice, all of one version.

use std::ops::ControlFlow;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::Snapshot;

use crate::commands::range::{Origin, Walk};
use crate::context::Context;
use crate::failure::Failure;
use crate::task::progress::Progress;
use crate::task::table_walk::TableWalk;

/// A walk and the receiver of its pairs.
pub(crate) struct Walking {
    walk: Course,
    /// The walk at its start.
    start: Course,
    sink: Box<dyn Sink>,
    snapshot: Option<Snapshot>,
    /// Whether the client has named the snapshot.
    is_named: bool,
    /// Start time in milliseconds since 1970. The walk skips pairs that had expired by then.
    now: u64,
    began: bool,
}

/// The walk through a range of an ordered table, or through an unordered table.
enum Course {
    Range(Walk),
    Table(TableWalk),
}

/// Receives the pairs of a walk.
pub(crate) trait Sink: Send {
    /// Begins the reply, also after a restart.
    fn begin(&mut self, _: &mut Replies) {}

    /// Receives the next pair. Breaks to stop the walk. A walk through an unordered table passes no data.
    fn visit(&mut self, key: &[u8], data: &[u8], replies: &mut Replies) -> ControlFlow<()>;

    /// Returns the bytes of memory in use.
    fn memory_bytes(&self) -> usize;

    /// Receives the cursor at which a walk through an unordered table ends, before the end of the reply.
    fn end_at(&mut self, _cursor: u64) {}

    /// Ends the reply. `more` is true if the range has more pairs than the limit of the walk.
    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<(), Failure>;
}

impl Walking {
    /// Returns a walk at the current version.
    pub(crate) fn new(walk: Walk, sink: impl Sink + 'static, context: &Context<'_>) -> Self {
        Self::of_course(Course::Range(walk), Box::new(sink), context)
    }

    /// Returns a walk through an unordered table.
    pub(crate) fn through(walk: TableWalk, sink: impl Sink + 'static, context: &Context<'_>) -> Self {
        Self::of_course(Course::Table(walk), Box::new(sink), context)
    }

    fn of_course(walk: Course, sink: Box<dyn Sink>, context: &Context<'_>) -> Self {
        let (start, now) = (walk.rest(), context.now);
        Self { walk, start, sink, snapshot: None, is_named: false, now, began: false }
    }

    /// Returns the same walk at the version of a snapshot.
    pub(crate) fn of(self, snapshot: Option<Snapshot>) -> Self {
        Self { is_named: snapshot.is_some(), snapshot, ..self }
    }

    /// Restarts after the snapshot was lost. Returns false if the client has named the snapshot, because the
    /// walk cannot choose another one.
    pub(super) fn restart(&mut self) -> bool {
        self.walk = self.start.rest();
        self.snapshot = None;
        self.began = false;
        !self.is_named
    }

    /// Returns the bytes of memory in use.
    pub(super) fn memory_bytes(&self) -> usize {
        let courses = self.walk.memory_bytes() + self.start.memory_bytes();
        size_of::<Self>() + courses + self.sink.memory_bytes()
    }

    pub(super) fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        if !std::mem::replace(&mut self.began, true) {
            self.sink.begin(context.replies);
            if let Some(more) = self.single_page(context)? {
                return self.end(more, context);
            }
        }
        match self.page(context)? {
            Some(more) => self.end(more, context),
            None if context.replies.exceed_limit() => Ok(Progress::Done),
            None => Ok(Progress::More),
        }
    }

    /// Reads a short range without a snapshot if the walk may choose its version.
    fn single_page(&mut self, context: &mut Context<'_>) -> Result<Option<bool>, Failure> {
        if self.snapshot.is_some() || context.transaction.is_some() {
            return Ok(None);
        }
        let Self { walk: Course::Range(walk), sink, now, .. } = self else { return Ok(None) };
        walk.single_page(*now, |key, data| sink.visit(key, data, context.replies))
    }

    fn page(&mut self, context: &mut Context<'_>) -> Result<Option<bool>, Failure> {
        let Self { walk, sink, snapshot, now, .. } = self;
        let Context { shared, replies, transaction, .. } = context;
        let walk = match walk {
            Course::Range(walk) => walk,
            Course::Table(walk) => {
                return walk.page(*now, transaction.as_deref_mut(), |key| {
                    let flow = sink.visit(key, &[], replies);
                    if replies.exceed_limit() { ControlFlow::Break(()) } else { flow }
                });
            }
        };
        let mut origin = match (&*snapshot, transaction.as_deref_mut()) {
            (None, Some(transaction)) => Origin::Transaction(transaction),
            (None, None) => Origin::Snapshot(snapshot.insert(shared.store.snapshot()?)),
            (Some(snapshot), _) => Origin::Snapshot(snapshot),
        };
        walk.page(&mut origin, *now, |key, data| {
            let flow = sink.visit(key, data, replies);
            if replies.exceed_limit() { ControlFlow::Break(()) } else { flow }
        })
    }

    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<Progress, Failure> {
        self.snapshot = None;
        if let Course::Table(walk) = &self.walk {
            self.sink.end_at(walk.cursor());
        }
        self.sink.end(more, context)?;
        Ok(Progress::Done)
    }
}

impl Course {
    /// Returns a new walk through the rest.
    fn rest(&self) -> Self {
        match self {
            Self::Range(walk) => Self::Range(walk.rest()),
            Self::Table(walk) => Self::Table(walk.rest()),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Range(walk) => walk.memory_bytes(),
            Self::Table(walk) => walk.memory_bytes(),
        }
    }
}
