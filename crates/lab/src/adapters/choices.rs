//! How a Honeycomb differs from the default, as its name says: `honeycomb:log=1024:mvcc=off`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use honeycomb_store::{Config, Software, Store};

use crate::map::Failure;
use Field::{Number, Switch};

/// What is chosen of a Honeycomb; of what is not, the default. A choice that is the default is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Choices([Option<Value>; PARAMETERS.len()]);

/// A name, and where the value belongs.
type Parameter = (&'static str, fn(&mut Settings) -> Field<'_>);

/// What can be chosen.
const PARAMETERS: [Parameter; 10] = [
    ("node", |of| Number(&mut of.config.node_bytes)),
    ("shortcuts", |of| Number(&mut of.config.shortcut_block_bytes)),
    ("segment", |of| Number(&mut of.config.segment_bytes_min)),
    ("log", |of| Number(&mut of.config.log_threshold_bytes)),
    ("tag-directory", |of| Number(&mut of.config.tag_directory_bytes)),
    ("mvcc", |of| Switch(&mut of.config.mvcc)),
    ("huge-pages", |of| Switch(&mut of.config.huge_pages)),
    ("interleave", |of| Switch(&mut of.config.interleave)),
    ("in-flight", |of| Number(&mut of.software.in_flight)),
    ("quantum", |of| Number(&mut of.software.scan_quantum_pairs)),
];

/// A value that is allowed is allowed in a store of this size, and making one takes no time.
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

impl Choices {
    /// The default in everything.
    pub const NONE: Choices = Choices([None; PARAMETERS.len()]);

    /// A store like this; only its size is left to the caller.
    pub fn config(self) -> Config {
        self.config_with(|software| software)
    }

    /// The same, but that it counts what searches touch.
    pub fn config_that_counts(self) -> Config {
        self.config_with(|software| Software { count_touched: true, ..software })
    }

    /// How names are written, for those who wrote one wrong.
    pub fn form() -> String {
        let names: Vec<&str> = PARAMETERS.iter().map(|(name, _)| *name).collect();
        format!("honeycomb:NAME=VALUE:... with any of the names {}", names.join(", "))
    }

    fn config_with(self, change: impl FnOnce(Software) -> Software) -> Config {
        let mut settings = Settings::default();
        for ((_, field), value) in PARAMETERS.iter().zip(self.0) {
            match (field(&mut settings), value) {
                (Number(number), Some(Value::Number(value))) => *number = value as usize,
                (Switch(switch), Some(Value::Switch(value))) => *switch = value,
                _ => {}
            }
        }
        Config { accelerator: Arc::new(change(settings.software)), ..settings.config }
    }

    fn choose(&mut self, choice: &str) -> Result<(), Failure> {
        let (name, text) = choice.split_once('=').unwrap_or((choice, ""));
        let index = PARAMETERS.iter().position(|(known, _)| *known == name);
        let index = index.ok_or_else(|| format!("nothing is named {name}: {}", Choices::form()))?;
        let mut default = Settings::default();
        let (value, is_default) = match (PARAMETERS[index].1)(&mut default) {
            Number(default) => {
                let number = text.parse().map_err(|_| format!("{choice}: {name}= takes a whole number"))?;
                (Value::Number(number), number as usize == *default)
            }
            Switch(default) => match text {
                "on" | "off" => (Value::Switch(text == "on"), (text == "on") == *default),
                _ => return Err(format!("{choice}: {name}= takes on or off").into()),
            },
        };
        self.0[index] = (!is_default).then_some(value);
        Ok(())
    }
}

impl fmt::Display for Choices {
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

impl FromStr for Choices {
    type Err = Failure;

    /// Reads what [`Display`](fmt::Display) writes, each `:name=value` in any order. The store itself says
    /// which values are allowed.
    fn from_str(text: &str) -> Result<Choices, Failure> {
        let mut choices = Choices::NONE;
        text.split(':').skip(1).try_for_each(|choice| choices.choose(choice))?;
        Store::open(Config { memory_bytes: TRIAL_BYTES, ..choices.config() })?;
        Ok(choices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_comes_into_the_configuration() -> Result<(), Failure> {
        let all = ":node=4096:shortcuts=256:segment=512:log=1024:tag-directory=256:mvcc=off\
            :huge-pages=off:interleave=off:in-flight=32:quantum=64";
        let choices: Choices = all.parse()?;
        assert_eq!(choices.to_string(), all);
        assert_eq!(choices.config().node_bytes, 4096);
        let Config { shortcut_block_bytes, segment_bytes_min, .. } = choices.config();
        assert_eq!((shortcut_block_bytes, segment_bytes_min), (256, 512));
        let Config { log_threshold_bytes, tag_directory_bytes, .. } = choices.config();
        assert_eq!((log_threshold_bytes, tag_directory_bytes), (1024, 256));
        let Config { mvcc, huge_pages, interleave, accelerator, .. } = choices.config();
        assert_eq!((mvcc, huge_pages, interleave), (false, false, false));
        let software = Software { in_flight: 32, scan_quantum_pairs: 64, ..Software::default() };
        assert_eq!(format!("{accelerator:?}"), format!("{software:?}"));
        let counts = choices.config_that_counts().accelerator;
        assert_eq!(format!("{counts:?}"), format!("{:?}", Software { count_touched: true, ..software }));
        Ok(())
    }

    #[test]
    fn the_order_is_free_and_the_default_is_no_choice() -> Result<(), Failure> {
        let default = Config::default();
        let text = format!(":mvcc=on:log={}:quantum=7:node=2048", default.log_threshold_bytes);
        assert_eq!(text.parse::<Choices>()?.to_string(), ":node=2048:quantum=7");
        assert_eq!("".parse::<Choices>()?, Choices::NONE);
        Ok(())
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (text, reason) in [
            (":leaf=1", "nothing is named leaf: honeycomb:NAME=VALUE:... with any of the names node, "),
            (":log=many", "log=many: log= takes a whole number"),
            (":log", "log: log= takes a whole number"),
            (":mvcc=1", "mvcc=1: mvcc= takes on or off"),
            (":node=5000", "node size 5000 must be a power of two from 1024 to 16384 bytes"),
            (":log=5000", "log threshold of 5000 bytes must be at most 4096"),
            (":shortcuts=100", "must be a multiple of 64"),
            (":in-flight=65", "1 to 64"),
            (":quantum=0", "1 and more"),
        ] {
            let error = text.parse::<Choices>().map_or_else(|error| error.to_string(), |_| String::new());
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
