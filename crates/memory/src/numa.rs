//! The placement of pages on NUMA nodes, on Linux.
//!
//! Every core reads all shared pages. By default, a page is on the node of the thread that accesses it first.
//! If one thread loads a store, all pages would be on one node, whose memory would then serve all readers. So
//! pages are interleaved over all nodes. A process with a memory policy of its own (`numactl`) keeps it.

use std::ffi::c_int;
use std::ptr::{self, NonNull};

/// A set of NUMA nodes: one bit for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Nodes([usize; WORDS]);

/// The maximum of any Linux kernel. The kernel rejects a mask with fewer bits than its own maximum.
const NODES_MAX: usize = 1024;
const WORDS: usize = NODES_MAX / usize::BITS as usize;

/// Not in `libc`: requests the set of nodes that the process may use.
const MPOL_F_MEMS_ALLOWED: usize = 1 << 2;

/// Interleaves the pages that are not committed yet over all nodes. The system may ignore this request.
pub(crate) fn interleave(start: NonNull<u8>, bytes: usize) {
    let nodes = process_policy().zip(allowed_nodes()).and_then(|(policy, nodes)| target_nodes(policy, nodes));
    if let Some(nodes) = nodes {
        let _accepted = interleave_over(start, bytes, nodes);
    }
}

/// Requests interleaving over a set of nodes. Returns whether the system has accepted it.
fn interleave_over(start: NonNull<u8>, bytes: usize, nodes: Nodes) -> bool {
    let (mode, mask, flags) = (libc::MPOL_INTERLEAVE as usize, nodes.0.as_ptr(), 0_usize);
    // SAFETY: a policy determines the placement of pages and changes no byte; the mask has NODES_MAX bits,
    // and the system reads one bit less than its length argument.
    let result =
        unsafe { libc::syscall(libc::SYS_mbind, start.as_ptr(), bytes, mode, mask, NODES_MAX + 1, flags) };
    result == 0
}

/// Chooses the nodes for interleaving: `None` if there is only one, or if the process has a policy of its
/// own.
fn target_nodes(policy: c_int, allowed: Nodes) -> Option<Nodes> {
    (policy == libc::MPOL_DEFAULT && allowed.count() > 1).then_some(allowed)
}

/// Returns the memory policy of the process.
fn process_policy() -> Option<c_int> {
    let mut policy: c_int = -1;
    let none = ptr::null_mut::<usize>();
    // SAFETY: the system writes only the policy.
    let result =
        unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut policy, none, 0_usize, none, 0_usize) };
    (result == 0).then_some(policy)
}

/// Returns the nodes that the process may use.
fn allowed_nodes() -> Option<Nodes> {
    let mut nodes = Nodes([0; WORDS]);
    let (policy, address) = (ptr::null_mut::<c_int>(), ptr::null_mut::<u8>());
    let (mask, flags) = (nodes.0.as_mut_ptr(), MPOL_F_MEMS_ALLOWED);
    // SAFETY: the system writes only the mask, which has the given number of bits.
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
    use crate::arena::{MappedSlice, MappingHints};

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
        // SAFETY: the system writes only the policy.
        unsafe { libc::syscall(call, &raw mut policy, none, 0_usize, address, MPOL_F_ADDR) };
        policy
    }

    #[test]
    fn pages_are_interleaved_if_the_system_allows_it() {
        const BYTES: usize = 1 << 20;
        let mut bytes = MappedSlice::<u64>::new(BYTES / 8, MappingHints::default()).unwrap();
        let start = NonNull::from(&mut bytes[0]).cast();
        // Some containers reject the request.
        if let Some(nodes) = allowed_nodes()
            && interleave_over(start, BYTES, nodes)
        {
            assert_eq!(policy_at(start), libc::MPOL_INTERLEAVE, "{nodes:?}");
        }
        (0..BYTES / 8).for_each(|word| bytes[word] = word as u64);
        assert!((0..BYTES / 8).all(|word| bytes[word] == word as u64));
        assert!(!interleave_over(start, BYTES, nodes(&[])), "the system rejects an empty set of nodes");
    }

    #[test]
    fn only_a_process_without_a_policy_interleaves_and_only_over_several_nodes() {
        let several = nodes(&[0, 1, 64, 1023]);
        assert_eq!(target_nodes(libc::MPOL_DEFAULT, several), Some(several));
        assert_eq!(target_nodes(libc::MPOL_DEFAULT, nodes(&[3])), None);
        assert_eq!(target_nodes(libc::MPOL_DEFAULT, nodes(&[])), None);
        for policy in [libc::MPOL_BIND, libc::MPOL_PREFERRED, libc::MPOL_INTERLEAVE, libc::MPOL_LOCAL] {
            assert_eq!(target_nodes(policy, several), None);
        }
    }
}
