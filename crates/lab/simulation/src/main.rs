//! The command `honeycomb-simulation`.

mod arguments;

use std::fs;
use std::process::ExitCode;

use clap::Parser;
use honeycomb_lab::output::print;
use honeycomb_simulation::figures;
use honeycomb_simulation::measure::Simulation;
use honeycomb_simulation::report::Report;
use honeycomb_workload::Failure;

use arguments::{Arguments, Command, RunArguments};

fn main() -> ExitCode {
    let Arguments { command, run } = Arguments::parse();
    let result = match command {
        Some(Command::Figures(arguments)) => figures::run(&arguments.name, arguments.scale(), &arguments.out),
        None => measure(&run),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &RunArguments) -> Result<(), Failure> {
    let (simulator, dataset, traffic) = (arguments.simulator(), arguments.dataset(), arguments.traffic());
    let measured = Simulation::new(&simulator, &dataset)?.measure(&traffic, &arguments.recording())?;
    let report = Report::new(&simulator, &dataset, &traffic, &measured);
    if arguments.json {
        print(&format!("{}\n", serde_json::json!(report)))?;
    } else {
        print(&report.to_string())?;
    }
    let Some(life) = &measured.life else { return Ok(()) };
    if !arguments.json {
        print(&format!("\n{life}"))?;
    }
    if let Some(path) = &arguments.life {
        let written = fs::write(path, serde_json::to_string_pretty(&life.json())? + "\n");
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
