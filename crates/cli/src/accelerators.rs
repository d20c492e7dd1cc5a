//! The accelerators that this program was built with.

use honeycomb_server::Accelerator;

/// The accelerators that `--accelerator` may choose.
pub(crate) const ALL: &[Accelerator] = &[
    Accelerator::SOFTWARE,
    #[cfg(feature = "rtl")]
    RTL,
];

/// The SystemVerilog accelerator, simulated cycle by cycle. It is slow.
#[cfg(feature = "rtl")]
const RTL: Accelerator = Accelerator {
    name: "rtl",
    open: |_| {
        let backend = honeycomb_accelerator::DeviceBackend::<honeycomb_simulator::Simulator>::default();
        std::sync::Arc::new(backend)
    },
};
