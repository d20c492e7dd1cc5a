//! The parameters of the load balancer.

use honeycomb_layout::control_switches;

/// Lines in flight beyond which a memory has a backlog. Cached nodes are read from host memory while on-board
/// memory has a backlog and host memory has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Balance {
    /// Lines from on-board memory: at most [`Balance::LINES_MAX`].
    pub on_board_lines: u16,
    /// Lines from host memory: at most [`Balance::LINES_MAX`].
    pub host_lines: u16,
}

impl Balance {
    /// The greatest bound.
    pub const LINES_MAX: u16 = control_switches::HOST_LINES_MASK as u16;

    /// Returns the fields of the register `switches`.
    pub(crate) fn word(self) -> u64 {
        let Self { on_board_lines, host_lines } = self;
        assert!(on_board_lines <= Self::LINES_MAX && host_lines <= Self::LINES_MAX, "{self:?}");
        let word = control_switches::with_balance(0, 1);
        let word = control_switches::with_on_board_lines(word, on_board_lines.into());
        control_switches::with_host_lines(word, host_lines.into())
    }
}

impl Default for Balance {
    /// The bounds for the platform of the paper: about the lines that its on-board memory transfers in the
    /// latency of host memory, and fewer than saturate the links.
    fn default() -> Self {
        Self { on_board_lines: 512, host_lines: 160 }
    }
}
