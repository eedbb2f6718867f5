//! The options of `run` that limit a command's resources.

use bashd::plan::Resources;
use clap::Args;

/// Limits on a command's resources other than time; the configuration applies where none is given.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Limiting {
    /// Kill any process of the command that has used this many seconds of processor time.
    #[arg(long = "max-cpu", value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    cpu: Option<u64>,
    /// Limit the command's memory, for example to 512MiB (docs/jobs.md explains how).
    #[arg(long = "max-memory", value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
    /// Limit how many processes the command may have at a time.
    #[arg(long = "max-processes", value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    processes: Option<u64>,
}

impl Limiting {
    /// The limits as the library takes them.
    pub(crate) fn resources(&self) -> Resources {
        let none = Resources::default();
        let cpu = self.cpu.map_or(none, |limit| none.cpu_seconds(limit));
        let memory = self.memory.map_or(cpu, |limit| cpu.memory_bytes(limit));
        self.processes
            .map_or(memory, |limit| memory.processes(limit))
    }
}

pub(super) fn size(text: &str) -> Result<u64, String> {
    let size = bashd::config::size::parse(text).filter(|size| *size > 0);
    size.ok_or_else(|| "expected a size above zero, for example 512MiB".to_owned())
}
