//! A walk through a range as a task: a page a slice, all of one version.

use std::ops::ControlFlow;

use honeycomb_protocol::resp::Replies;
use honeycomb_store::Snapshot;

use crate::commands::range::{Origin, Walk};
use crate::context::Context;
use crate::failure::Failure;
use crate::task::progress::Progress;

/// A walk, and what becomes of its pairs.
pub(crate) struct Walking {
    walk: Walk,
    /// The walk as it began.
    start: Walk,
    sink: Box<dyn Sink>,
    snapshot: Option<Snapshot>,
    /// Whether the client has named the snapshot.
    is_named: bool,
    /// Milliseconds since 1970 when it began: pairs that have expired by then are passed over.
    now: u64,
    began: bool,
}

/// Takes the pairs of a walk.
pub(crate) trait Sink: Send {
    /// Begins the reply, or begins it again.
    fn begin(&mut self, _: &mut Replies) {}

    /// Takes the next pair, and says whether to go on.
    fn take(&mut self, key: &[u8], data: &[u8], replies: &mut Replies) -> ControlFlow<()>;

    /// Ends the reply. There may be more pairs than the limit of the walk.
    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<(), Failure>;
}

impl Walking {
    /// A walk of the present version.
    pub(crate) fn new(walk: Walk, sink: impl Sink + 'static, context: &Context<'_>) -> Self {
        let (start, sink, now) = (walk.again(), Box::new(sink), context.now);
        Self { walk, start, sink, snapshot: None, is_named: false, now, began: false }
    }

    /// The same walk of the version of a snapshot, if there is one.
    pub(crate) fn of(self, snapshot: Option<Snapshot>) -> Self {
        Self { is_named: snapshot.is_some(), snapshot, ..self }
    }

    /// Begins again after its snapshot was lost, unless the client has named that one. Returns whether it
    /// does.
    pub(super) fn begin_again(&mut self) -> bool {
        self.walk = self.start.again();
        self.snapshot = None;
        self.began = false;
        !self.is_named
    }

    pub(super) fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        if !std::mem::replace(&mut self.began, true) {
            self.sink.begin(context.replies);
            if let Some(more) = self.at_once(context)? {
                return self.end(more, context);
            }
        }
        match self.page(context)? {
            Some(more) => self.end(more, context),
            None if context.replies.have_no_room() => Ok(Progress::Done),
            None => Ok(Progress::More),
        }
    }

    /// Reads the range without a snapshot, if it is short and the walk is free to choose its version.
    fn at_once(&mut self, context: &mut Context<'_>) -> Result<Option<bool>, Failure> {
        if self.snapshot.is_some() || context.transaction.is_some() {
            return Ok(None);
        }
        let Self { walk, sink, now, .. } = self;
        walk.at_once(*now, |key, data| sink.take(key, data, context.replies))
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
            let flow = sink.take(key, data, replies);
            if replies.have_no_room() { ControlFlow::Break(()) } else { flow }
        })
    }

    fn end(&mut self, more: bool, context: &mut Context<'_>) -> Result<Progress, Failure> {
        self.snapshot = None;
        self.sink.end(more, context)?;
        Ok(Progress::Done)
    }
}
