//! The parameters of the server: from flags, environment variables and a file.

use std::fs;
use std::path::Path;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use honeycomb_server::{Config, PARAMETERS, Parameter};

use crate::accelerators;
use crate::error::Error;

/// The flags for parameters of the server. Each parameter has a flag with its name.
pub(crate) struct ParameterArguments(Vec<(&'static Parameter, String)>);

impl Args for ParameterArguments {
    fn augment_args(command: Command) -> Command {
        let defaults = Config::default();
        let flag = |parameter: &'static Parameter| {
            let default = parameter.value(&defaults);
            let default = if default.is_empty() { "nothing".to_owned() } else { default };
            let help = format!("{} Allowed: {} [default: {default}]", parameter.about, parameter.allowed);
            let flag = Arg::new(parameter.name).long(parameter.name).value_name("VALUE").help(help);
            flag.allow_negative_numbers(true)
        };
        command.args(PARAMETERS.iter().map(flag))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParameterArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |parameter: &'static Parameter| {
            matches.get_one::<String>(parameter.name).map(|value| (parameter, value.clone()))
        };
        Ok(Self(PARAMETERS.iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ParameterArguments {
    /// Returns the parameters of the server: defaults, then the file, then environment variables, then flags.
    /// Later sources override earlier ones.
    ///
    /// # Errors
    /// The file cannot be read, or a value is invalid.
    pub(crate) fn config(
        &self,
        file: Option<&Path>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Config, Error> {
        let mut config = Config { accelerators: accelerators::ALL, ..Config::default() };
        if let Some(path) = file {
            let text = fs::read_to_string(path).map_err(Error::file("read", path))?;
            config.read_toml(&text).map_err(Error::parameter(path.display().to_string()))?;
        }
        for parameter in PARAMETERS {
            let name = parameter.variable();
            if let Some(value) = variable(&name) {
                parameter.set(&mut config, &value).map_err(Error::parameter(name))?;
            }
        }
        for (parameter, value) in &self.0 {
            let flag = format!("--{}", parameter.name);
            parameter.set(&mut config, value).map_err(Error::parameter(flag))?;
        }
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn parse(flags: &[&str]) -> ParameterArguments {
        let command = ParameterArguments::augment_args(Command::new("serve").no_binary_name(true));
        ParameterArguments::from_arg_matches(&command.get_matches_from(flags)).unwrap()
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file
    }

    #[test]
    fn flags_override_the_environment_which_overrides_the_file() {
        let file = file("cores = 1\ndatabases = 1\nmaxclients = 1\n");
        let variable = |name: &str| {
            ["HONEYCOMB_DATABASES", "HONEYCOMB_MAXCLIENTS"].contains(&name).then(|| "2".to_owned())
        };
        let flags = parse(&["--maxclients", "3", "--slowlog-log-slower-than", "-1"]);
        let config = flags.config(Some(file.path()), variable).unwrap();
        assert_eq!(
            (config.cores, config.databases, config.connections_max, config.slow_log_threshold),
            (1, 2, 3, None)
        );
    }

    #[test]
    fn an_error_names_the_value_and_its_origin() {
        let problem = |flags: &[&str], text: &str, value: &'static str| {
            let file = file(text);
            let variable = |name: &str| (name == "HONEYCOMB_TIMEOUT").then(|| value.to_owned());
            let error = parse(flags).config(Some(file.path()), variable).unwrap_err().to_string();
            error.replace(&file.path().display().to_string(), "FILE")
        };
        assert_eq!(problem(&["--cores", "0"], "", "1"), "--cores: cores is 0: allowed are 1 to 1024");
        assert_eq!(problem(&[], "", "x"), "HONEYCOMB_TIMEOUT: timeout is x: allowed are 0 to 31536000");
        let unknown = problem(&[], "maxclient = 1", "1");
        assert!(
            unknown.starts_with("FILE: there is no parameter maxclient; there are address, "),
            "{unknown}"
        );
        let missing = parse(&[]).config(Some(Path::new("/no/file")), |_| None).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read /no/file: "), "{missing}");
    }
}
