//! How many files the process may have open: each connection is one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files beside the connections: of each core its listener, sockets of datagrams and what it waits with; of
/// the process its logs and metrics; and some to spare.
const FILES_A_CORE: usize = 8;
const OTHER_FILES: usize = 48;

/// Has the system let the process open files for so many connections, as far as it does: how many there may
/// be.
pub(crate) fn allow(connections: usize, cores: usize) -> usize {
    let others = OTHER_FILES + FILES_A_CORE * cores;
    let wanted = (connections + others) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < wanted) else { return connections };
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let files = if is_raised { raised } else { current };
    // With none there would be no way to say why.
    connections.min((files as usize).saturating_sub(others)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_as_far_as_it_can_be() {
        let limit = || getrlimit(Resource::Nofile);
        let before = limit();
        let few = before.current.map_or(100, |current| current as usize / 2);
        assert_eq!(allow(few, 2), few);
        assert_eq!(limit(), before, "there was room");
        let Some(maximum) = before.maximum else { return };
        let possible = maximum as usize - OTHER_FILES - 2 * FILES_A_CORE;
        assert_eq!(allow(possible, 2), possible);
        assert_eq!(allow(possible + 1, 2), possible);
        assert_eq!(limit().current, Some(maximum));
    }
}
