//! Queues of messages that the server pushes to a client: the lines of a monitor, the messages of a watch,
//! and those of subscriptions.

use honeycomb_protocol::resp::Replies;

/// A queue that other threads fill, until the core of the client moves it to the replies.
pub(crate) trait PushQueue {
    /// Moves what waits to the replies, in order, until these have `bytes_max` bytes.
    fn take(&self, replies: &mut Replies, bytes_max: usize);

    /// Returns whether nothing waits.
    fn is_empty(&self) -> bool;

    /// Returns the bytes of memory of the queue and of the state that belongs to it. All of them are charged,
    /// because other threads fill the queue.
    fn memory_bytes(&self) -> usize;
}
