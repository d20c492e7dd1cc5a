//! A walk through a range as a task: one page per slice, all of one version.

use std::ops::ControlFlow;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::Snapshot;

use crate::commands::range::{Origin, Walk};
use crate::context::Context;
use crate::failure::Failure;
use crate::task::progress::Progress;

/// A walk and the receiver of its pairs.
pub(crate) struct Walking {
    walk: Walk,
    /// The walk at its start.
    start: Walk,
    sink: Box<dyn Sink>,
    snapshot: Option<Snapshot>,
    /// Whether the client has named the snapshot.
    is_named: bool,
    /// Start time in milliseconds since 1970. The walk skips pairs that had expired by then.
    now: u64,
    began: bool,
}

/// Receives the pairs of a walk.
pub(crate) trait Sink: Send {
    /// Begins the reply, also after a restart.
    fn begin(&mut self, _: &mut Replies) {}

    /// Receives the next pair. Breaks to stop the walk.
    fn visit(&mut self, key: &[u8], data: &[u8], replies: &mut Replies) -> ControlFlow<()>;

    /// Ends the reply. `more` is true if the range has more pairs than the limit of the walk.
    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<(), Failure>;
}

impl Walking {
    /// Returns a walk at the current version.
    pub(crate) fn new(walk: Walk, sink: impl Sink + 'static, context: &Context<'_>) -> Self {
        let (start, sink, now) = (walk.rest(), Box::new(sink), context.now);
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
        let Self { walk, sink, now, .. } = self;
        walk.single_page(*now, |key, data| sink.visit(key, data, context.replies))
    }

    fn page(&mut self, context: &mut Context<'_>) -> Result<Option<bool>, Failure> {
        let Self { walk, sink, snapshot, now, .. } = self;
        let Context { shared, replies, transaction, .. } = context;
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
        self.sink.end(more, context)?;
        Ok(Progress::Done)
    }
}
