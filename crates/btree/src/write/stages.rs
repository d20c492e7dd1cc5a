//! The points of a write at which a test can stop it, to see that readers do not care. Nothing outside of
//! tests.

/// A point that a writer passes while it holds locks or has published a part of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A node was locked.
    Locked,
    /// An entry stands past the published size of a leaf.
    Appended,
    /// A new buffer is ready.
    Built,
    /// The version is taken.
    VersionTaken,
    /// One more node of the transaction was published.
    Published,
    /// Everything is published and the version is released.
    Released,
}

/// Says that this thread is at a stage.
#[inline(always)]
pub(crate) fn reach(stage: Stage) {
    #[cfg(test)]
    hook::call(stage);
    #[cfg(not(test))]
    let _ = stage;
}

#[cfg(test)]
pub(crate) mod hook {
    use std::cell::RefCell;

    use super::Stage;

    type Hook = Box<dyn FnMut(Stage)>;

    thread_local! {
        static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
    }

    /// Has this thread's writers call a function at each stage.
    pub(crate) fn set(hook: impl FnMut(Stage) + 'static) {
        HOOK.set(Some(Box::new(hook)));
    }

    pub(super) fn call(stage: Stage) {
        HOOK.with_borrow_mut(|hook| {
            if let Some(hook) = hook {
                hook(stage);
            }
        });
    }
}
