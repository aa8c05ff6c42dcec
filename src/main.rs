//! The nodelet program: command line, log, runtime, exit code.

use clap::Parser;
use nodelet::cli::{Cli, Environment};
use nodelet::exit_code;
use nodelet::start::{self, Exit};
use nodelet::telemetry;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let environment = Environment::read();
    let exit = match telemetry::init(environment.log.as_deref()) {
        Ok(()) => run(cli, environment),
        Err(error) => Exit::usage(error),
    };
    let _ = std::io::stderr().write_all(exit.stderr.as_bytes());
    let mut stdout = std::io::stdout();
    let written = stdout
        .write_all(exit.stdout.as_bytes())
        .and_then(|()| stdout.flush());
    match written {
        // A reader that has gone away is no failure of the round.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            let _ = writeln!(
                std::io::stderr(),
                "nodelet: cannot write the result: {error}"
            );
            ExitCode::from(exit.code.max(exit_code::FAILED))
        }
        _ => ExitCode::from(exit.code),
    }
}

fn run(cli: Cli, environment: Environment) -> Exit {
    let runtime = match tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return Exit::usage(format!("cannot start: {error}")),
    };
    let exit = runtime.block_on(start::run(cli, environment));
    // Whatever still hangs is not waited for: the process ends.
    runtime.shutdown_background();
    exit
}
