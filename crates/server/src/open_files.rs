//! The limit of open files of the process. Each connection uses one file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files in addition to the connections: per core a listener, datagram sockets and the poll; per process logs
/// and metrics; and a reserve.
const FILES_PER_CORE: usize = 8;
const OTHER_FILES: usize = 48;

/// Raises the limit as far as the connections need and the system allows. Returns the possible number of
/// connections.
pub(crate) fn allow(connections: usize, cores: usize) -> usize {
    let others = OTHER_FILES + FILES_PER_CORE * cores;
    let wanted = (connections + others) as u64;
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(current) = current.filter(|current| *current < wanted) else { return connections };
    let raised = maximum.map_or(wanted, |maximum| maximum.min(wanted));
    let is_raised = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum }).is_ok();
    let files = if is_raised { raised } else { current };
    // Without any connection the server could not report the reason.
    connections.min((files as usize).saturating_sub(others)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_rises_as_far_as_possible() {
        let limit = || getrlimit(Resource::Nofile);
        let before = limit();
        let few = before.current.map_or(100, |current| current as usize / 2);
        assert_eq!(allow(few, 2), few);
        assert_eq!(limit(), before, "there was room");
        let Some(maximum) = before.maximum else { return };
        let possible = maximum as usize - OTHER_FILES - 2 * FILES_PER_CORE;
        assert_eq!(allow(possible, 2), possible);
        assert_eq!(allow(possible + 1, 2), possible);
        assert_eq!(limit().current, Some(maximum));
    }
}
