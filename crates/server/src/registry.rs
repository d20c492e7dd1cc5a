//! Clients that receive lines or messages: each registers a member, which has its queue.
//!
//! 1. Threads change the members only under the lock.
//! 2. `count`: the number of members, relaxed: a thread that sees an old one passes messages to a member a
//!    little later or for a little longer.

use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use honeycomb_memory::sync::{AtomicUsize, Ordering};

/// All members.
#[derive(Debug)]
pub(crate) struct Registry<T> {
    count: AtomicUsize,
    members: Mutex<Vec<Arc<T>>>,
}

/// The registration of a member. Dropping it ends the registration.
#[derive(Debug)]
pub(crate) struct Registration<T> {
    registry: Arc<Registry<T>>,
    member: Arc<T>,
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Self { count: AtomicUsize::new(0), members: Mutex::default() }
    }
}

impl<T> Registry<T> {
    /// Returns whether there are members.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Adds a member.
    pub(crate) fn add(self: &Arc<Self>, member: T) -> Registration<T> {
        let member = Arc::new(member);
        self.members().push(member.clone());
        self.count.fetch_add(1, Ordering::Relaxed);
        Registration { registry: self.clone(), member }
    }

    /// Locks and returns all members.
    pub(crate) fn members(&self) -> MutexGuard<'_, Vec<Arc<T>>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Deref for Registration<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.member
    }
}

impl<T> Drop for Registration<T> {
    fn drop(&mut self) {
        self.registry.members().retain(|member| !Arc::ptr_eq(member, &self.member));
        self.registry.count.fetch_sub(1, Ordering::Relaxed);
    }
}
