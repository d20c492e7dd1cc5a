//! The tables of the store, by the numbers that clients give them.
//!
//! `SWAPDB` exchanges what two numbers mean, for all clients at one moment. A turn looks a number up many
//! times, so that a lookup is one more load and no lock. What makes the moment one is that no turn is under
//! way then: each core says when it is in a turn, and who swaps waits until all others are between two.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, ThreadId};

use honeycomb_memory::sync::{AtomicBool, AtomicUsize, Ordering};
use honeycomb_store::{Error, Store, Table};

use crate::failure::Failure;

/// Numbered tables.
#[derive(Debug)]
pub(crate) struct Databases {
    tables: Vec<Table>,
    /// The place among the tables of each number's table.
    places: Vec<AtomicUsize>,
    /// Two numbers are about to be swapped: no turn begins.
    swapping: AtomicBool,
    /// How often numbers were swapped.
    swap_count: AtomicUsize,
    /// Held by who swaps. Nobody waits for it in a turn.
    exclusive: Mutex<()>,
    /// The gates of all cores.
    gates: Mutex<Vec<Arc<Gate>>>,
}

/// Says whether a core is in a turn.
#[derive(Debug)]
pub(crate) struct Gate {
    thread: ThreadId,
    in_iteration: AtomicBool,
}

/// Numbers that a transaction swaps when it commits, in their order.
#[derive(Debug, Default)]
pub(crate) struct Swaps(Vec<(usize, usize)>);

/// A turn. No number changes its meaning until it ends, unless it swaps numbers itself.
pub(crate) struct Entered<'g>(&'g Gate);

impl Databases {
    /// So many tables of a store, each named by its number.
    pub(crate) fn open(store: &Store, count: usize) -> Result<Self, Error> {
        let tables = (0..count).map(|number| store.table(&number.to_string()));
        Ok(Self {
            tables: tables.collect::<Result<_, _>>()?,
            places: (0..count).map(AtomicUsize::new).collect(),
            swapping: AtomicBool::new(false),
            swap_count: AtomicUsize::new(0),
            exclusive: Mutex::default(),
            gates: Mutex::default(),
        })
    }

    /// The table of a number that was checked.
    #[inline]
    pub(crate) fn table(&self, number: usize) -> &Table {
        // Turns and swaps never overlap, which is what orders this load.
        &self.tables[self.places[number].load(Ordering::Relaxed)]
    }

    /// The number of a table, as clients write it.
    pub(crate) fn number(&self, number: i64) -> Result<usize, Failure> {
        let number = usize::try_from(number).map_err(|_| Failure::Database)?;
        if number < self.tables.len() { Ok(number) } else { Err(Failure::Database) }
    }

    /// All tables, in no particular order.
    pub(crate) fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The gate of the core that this thread is.
    pub(crate) fn gate(&self) -> Arc<Gate> {
        let gate = Arc::new(Gate { thread: thread::current().id(), in_iteration: AtomicBool::new(false) });
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).push(gate.clone());
        gate
    }

    /// Begins a turn, once nobody swaps.
    #[inline]
    pub(crate) fn enter<'g>(&self, gate: &'g Gate) -> Entered<'g> {
        loop {
            // Sequentially consistent, like what `swap` does: either it sees the turn, or the turn sees it.
            gate.in_iteration.store(true, Ordering::SeqCst);
            if !self.swapping.load(Ordering::SeqCst) {
                return Entered(gate);
            }
            gate.in_iteration.store(false, Ordering::SeqCst);
            thread::yield_now();
        }
    }

    /// Exchanges the tables of two numbers while no other core is in a turn. A core that calls this in a turn
    /// must have nothing under way that refers to a table.
    pub(crate) fn swap(&self, first: usize, second: usize) {
        self.exclusively(|| self.exchange(first, second));
    }

    /// How often numbers were swapped. What has found tables by their numbers and goes on in another turn
    /// sees by it whether they are still those.
    pub(crate) fn swap_count(&self) -> usize {
        self.swap_count.load(Ordering::Relaxed)
    }

    /// Commits a transaction that found its tables when so many swaps had been made, and swaps numbers at the
    /// same moment. False if `commit` says so, or if there were swaps since: then there are no others.
    pub(crate) fn commit<E>(
        &self,
        swap_count: usize,
        swaps: &Swaps,
        commit: impl FnOnce() -> Result<bool, E>,
    ) -> Result<bool, E> {
        let unless_swapped = || if self.swap_count() == swap_count { commit() } else { Ok(false) };
        if swaps.0.is_empty() {
            return unless_swapped();
        }
        self.exclusively(|| {
            let committed = unless_swapped()?;
            if committed {
                swaps.0.iter().for_each(|(first, second)| self.exchange(*first, *second));
            }
            Ok(committed)
        })
    }

    /// Calls a function while no other core is in a turn.
    fn exclusively<T>(&self, function: impl FnOnce() -> T) -> T {
        let this = thread::current().id();
        let own = self.gates().into_iter().find(|gate| gate.thread == this);
        // Somebody else may be about to swap, and wait for this turn.
        let was_in_iteration = own.as_ref().is_some_and(|own| own.in_iteration.swap(false, Ordering::SeqCst));
        let _exclusive = self.exclusive.lock().unwrap_or_else(PoisonError::into_inner);
        self.swapping.store(true, Ordering::SeqCst);
        // A core that comes later finds that somebody swaps.
        for gate in self.gates().iter().filter(|gate| gate.thread != this) {
            while gate.in_iteration.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        }
        let result = function();
        own.iter().for_each(|own| own.in_iteration.store(was_in_iteration, Ordering::SeqCst));
        self.swapping.store(false, Ordering::SeqCst);
        result
    }

    fn exchange(&self, first: usize, second: usize) {
        let place = self.places[first].load(Ordering::Relaxed);
        self.places[first].store(self.places[second].load(Ordering::Relaxed), Ordering::Relaxed);
        self.places[second].store(place, Ordering::Relaxed);
        self.swap_count.fetch_add(1, Ordering::Relaxed);
    }

    fn gates(&self) -> Vec<Arc<Gate>> {
        self.gates.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Swaps {
    /// Has two numbers swapped, after those before.
    pub(crate) fn push(&mut self, first: usize, second: usize) {
        self.0.push((first, second));
    }

    /// The number that has had the table that a number will have.
    #[inline]
    pub(crate) fn number(&self, number: usize) -> usize {
        self.0.iter().rev().fold(number, |number, &(first, second)| match number {
            _ if number == first => second,
            _ if number == second => first,
            other => other,
        })
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.0.in_iteration.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use honeycomb_store::Config;

    use super::*;

    fn databases() -> Databases {
        let store = Store::open(Config { memory_bytes: 16 << 20, ..Config::default() }).unwrap();
        Databases::open(&store, 3).unwrap()
    }

    #[test]
    fn two_numbers_exchange_their_tables() {
        let databases = databases();
        let names = || [0, 1, 2].map(|number| databases.table(number).name().to_owned());
        databases.swap(0, 2);
        assert_eq!(names(), ["2", "1", "0"]);
        databases.swap(2, 1);
        assert_eq!(names(), ["2", "0", "1"]);
        databases.swap(1, 1);
        assert_eq!(names(), ["2", "0", "1"]);
    }

    #[test]
    fn a_transaction_sees_its_own_swaps_before_others_do() {
        let databases = databases();
        let names =
            |swaps: &Swaps| [0, 1, 2].map(|number| databases.table(swaps.number(number)).name().to_owned());
        let mut swaps = Swaps::default();
        swaps.push(0, 1);
        swaps.push(1, 2);
        assert_eq!(names(&swaps), ["1", "2", "0"]);
        assert_eq!(names(&Swaps::default()), ["0", "1", "2"]);
        let count = databases.swap_count();
        assert_eq!(databases.commit(count, &swaps, || Err("no")), Err("no"));
        assert_eq!(databases.commit::<()>(count, &swaps, || Ok(false)), Ok(false));
        assert_eq!(databases.commit::<()>(count, &swaps, || Ok(true)), Ok(true));
        assert_eq!(names(&Swaps::default()), ["1", "2", "0"]);
        // What was found before is not what it was.
        assert_eq!(databases.commit::<()>(count, &Swaps::default(), || Ok(true)), Ok(false));
        assert_eq!(databases.commit::<()>(count, &swaps, || Ok(true)), Ok(false));
    }

    #[test]
    fn numbers_beyond_the_tables_are_refused() {
        let databases = databases();
        assert_eq!(databases.number(2), Ok(2));
        for number in [-1, 3, i64::MAX, i64::MIN] {
            assert_eq!(databases.number(number), Err(Failure::Database));
        }
    }

    /// Some threads look two numbers up again and again in turns, in which others must not be seen to swap
    /// them, and all swap at times.
    #[test]
    fn no_iteration_sees_a_swap_of_another_core() {
        let databases = databases();
        thread::scope(|scope| {
            for worker in 0..4 {
                let databases = &databases;
                scope.spawn(move || {
                    let gate = databases.gate();
                    for turn in 0..2000 {
                        let _iteration = databases.enter(&gate);
                        if turn % 10 == worker {
                            databases.swap(0, 1);
                        }
                        let seen = [0, 1].map(|number| databases.table(number).name().to_owned());
                        thread::yield_now();
                        assert_ne!(seen[0], seen[1]);
                        assert_eq!(seen, [0, 1].map(|number| databases.table(number).name().to_owned()));
                    }
                });
            }
        });
        // An even number of swaps was made.
        assert_eq!(databases.table(0).name(), "0");
    }
}
