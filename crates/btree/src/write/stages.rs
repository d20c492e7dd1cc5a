//! The stages of a write at which a test can stop the writer, to check that readers continue. Without effect
//! outside of tests.

/// A stage at which a writer has locked nodes or published only a part of its changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A node was locked.
    Locked,
    /// An entry was written past the published size of a leaf.
    Appended,
    /// A new buffer was built.
    Built,
    /// The write version was taken.
    VersionTaken,
    /// One more node of the transaction was published.
    Published,
    /// All nodes were published and the version was released.
    Released,
}

/// Reports that this thread has reached a stage.
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

    /// Sets the function that this thread's writers call at each stage.
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
