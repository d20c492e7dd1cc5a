//! Worker processes, one for each map, which execute the requests of the runner. So the resident memory of
//! the process belongs to the map, maps do not share an allocator, and the failure of a map does not affect
//! others.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::adapters::{Contents, Peer, Visitor};
use crate::map::{Failure, OrderedMap};
use crate::memory::{huge_page_bytes, resident_bytes};
use crate::open_loop::{OpenLoop, OpenLoopResult};
use crate::slice::{self, Extent, Sample, Slice};

/// A request to a worker, one line of JSON on its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Insert the next pairs.
    Load {
        /// Number of pairs.
        pairs: u64,
        /// Number of threads that share them.
        threads: usize,
    },
    /// Run a slice.
    Run(Slice),
    /// Run an open loop.
    Open(OpenLoop),
    /// Measure the memory of the map.
    Memory,
}

/// A reply of a worker, one line of JSON on its standard output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// The map exists.
    Ready,
    /// The result of a load or a slice.
    Sample(Sample),
    /// The result of an open loop.
    OpenLoop(OpenLoopResult),
    /// The memory of the map.
    Memory(Memory),
    /// The error of a failed request.
    Failed(String),
}

/// The memory of a map.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// Number of pairs.
    pub pairs: u64,
    /// Growth of the resident memory of its process since the creation of the map.
    pub resident_bytes: u64,
    /// Bytes of its process in huge pages.
    pub huge_page_bytes: u64,
    /// Bytes that the map reports, if it reports them.
    pub accounted_bytes: Option<u64>,
}

/// Runs a worker: creates the map, and executes requests until the end of the input.
pub fn serve(peer: Peer, contents: Contents) -> Result<(), Failure> {
    peer.accept(contents, Server { contents }).or_else(|failure| send(&Reply::Failed(failure.to_string())))
}

struct Server {
    contents: Contents,
}

impl Visitor for Server {
    type Output = ();

    fn visit<M: OrderedMap>(self, make: impl FnOnce() -> Result<M, Failure>) -> Result<(), Failure> {
        let base_bytes = resident_bytes()?;
        let extent = Extent { sizes: self.contents.sizes, loaded: 0, next_index: 0 };
        let mut state = WorkerState { map: make()?, extent, base_bytes };
        send(&Reply::Ready)?;
        for line in stdin().lock().lines() {
            let reply = state.execute(serde_json::from_str(&line?)?);
            send(&reply.unwrap_or_else(|failure| Reply::Failed(failure.to_string())))?;
        }
        Ok(())
    }
}

fn send(reply: &Reply) -> Result<(), Failure> {
    let mut output = stdout().lock();
    writeln!(output, "{}", serde_json::to_string(reply)?)?;
    Ok(output.flush()?)
}

struct WorkerState<M> {
    map: M,
    extent: Extent,
    base_bytes: u64,
}

impl<M: OrderedMap> WorkerState<M> {
    fn execute(&mut self, request: Request) -> Result<Reply, Failure> {
        Ok(match request {
            Request::Load { pairs, threads } => {
                let rate = slice::load(&self.map, &mut self.extent, pairs, threads)?;
                Reply::Sample(Sample { rate, counts: None })
            }
            Request::Run(slice) => Reply::Sample(slice.run(&self.map, &mut self.extent)?),
            Request::Open(open) => Reply::OpenLoop(open.run(&self.map, &mut self.extent)?),
            Request::Memory => Reply::Memory(Memory {
                pairs: self.extent.next_index,
                resident_bytes: resident_bytes()?.saturating_sub(self.base_bytes),
                huge_page_bytes: huge_page_bytes()?,
                accounted_bytes: self.map.accounted_bytes(),
            }),
        })
    }
}

/// A handle to a worker process.
#[derive(Debug)]
pub struct Worker {
    /// Its map.
    pub peer: Peer,
    process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this program as a worker.
    pub fn start(peer: Peer, contents: Contents) -> Result<Worker, Failure> {
        let Contents { pairs, sizes } = contents;
        let mut process = Command::new(std::env::current_exe()?)
            .args(["worker", &peer.to_string(), &pairs.to_string(), &sizes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let replies = BufReader::new(process.stdout.take().ok_or("no standard output")?);
        let requests = process.stdin.take();
        let mut worker = Worker { peer, process, requests, replies };
        match worker.receive()? {
            Reply::Ready => Ok(worker),
            other => Err(unexpected(&other)),
        }
    }

    /// Inserts the next pairs.
    pub fn load(&mut self, pairs: u64, threads: usize) -> Result<Sample, Failure> {
        self.sample(&Request::Load { pairs, threads })
    }

    /// Runs a slice.
    pub fn run(&mut self, slice: &Slice) -> Result<Sample, Failure> {
        self.sample(&Request::Run(slice.clone()))
    }

    /// Runs an open loop.
    pub fn open(&mut self, open: &OpenLoop) -> Result<OpenLoopResult, Failure> {
        match self.request(&Request::Open(open.clone()))? {
            Reply::OpenLoop(result) => Ok(result),
            other => Err(unexpected(&other)),
        }
    }

    /// Measures the memory of the map.
    pub fn memory(&mut self) -> Result<Memory, Failure> {
        match self.request(&Request::Memory)? {
            Reply::Memory(memory) => Ok(memory),
            other => Err(unexpected(&other)),
        }
    }

    fn sample(&mut self, request: &Request) -> Result<Sample, Failure> {
        match self.request(request)? {
            Reply::Sample(sample) => Ok(sample),
            other => Err(unexpected(&other)),
        }
    }

    fn request(&mut self, request: &Request) -> Result<Reply, Failure> {
        let line = serde_json::to_string(request)?;
        let requests = self.requests.as_mut().ok_or("the worker has stopped")?;
        // The missing reply reports a worker that has ended.
        let _ = writeln!(requests, "{line}").and_then(|()| requests.flush());
        self.receive()
    }

    fn receive(&mut self) -> Result<Reply, Failure> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(format!("worker process ended: {}", self.process.wait()?).into());
        }
        match serde_json::from_str(&line)? {
            Reply::Failed(reason) => Err(reason.into()),
            reply => Ok(reply),
        }
    }
}

impl Drop for Worker {
    /// Ends the process. Its memory is free when this returns.
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn unexpected(reply: &Reply) -> Failure {
    format!("unexpected reply {reply:?}").into()
}
