//! The priority of threads in the background.

use std::io;

#[cfg(target_os = "linux")]
use rustix::process::{getpriority_process, setpriority_process};

/// The addition to the nice value. Linux gives such a thread a tenth of a processor that another thread uses
/// completely, so a thread that waits for this one, such as for a version or a lock, continues soon. At equal
/// priority the other thread waits up to four milliseconds for its processor.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// The time in nanoseconds that the thread executes before a thread that has become ready gets its
/// processor. By default it is up to three milliseconds, also at a low priority. A shorter one would give
/// the thread an earlier deadline than threads of normal priority have, and the processor before them.
#[cfg(target_os = "linux")]
const SLICE: u64 = 300_000;

/// Lowers the priority of the calling thread, so that other threads on its processor execute as soon as they
/// can. Does nothing on systems where a nice value is that of a whole process.
///
/// # Errors
/// Those of the system. The priority is unchanged then.
pub fn lower_priority() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        let nice = getpriority_process(None)? + NICE;
        // A sandbox may not have the first request.
        if set_priority(nice).is_err() {
            setpriority_process(None, nice)?;
        }
    }
    Ok(())
}

/// Sets nice value and slice of the calling thread.
#[cfg(target_os = "linux")]
fn set_priority(nice: i32) -> io::Result<()> {
    let attributes = libc::sched_attr {
        size: size_of::<libc::sched_attr>() as u32,
        sched_policy: libc::SCHED_OTHER as u32,
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: SLICE,
        sched_deadline: 0,
        sched_period: 0,
    };
    // SAFETY: the system reads the attributes, whose size they contain, and changes only this thread.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, 0, &raw const attributes, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
