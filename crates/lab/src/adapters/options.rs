//! Options of a Honeycomb that differ from the default, as part of its name: `honeycomb:log=1024:mvcc=off`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use honeycomb_store::{Config, Software, Store};

use crate::map::Failure;
use Field::{Number, Switch};

/// The options of a Honeycomb that differ from the default. `None` means the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct HoneycombOptions([Option<Value>; PARAMETERS.len()]);

/// The name of an option, and the field that it sets.
type Parameter = (&'static str, fn(&mut Settings) -> Field<'_>);

/// All options.
const PARAMETERS: [Parameter; 7] = [
    ("node", |settings| Number(&mut settings.config.node_bytes)),
    ("log", |settings| Number(&mut settings.config.log_threshold_bytes)),
    ("mvcc", |settings| Switch(&mut settings.config.mvcc)),
    ("huge-pages", |settings| Switch(&mut settings.config.huge_pages)),
    ("interleave", |settings| Switch(&mut settings.config.interleave)),
    ("in-flight", |settings| Number(&mut settings.software.in_flight)),
    ("quantum", |settings| Number(&mut settings.software.scan_quantum_pairs)),
];

/// Memory of the store that validates the options. A store of this size accepts all valid options and opens
/// quickly.
const TRIAL_BYTES: usize = 16 << 20;

#[derive(Default)]
struct Settings {
    config: Config,
    software: Software,
}

enum Field<'s> {
    Number(&'s mut usize),
    Switch(&'s mut bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Number(u32),
    Switch(bool),
}

impl HoneycombOptions {
    /// The default for all options.
    pub const NONE: HoneycombOptions = HoneycombOptions([None; PARAMETERS.len()]);

    /// Returns the configuration of a store with these options. The caller sets its size.
    pub fn config(self) -> Config {
        self.config_with(|software| software)
    }

    /// Returns the same configuration with access statistics.
    pub fn config_with_access_stats(self) -> Config {
        self.config_with(|software| Software { count_accesses: true, ..software })
    }

    /// Returns the syntax of names, for error messages.
    pub fn form() -> String {
        let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
        format!("honeycomb:NAME=VALUE:... with any of the names {}", names.join(", "))
    }

    fn config_with(self, modify: impl FnOnce(Software) -> Software) -> Config {
        let mut settings = Settings::default();
        for ((_, field), value) in PARAMETERS.iter().zip(self.0) {
            match (field(&mut settings), value) {
                (Number(number), Some(Value::Number(value))) => *number = value as usize,
                (Switch(switch), Some(Value::Switch(value))) => *switch = value,
                _ => {}
            }
        }
        Config { accelerator: Arc::new(modify(settings.software)), ..settings.config }
    }

    fn set(&mut self, option: &str) -> Result<(), Failure> {
        let (name, text) = option.split_once('=').unwrap_or((option, ""));
        let index = PARAMETERS.iter().position(|(known, _)| *known == name);
        let index =
            index.ok_or_else(|| format!("unknown option {name}; expected {}", HoneycombOptions::form()))?;
        let mut default = Settings::default();
        let (value, is_default) = match (PARAMETERS[index].1)(&mut default) {
            Number(default) => {
                let number = text.parse().map_err(|_| format!("{option}: {name}= requires an integer"))?;
                (Value::Number(number), number as usize == *default)
            }
            Switch(default) => match text {
                "on" | "off" => (Value::Switch(text == "on"), (text == "on") == *default),
                _ => return Err(format!("{option}: {name}= requires on or off").into()),
            },
        };
        self.0[index] = (!is_default).then_some(value);
        Ok(())
    }
}

impl fmt::Display for HoneycombOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((name, _), value) in PARAMETERS.iter().zip(self.0) {
            match value {
                Some(Value::Number(number)) => write!(formatter, ":{name}={number}")?,
                Some(Value::Switch(true)) => write!(formatter, ":{name}=on")?,
                Some(Value::Switch(false)) => write!(formatter, ":{name}=off")?,
                None => {}
            }
        }
        Ok(())
    }
}

impl FromStr for HoneycombOptions {
    type Err = Failure;

    /// Parses the format of [`Display`](fmt::Display), with options in any order. The store validates the
    /// values.
    fn from_str(text: &str) -> Result<HoneycombOptions, Failure> {
        let mut options = HoneycombOptions::NONE;
        text.split(':').skip(1).try_for_each(|option| options.set(option))?;
        Store::open(Config { memory_bytes: TRIAL_BYTES, ..options.config() })?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_set_the_configuration() -> Result<(), Failure> {
        let all = ":node=4096:log=1024:mvcc=off\
            :huge-pages=off:interleave=off:in-flight=16:quantum=64";
        let options: HoneycombOptions = all.parse()?;
        assert_eq!(options.to_string(), all);
        assert_eq!(options.config().node_bytes, 4096);
        assert_eq!(options.config().log_threshold_bytes, 1024);
        let Config { mvcc, huge_pages, interleave, accelerator, .. } = options.config();
        assert_eq!((mvcc, huge_pages, interleave), (false, false, false));
        let software = Software { in_flight: 16, scan_quantum_pairs: 64, ..Software::default() };
        assert_eq!(format!("{accelerator:?}"), format!("{software:?}"));
        let counts = options.config_with_access_stats().accelerator;
        assert_eq!(format!("{counts:?}"), format!("{:?}", Software { count_accesses: true, ..software }));
        Ok(())
    }

    #[test]
    fn options_have_any_order_and_defaults_are_omitted() -> Result<(), Failure> {
        let default = Config::default();
        let text = format!(":mvcc=on:log={}:quantum=7:node=2048", default.log_threshold_bytes);
        assert_eq!(text.parse::<HoneycombOptions>()?.to_string(), ":node=2048:quantum=7");
        assert_eq!("".parse::<HoneycombOptions>()?, HoneycombOptions::NONE);
        Ok(())
    }

    #[test]
    fn errors_name_the_option_and_its_valid_values() {
        for (text, reason) in [
            (
                ":leaf=1",
                "unknown option leaf; expected honeycomb:NAME=VALUE:... with any of the names node, ",
            ),
            (":log=many", "log=many: log= requires an integer"),
            (":log", "log: log= requires an integer"),
            (":mvcc=1", "mvcc=1: mvcc= requires on or off"),
            (":node=5000", "node size 5000 must be a power of two from 1024 to 16384 bytes"),
            (":log=5000", "log threshold of 5000 bytes must be at most 4096"),
            (":in-flight=65", "1 to 64"),
            (":quantum=0", "1 and more"),
        ] {
            let error =
                text.parse::<HoneycombOptions>().map_or_else(|error| error.to_string(), |_| String::new());
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
