//! How a caller follows the progress of an index run.

/// A phase of an index run.
#[derive(Clone, Copy, Debug)]
pub struct Phase {
    /// The name of the phase, such as `walking`.
    pub name: &'static str,
    /// The amount of work, if it is known in advance.
    pub total: Option<u64>,
    /// The unit of the work.
    pub unit: Unit,
}

/// A unit of work.
#[derive(Clone, Copy, Debug)]
pub enum Unit {
    /// Bytes.
    Bytes,
    /// Items with this name in the plural.
    Items(&'static str),
}

/// Starts to follow a phase. The run drops the returned value when the phase ends.
pub type StartPhase = fn(Phase) -> Box<dyn PhaseProgress>;

/// The progress of one phase. Threads share it.
pub trait PhaseProgress: Send + Sync {
    /// Adds `amount` to the completed work.
    fn advance(&self, amount: u64);
}
