//! The parameters of the server, shown and changed.

use crate::arguments::{Arguments, is};
use crate::command::{Command, Keys, Run};
use crate::failure::Failure;
use crate::glob;
use crate::open_files;
use crate::parameters::{PARAMETERS, Parameter};
use crate::session::Context;
use crate::totals::Totals;

pub(super) const COMMANDS: &[Command] = &[Command {
    name: "config",
    arity: -2,
    keys: Keys::None,
    run: Run::Serve(config),
    usage: "GET pattern [pattern ...] | SET name value [name value ...] | RESETSTAT",
    summary: "Shows parameters; changes those that can change while the server runs; begins counts anew.",
}];

fn config(context: &mut Context<'_>, arguments: &Arguments<'_>) -> Result<(), Failure> {
    let (form, rest) = (&arguments[1], arguments.from(2));
    if is(form, "get") && !rest.is_empty() {
        get(context, rest);
    } else if is(form, "set") && !rest.is_empty() && rest.len().is_multiple_of(2) {
        context.shared.change_config(|config| {
            let (names, values) = (rest.iter().step_by(2), rest.from(1));
            let mut pairs = names.zip(values.iter().step_by(2));
            pairs.try_for_each(|(name, value)| set(config, name, value))?;
            config.check().map_err(|refused| Failure::other(refused.to_string()))?;
            check_open_files(config)
        })?;
        context.replies.simple("OK");
    } else if is(form, "resetstat") && rest.is_empty() {
        Totals::reset(context.shared);
        context.replies.simple("OK");
    } else {
        return Err(Failure::other("CONFIG knows GET pattern ..., SET name value ..., and RESETSTAT"));
    }
    Ok(())
}

fn get(context: &mut Context<'_>, patterns: Arguments<'_>) {
    let config = context.shared.config();
    let own = PARAMETERS.iter().map(|parameter| (parameter.name, parameter.value(&config)));
    // What programs made for Redis look at.
    let redis = [
        ("appendonly", "no".to_owned()),
        ("bind", config.address.ip().to_string()),
        ("maxmemory", config.memory_bytes.to_string()),
        ("port", config.address.port().to_string()),
        ("save", String::new()),
    ];
    let asked = |(name, _): &(&str, String)| {
        patterns.iter().any(|pattern| glob::matches(&pattern.to_ascii_lowercase(), name.as_bytes()))
    };
    let found: Vec<_> = own.chain(redis).filter(asked).collect();
    context.replies.map(found.len());
    for (name, value) in found {
        context.replies.bulk(name.as_bytes());
        context.replies.bulk(value.as_bytes());
    }
}

fn check_open_files(config: &crate::Config) -> Result<(), Failure> {
    let (wanted, possible) =
        (config.connections_max, open_files::allow(config.connections_max, config.cores));
    let refusal =
        || Failure::other(format!("maxclients is {wanted}: the system has open files for {possible}"));
    if possible < wanted { Err(refusal()) } else { Ok(()) }
}

fn set(config: &mut crate::Config, name: &[u8], value: &[u8]) -> Result<(), Failure> {
    let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
    let changing = || PARAMETERS.iter().filter(|parameter| parameter.can_change).map(|one| one.name);
    let names = || changing().collect::<Vec<_>>().join(", ");
    match Parameter::named(&name) {
        Some(parameter) if parameter.can_change => {
            parameter.set(config, &value).map_err(|refused| Failure::other(refused.to_string()))
        }
        Some(_) => {
            Err(Failure::other(format!("{name} cannot change while the server runs; these can: {}", names())))
        }
        None => Err(Failure::other(format!("there is no parameter {name}; these can change: {}", names()))),
    }
}
