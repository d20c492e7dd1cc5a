//! The process of a server, which ends with this process, also after a signal.

use std::io;
use std::process::{Child, ChildStdout, Command};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Between two checks whether the process has ended.
const WAIT_PAUSE: Duration = Duration::from_millis(10);

/// A slot for the process of a server. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct ServerProcess(Arc<Mutex<Option<Child>>>);

impl ServerProcess {
    /// Starts the process, and returns its output.
    pub(crate) fn start(&self, command: &mut Command) -> io::Result<Option<ChildStdout>> {
        // The lock is held meanwhile, so that a signal finds the process.
        let mut child = self.lock();
        Ok(child.insert(command.spawn()?).stdout.take())
    }

    /// Returns the number of the process, if there is one.
    pub(crate) fn id(&self) -> Option<u32> {
        self.lock().as_ref().map(Child::id)
    }

    /// Kills the process, if there is one.
    pub(crate) fn kill(&self) -> io::Result<()> {
        match self.lock().take() {
            Some(mut child) => child.kill().and_then(|()| child.wait()).map(drop),
            None => Ok(()),
        }
    }

    /// Waits for the end of the process. A signal can kill it meanwhile.
    pub(crate) fn wait(&self) -> io::Result<()> {
        while self.is_running()? {
            thread::sleep(WAIT_PAUSE);
        }
        Ok(())
    }

    fn is_running(&self) -> io::Result<bool> {
        match &mut *self.lock() {
            Some(child) => Ok(child.try_wait()?.is_none()),
            None => Ok(false),
        }
    }

    /// Kills the process, and ends this one with the status that shells use for a signal.
    fn exit(&self, signal: i32) -> ! {
        // The lock is held until the end, so that no other process starts.
        let mut child = self.lock();
        if let Some(child) = &mut *child {
            _ = child.kill().and_then(|()| child.wait());
        }
        std::process::exit(128 + signal)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Child>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The signals TERM and INT. Each kills the server and ends this process, except the one that a call waits
/// for.
pub(crate) struct EndSignals {
    awaited: Receiver<()>,
    is_awaited: Arc<AtomicBool>,
}

impl EndSignals {
    /// Handles signals from now on.
    pub(crate) fn handle(process: &ServerProcess) -> io::Result<Self> {
        let mut signals = Signals::new([SIGINT, SIGTERM])?;
        let (sender, awaited) = mpsc::channel();
        let (is_awaited, process) = (Arc::new(AtomicBool::new(false)), process.clone());
        let is_awaited_now = is_awaited.clone();
        thread::spawn(move || {
            for signal in signals.forever() {
                // Relaxed: a signal does not order anything with the call.
                if !is_awaited_now.swap(false, Ordering::Relaxed) || sender.send(()).is_err() {
                    process.exit(signal);
                }
            }
        });
        Ok(Self { awaited, is_awaited })
    }

    /// Waits for a signal.
    pub(crate) fn wait(&self) {
        self.is_awaited.store(true, Ordering::Relaxed);
        // The thread lives as long as the process.
        _ = self.awaited.recv();
    }
}
