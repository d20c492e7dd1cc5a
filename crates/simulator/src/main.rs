//! The command `honeycomb-simulate`.

mod arguments;

use std::fs;
use std::process::ExitCode;

use arguments::{Arguments, Command, RunArguments};
use clap::Parser;
use honeycomb_simulator::figures;
use honeycomb_simulator::measure::Scene;
use honeycomb_simulator::picture::svg;
use honeycomb_simulator::report::Report;
use honeycomb_workload::Failure;

fn main() -> ExitCode {
    let Arguments { command, run } = Arguments::parse();
    let done = match command {
        Some(Command::Figures(arguments)) => {
            figures::run(&arguments.which, arguments.scale(), &arguments.out)
        }
        None => measure(&run),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &RunArguments) -> Result<(), Failure> {
    let (simulator, data, traffic) = (arguments.simulator(), arguments.data(), arguments.traffic());
    let measured = Scene::new(&simulator, &data)?.measure(&traffic, &arguments.observed())?;
    let report = Report::new(&simulator, &data, &traffic, &measured);
    if arguments.json {
        println!("{}", serde_json::json!(report));
    } else {
        print!("{report}");
    }
    let Some(life) = &measured.life else { return Ok(()) };
    if !arguments.json {
        print!("\n{life}");
    }
    if let Some(path) = &arguments.picture {
        let written = fs::write(path, svg(life));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
