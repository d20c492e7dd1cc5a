//! Operations on unordered tables. Backends that execute none reject them.

use honeycomb_accelerator::{Read, Request, Requests, Status};
use honeycomb_hashtable::{self as hashtable, BuiltIn, Element, Operation};
use honeycomb_layout::REQUEST_VALUE_BYTES_MAX;

use crate::conformance::functions::{FOLDS, PREDICATES};
use crate::conformance::room::{self, ROOM};
use crate::conformance::session::Session;
use crate::conformance::unordered_model::new_table;
use crate::conformance::world::World;

/// The unordered tables of random operations. An ordered table has the number of the first.
const TABLES: [u16; 3] = [0, 5, u16::MAX];
/// A number without a table.
const NO_TABLE: u16 = 77;
/// The lengths of the keys of a table.
const KEYS: [usize; 8] = [1, 2, 7, 8, 9, 40, 300, 460];

impl World {
    pub(super) fn create_unordered(&mut self, number: u16) {
        let table = new_table(&self.functions);
        self.accelerator.set_unordered(number, Some(table.clone()));
        self.unordered.add(number, table);
    }

    fn remove_unordered(&mut self, number: u16) {
        self.accelerator.set_unordered(number, None);
        self.unordered.remove(number);
    }

    /// Appends an operation, which executes on the model at once.
    fn push_operation(
        &mut self,
        requests: &mut Requests,
        (identifier, table): (u64, u16),
        key: &[u8],
        operation: Operation<'_>,
    ) {
        let read = Read::Unordered(hashtable::Request { key, operation });
        let request = Request { identifier, table, version: None, read };
        requests.push(&request).expect("key and values are not too long");
        self.unordered.execute(&self.functions, (identifier, table), key, &operation);
    }

    /// Appends a random operation on one of few keys, seldom with an invalid function.
    fn push_random_operation(&mut self, requests: &mut Requests, table: u16) {
        let key = vec![7; self.random.pick(&KEYS)];
        let current = self.unordered.value(table, &key).cloned().unwrap_or_default();
        let value = self.unordered_value();
        let expected = if self.random.chance(60) { current.clone() } else { self.unordered_value() };
        let vector = if self.random.chance(80) { current.len() } else { value.len() };
        let vector = &self.random.bytes(vector)[..];
        let fold = self.random_term(&FOLDS, &PREDICATES);
        let predicate = self.random_term(&PREDICATES, &FOLDS);
        let (function, operands) = (fold.function, &fold.operands[..]);
        let (value, expected) = (&value[..], &expected[..]);
        let operation = self.random.pick(&[
            Operation::Get,
            Operation::Put(value),
            Operation::Insert(value),
            Operation::Update(value),
            Operation::Delete,
            Operation::CompareAndSwap { expected, value },
            Operation::CompareAndDelete { expected },
            Operation::UpdateScalar { function, operands },
            Operation::UpdateVectorWithScalar { function, operands },
            Operation::UpdateVectorWithVector { function, vector },
            Operation::Reduce { function, initial: operands },
            Operation::Filter { function: predicate.function, operands: &predicate.operands },
        ]);
        let identifier = self.random.next();
        self.push_operation(requests, (identifier, table), &key, operation);
    }

    /// Creates a value: mostly a few elements, seldom up to the longest that a request can have.
    fn unordered_value(&mut self) -> Vec<u8> {
        let length = match self.random.below(200) {
            0 => REQUEST_VALUE_BYTES_MAX - self.random.below(3),
            1..10 => self.random.below(3_000),
            _ => self.random.pick(&[0, 1, 2, 4, 8, 8, 16, 24, 40]),
        };
        self.random.bytes(length)
    }
}

/// Executes batches of operations with reads between them, in two queues.
pub(super) fn operations_execute_in_their_order(world: &mut World) {
    world.fill();
    TABLES.iter().for_each(|number| world.create_unordered(*number));
    let mut sessions: Vec<Session> = (0..2).map(|_| world.session()).collect();
    for _ in 0..10 {
        for session in &mut sessions {
            let count = world.random.pick(&[1, 2, 40, 300]);
            let requests = operations(world, count, Mix { reads: 10, changes: 5 });
            session.execute(world, requests.bytes());
        }
    }
    check_tables(world);
}

/// More operations than a queue accepts at once, and than a table executes at once.
pub(super) fn operations_fill_a_queue(world: &mut World) {
    world.create_unordered(TABLES[0]);
    let requests = operations(world, 6_000, Mix { reads: 0, changes: 0 });
    let mut session = world.session();
    session.submit(world, requests.bytes());
    session.finish(world);
    check_tables(world);
}

/// Shares in percent.
struct Mix {
    /// Of reads of ordered tables.
    reads: usize,
    /// Of operations after which another table follows.
    changes: usize,
}

fn operations(world: &mut World, count: usize, Mix { reads, changes }: Mix) -> Requests {
    let (mut requests, mut table) = (Requests::default(), TABLES[0]);
    for _ in 0..count {
        if world.random.chance(reads) {
            world.push_request(&mut requests);
        } else {
            world.push_random_operation(&mut requests, table);
        }
        if world.random.chance(changes) {
            table = world.random.pick(&[TABLES[0], TABLES[1], TABLES[2], NO_TABLE]);
        }
    }
    requests
}

fn check_tables(world: &World) {
    if world.accelerator.executes_unordered() {
        world.unordered.check_tables();
    }
}

/// An accelerator uses only the tables that it has now.
pub(super) fn only_given_unordered_tables_are_used(world: &mut World) {
    let mut session = world.session();
    world.create_tree(5);
    for round in 0..4_u64 {
        match round {
            1 | 2 => world.create_unordered(5),
            3 => world.remove_unordered(5),
            _ => {}
        }
        let mut requests = Requests::default();
        for (identifier, table) in (10 * round..).zip([4, 5, 6]) {
            world.push_operation(&mut requests, (identifier, table), b"key", Operation::Insert(b"value"));
        }
        session.execute(world, requests.bytes());
    }
}

/// Values are as long as a request can have them.
pub(super) fn values_have_the_greatest_length(world: &mut World) {
    world.create_unordered(5);
    let long = &vec![7; REQUEST_VALUE_BYTES_MAX][..];
    let (function, vector) = (BuiltIn::Add.number(Element::U8), long);
    let all = [
        Operation::Put(&long[1..]),
        Operation::CompareAndSwap { expected: &long[1..], value: long },
        Operation::UpdateVectorWithVector { function, vector },
        Operation::Get,
    ];
    let mut requests = Requests::default();
    for (identifier, operation) in (1..).zip(all) {
        world.push_operation(&mut requests, (identifier, 5), b"key", operation);
    }
    world.session().execute(world, requests.bytes());
    check_tables(world);
}

const COUNT: u64 = 20;
const VALUE_BYTES: usize = 1_000;

/// The answers to writes exceed the room. Reads that follow are rejected, and so is everything that begins
/// later, without an effect.
pub(super) fn the_effect_of_a_write_is_returned_without_room(world: &mut World) {
    assert!(COUNT as usize * VALUE_BYTES > 2 * ROOM);
    let mut session = world.session();
    for table in [8, 9] {
        world.create_unordered(table);
        let puts = of_each_key(world, table, Operation::Put(&[1; VALUE_BYTES]));
        session.execute(world, puts.bytes());
    }
    let function = BuiltIn::Add.number(Element::U8);
    let add = Operation::UpdateVectorWithScalar { function, operands: &[1] };
    let mut requests = of_each_key(world, 8, add);
    for (identifier, (table, operation)) in (0..).zip([(8, Operation::Get), (9, Operation::Delete)]) {
        let read = Read::Unordered(hashtable::Request { key: &[1], operation });
        requests.push(&Request { identifier, table, version: None, read }).expect("a short key");
    }
    let (answers, _) = room::execute(world, requests.bytes(), usize::MAX);
    assert_eq!(answers.len() as u64, COUNT + 2);
    for (identifier, answer) in &answers {
        if !world.accelerator.executes_unordered() {
            assert_eq!(answer.status, Some(Status::UnknownOpcode));
        } else if *identifier < 2 {
            assert_eq!(answer.status, Some(Status::NoRoom));
        } else {
            assert_eq!(world.unordered.error_of(*identifier, answer), None);
        }
    }
    check_tables(world);
}

/// Creates a request for each key, which executes on the model at once.
fn of_each_key(world: &mut World, table: u16, operation: Operation<'_>) -> Requests {
    let mut requests = Requests::default();
    for key in 0..COUNT as u8 {
        let identifier = world.random.next();
        world.push_operation(&mut requests, (identifier, table), &[key], operation);
    }
    requests
}
