//! Functions over ranges. Backends that execute none reject them.

use std::ops::Bound;

use honeycomb_accelerator::{
    Conditions, RangeForm, RangeFunction, RangeTerm, Read, Request, Requests, Status,
};
use honeycomb_btree::Version;
use honeycomb_hashtable::{BuiltIn, Element, FIRST_REGISTERED};

use crate::conformance::fairness::LONG;
use crate::conformance::long_scans::poll_between_writes;
use crate::conformance::session::one;
use crate::conformance::world::World;

/// A term, and its operands.
pub(super) struct OwnedTerm {
    offset: u32,
    pub(super) function: u32,
    pub(super) operands: Vec<u8>,
}

impl OwnedTerm {
    fn term(&self) -> RangeTerm<'_> {
        RangeTerm::new(self.offset, self.function, &self.operands).expect("few operands")
    }
}

/// Folds, with the length of an element. The last one returns the last element, so it shows the order.
pub(super) const FOLDS: [(u32, usize); 4] = [
    (BuiltIn::Add.number(Element::U16), 2),
    (BuiltIn::Maximum.number(Element::I8), 1),
    (BuiltIn::Xor.number(Element::U64), 8),
    (BuiltIn::Exchange.number(Element::U32), 4),
];

/// Predicates, with the length of their operands.
pub(super) const PREDICATES: [(u32, usize); 5] = [
    (BuiltIn::Greater.number(Element::U8), 1),
    (BuiltIn::Less.number(Element::I16), 2),
    (BuiltIn::NotEqual.number(Element::U32), 4),
    (BuiltIn::Between.number(Element::U8), 2),
    (FIRST_REGISTERED, 0),
];

/// Functions that name the type of the elements of a ranking. They have no operands there.
const MAXIMA: [(u32, usize); 3] = [
    (BuiltIn::Maximum.number(Element::U8), 0),
    (BuiltIn::Maximum.number(Element::I16), 0),
    (BuiltIn::Maximum.number(Element::F32), 0),
];
const NO_MAXIMA: [(u32, usize); 1] = [(BuiltIn::Minimum.number(Element::U8), 0)];

impl World {
    /// Whether the accelerator executes functions over ranges.
    pub(super) fn executes_functions(&self) -> bool {
        self.accelerator.page_reader(None).is_some()
    }

    /// Appends a random function over a range, seldom with an invalid term.
    pub(super) fn push_function(
        &mut self,
        requests: &mut Requests,
        (identifier, table, version): (u64, u16, Option<Version>),
    ) {
        let (lower, upper) = (self.bound(table), self.bound(table));
        let mut terms = Vec::new();
        for _ in 0..self.random.pick(&[0, 0, 1, 1, 2, Conditions::MAX]) {
            self.random_term(&PREDICATES, &FOLDS).term().encode(&mut terms);
        }
        let fold = self.random_term(&FOLDS, &PREDICATES);
        let pairs_max = self.random.pick(&[0, 1, 3, 100, u32::MAX, u32::MAX]);
        let bytes_max = self.random.pick(&[0, 1, 3_000, u32::MAX, u32::MAX]);
        let ranked = self.random_term(&MAXIMA, &NO_MAXIMA);
        let element = RangeTerm::new(ranked.offset, ranked.function, &[]).expect("no operands");
        let forms = [
            RangeForm::Count,
            RangeForm::Reduce(fold.term()),
            RangeForm::Filter { pairs_max, bytes_max },
            RangeForm::Rank { element, pairs_max, bytes_max },
        ];
        let function = RangeFunction {
            form: self.random.pick(&forms),
            lower: lower.as_ref().map(Vec::as_slice),
            upper: upper.as_ref().map(Vec::as_slice),
            conditions: Conditions::new(&terms).expect("few terms"),
        };
        let request = Request { identifier, table, version, read: Read::Function(function) };
        requests.push(&request).expect("the keys are not too long");
    }

    /// Picks a function and its operands. Seldom it is one of `others`, has no number, or has other operands.
    pub(super) fn random_term(&mut self, functions: &[(u32, usize)], others: &[(u32, usize)]) -> OwnedTerm {
        let offset = self.random.pick(&[0, 0, 0, 1, 7, 30, 1_000, u32::MAX]);
        let (mut function, mut bytes) = self.random.pick(functions);
        match self.random.below(100) {
            0 => (function, bytes) = self.random.pick(others),
            1 => function = FIRST_REGISTERED + 1 + self.random.next() as u32 % 1_000,
            2 => bytes += 1,
            _ => {}
        }
        OwnedTerm { offset, function, operands: self.random.bytes(bytes) }
    }
}

/// Returns a request of each form for the values of the long table that begin with a letter.
fn all_forms(first_identifier: u64, version: Option<Version>) -> Requests {
    let fold = RangeTerm::new(0, BuiltIn::Add.number(Element::U8), &[5]).expect("one operand");
    let (pairs_max, bytes_max) = (u32::MAX, u32::MAX);
    let filter = RangeForm::Filter { pairs_max, bytes_max };
    let element = RangeTerm::new(0, BuiltIn::Maximum.number(Element::U32), &[]).expect("no operands");
    let rank = RangeForm::Rank { element, pairs_max, bytes_max };
    let greater = BuiltIn::Greater.number(Element::U8);
    let mut terms = Vec::new();
    RangeTerm::new(0, greater, b"@").expect("one operand").encode(&mut terms);
    let conditions = Conditions::new(&terms).expect("one condition");
    let mut requests = Requests::default();
    let forms = [RangeForm::Count, RangeForm::Reduce(fold), filter, rank];
    for (identifier, form) in (first_identifier..).zip(forms) {
        let (lower, upper) = (Bound::Unbounded, Bound::Unbounded);
        let read = Read::Function(RangeFunction { form, lower, upper, conditions });
        requests.push(&Request { identifier, table: LONG, version, read }).expect("there are no keys");
    }
    requests
}

/// Between any two polls, writers change, remove and add pairs in the whole range.
pub(super) fn a_function_sees_one_version(world: &mut World) {
    world.create_long_table();
    let pinned = world.pin_version();
    let mut session = world.session();
    session.submit(world, all_forms(1, None).bytes());
    session.submit(world, all_forms(5, pinned).bytes());
    poll_between_writes(world, &mut session);
    session.finish(world);
}

/// A get completes in one poll, although functions over all pairs are in flight.
pub(super) fn a_get_does_not_wait_for_a_function(world: &mut World) {
    world.create_long_table();
    let mut session = world.session();
    session.submit(world, all_forms(1, None).bytes());
    let key = 5_u64.to_be_bytes();
    let get = Request { identifier: 9, table: LONG, version: None, read: Read::Get(&key) };
    session.submit(world, one(&get).bytes());
    session.poll();
    assert!(session.answer(9).is_some(), "a get completes in one poll");
    let is_answered = |identifier| session.answer(identifier).is_some();
    let executes = world.executes_functions();
    // Some worlds have three leases, and a function without one executes at once.
    assert!((1..4).all(|it| is_answered(it) != executes), "a function of all pairs needs several polls");
    session.finish(world);
}

/// A function in flight ends with a rejection, and reads no later writes.
pub(super) fn a_function_ends_when_its_version_is_unpinned(world: &mut World) {
    world.create_long_table();
    let version = world.pin_version().expect("a lease is available");
    let mut session = world.session();
    session.submit(world, all_forms(1, Some(version)).bytes());
    session.poll();
    world.pinned[&version].iter().for_each(|lease| lease.revoke());
    world.write_long(0);
    world.forest.memory().reclaim();
    while session.poll() > 0 {}
    let executes = world.executes_functions();
    let expected = if executes { Status::VersionNotPinned } else { Status::UnknownOpcode };
    for identifier in 1..5 {
        let answer = session.answer(identifier).expect("the function is answered");
        assert_eq!(answer.status, Some(expected));
    }
    world.unpin_version(version);
    if executes {
        session.finish(world);
    }
}
