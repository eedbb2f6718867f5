//! What a command may use up, on the command line of `run`.

use bashd::plan::Resources;
use clap::Args;

/// What a command may use up beside time; the configuration holds where nothing is said.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Limiting {
    /// Kill a process of the command that has used so many seconds of processor time.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    max_cpu: Option<u64>,
    /// Let the command use so much memory, as in 512MiB (docs/jobs.md says how that is held).
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<u64>,
    /// Let the command have so many processes at a time.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    max_processes: Option<u64>,
}

impl Limiting {
    /// As the library takes it.
    pub(crate) fn resources(&self) -> Resources {
        let mut resources = Resources::default();
        resources.cpu_seconds = self.max_cpu;
        resources.memory_bytes = self.max_memory;
        resources.processes = self.max_processes;
        resources
    }
}

fn size(text: &str) -> Result<u64, String> {
    let size = bashd::config::size::parse(text).filter(|size| *size > 0);
    size.ok_or_else(|| format!("`{text}` is no size such as 512MiB"))
}
