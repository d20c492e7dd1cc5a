//! The server of a tour: in this process, or a process of its own with a directory, which can be killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use honeycomb_file_index::tour::UNORDERED_DATABASE;
use honeycomb_server::{Config, Server, SystemTime};
use honeycomb_store::Store;
use signal_hook::consts::SIGTERM;

use crate::error::Error;

/// A running server.
pub(crate) enum TourServer {
    /// In this process.
    Here(Server, Store),
    /// A process of its own.
    Process(Process),
}

/// A server in a process of its own, with a directory. Dropping it kills it.
pub(crate) struct Process {
    child: Child,
    address: SocketAddr,
    directory: PathBuf,
    memory_bytes: usize,
}

impl TourServer {
    /// Starts a server; a process of its own if there is a directory.
    pub(crate) fn start(
        address: SocketAddr,
        memory_bytes: usize,
        directory: Option<&Path>,
    ) -> Result<Self, Error> {
        if let Some(directory) = directory {
            return Ok(Self::Process(Process::start(address, memory_bytes, directory)?));
        }
        let config = Config { address, memory_bytes, ..config() };
        let store = config.open_store()?;
        Ok(Self::Here(Server::start(config, store.clone(), Box::new(SystemTime))?, store))
    }

    pub(crate) fn address(&self) -> SocketAddr {
        match self {
            Self::Here(server, _) => server.address(),
            Self::Process(process) => process.address,
        }
    }

    /// Stops the server and returns its store.
    pub(crate) fn stop(self) -> Result<Store, Error> {
        match self {
            Self::Here(server, store) => {
                server.stop()?;
                Ok(store)
            }
            Self::Process(process) => process.stop(),
        }
    }
}

fn config() -> Config {
    Config { unordered: vec![UNORDERED_DATABASE], ..Config::default() }
}

impl Process {
    fn start(address: SocketAddr, memory_bytes: usize, directory: &Path) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(Error::file("find", Path::new("honeycomb")))?;
        let mut command = Command::new(&program);
        command.args(["serve", "--address", &address.to_string(), "--memory", &memory_bytes.to_string()]);
        command.args(["--unordered", &UNORDERED_DATABASE.to_string()]);
        command.arg("--dir").arg(directory).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(Error::file("start", &program))?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(Error::file("read the output of", &program))?;
        }
        let address = line.strip_prefix("serving at ").and_then(|line| line.split(';').next()?.parse().ok());
        let Some(address) = address else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Error::Arguments(format!("the server in {} did not start", directory.display())));
        };
        Ok(Self { child, address, directory: directory.to_owned(), memory_bytes })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the server with SIGKILL and starts another one with its directory, at its address.
    pub(crate) fn kill_and_restart(&mut self) -> Result<(), Error> {
        self.child.kill().and_then(|()| self.child.wait()).map_err(Error::file("kill", &self.directory))?;
        *self = Self::start(self.address, self.memory_bytes, &self.directory)?;
        Ok(())
    }

    fn stop(mut self) -> Result<Store, Error> {
        let failed = Error::file("stop", &self.directory);
        // A server that ignores the signal is killed when this value is dropped.
        let pid = self.child.id().to_string();
        let stopped = Command::new("kill").args([format!("-{SIGTERM}"), pid]).status();
        stopped.and_then(|_| self.child.wait()).map_err(failed)?;
        let config =
            Config { memory_bytes: self.memory_bytes, directory: Some(self.directory.clone()), ..config() };
        Ok(config.open_store()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
