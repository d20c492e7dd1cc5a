//! Information of the system about the process, from the files of Linux. Elsewhere it is empty.

use std::fs;

/// Returns the resident bytes of the process.
pub(crate) fn resident_bytes() -> usize {
    let pages = fs::read_to_string("/proc/self/statm").ok();
    let pages = pages.and_then(|line| line.split(' ').nth(1)?.parse::<usize>().ok());
    pages.unwrap_or(0) * rustix::param::page_size()
}

/// Returns the seconds of CPU time of its threads in the kernel, and in user mode.
pub(crate) fn processor_seconds() -> (f64, f64) {
    let line = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The fields follow the name of the program in parentheses, which may contain any bytes.
    let fields: Vec<_> = line.rsplit(')').next().unwrap_or_default().split_ascii_whitespace().collect();
    let seconds = |field: usize| {
        let ticks: u64 = fields.get(field).and_then(|ticks| ticks.parse().ok()).unwrap_or(0);
        ticks as f64 / rustix::param::clock_ticks_per_second() as f64
    };
    (seconds(12), seconds(11))
}

/// Returns the bytes of memory of the machine.
pub(crate) fn system_memory_bytes() -> usize {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kibibytes = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<usize>().ok());
    kibibytes.unwrap_or(0) << 10
}

/// Returns the name and version of the system, and the machine.
pub(crate) fn system() -> String {
    let names = rustix::system::uname();
    let [system, release, machine] =
        [names.sysname(), names.release(), names.machine()].map(|name| name.to_string_lossy().into_owned());
    format!("{system} {release} {machine}")
}

/// Returns the path of the program.
pub(crate) fn executable() -> String {
    std::env::current_exe().map_or(String::new(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_knows_the_process() {
        let held = vec![1_u8; 64 << 20];
        assert!(resident_bytes() > 64 << 20 && resident_bytes() < system_memory_bytes());
        assert!(held.contains(&1));
        let before = processor_seconds().1;
        let began = std::time::Instant::now();
        while processor_seconds().1 < before + 0.03 {
            assert!(began.elapsed().as_secs() < 60);
        }
        assert!(system().len() > 4 && executable().starts_with('/'));
    }
}
