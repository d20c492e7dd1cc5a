//! Answers: all completions of a request together.

use std::collections::HashMap;
use std::fmt;

use honeycomb_accelerator::{Completion, Completions, Status};
use honeycomb_btree::Version;

/// The result of a request.
#[derive(Default)]
pub(super) struct Answer {
    /// The status of the last completion.
    pub(super) status: Option<Status>,
    /// The version that the request read; 0 if it was rejected before its first read.
    pub(super) read_version: Version,
    pub(super) pair_version: Version,
    /// The value that the request returns.
    pub(super) value: Vec<u8>,
    pub(super) pairs: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) more: bool,
}

/// Answers by the identifiers of their requests.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// Answers that further completions will continue.
    open: HashMap<u64, Answer>,
    pub(super) whole: Vec<(u64, Answer)>,
}

impl Answers {
    pub(super) fn append(&mut self, completions: &Completions) {
        let mut copy = Completions::default();
        copy.extend_from_bytes(completions.bytes()).expect("completions are whole");
        for completion in &copy {
            let identifier = completion.identifier;
            let answer = self.open.remove(&identifier).unwrap_or_default().continue_with(&completion);
            if completion.continued {
                self.open.insert(identifier, answer);
            } else {
                self.whole.push((identifier, answer));
            }
        }
    }

    /// The number of incomplete answers.
    pub(super) fn open_count(&self) -> usize {
        self.open.len()
    }
}

impl Answer {
    fn continue_with(mut self, part: &Completion<'_>) -> Self {
        let is_first = self.status.is_none();
        let is_read = part.status.is_executed();
        assert!(is_read || !part.continued && !part.more, "a rejection is the last completion: {part:?}");
        assert!(
            is_read || part.read_version == 0 && part.value().is_none(),
            "a rejection is empty: {part:?}"
        );
        assert!(is_first || !is_read || part.read_version == self.read_version, "one version: {part:?}");
        assert!(!(part.continued && part.more), "only the last completion has the flag `more`");
        assert_eq!(part.pairs().count(), part.pair_count);
        self.status = Some(part.status);
        self.more = part.more;
        self.pair_version = part.pair_version;
        if is_read {
            self.read_version = part.read_version;
        }
        if part.pair_count == 0 {
            self.value = part.value().unwrap_or_default().to_vec();
        }
        self.pairs.extend(part.pairs().map(|(key, value)| (key.to_vec(), value.to_vec())));
        self
    }
}

impl fmt::Debug for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { status, read_version, pair_version, value, pairs, more } = self;
        let (bytes, pairs) = (value.len(), pairs.len());
        write!(
            f,
            "{status:?} at {read_version}: {bytes} bytes of version {pair_version}, {pairs} pairs, {more}"
        )
    }
}
