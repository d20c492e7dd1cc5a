//! Epochs: the operations in flight, and the decision when retired memory can be reclaimed (section 3.2 of
//! the Honeycomb paper).
//!
//! Every participant numbers its operations. A stamp records the operations in flight when memory is retired.
//! The memory is reclaimed after all of them have ended: later operations cannot reach it.
//!
//! A participant on the CPU is a slot with a sequence number: even while idle, odd while an operation is in
//! flight. A device has a window: its oldest operation in flight and its newest operation.
//!
//! 1. `slots[i]`: a thread that changes an even number to an odd one by compare-and-swap owns the slot. It
//!    makes the number even again by a release store. The first `pins` slots are for pins, the others for
//!    leases.
//! 2. `devices[i].taken`: a thread that sets it by compare-and-swap owns the device, and clears it by a
//!    release store.
//! 3. `devices[i].newest` and `.oldest`: only the owner stores them. They never decrease.
//! 4. An operation has a full fence between its announcement and its first load. A thread that creates a
//!    stamp has a full fence between making memory unreachable and loading the announcements. So at least one
//!    of the two sees the other: either the stamp contains the operation, or the operation cannot reach the
//!    memory.
//! 5. The release store at the end of an operation follows all its reads. A thread that reuses the memory has
//!    loaded that store with acquire, so the reads happen before the reuse.

use std::mem::ManuallyDrop;

use crate::sync::{AtomicBool, AtomicU64, Ordering, Padded, fence, fence_after_exchange, thread};

/// All participants.
#[derive(Debug)]
pub(crate) struct Epochs {
    slots: Box<[Padded<AtomicU64>]>,
    pins: usize,
    devices: Box<[Padded<Window>]>,
}

/// The operations of a device in flight: `oldest` to `newest`, empty if `oldest` is greater.
#[derive(Debug)]
struct Window {
    taken: AtomicBool,
    oldest: AtomicU64,
    newest: AtomicU64,
}

/// An operation in flight. While it exists, no memory that it can reach is reclaimed.
#[derive(Debug)]
#[must_use = "a pin ends when it is dropped"]
pub struct Pin<'m> {
    epochs: &'m Epochs,
    slot: &'m AtomicU64,
    /// The odd number of this operation.
    sequence: u64,
}

/// The operations in flight at one moment. Idle participants are omitted.
#[derive(Debug)]
pub(crate) struct Stamp {
    slots: Vec<(usize, u64)>,
    devices: Vec<(usize, u64)>,
}

impl Epochs {
    /// `pins` must be a power of two.
    pub(crate) fn new(pins: usize, leases: usize, devices: usize) -> Self {
        let window =
            || Window { taken: AtomicBool::new(false), oldest: AtomicU64::new(1), newest: AtomicU64::new(0) };
        Self {
            slots: (0..pins + leases).map(|_| Padded(AtomicU64::new(0))).collect(),
            pins,
            devices: (0..devices).map(|_| Padded(window())).collect(),
        }
    }

    /// Begins an operation, in the slot `preferred` if it is idle. Waits until a slot is idle.
    #[inline]
    pub(crate) fn pin(&self, preferred: usize) -> Pin<'_> {
        let slot = preferred & (self.pins - 1);
        self.enter(slot).unwrap_or_else(|| self.pin_elsewhere(slot))
    }

    #[cold]
    fn pin_elsewhere(&self, preferred: usize) -> Pin<'_> {
        loop {
            let mut slots = (1..=self.pins).map(|distance| (preferred + distance) & (self.pins - 1));
            if let Some(pin) = slots.find_map(|slot| self.enter(slot)) {
                return pin;
            }
            thread::yield_now();
        }
    }

    /// Acquires a slot for a lease. Its operation is in flight from now on. Returns the slot and the sequence
    /// number, or `None` if all slots for leases are in use.
    pub(crate) fn acquire_lease(&self) -> Option<(usize, u64)> {
        let enter = |slot| Some((slot, ManuallyDrop::new(self.enter(slot)?).sequence));
        (self.pins..self.slots.len()).find_map(enter)
    }

    /// Returns the operation of a lease, which is in flight.
    pub(crate) fn lease_pin(&self, slot: usize, sequence: u64) -> Pin<'_> {
        Pin { epochs: self, slot: &self.slots[slot].0, sequence }
    }

    #[inline]
    fn enter(&self, slot: usize) -> Option<Pin<'_>> {
        let slot = &self.slots[slot].0;
        let idle = slot.load(Ordering::Relaxed);
        if idle % 2 == 1 {
            return None;
        }
        slot.compare_exchange(idle, idle + 1, Ordering::SeqCst, Ordering::Relaxed).ok()?;
        fence_after_exchange();
        Some(Pin { epochs: self, slot, sequence: idle + 1 })
    }

    /// Creates a stamp of the operations in flight. Only these can reach memory that the caller has made
    /// unreachable before.
    pub(crate) fn stamp(&self) -> Stamp {
        fence(Ordering::SeqCst);
        // Acquire: the operations that have ended read before the memory is reused.
        let slots = self.slots.iter().map(|slot| slot.0.load(Ordering::Acquire)).enumerate();
        let newest = self.devices.iter().map(|device| device.0.newest.load(Ordering::Relaxed)).enumerate();
        let mut stamp =
            Stamp { slots: slots.filter(|(_, sequence)| sequence % 2 == 1).collect(), devices: Vec::new() };
        stamp.devices = newest.filter(|&(device, newest)| !self.device_passed(device, newest)).collect();
        stamp
    }

    /// Whether all operations of a stamp have ended.
    pub(crate) fn passed(&self, stamp: &Stamp) -> bool {
        let slot_passed = |slot: usize, sequence| self.slots[slot].0.load(Ordering::Acquire) != sequence;
        stamp.slots.iter().all(|&(slot, sequence)| slot_passed(slot, sequence))
            && stamp.devices.iter().all(|&(device, newest)| self.device_passed(device, newest))
    }

    fn device_passed(&self, device: usize, newest: u64) -> bool {
        self.devices[device].0.oldest.load(Ordering::Acquire) > newest
    }

    /// Acquires a device. Returns its index and the number of the last operation of its previous owner, or
    /// `None` if all devices are in use.
    pub(crate) fn acquire_device(&self) -> Option<(usize, u64)> {
        let acquire = |device: &Padded<Window>| {
            let taken = &device.0.taken;
            taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let index = self.devices.iter().position(acquire)?;
        Some((index, self.devices[index].0.newest.load(Ordering::Relaxed)))
    }

    /// Stores the window of a device that the caller owns.
    pub(crate) fn publish_window(&self, device: usize, oldest: u64, newest: u64) {
        let window = &self.devices[device].0;
        window.newest.store(newest, Ordering::Relaxed);
        // The fence also orders the reads of the operations that have ended before the store of `oldest`.
        fence(Ordering::SeqCst);
        window.oldest.store(oldest, Ordering::Relaxed);
    }

    /// Releases a device that the caller owns, and ends all its operations.
    pub(crate) fn release_device(&self, device: usize) {
        let window = &self.devices[device].0;
        window.oldest.store(window.newest.load(Ordering::Relaxed) + 1, Ordering::Release);
        window.taken.store(false, Ordering::Release);
    }

    pub(crate) fn device_count(&self) -> usize {
        self.devices.len()
    }

    pub(crate) fn lease_count(&self) -> usize {
        self.slots.len() - self.pins
    }
}

impl Pin<'_> {
    /// Whether this pin belongs to these epochs, so that it prevents their memory from being reclaimed.
    #[inline]
    pub(crate) fn guards(&self, epochs: &Epochs) -> bool {
        std::ptr::eq(self.epochs, epochs)
    }
}

impl Drop for Pin<'_> {
    #[inline]
    fn drop(&mut self) {
        self.slot.store(self.sequence + 1, Ordering::Release);
    }
}

#[cfg(all(test, loom))]
pub(crate) mod models {
    use loom::cell::UnsafeCell;
    use loom::thread;

    use super::*;
    use crate::sync::Arc;

    /// One buffer, which is reachable at first, and the epochs that guard it.
    pub(crate) struct GuardedBuffer {
        pub(crate) epochs: Arc<Epochs>,
        reachable: AtomicBool,
        buffer: UnsafeCell<u32>,
    }

    impl GuardedBuffer {
        pub(crate) fn new(pins: usize, leases: usize, devices: usize) -> Arc<Self> {
            Arc::new(Self {
                epochs: Arc::new(Epochs::new(pins, leases, devices)),
                reachable: AtomicBool::new(true),
                buffer: UnsafeCell::new(0),
            })
        }

        /// Reads the buffer if it is reachable. loom detects a concurrent reuse.
        pub(crate) fn read(&self) -> bool {
            let reachable = self.reachable.load(Ordering::Acquire);
            if reachable {
                // SAFETY: the caller is in flight; loom checks that no thread writes.
                assert_eq!(self.buffer.with(|buffer| unsafe { *buffer }), 0);
            }
            reachable
        }

        pub(crate) fn make_unreachable(&self) {
            self.reachable.store(false, Ordering::Release);
        }

        /// Makes the buffer unreachable and stamps it.
        pub(crate) fn replace(&self) -> Stamp {
            self.make_unreachable();
            self.epochs.stamp()
        }

        /// Reuses the buffer.
        pub(crate) fn write(&self) {
            // SAFETY: no operation can reach the buffer; loom checks this.
            self.buffer.with_mut(|buffer| unsafe { *buffer = 1 });
        }

        /// Reuses the buffer if all operations of the stamp have ended.
        pub(crate) fn reuse(&self, stamp: &Stamp) -> bool {
            let passed = self.epochs.passed(stamp);
            if passed {
                self.write();
            }
            passed
        }
    }

    /// Runs readers concurrently with a writer that reuses the buffer as soon as it can.
    fn run<const N: usize>(shared: &Arc<GuardedBuffer>, readers: [fn(&GuardedBuffer); N]) {
        let spawn = |reader: fn(&GuardedBuffer)| {
            let shared = shared.clone();
            thread::spawn(move || reader(&shared))
        };
        let readers = readers.map(spawn);
        let stamp = shared.replace();
        let reused = shared.reuse(&stamp);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        assert!(reused || shared.reuse(&stamp), "no operation is in flight");
    }

    fn read_once(shared: &GuardedBuffer) {
        let _pin = shared.epochs.pin(0);
        shared.read();
    }

    /// Fails if one of the two fences is omitted (`enter`, `stamp`), or if the store in `drop` or the load in
    /// `passed` or in `stamp` is weakened to Relaxed.
    #[test]
    fn loom_nothing_is_reused_under_a_pin() {
        loom::model(|| run(&GuardedBuffer::new(1, 0, 0), [read_once]));
    }

    /// Two consecutive operations in one slot.
    #[test]
    fn loom_nothing_is_reused_under_the_second_pin_of_a_slot() {
        let read_twice: fn(&GuardedBuffer) = |shared| (0..2).for_each(|_| read_once(shared));
        loom::model(move || run(&GuardedBuffer::new(1, 0, 0), [read_twice]));
    }

    /// Two threads prefer the same slot. Fails if the exchange in `enter` is replaced by a store, or if the
    /// store in `drop` is weakened to Relaxed.
    #[test]
    fn loom_a_slot_has_one_holder() {
        loom::model(|| {
            let epochs = Arc::new(Epochs::new(2, 0, 0));
            let owned = Arc::new([UnsafeCell::new(()), UnsafeCell::new(())]);
            let own = |epochs: &Epochs, owned: &[UnsafeCell<()>; 2]| {
                let pin = epochs.pin(0);
                let first = std::ptr::eq(pin.slot, &epochs.slots[0].0);
                owned[usize::from(first)].with_mut(|_| ());
            };
            let other = thread::spawn({
                let (epochs, owned) = (epochs.clone(), owned.clone());
                move || own(&epochs, &owned)
            });
            own(&epochs, &owned);
            other.join().unwrap();
        });
    }

    /// Fails if the fence in `publish_window` or in `stamp` is omitted, or if the load of `oldest` is
    /// weakened to Relaxed.
    #[test]
    fn loom_nothing_is_reused_in_the_window_of_a_device() {
        let read_twice: fn(&GuardedBuffer) = |shared| {
            let (device, base) = shared.epochs.acquire_device().unwrap();
            shared.epochs.publish_window(device, base + 1, base + 1);
            shared.read();
            shared.epochs.publish_window(device, base + 2, base + 2);
            shared.read();
            shared.epochs.publish_window(device, base + 3, base + 2);
        };
        loom::model(move || run(&GuardedBuffer::new(1, 0, 1), [read_twice]));
    }
}
