//! Threads that a test stops, and calls that must not wait for them.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// Most time that anything takes that does not hang.
const LIMIT: Duration = Duration::from_secs(30);

/// Stops threads while it is closed. It opens when a test ends or fails, so that its threads can end.
#[derive(Debug, Default)]
pub struct Gate(Arc<State>);

#[derive(Debug, Default)]
struct State {
    status: Mutex<Status>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Status {
    is_closed: bool,
    /// Whether a thread has found the gate closed.
    is_reached: bool,
}

impl Gate {
    /// Stops all threads that come.
    pub fn close(&self) {
        self.0.lock().is_closed = true;
    }

    /// Lets all threads continue.
    pub fn open(&self) {
        self.0.lock().is_closed = false;
        self.0.changed.notify_all();
    }

    /// Returns a function that waits while the gate is closed.
    pub fn passage(&self) -> impl Fn() + Send + Sync + 'static {
        let state = self.0.clone();
        move || state.pass()
    }

    /// Waits until a thread has found the gate closed.
    ///
    /// # Panics
    /// If none does.
    pub fn wait_until_reached(&self) {
        let waits = self.0.changed.wait_timeout_while(self.0.lock(), LIMIT, |status| !status.is_reached);
        let (_status, timeout) = waits.unwrap_or_else(PoisonError::into_inner);
        assert!(!timeout.timed_out(), "no thread reaches the gate");
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.open();
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pass(&self) {
        let mut status = self.lock();
        if status.is_closed {
            status.is_reached = true;
            self.changed.notify_all();
        }
        let waits = self.changed.wait_while(status, |status| status.is_closed);
        drop(waits.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Executes `action` on a thread of its own. Returns `None` if it hangs; the thread remains then. Panics if
/// it panics.
pub fn within<T: Send + 'static>(action: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (sender, receiver) = channel();
    let thread = thread::spawn(move || _ = sender.send(action()));
    match receiver.recv_timeout(LIMIT) {
        Ok(result) => Some(result),
        Err(RecvTimeoutError::Timeout) => None,
        Err(RecvTimeoutError::Disconnected) => resume_unwind(thread.join().expect_err("no result")),
    }
}
