//! The server of a tour: in this process, or a process of its own with a directory, which can be killed.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use honeycomb_file_index::tour::UNORDERED_DATABASE;
use honeycomb_server::{Config, Server, SystemTime};
use honeycomb_store::Store;
use signal_hook::consts::SIGTERM;

use crate::error::Error;
use crate::server_process::ServerProcess;

/// A running server.
pub(crate) enum TourServer {
    /// In this process.
    Here(Server, Store),
    /// A process of its own.
    Process(Process),
}

/// A server in a process of its own, with a directory. Dropping it kills it.
pub(crate) struct Process {
    child: ServerProcess,
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
        process: &ServerProcess,
    ) -> Result<Self, Error> {
        if let Some(directory) = directory {
            let (child, directory) = (process.clone(), directory.to_owned());
            let mut process = Process { child, address, directory, memory_bytes };
            process.start()?;
            return Ok(Self::Process(process));
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
    /// Starts the process, and sets the address at which it listens.
    fn start(&mut self) -> Result<(), Error> {
        let program = std::env::current_exe().map_err(Error::file("find", Path::new("honeycomb")))?;
        let mut command = Command::new(&program);
        let (address, memory_bytes) = (self.address.to_string(), self.memory_bytes.to_string());
        command.args(["serve", "--address", &address, "--memory", &memory_bytes]);
        command.args(["--unordered", &UNORDERED_DATABASE.to_string()]);
        command.arg("--dir").arg(&self.directory).stdin(Stdio::null()).stdout(Stdio::piped());
        let output = self.child.start(&mut command).map_err(Error::file("start", &program))?;
        let mut line = String::new();
        if let Some(output) = output {
            BufReader::new(output)
                .read_line(&mut line)
                .map_err(Error::file("read the output of", &program))?;
        }
        let address = line.strip_prefix("serving at ").and_then(|line| line.split(';').next()?.parse().ok());
        let failed = || Error::Arguments(format!("the server in {} did not start", self.directory.display()));
        self.address = address.ok_or_else(failed)?;
        Ok(())
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Kills the server with SIGKILL and starts another one with its directory, at its address.
    pub(crate) fn kill_and_restart(&mut self) -> Result<(), Error> {
        self.child.kill().map_err(Error::file("kill", &self.directory))?;
        self.start()
    }

    fn stop(self) -> Result<Store, Error> {
        let failed = Error::file("stop", &self.directory);
        // A server that ignores the signal is killed when this value is dropped.
        if let Some(id) = self.child.id() {
            let stopped = Command::new("kill").args([format!("-{SIGTERM}"), id.to_string()]).status();
            stopped.and_then(|_| self.child.wait()).map_err(failed)?;
        }
        let config =
            Config { memory_bytes: self.memory_bytes, directory: Some(self.directory.clone()), ..config() };
        Ok(config.open_store()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
