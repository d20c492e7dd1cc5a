//! The priority of threads in the background.

use std::io;

#[cfg(target_os = "linux")]
use rustix::process::{getpriority_process, setpriority_process};

/// The addition to the nice value. Linux gives such a thread a tenth of a processor that another thread uses
/// completely, so a thread that waits for this one, such as for a version or a lock, continues soon. At equal
/// priority the other thread waits up to four milliseconds for its processor.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Lowers the priority of the calling thread, so that other threads on its processor execute as soon as they
/// can. Does nothing on systems where a nice value is that of a whole process.
///
/// # Errors
/// Those of the system. The priority is unchanged then.
pub fn lower_priority() -> io::Result<()> {
    #[cfg(target_os = "linux")]
    setpriority_process(None, getpriority_process(None)? + NICE)?;
    Ok(())
}
