//! Commands about durability: checkpoints and the log.

use honeycomb_store::{Error, Version};

use crate::arguments::{Arguments, Options, integer, is};
use crate::command::{Command, CommandForm, Keys};
use crate::context::Context;
use crate::failure::Failure;
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
        form: CommandForm::Errand(|context, _| Ok(Box::new(Save(AwaitedCheckpoint::request(context)?)))),
        usage: "",
        summary: "Writes a checkpoint before it replies. Only this client waits.",
    },
    Command {
        name: "shutdown",
        arity: -1,
        keys: Keys::None,
        form: CommandForm::Serve(shutdown),
        usage: "[NOSAVE | SAVE] [NOW] [FORCE] [ABORT]",
        summary: "Stops the server; with SAVE after a checkpoint. A server with a directory loses nothing in \
            any case.",
    },
    Command {
        name: "waitaof",
        arity: 4,
        keys: Keys::None,
        form: CommandForm::Errand(wait_for_log),
        usage: "local replicas timeout",
        summary: "Replies 1 and 0 when all writes so far are durable in the log of this server, or 0 and 0 \
            after the timeout. There are no replicas.",
    },
];

/// A checkpoint that a client waits for.
pub(super) struct AwaitedCheckpoint {
    /// The number of checkpoints since the start of the server when it is complete.
    number: u64,
}

impl AwaitedCheckpoint {
    /// Requests a checkpoint that begins after now.
    pub(super) fn request(context: &Context<'_>) -> Result<Self, Failure> {
        let store = &context.shared.store;
        let begun = store.durability_statistics().map_or(0, |statistics| statistics.begun_checkpoints);
        store.request_checkpoint()?;
        Ok(Self { number: begun + 1 })
    }

    /// Returns whether the checkpoint is complete, or its error.
    pub(super) fn is_complete(&self, context: &Context<'_>) -> Result<bool, Failure> {
        let statistics = context.shared.store.durability_statistics().unwrap_or_default();
        let is_complete = statistics.checkpoints + statistics.failed_checkpoints >= self.number;
        match statistics.checkpoint_error {
            Some(error) if is_complete => Err(Failure::other(error)),
            _ => Ok(is_complete),
        }
    }
}

struct Save(AwaitedCheckpoint);

impl Errand for Save {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        if !self.0.is_complete(context)? {
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

fn shutdown(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
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
    if saves && discards || aborts && (saves || discards || others) {
        return Err(Failure::Syntax);
    }
    if aborts {
        return Err(Failure::other("No shutdown in progress."));
    }
    if saves {
        context.shared.store.checkpoint()?;
    }
    if !context.shared.request_shutdown() {
        return Err(Failure::other(
            "SHUTDOWN: the embedding program does not allow clients to stop this server",
        ));
    }
    tracing::info!(client = context.session.client.id, "client requested shutdown");
    context.session.closing = true;
    Ok(())
}

/// Writes that a client waits for.
struct WaitForLog {
    version: Version,
    /// In milliseconds since 1970, if there is one.
    until: Option<u64>,
}

fn wait_for_log(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<Box<dyn Errand>, Failure> {
    let (local, _) = (integer(&arguments[1])?, integer(&arguments[2])?);
    let timeout = integer(&arguments[3]);
    super::server::check_timeout(timeout.clone())?;
    if !(0..=1).contains(&local) {
        return Err(Failure::other("value is out of range, must be between 0 and 1"));
    }
    let store = &context.shared.store;
    if local == 1 && store.sync_policy().is_none() {
        let problem = "WAITAOF cannot be used when numlocal is set but appendonly is disabled.";
        return Err(Failure::other(problem));
    }
    let until = timeout.ok().filter(|timeout| *timeout > 0);
    let until = until.map(|timeout| context.now.saturating_add(timeout.unsigned_abs()));
    Ok(Box::new(WaitForLog { version: store.read_version(), until }))
}

impl Errand for WaitForLog {
    fn step(&mut self, context: &mut Context<'_>) -> Result<Progress, Failure> {
        let store = &context.shared.store;
        let has_log = store.sync_policy().is_some();
        let is_durable = !has_log || store.request_durable(self.version);
        if !is_durable && self.until.is_none_or(|until| context.now < until) {
            store.check_writable().or_else(|error| match error {
                Error::DiskFull => Ok(()),
                failed => Err(failed),
            })?;
            return Ok(Progress::Wait);
        }
        context.replies.array(2);
        context.replies.integer(i64::from(is_durable && has_log));
        context.replies.integer(0);
        Ok(Progress::Done)
    }
}
