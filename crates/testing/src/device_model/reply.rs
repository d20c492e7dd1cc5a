//! The completions of an operation, as bytes.

use honeycomb_btree::Version;
use honeycomb_layout as layout;
use honeycomb_layout::{completion, completion_outcome as outcome, completion_pair};

/// Encodes the completions of one operation. A scan can have several.
pub(super) struct Reply {
    identifier: u64,
    read_version: Version,
    body: Vec<u8>,
    pairs: u64,
}

impl Reply {
    pub(super) fn new(identifier: u64) -> Self {
        Self { identifier, read_version: 0, body: Vec::new(), pairs: 0 }
    }

    pub(super) fn read_at(&mut self, version: Version) {
        self.read_version = version;
    }

    /// Appends a pair of a scan.
    pub(super) fn push(&mut self, key: &[u8], value: &[u8]) {
        let mut header = [0; completion_pair::SIZE];
        let mut put =
            |offset: usize, bytes: &[u8]| header[offset..offset + bytes.len()].copy_from_slice(bytes);
        put(completion_pair::VALUE_LENGTH_OFFSET, &(value.len() as u32).to_le_bytes());
        put(completion_pair::KEY_LENGTH_OFFSET, &(key.len() as u16).to_le_bytes());
        self.body.extend_from_slice(&header);
        self.body.extend_from_slice(key);
        self.body.extend_from_slice(value);
        self.pairs += 1;
    }

    /// Bytes of the pairs that are not emitted yet.
    pub(super) fn bytes(&self) -> usize {
        self.body.len()
    }

    /// Emits the appended pairs. `continued`: a further completion follows. `more`: a limit ended the scan
    /// before its range did.
    pub(super) fn pairs(&mut self, continued: bool, more: bool, complete: &mut dyn FnMut(&[u8])) {
        let word = outcome::with_continued(0, u64::from(continued));
        let word = outcome::with_pairs(outcome::with_more(word, u64::from(more)), self.pairs);
        self.emit(layout::STATUS_FOUND, word, 0, complete);
        self.pairs = 0;
    }

    /// Emits the result of a get.
    pub(super) fn value(&mut self, found: Option<(Vec<u8>, Version)>, complete: &mut dyn FnMut(&[u8])) {
        let status = if found.is_some() { layout::STATUS_FOUND } else { layout::STATUS_ABSENT };
        let (value, version) = found.unwrap_or_default();
        self.body = value;
        self.emit(status, 0, version, complete);
    }

    /// Emits the value of a get in a completion that another one confirms or voids.
    pub(super) fn unconfirmed_value(
        &mut self,
        value: &[u8],
        version: Version,
        complete: &mut dyn FnMut(&[u8]),
    ) {
        self.body = value.to_vec();
        self.emit(layout::STATUS_FOUND, outcome::with_continued(0, 1), version, complete);
    }

    /// Emits a rejection.
    pub(super) fn reject(&mut self, status: usize, complete: &mut dyn FnMut(&[u8])) {
        self.body.clear();
        self.read_version = 0;
        self.emit(status, 0, 0, complete);
    }

    fn emit(&mut self, status: usize, word: u64, pair_version: Version, complete: &mut dyn FnMut(&[u8])) {
        let mut bytes = vec![0; completion::SIZE];
        let mut put =
            |offset: usize, field: &[u8]| bytes[offset..offset + field.len()].copy_from_slice(field);
        put(completion::IDENTIFIER_OFFSET, &self.identifier.to_le_bytes());
        put(completion::READ_VERSION_OFFSET, &self.read_version.to_le_bytes());
        put(completion::PAIR_VERSION_OFFSET, &pair_version.to_le_bytes());
        put(completion::BYTES_OFFSET, &(self.body.len() as u32).to_le_bytes());
        let word = outcome::with_status(word, status as u64) as u32;
        put(completion::OUTCOME_OFFSET, &word.to_le_bytes());
        bytes.append(&mut self.body);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        complete(&bytes);
    }
}
