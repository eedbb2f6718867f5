//! bashd's benchmarks: every figure stands beside its physical limit, measured in turn with it.
//!
//! `cargo run --profile dist -p bashd-bench` prints one table. A workload is one file in
//! `workload/` and one line of its table. Nothing here fails because a bar is missed: machines
//! differ, and whoever reads the table judges. A wrong reply does fail.

#![expect(clippy::print_stdout, reason = "the table is what this program is for")]
#![expect(clippy::print_stderr, reason = "its progress is shown while it runs")]

mod arguments;
mod bare;
mod bench;
mod binaries;
mod machine;
mod measure;
mod processes;
mod table;
mod workload;

use anyhow::Result;
use arguments::{Arguments, Asked};
use bench::Bench;
use std::process::ExitCode;
use table::{Form, Row, Table};
use workload::WORKLOADS;

fn main() -> Result<ExitCode> {
    bashd::run_if_asked();
    match arguments::parse(std::env::args().skip(1))? {
        Asked::Help => {
            print!("{}", arguments::help());
            Ok(ExitCode::SUCCESS)
        }
        Asked::IdleEngine(state, shells) => workload::idle::be_idle_engine(&state, shells),
        Asked::Measure(arguments) => measure_all(&arguments),
    }
}

fn measure_all(arguments: &Arguments) -> Result<ExitCode> {
    if cfg!(debug_assertions) {
        eprintln!(
            "*** built without optimisation: these figures mean nothing (use --profile dist)"
        );
    } else if !binaries::is_dist() {
        eprintln!(
            "*** not what is shipped: compare these figures with no others (use --profile dist)"
        );
    }
    let facts = machine::Facts::gather()?;
    let bench = Bench::new(arguments.effort)?;
    let mut rows = Vec::new();
    let mut is_sound = true;
    for workload in WORKLOADS
        .iter()
        .filter(|workload| arguments.names(workload.name))
    {
        eprintln!("measuring {}: {}", workload.name, workload.about);
        let outcome = (workload.run)(&bench);
        rows.extend(outcome.unwrap_or_else(|error| {
            is_sound = false;
            eprintln!("*** {}: {error:#}", workload.name);
            vec![Row::failed(workload.name, &error)]
        }));
        Bench::end_everything(workload.name)?;
    }
    let table = Table {
        rows,
        effort: arguments.effort,
    };
    if arguments.form == Form::Markdown {
        println!("{}", facts.to_markdown(arguments));
    }
    println!("{}", table.show(arguments.form));
    eprintln!("{}", facts.noise());
    Ok(if is_sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
