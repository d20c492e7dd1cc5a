//! Scans of many pairs, which are done a turn at a time. Between two turns such a scan is a version that a
//! lease guards and the key to go on from: no node, so it needs no pin.

use std::ops::Bound;

use honeycomb_btree::{Reader, Root, Scan, Version};

use crate::completion::Completions;
use crate::request::{Read, Request};
use crate::software::Known;
use crate::software::emission::{Emission, Ended, Limits};
use crate::software::own_lease::OwnLease;
use crate::status::Status;

pub(super) struct LongScan {
    identifier: u64,
    root: Root,
    version: Version,
    /// What guards the version, unless it is one that requests may name: then whoever holds it.
    own_lease: Option<OwnLease>,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    floor_start: bool,
    backward: bool,
    keys_only: bool,
    left: Limits,
}

/// What is to be done after a turn.
#[derive(Debug, PartialEq)]
pub(super) enum Turn {
    Again,
    Done,
}

impl LongScan {
    /// A scan at the version that the request names and that is held now; if it names none, at what is
    /// visible, under a lease of its own. None if there is no lease to be had, or the request is no scan of
    /// a table.
    pub(super) fn new(known: &Known, request: &Request<'_>) -> Option<Self> {
        let Read::Scan { scan, bytes_max } = &request.read else { return None };
        let own_lease = match request.version {
            Some(_) => None,
            None => Some(known.own_leases.take(known.forest.memory())?),
        };
        Some(Self {
            identifier: request.identifier,
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

    /// Emits up to `pairs` pairs.
    pub(super) fn turn(&mut self, known: &Known, pairs: usize, completions: &mut Completions) -> Turn {
        let (forest, version) = (&known.forest, self.version);
        let own_lease = self.own_lease.take();
        let turn = match &own_lease {
            Some(lease) => {
                lease.enter().map(|in_use| self.emit(&forest.reader_at(&in_use, version), pairs, completions))
            }
            None => known
                .held
                .under(version, |in_use| self.emit(&forest.reader_at(in_use, version), pairs, completions)),
        };
        self.own_lease = own_lease;
        turn.unwrap_or_else(|| {
            completions.push_refusal(self.identifier, Status::VersionNotHeld);
            Turn::Done
        })
    }

    fn emit(&mut self, reader: &Reader<'_>, pairs: usize, completions: &mut Completions) -> Turn {
        let writer = completions.begin_scan(self.identifier, self.version);
        let mut emission = Emission::new(writer, self.left, pairs);
        reader.scan_into(self.root, &self.scan(), &mut emission);
        self.left = emission.left();
        let last_key = emission.last_key().to_vec();
        match emission.finish() {
            Ended::Turn => self.go_on_after(last_key),
            Ended::Range | Ended::Limit => return Turn::Done,
        }
        Turn::Again
    }

    fn scan(&self) -> Scan<'_> {
        Scan {
            lower: self.lower.as_ref().map(Vec::as_slice),
            upper: self.upper.as_ref().map(Vec::as_slice),
            floor_start: self.floor_start,
            backward: self.backward,
            keys_only: self.keys_only,
            limit: self.left.pairs.saturating_add(1),
        }
    }

    fn go_on_after(&mut self, key: Vec<u8>) {
        self.floor_start = false;
        let bound = if self.backward { &mut self.upper } else { &mut self.lower };
        *bound = Bound::Excluded(key);
    }
}
