//! The Verilated model, and the only file that calls C.
#![allow(unsafe_code)]
#![deny(unsafe_op_in_unsafe_fn)]

#[cfg(feature = "trace")]
use std::ffi::CStr;
use std::ffi::c_void;
use std::ptr::NonNull;

use honeycomb_memory::sync::{AtomicU64, Ordering};

use crate::platform::LINE_BYTES;

/// Links the libraries that compress waveforms.
#[cfg(feature = "trace")]
mod waveform_libraries {
    use libz_sys as _;
    use lz4_sys as _;
}

/// A line on a port of 512 bits.
pub(crate) type Words = [u32; LINE_BYTES / 4];

/// Words of an `event_t`.
pub(crate) const EVENT_WORDS: usize = 4;
/// Ports of on-board memory.
pub(crate) const DRAM_PORTS: usize = 2;

/// Declares a struct of lines and numbers that matches one in `shim/shim.h`.
macro_rules! ports {
    ($(#[$about:meta])* $name:ident {
        $([$part:ident: $parts:ty])? $($line:ident),+; $($number:ident),+ $(,)?
    }) => {
        $(#[$about])*
        #[repr(C)]
        #[derive(Debug, Clone, Default)]
        pub(crate) struct $name {
            $(pub(crate) $part: $parts,)?
            $(pub(crate) $line: Words,)+
            $(pub(crate) $number: u64,)+
        }
    };
}

ports! {
    /// Inputs of a port of on-board memory, by their AXI names.
    DramInputs { rdata; arready, rvalid, rid, rlast, awready, wready, bvalid, bid }
}

ports! {
    /// Outputs of a port of on-board memory, by their AXI names.
    DramOutputs {
        wdata;
        arvalid, arid, araddr, arlen, rready, awvalid, awid, awaddr, awlen, wvalid, wstrb, bready
    }
}

ports! {
    /// Inputs of the accelerator in one cycle.
    Inputs {
        [dram: [DramInputs; DRAM_PORTS]]
        request_data, host_rdata;
        reset,
        control_awvalid, control_awaddr, control_wvalid, control_wdata, control_bready,
        request_valid, request_keep, request_last,
        completion_ready,
        host_arready, host_rvalid, host_rid, host_rlast, host_rresp,
    }
}

ports! {
    /// Outputs of the accelerator in one cycle.
    Outputs {
        [dram: [DramOutputs; DRAM_PORTS]]
        completion_data;
        control_awready, control_wready, control_bvalid, control_bresp,
        request_ready,
        completion_valid, completion_keep, completion_last,
        host_arvalid, host_araddr, host_arlen, host_arid, host_rready,
        window_oldest, window_newest,
    }
}

// The shim asserts the same.
const _: () = assert!(size_of::<Inputs>() == 4 * 64 + 31 * 8 && size_of::<Outputs>() == 3 * 64 + 39 * 8);

/// The simulated accelerator. A failed assertion in the model ends the process.
#[derive(Debug)]
pub(crate) struct Model {
    simulation: NonNull<c_void>,
    cycles: u64,
}

/// Cycles of all dropped models.
static CYCLES: AtomicU64 = AtomicU64::new(0);

/// Returns the number of cycles that all dropped accelerators of this process have simulated.
pub fn cycles_simulated() -> u64 {
    CYCLES.load(Ordering::Relaxed)
}

// SAFETY: a simulation is not bound to the thread that created it, and `Model` is used through `&mut` only.
unsafe impl Send for Model {}

unsafe extern "C" {
    fn honeycomb_model_new(seed: u64) -> *mut c_void;
    fn honeycomb_model_delete(simulation: *mut c_void);
    fn honeycomb_model_cycle(simulation: *mut c_void, inputs: *const Inputs, outputs: *mut Outputs);
    fn honeycomb_model_events(simulation: *const c_void, words: *mut usize) -> *const u32;
    fn honeycomb_model_counters(simulation: *const c_void, words: *mut usize) -> *const u32;
    #[cfg(feature = "trace")]
    fn honeycomb_model_trace(
        simulation: *mut c_void,
        path: *const std::ffi::c_char,
        half_cycle: crate::platform::Picoseconds,
    ) -> bool;
}

impl Model {
    /// Returns a model before its first cycle. Its unknown values follow from the seed if the build script
    /// has made them random.
    ///
    /// # Panics
    /// If memory is exhausted.
    pub(crate) fn new(seed: u64) -> Self {
        // SAFETY: the call has no preconditions.
        let simulation = unsafe { honeycomb_model_new(seed) };
        Self { simulation: NonNull::new(simulation).expect("out of memory for the model"), cycles: 0 }
    }

    /// Runs a cycle. The outputs are sampled with the inputs applied, before the clock edge.
    pub(crate) fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) {
        self.cycles += 1;
        // SAFETY: the simulation lives until `drop`, this is its only user, and the structs match the shim.
        unsafe { honeycomb_model_cycle(self.simulation.as_ptr(), inputs, outputs) };
    }

    /// Returns the events of the last cycle, one for each lane. An idle lane has kind 0.
    pub(crate) fn events(&self) -> &[[u32; EVENT_WORDS]] {
        let mut words = 0;
        // SAFETY: the words belong to the simulation, which is borrowed, and change only in `cycle`.
        let words = unsafe {
            let first = honeycomb_model_events(self.simulation.as_ptr(), &mut words);
            std::slice::from_raw_parts(first, words)
        };
        words.as_chunks().0
    }

    /// Returns the counters after the last cycle, `COUNTER_*` of the layout: the low and the high half of
    /// each.
    pub(crate) fn counters(&self) -> &[[u32; 2]] {
        let mut words = 0;
        // SAFETY: the words belong to the simulation, which is borrowed, and change only in `cycle`.
        let words = unsafe {
            let first = honeycomb_model_counters(self.simulation.as_ptr(), &mut words);
            std::slice::from_raw_parts(first, words)
        };
        words.as_chunks().0
    }

    /// Starts a waveform. Returns false if the file cannot be written.
    #[cfg(feature = "trace")]
    pub(crate) fn trace(&mut self, path: &CStr, cycle: crate::platform::Picoseconds) -> bool {
        // SAFETY: the simulation lives until `drop` and does not keep the path.
        unsafe { honeycomb_model_trace(self.simulation.as_ptr(), path.as_ptr(), cycle / 2) }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        CYCLES.fetch_add(self.cycles, Ordering::Relaxed);
        // SAFETY: the pointer came from `honeycomb_model_new` and is not used after this call.
        unsafe { honeycomb_model_delete(self.simulation.as_ptr()) };
    }
}
