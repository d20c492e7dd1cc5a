//! Which NUMA nodes pages lie on, on Linux.
//!
//! Every core reads all of what is shared. Left alone, each page would lie on the node of the thread that
//! touched it first: after a load by one thread, on one node, whose memory would then serve all readers. So
//! pages are dealt out to all nodes in turn. A process that was given a policy of its own (`numactl`) keeps
//! it.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// A bit for each NUMA node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nodes([usize; WORDS]);

/// As many as Linux can be built for; it refuses to fill in fewer than it was built for.
const NODES_MAX: usize = 1024;
const WORDS: usize = NODES_MAX / usize::BITS as usize;

/// Not in `libc`: asks for the nodes that the process may use.
const MPOL_F_MEMS_ALLOWED: usize = 1 << 2;

/// Deals the pages that are not touched yet out to all nodes. A wish: where the system does not grant it, all
/// works as well without.
pub(crate) fn interleave(start: NonNull<u8>, bytes: usize) {
    let nodes = given_policy().zip(allowed()).and_then(|(policy, nodes)| spread_over(policy, nodes));
    if let Some(nodes) = nodes {
        let _granted = deal_out(start, bytes, nodes);
    }
}

/// Whether the system does it.
fn deal_out(start: NonNull<u8>, bytes: usize, nodes: Nodes) -> bool {
    let (mode, mask, flags) = (libc::MPOL_INTERLEAVE as usize, nodes.0.as_ptr(), 0_usize);
    // SAFETY: a policy says where pages will lie and changes no byte; the mask has NODES_MAX bits, and the
    // system reads one less than it is told.
    let result =
        unsafe { libc::syscall(libc::SYS_mbind, start.as_ptr(), bytes, mode, mask, NODES_MAX + 1, flags) };
    result == 0
}

/// The nodes to deal pages out to: none if there is one only, or somebody has asked for something else.
fn spread_over(policy: c_int, allowed: Nodes) -> Option<Nodes> {
    (policy == libc::MPOL_DEFAULT && allowed.count() > 1).then_some(allowed)
}

/// The policy that the process was given.
fn given_policy() -> Option<c_int> {
    let mut policy: c_int = -1;
    let none = ptr::null_mut::<usize>();
    // SAFETY: only the policy is filled in.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut policy, none, 0_usize, none, 0_usize) };
    (result == 0).then_some(policy)
}

/// The nodes that the process may use.
fn allowed() -> Option<Nodes> {
    let mut nodes = Nodes([0; WORDS]);
    let (policy, address) = (ptr::null_mut::<c_int>(), ptr::null_mut::<u8>());
    let (mask, flags) = (nodes.0.as_mut_ptr(), MPOL_F_MEMS_ALLOWED);
    // SAFETY: only the mask is filled in, which has as many bits as the system is told.
    let result = unsafe { libc::syscall(libc::SYS_get_mempolicy, policy, mask, NODES_MAX, address, flags) };
    (result == 0).then_some(nodes)
}

impl Nodes {
    fn count(self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::arena::{MappedSlice, Wishes};

    fn nodes(numbers: &[usize]) -> Nodes {
        let mut words = [0; WORDS];
        numbers
            .iter()
            .for_each(|node| words[node / usize::BITS as usize] |= 1 << (node % usize::BITS as usize));
        Nodes(words)
    }

    /// The policy of the page at an address.
    fn policy_at(start: NonNull<u8>) -> c_int {
        const MPOL_F_ADDR: usize = 1 << 1;
        let (mut policy, none): (c_int, _) = (-1, ptr::null_mut::<usize>());
        let (call, address) = (libc::SYS_get_mempolicy, start.as_ptr());
        // SAFETY: only the policy is filled in.
        unsafe { libc::syscall(call, &raw mut policy, none, 0_usize, address, MPOL_F_ADDR) };
        policy
    }

    #[test]
    fn pages_are_dealt_out_if_the_system_lets_us_and_hold_what_is_written() {
        const BYTES: usize = 1 << 20;
        let mut bytes = MappedSlice::<u64>::new(BYTES / 8, Wishes::default()).unwrap();
        let start = NonNull::from(&mut bytes[0]).cast();
        // Some containers do not let us.
        if let Some(nodes) = allowed()
            && deal_out(start, BYTES, nodes)
        {
            assert_eq!(policy_at(start), libc::MPOL_INTERLEAVE, "{nodes:?}");
        }
        (0..BYTES / 8).for_each(|word| bytes[word] = word as u64);
        assert!((0..BYTES / 8).all(|word| bytes[word] == word as u64));
        assert!(!deal_out(start, BYTES, nodes(&[])), "no nodes to deal out to");
    }

    #[test]
    fn pages_are_dealt_out_to_several_nodes_unless_something_else_was_asked_for() {
        let several = nodes(&[0, 1, 64, 1023]);
        assert_eq!(spread_over(libc::MPOL_DEFAULT, several), Some(several));
        assert_eq!(spread_over(libc::MPOL_DEFAULT, nodes(&[3])), None);
        assert_eq!(spread_over(libc::MPOL_DEFAULT, nodes(&[])), None);
        for asked in [libc::MPOL_BIND, libc::MPOL_PREFERRED, libc::MPOL_INTERLEAVE, libc::MPOL_LOCAL] {
            assert_eq!(spread_over(asked, several), None);
        }
    }
}
