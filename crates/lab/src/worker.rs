//! A process of its own for each map, which does what the runner says line by line. So the resident memory of
//! the process is the map's, no map shares an allocator with another, and one that fails takes none with it.

use std::io::{BufRead, BufReader, Write, stdin, stdout};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::adapters::{Contents, Peer, Visitor};
use crate::map::{Failure, OrderedMap};
use crate::memory::{huge_page_bytes, resident_bytes};
use crate::open::{Lateness, Open};
use crate::slice::{self, Extent, Sample, Slice};

/// What a worker is asked, a line of JSON each on its standard input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Request {
    /// Insert the next pairs.
    Load {
        /// How many.
        pairs: u64,
        /// How many threads share them.
        threads: usize,
    },
    /// Run a slice.
    Run(Slice),
    /// Run a slice as an open loop.
    Open(Open),
    /// Say what memory the map takes.
    Memory,
}

/// What it answers, a line of JSON each on its standard output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// The map is made.
    Ready,
    /// Done, as fast as this.
    Sample(Sample),
    /// Done, so late.
    Lateness(Lateness),
    /// What memory the map takes.
    Memory(Memory),
    /// Not done: why.
    Failed(String),
}

/// What memory a map takes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    /// How many pairs it holds.
    pub pairs: u64,
    /// Bytes by which the resident memory of its process has grown since the map was made.
    pub resident_bytes: u64,
    /// How many bytes of its process lie in huge pages.
    pub huge_page_bytes: u64,
    /// Bytes by the map's own accounting, if it has any.
    pub accounted_bytes: Option<u64>,
}

/// The work of a worker: makes the map, and answers requests until there are no more.
pub fn serve(peer: Peer, contents: Contents) -> Result<(), Failure> {
    peer.accept(contents, Serve { contents }).or_else(|failure| answer(&Reply::Failed(failure.to_string())))
}

struct Serve {
    contents: Contents,
}

impl Visitor for Serve {
    type Output = ();

    fn visit<M: OrderedMap>(self, make: impl FnOnce() -> Result<M, Failure>) -> Result<(), Failure> {
        let base_bytes = resident_bytes()?;
        let extent = Extent { sizes: self.contents.sizes, loaded: 0, fresh: 0 };
        let mut served = Served { map: make()?, extent, base_bytes };
        answer(&Reply::Ready)?;
        for line in stdin().lock().lines() {
            let reply = served.reply(serde_json::from_str(&line?)?);
            answer(&reply.unwrap_or_else(|failure| Reply::Failed(failure.to_string())))?;
        }
        Ok(())
    }
}

fn answer(reply: &Reply) -> Result<(), Failure> {
    let mut output = stdout().lock();
    writeln!(output, "{}", serde_json::to_string(reply)?)?;
    Ok(output.flush()?)
}

struct Served<M> {
    map: M,
    extent: Extent,
    base_bytes: u64,
}

impl<M: OrderedMap> Served<M> {
    fn reply(&mut self, request: Request) -> Result<Reply, Failure> {
        Ok(match request {
            Request::Load { pairs, threads } => {
                let rate = slice::load(&self.map, &mut self.extent, pairs, threads)?;
                Reply::Sample(Sample { rate, counts: None })
            }
            Request::Run(slice) => Reply::Sample(slice.run(&self.map, &mut self.extent)?),
            Request::Open(open) => Reply::Lateness(open.run(&self.map, &mut self.extent)?),
            Request::Memory => Reply::Memory(Memory {
                pairs: self.extent.fresh,
                resident_bytes: resident_bytes()?.saturating_sub(self.base_bytes),
                huge_page_bytes: huge_page_bytes()?,
                accounted_bytes: self.map.accounted_bytes(),
            }),
        })
    }
}

/// The runner's end of a worker.
#[derive(Debug)]
pub struct Worker {
    /// Which map it has.
    pub peer: Peer,
    process: Child,
    requests: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this program again as a worker.
    pub fn start(peer: Peer, contents: Contents) -> Result<Worker, Failure> {
        let Contents { pairs, sizes } = contents;
        let mut process = Command::new(std::env::current_exe()?)
            .args(["worker", &peer.to_string(), &pairs.to_string(), &sizes.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let replies = BufReader::new(process.stdout.take().ok_or("no output")?);
        let requests = process.stdin.take();
        let mut worker = Worker { peer, process, requests, replies };
        match worker.receive()? {
            Reply::Ready => Ok(worker),
            other => Err(unexpected(&other)),
        }
    }

    /// Has the next pairs inserted.
    pub fn load(&mut self, pairs: u64, threads: usize) -> Result<Sample, Failure> {
        self.sample(&Request::Load { pairs, threads })
    }

    /// Has a slice run.
    pub fn run(&mut self, slice: &Slice) -> Result<Sample, Failure> {
        self.sample(&Request::Run(slice.clone()))
    }

    /// Has a slice run as an open loop. How late its operations were.
    pub fn open(&mut self, open: &Open) -> Result<Lateness, Failure> {
        match self.ask(&Request::Open(open.clone()))? {
            Reply::Lateness(lateness) => Ok(lateness),
            other => Err(unexpected(&other)),
        }
    }

    /// Asks what memory the map takes.
    pub fn memory(&mut self) -> Result<Memory, Failure> {
        match self.ask(&Request::Memory)? {
            Reply::Memory(memory) => Ok(memory),
            other => Err(unexpected(&other)),
        }
    }

    fn sample(&mut self, request: &Request) -> Result<Sample, Failure> {
        match self.ask(request)? {
            Reply::Sample(sample) => Ok(sample),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, request: &Request) -> Result<Reply, Failure> {
        let line = serde_json::to_string(request)?;
        let requests = self.requests.as_mut().ok_or("stopped")?;
        // A worker that is gone is told by the missing reply.
        let _ = writeln!(requests, "{line}").and_then(|()| requests.flush());
        self.receive()
    }

    fn receive(&mut self) -> Result<Reply, Failure> {
        let mut line = String::new();
        if self.replies.read_line(&mut line)? == 0 {
            return Err(format!("its process ended: {}", self.process.wait()?).into());
        }
        match serde_json::from_str(&line)? {
            Reply::Failed(reason) => Err(reason.into()),
            reply => Ok(reply),
        }
    }
}

impl Drop for Worker {
    /// No more requests: the worker ends by itself, and has given its memory back when this returns.
    fn drop(&mut self) {
        drop(self.requests.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn unexpected(reply: &Reply) -> Failure {
    format!("unexpected reply {reply:?}").into()
}
