//! Scans of many pairs, which are done a turn at a time. Between two turns such a scan is a version that a
//! lease guards and the key to go on from: no node, so it needs no pin.

use std::collections::VecDeque;
use std::ops::Bound;

use honeycomb_btree::{Root, Scan, Version};
use honeycomb_memory::LeaseUse;

use crate::completion::Completions;
use crate::known::Known;
use crate::own_lease::OwnLease;
use crate::request::{REQUEST_BYTES_MAX, Read, Request};
use crate::status::Status;

pub(crate) struct LongScan {
    pub(crate) identifier: u64,
    pub(crate) table: u16,
    pub(crate) root: Root,
    pub(crate) version: Version,
    /// What guards the version, unless it is one that requests may name: then whoever holds it.
    own_lease: Option<OwnLease>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    floor_start: bool,
    backward: bool,
    keys_only: bool,
    pub(crate) left: Limits,
}

/// What a scan may still emit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) pairs: usize,
    pub(crate) bytes: usize,
}

impl Limits {
    #[inline]
    pub(crate) fn are_reached(self) -> bool {
        self.pairs == 0 || self.bytes == 0
    }

    /// Counts a pair.
    #[inline]
    pub(crate) fn take(&mut self, key_bytes: usize, value_bytes: usize) {
        self.pairs = self.pairs.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(key_bytes + value_bytes);
    }
}

/// What is to be done after a turn.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn {
    Again,
    Done,
}

impl LongScan {
    /// A scan at the version that the request names and that is held now; if it names none, at what is
    /// visible, under a lease of its own. None if there is no lease to be had, or the request is no scan of
    /// a table.
    fn new(known: &Known, request: &Request<'_>) -> Option<Self> {
        let Read::Scan { scan, bytes_max } = &request.read else { return None };
        let own_lease = match request.version {
            Some(_) => None,
            None => Some(known.own_leases.take(known.forest.memory())?),
        };
        Some(Self {
            identifier: request.identifier,
            table: request.table,
            // Root and version after the lease: what they need is retired later, so the lease guards it.
            root: known.roots.get(request.table)?,
            version: request.version.unwrap_or_else(|| known.forest.read_version()),
            own_lease,
            lower: scan.lower.map(<[u8]>::to_vec),
            upper: scan.upper.map(<[u8]>::to_vec),
            floor_start: scan.floor_start,
            backward: scan.backward,
            keys_only: scan.keys_only,
            left: Limits { pairs: scan.limit, bytes: *bytes_max as usize },
        })
    }

    /// What is left of the range, of which so many pairs are wanted.
    pub(crate) fn scan(&self, limit: usize) -> Scan<'_> {
        Scan {
            lower: self.lower.as_ref().map(Vec::as_slice),
            upper: self.upper.as_ref().map(Vec::as_slice),
            floor_start: self.floor_start,
            backward: self.backward,
            keys_only: self.keys_only,
            limit,
        }
    }

    pub(crate) fn go_on_after(&mut self, key: Vec<u8>) {
        self.floor_start = false;
        let bound = if self.backward { &mut self.upper } else { &mut self.lower };
        *bound = Bound::Excluded(key);
    }

    /// Takes a turn under a lease that guards the version; the scan is done if there is none any more, or no
    /// room for what it finds.
    fn turn(
        &mut self,
        known: &Known,
        completions: &mut Completions,
        take: impl FnOnce(&mut Self, &LeaseUse<'_>, &mut Completions) -> Turn,
    ) -> Turn {
        if completions.refuse_if_full(self.identifier) {
            return Turn::Done;
        }
        let (identifier, version, own_lease) = (self.identifier, self.version, self.own_lease.take());
        let turn = match &own_lease {
            Some(lease) => lease.enter().map(|in_use| take(self, &in_use, completions)),
            None => known.held.under(version, |in_use| take(self, in_use, completions)),
        };
        self.own_lease = own_lease;
        turn.unwrap_or_else(|| {
            completions.push_refusal(identifier, Status::VersionNotHeld);
            Turn::Done
        })
    }
}

/// The scans of a queue that were set aside.
#[derive(Default)]
pub(crate) struct LongScans(VecDeque<LongScan>);

impl LongScans {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Bytes of requests that they count for: each takes as much as any request.
    pub(crate) fn request_bytes(&self) -> usize {
        self.0.len() * REQUEST_BYTES_MAX
    }

    /// Sets a scan of many pairs aside, if there is a lease for it. If there is none, it is done in one go.
    pub(crate) fn set_aside(&mut self, known: &Known, request: &Request<'_>) -> bool {
        let scan = LongScan::new(known, request);
        let is_set_aside = scan.is_some();
        self.0.extend(scan);
        is_set_aside
    }

    /// Gives each scan its turn.
    pub(crate) fn turn(
        &mut self,
        known: &Known,
        completions: &mut Completions,
        mut take: impl FnMut(&mut LongScan, &LeaseUse<'_>, &mut Completions) -> Turn,
    ) {
        for _ in 0..self.0.len() {
            let Some(mut scan) = self.0.pop_front() else { return };
            if scan.turn(known, completions, &mut take) == Turn::Again {
                self.0.push_back(scan);
            }
        }
    }
}
