//! The policies of eviction and the usage information that each of them needs.

/// The parameters of eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Eviction {
    /// The pairs that the server evicts. Default: no pairs.
    pub policy: Policy,
    /// Number of random pairs among which the server chooses the pair to evict. Default: 5.
    pub samples: usize,
}

/// The pairs that the server evicts when memory is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// No pairs: the server rejects writes.
    NoEviction,
    /// The least recently used of the sampled pairs.
    AllKeysLru,
    /// The least frequently used of the sampled pairs.
    AllKeysLfu,
    /// A random pair.
    AllKeysRandom,
    /// As `AllKeysLru`, among pairs with a deadline.
    VolatileLru,
    /// As `AllKeysLfu`, among pairs with a deadline.
    VolatileLfu,
    /// A random pair with a deadline.
    VolatileRandom,
    /// The pair with the earliest deadline.
    VolatileTtl,
}

/// The names of the policies, as in Redis.
pub(crate) const POLICIES: &[(&str, Policy)] = &[
    ("noeviction", Policy::NoEviction),
    ("allkeys-lru", Policy::AllKeysLru),
    ("allkeys-lfu", Policy::AllKeysLfu),
    ("allkeys-random", Policy::AllKeysRandom),
    ("volatile-lru", Policy::VolatileLru),
    ("volatile-lfu", Policy::VolatileLfu),
    ("volatile-random", Policy::VolatileRandom),
    ("volatile-ttl", Policy::VolatileTtl),
];

/// The usage information that the server records for pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usage {
    /// The time of the last use.
    Time,
    /// The frequency of uses.
    Frequency,
}

impl Default for Eviction {
    fn default() -> Self {
        Self { policy: Policy::NoEviction, samples: 5 }
    }
}

impl Policy {
    /// Returns whether the server evicts pairs at all.
    pub(crate) fn evicts(self) -> bool {
        self != Self::NoEviction
    }

    /// Returns the usage information that the policy needs.
    pub(crate) fn usage(self) -> Option<Usage> {
        match self {
            Self::AllKeysLru | Self::VolatileLru => Some(Usage::Time),
            Self::AllKeysLfu | Self::VolatileLfu => Some(Usage::Frequency),
            _ => None,
        }
    }

    /// Returns whether the policy evicts only pairs with a deadline.
    pub(crate) fn is_volatile(self) -> bool {
        use Policy::{VolatileLfu, VolatileLru, VolatileRandom, VolatileTtl};
        matches!(self, VolatileLru | VolatileLfu | VolatileRandom | VolatileTtl)
    }
}
