//! Commands about durability: checkpoints and the log.

use std::sync::Arc;

use honeycomb_store::{Error, Version};

use crate::arguments::{Arguments, Options, integer, is};
use crate::awaited_checkpoint::AwaitedCheckpoint;
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::failure::Failure;
use crate::shutdown::{self, SavingShutdown};
use crate::task::errand::Errand;
use crate::task::progress::Progress;

pub(super) const COMMANDS: &[Command] = &[
    Command {
        name: "bgrewriteaof",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            context.shared.store.request_checkpoint()?;
            context.replies.simple("Background append only file rewriting started");
            Ok(())
        }),
        usage: "",
        summary: "Starts a checkpoint, after which the server removes log files. The same as BGSAVE.",
    },
    Command {
        name: "bgsave",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(save_in_background),
        usage: "[SCHEDULE]",
        summary: "Starts a checkpoint: a file with all pairs at one moment, for a fast restart.",
    },
    Command {
        name: "lastsave",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Serve(|context, _| {
            context.replies.integer(last_save(context) as i64);
            Ok(())
        }),
        usage: "",
        summary: "Returns the time of the last checkpoint, or of the start: seconds since 1970.",
    },
    Command {
        name: "save",
        arity: 1,
        keys: Keys::None,
        form: CommandForm::Errand(|context, _| {
            Ok(Box::new(Save(AwaitedCheckpoint::request(&context.shared.store)?)))
        }),
        usage: "",
        summary: "Writes a checkpoint before it replies. Only this client waits.",
    },
    Command {
        name: "shutdown",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::ServeOrErrand(shutdown, save_and_shut_down),
        usage: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        summary: "Stops the server; with SAVE after a checkpoint, unless another client sends SHUTDOWN ABORT \
            before. A server with a directory loses nothing in any case.",
    },
    Command {
        name: "waitaof",
        arity: 4,
        keys: Keys::None,
        form: CommandForm::Errand(wait_for_log),
        usage: "local replicas timeout",
        summary: "Replies 1 and 0 when all writes so far are durable in the log of this server, or 0 and 0 \
            after the timeout. There are no replicas, so with a number of them it waits for the timeout.",
    },
];

struct Save(AwaitedCheckpoint);

impl Errand for Save {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        if !self.0.is_complete(&context.shared.store)? {
            return Ok(Progress::Wait);
        }
        context.replies.ok();
        Ok(Progress::Done)
    }
}

/// Returns the time of the last checkpoint in seconds since 1970, or of the start if there was none since.
pub(super) fn last_save(context: &Context<'_>) -> u64 {
    let shared = context.shared;
    let age = shared.store.durability_statistics().map(|statistics| statistics.checkpoint_age);
    let seconds = |milliseconds: u64| milliseconds / 1000;
    age.map_or(seconds(shared.started), |age| {
        seconds(shared.time.milliseconds().saturating_sub(age.as_millis() as u64))
    })
}

fn save_in_background(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    if arguments.len() > 2 || arguments.len() == 2 && !is(&arguments[1], "schedule") {
        return Err(Failure::Syntax);
    }
    context.shared.store.request_checkpoint()?;
    context.replies.simple("Background saving started");
    Ok(())
}

/// The option of `SHUTDOWN` that matters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shutdown {
    Save,
    Abort,
    AtOnce,
}

impl Shutdown {
    fn parse(arguments: &Arguments<'_>) -> Result<Self, Failure> {
        let (mut saves, mut aborts, mut discards, mut others) = (false, false, false, false);
        let mut options = Options::from(arguments, 1);
        while let Some(word) = options.word() {
            match &*word {
                b"SAVE" => saves = true,
                b"ABORT" => aborts = true,
                b"NOSAVE" => discards = true,
                b"NOW" | b"FORCE" => others = true,
                _ => return Err(Failure::Syntax),
            }
        }
        match (saves, aborts) {
            _ if saves && discards || aborts && (saves || discards || others) => Err(Failure::Syntax),
            (true, _) => Ok(Self::Save),
            (_, true) => Ok(Self::Abort),
            _ => Ok(Self::AtOnce),
        }
    }
}

/// `SHUTDOWN` without `SAVE`.
fn shutdown(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let Context { shared, session, replies, .. } = context;
    if Shutdown::parse(arguments)? == Shutdown::Abort {
        if !shared.shutdown.abort() {
            return Err(Failure::other("No shutdown in progress."));
        }
        replies.ok();
        return Ok(());
    }
    shutdown::stop(|| shared.request_shutdown())?;
    tracing::info!(client = session.client.id, "client requested shutdown");
    session.closing = true;
    Ok(())
}

fn save_and_shut_down(
    context: &mut Context<'_>,
    arguments: &Arguments<'_>,
) -> Result<Option<Box<dyn Errand>>, Failure> {
    if Shutdown::parse(arguments)? != Shutdown::Save {
        return Ok(None);
    }
    let shared = context.shared;
    tracing::info!(client = context.session.client.id, "client requested shutdown after a checkpoint");
    Ok(Some(Box::new(SaveAndShutDown(shared.shutdown.begin(&shared.store)?))))
}

struct SaveAndShutDown(Arc<SavingShutdown>);

impl Errand for SaveAndShutDown {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let shared = context.shared;
        let outcome = shared.shutdown.outcome(&self.0, &shared.store, || shared.request_shutdown());
        let Some(outcome) = outcome else { return Ok(Progress::Wait) };
        outcome?;
        context.session.closing = true;
        Ok(Progress::Done)
    }
}

/// Writes that a client waits for.
struct WaitForLog {
    version: Version,
    /// Whether the client waits for replicas as well, of which there are none.
    awaits_replicas: bool,
    /// In milliseconds since 1970, if there is one.
    until: Option<u64>,
}

fn wait_for_log(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (local, replicas) = (integer(&arguments[1])?, integer(&arguments[2])?);
    let timeout = integer(&arguments[3]);
    super::server::check_timeout(timeout.clone())?;
    if !(0..=1).contains(&local) {
        return Err(Failure::other("value is out of range, must be between 0 and 1"));
    }
    if replicas < 0 {
        return Err(Failure::other("value is out of range, must be positive"));
    }
    let store = &context.shared.store;
    if local == 1 && store.sync_policy().is_none() {
        let problem = "WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
        return Err(Failure::other(problem));
    }
    let until = timeout.ok().filter(|timeout| *timeout > 0);
    let until = until.map(|timeout| context.now.saturating_add(timeout.unsigned_abs()));
    Ok(Box::new(WaitForLog { version: store.read_version(), awaits_replicas: replicas > 0, until }))
}

impl Errand for WaitForLog {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let store = &context.shared.store;
        let has_log = store.sync_policy().is_some();
        let is_durable = !has_log || store.request_durable(self.version);
        let is_done = is_durable && !self.awaits_replicas;
        if !is_done && self.until.is_none_or(|until| context.now < until) {
            match store.check_writable() {
                Err(failed) if !is_durable && !matches!(failed, Error::DiskFull) => return Err(failed.into()),
                _ => return Ok(Progress::Wait),
            }
        }
        context.replies.array(2);
        context.replies.integer(i64::from(is_durable && has_log));
        context.replies.integer(0);
        Ok(Progress::Done)
    }
}
