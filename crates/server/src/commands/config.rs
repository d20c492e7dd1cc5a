//! `CONFIG`: shows and changes the configuration parameters of the server.

use std::collections::HashSet;

use crate::arguments::{Arguments, shown};
use crate::command::{Command, CommandForm, Keys};
use crate::commands::subcommands::{self, Subcommand};
use crate::context::Context;
use crate::failure::Failure;
use crate::parameters::{InvalidParameter, PARAMETERS, Parameter};
use crate::{Config, glob, open_files};

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "config",
    arity: -2,
    keys: Keys::None,
    form: CommandForm::Serve(|context, arguments| {
        subcommands::run(context, ("config", SUBCOMMANDS), arguments)
    }),
    usage: "GET pattern [pattern ...] | SET name value [name value ...] | RESETSTAT | REWRITE | HELP",
    summary: "Shows parameters, changes those that are mutable at run time, and resets statistics.",
}];

pub(crate) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand {
        name: "config|get",
        arity: -3,
        usage: "pattern [pattern ...]",
        summary: "Returns the names and values of the parameters that match one of the patterns.",
        run: get,
    },
    Subcommand {
        name: "config|resetstat",
        arity: 2,
        usage: "",
        summary: "Resets the counters of INFO, but not the metrics.",
        run: |context, _| {
            context.flush_counts();
            context.shared.reset_totals();
            context.replies.ok();
            Ok(())
        },
    },
    Subcommand {
        name: "config|rewrite",
        arity: 2,
        usage: "",
        summary: "Rejected: the server never writes its configuration file.",
        run: |_, _| {
            let problem = "CONFIG REWRITE: this server never writes its configuration file";
            Err(Failure::other(problem))
        },
    },
    Subcommand {
        name: "config|set",
        arity: -4,
        usage: "name value [name value ...]",
        summary: "Changes all of these parameters. If one of them is rejected, changes none.",
        run: set_all,
    },
];

/// Parameters of Redis that its clients read and this server does not have, with their constant values.
fn fixed(config: &Config) -> impl Iterator<Item = (&'static str, String)> {
    let constant = [
        ("aclfile", ""),
        ("activedefrag", "no"),
        ("cluster-enabled", "no"),
        ("daemonize", "no"),
        ("dbfilename", ""),
        ("enable-debug-command", "no"),
        ("enable-module-command", "no"),
        ("latency-tracking", "yes"),
        ("logfile", ""),
        ("protected-mode", "no"),
        ("replicaof", ""),
        ("slaveof", ""),
        ("tcp-backlog", "1024"),
        ("tcp-keepalive", "0"),
        ("tls-port", "0"),
        ("unixsocket", ""),
    ];
    let constant = constant.map(|(name, value)| (name, value.to_owned()));
    let is_durable = config.directory.is_some();
    let computed = [
        ("appendfsync", Parameter::named("durability").map_or(String::new(), |one| one.value(config))),
        ("appendonly", if is_durable { "yes" } else { "no" }.to_owned()),
        ("save", config.interval().map_or(String::new(), |interval| format!("{} 1", interval.as_secs()))),
        ("bind", config.address.ip().to_string()),
        ("io-threads", config.cores.to_string()),
        ("port", config.address.port().to_string()),
        ("proto-max-bulk-len", config.request.argument_bytes_max.to_string()),
    ];
    constant.into_iter().chain(computed)
}

fn get(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (config, patterns) = (context.shared.config(), arguments.from(2));
    let patterns = patterns.iter().map(|pattern| Ok(glob::checked(pattern)?.to_ascii_lowercase()));
    let patterns: Vec<_> = patterns.collect::<Result<_, Failure>>()?;
    let own = PARAMETERS.iter().map(|parameter| (parameter.name, parameter.value(&config)));
    let is_requested =
        |(name, _): &(&str, String)| patterns.iter().any(|pattern| glob::matches(pattern, name.as_bytes()));
    let matches: Vec<_> = own.chain(fixed(&config)).filter(is_requested).collect();
    context.replies.map(matches.len());
    for (name, value) in matches {
        context.replies.bulk(name.as_bytes());
        context.replies.bulk(value.as_bytes());
    }
    Ok(())
}

fn set_all(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let rest = arguments.from(2);
    if !rest.len().is_multiple_of(2) {
        return Err(Failure::Arity("config|set"));
    }
    let (names, values) = (rest.iter().step_by(2), rest.from(1));
    let lower = |name: &[u8]| String::from_utf8_lossy(name).to_ascii_lowercase();
    let names: Vec<_> = names.map(lower).collect();
    let mut before = HashSet::with_capacity(names.len());
    if let Some(name) = names.iter().find(|name| !before.insert(*name)) {
        return Err(failed(name, "duplicate parameter"));
    }
    context.shared.change_config(|config| {
        let mut pairs = names.iter().zip(values.iter().step_by(2));
        pairs.try_for_each(|(name, value)| set(config, name, &String::from_utf8_lossy(value)))?;
        let rejected = |rejected: InvalidParameter| Failure::other(rejected.to_string());
        config.check().and_then(|()| config.settle_memory_limit()).map_err(rejected)?;
        check_open_files(config)
    })?;
    context.replies.ok();
    Ok(())
}

fn check_open_files(config: &Config) -> Result<(), Failure> {
    let (requested, possible) =
        (config.connections_max, open_files::allow(config.connections_max, config.cores));
    let rejection = || {
        Failure::other(format!("maxclients is {requested}, but the limit on open files allows {possible}"))
    };
    if possible < requested { Err(rejection()) } else { Ok(()) }
}

/// Sets a parameter. An immutable parameter accepts only its present value.
fn set(config: &mut Config, name: &str, value: &str) -> Result<(), Failure> {
    let (name, value) = match name {
        "appendfsync" => ("durability", value),
        "save" => ("snapshot-every", shortest(value)?),
        _ => (name, value),
    };
    let parameter = Parameter::named(name);
    if let Some(parameter) = parameter.filter(|parameter| parameter.can_change) {
        return parameter.set(config, value).map_err(|rejected| failed(name, &rejected.to_string()));
    }
    let fixed = || fixed(config).find(|(parameter, _)| *parameter == name).map(|(_, value)| value);
    match parameter.map(|parameter| parameter.value(config)).or_else(fixed) {
        Some(now) if now == value => Ok(()),
        Some(_) => {
            Err(failed(name, &format!("can't set immutable config; mutable parameters: {}", mutable_names())))
        }
        None => {
            let name = shown(name.as_bytes());
            let problem = format!("Unknown option or number of arguments for CONFIG SET - '{name}'");
            Err(Failure::other(format!("{problem}; mutable parameters: {}", mutable_names())))
        }
    }
}

/// Returns the shortest time of pairs of seconds and changes, as Redis has them. The server does not count
/// changes.
fn shortest(save: &str) -> Result<&str, Failure> {
    let words: Vec<&str> = save.split_ascii_whitespace().collect();
    let are_numbers = words.iter().all(|word| word.parse::<u32>().is_ok());
    if !are_numbers || !words.len().is_multiple_of(2) {
        return Err(failed("save", "Invalid save parameters: allowed are pairs of seconds and changes"));
    }
    let seconds = words.iter().step_by(2).min_by_key(|word| word.parse::<u32>().unwrap_or(0));
    Ok(seconds.copied().unwrap_or("0"))
}

fn failed(name: &str, problem: &str) -> Failure {
    let name = shown(name.as_bytes());
    Failure::other(format!("CONFIG SET failed (possibly related to argument '{name}') - {problem}"))
}

fn mutable_names() -> String {
    let mutable = PARAMETERS.iter().filter(|parameter| parameter.can_change);
    mutable.map(|parameter| parameter.name).collect::<Vec<_>>().join(", ")
}
