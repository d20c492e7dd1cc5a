//! The states that a workload has had, with their versions: what a recovery may find.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// All pairs by table.
pub(crate) type Model = BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>>;

/// The states in the order of the changes that led to them.
pub(crate) struct History {
    states: Vec<Model>,
    /// For each state the possible versions of its change. An operation without effect has no version of its
    /// own, so its state is also that of the versions of the state before.
    versions: Vec<RangeInclusive<u64>>,
    /// Batches whose operations have no order among each other: the positions of the states before and after.
    interleaved: Vec<(usize, usize)>,
    /// The read version at the end of the last operation, and the states at that time.
    ended: (u64, usize),
    /// The position of the last state that is known to be durable.
    durable: usize,
}

impl Default for History {
    fn default() -> Self {
        let (states, versions) = (vec![Model::new()], vec![0..=0]);
        Self { states, versions, interleaved: Vec::new(), ended: (0, 1), durable: 0 }
    }
}

impl History {
    /// Returns the newest state.
    pub(crate) fn last(&self) -> &Model {
        &self.states[self.states.len() - 1]
    }

    /// Adds a state. It is added before the change that leads to it, which may fail but be durable.
    pub(crate) fn push(&mut self, state: Model) {
        self.states.push(state);
        self.versions.push(self.ended.0 + 1..=u64::MAX);
    }

    /// States that the changes since the last operation have no order among each other.
    pub(crate) fn interleave(&mut self) {
        self.interleaved.push((self.ended.1 - 1, self.states.len() - 1));
    }

    /// Ends an operation, with the read version after it.
    pub(crate) fn end(&mut self, version: u64) {
        let (before, first) = self.ended;
        for index in first..self.states.len() {
            let previous = &self.versions[index - 1];
            // The later versions may be those of other writers if the operation had no effect.
            let has_effect = version > before && self.states[index] != self.states[index - 1];
            let start = if has_effect { before + 1 } else { *previous.start() };
            self.versions[index] = start..=version.max(*previous.end());
        }
        self.ended = (version, self.states.len());
    }

    /// States that all changes so far are durable.
    pub(crate) fn keep(&mut self) {
        self.durable = self.states.len() - 1;
    }

    /// Returns whether a recovery may find these pairs, with this version of the last change.
    pub(crate) fn allows(&self, found: &Model, version: u64) -> bool {
        self.has_from(self.durable, found, version)
    }

    /// Returns whether the workload has ever had these pairs at this version.
    pub(crate) fn had(&self, found: &Model, version: u64) -> bool {
        self.has_from(0, found, version)
    }

    fn has_from(&self, first: usize, found: &Model, version: u64) -> bool {
        let is_state = |index: usize| self.is_at(index, index, version) && self.states[index] == *found;
        let is_within = |&(before, after): &(usize, usize)| {
            before >= first
                && self.is_at(before + 1, after, version)
                && is_between(found, &self.states[before], &self.states[after])
        };
        (first..self.states.len()).any(is_state) || self.interleaved.iter().any(is_within)
    }

    /// Returns whether a version can be later than the change that led to the state `first`, and earlier than
    /// the one after the state `last`.
    fn is_at(&self, first: usize, last: usize, version: u64) -> bool {
        let next = self.versions.get(last + 1);
        *self.versions[first].start() <= version && next.is_none_or(|next| version < *next.end())
    }
}

/// Returns whether each pair is as one of two states has it.
fn is_between(found: &Model, before: &Model, after: &Model) -> bool {
    let has_pairs = |(table, pairs): (&String, &BTreeMap<Vec<u8>, Vec<u8>>)| {
        let (before, after) = (&before[table], &after[table]);
        let mut keys = pairs.keys().chain(before.keys()).chain(after.keys());
        keys.all(|key| [before.get(key), after.get(key)].contains(&pairs.get(key)))
    };
    found.keys().eq(before.keys()) && found.iter().all(has_pairs)
}
