//! Jobs and a clock that is set back under them: by a library that stands between bashd and the
//! real one.

use crate::jobs::{PATIENCE, home};
use crate::{bashd, shown};
use bashd_testkit::{Home, loudly};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Adds to the time of day what stands in a file; leaves the clocks alone that nobody sets.
const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    int failed = syscall(SYS_clock_gettime, clock, now);
    const char *path = clock == CLOCK_REALTIME ? getenv("CLOCK_SHIFT") : NULL;
    FILE *file = path ? fopen(path, "r") : NULL;
    long seconds = 0;
    if (file) {
        if (fscanf(file, "%ld", &seconds) == 1) now->tv_sec += seconds;
        fclose(file);
    }
    return failed;
}
"#;

const HOUR: u64 = 3600;

/// A clock that can be set, for the programs that are started with it.
pub(crate) struct Clock {
    pub(crate) library: PathBuf,
    shift: PathBuf,
}

impl Clock {
    /// `None` where there is no compiler.
    pub(crate) fn make(home: &Home) -> Option<Self> {
        let at = |name: &str| home.workspace().join(name);
        let clock = Self {
            library: at("clock.so"),
            shift: at("shift"),
        };
        std::fs::write(at("clock.c"), SHIFTED).unwrap();
        let compiler = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .args([&clock.library, &at("clock.c")])
            .status();
        compiler
            .is_ok_and(|status| status.success())
            .then_some(clock)
    }

    fn set(&self, seconds: u64) {
        let aside = self.shift.with_extension("new");
        std::fs::write(&aside, seconds.to_string()).unwrap();
        std::fs::rename(aside, &self.shift).unwrap();
    }

    /// Starts a job under this clock; the job's id.
    fn start(&self, home: &Home, arguments: &[&str]) -> String {
        let started = bashd(
            home,
            &[&["run", "--background", "--json"], arguments].concat(),
        )
        .env("LD_PRELOAD", self.library.to_str().unwrap())
        .env("CLOCK_SHIFT", self.shift.to_str().unwrap())
        .limit(PATIENCE)
        .run();
        let reply: Value = serde_json::from_str(&started.out()).unwrap();
        reply["job"].as_str().unwrap().to_owned()
    }
}

fn job(home: &Home, arguments: &[&str]) -> Value {
    let shown = bashd(home, arguments).limit(PATIENCE).run();
    assert_eq!(shown.code(), Some(0), "{}", shown.err());
    serde_json::from_str(&shown.out()).unwrap()
}

#[test]
fn a_clock_that_is_set_back_under_jobs_changes_neither_their_limits_nor_their_end() {
    let home = home();
    let Some(clock) = Clock::make(&home) else {
        return loudly("no C compiler: a clock that is set back under jobs is NOT tested");
    };
    clock.set(HOUR);
    let gate = home.workspace().join("gate");
    let waits = format!(
        "until [ -e {} ]; do sleep 0.05; done; exit 3",
        gate.display()
    );
    let ends = clock.start(&home, &[&waits]);
    let limited = clock.start(&home, &["--timeout", "2", "sleep 300"]);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let running = job(&home, &["jobs", "show", &ends, "--json"]);
    if running["started_ms"].as_u64().unwrap() < (now.as_secs() + HOUR / 2) * 1000 {
        shown(&home, &["jobs", "kill", &ends, &limited]);
        return loudly("the clock can't be shifted here: one that is set back is NOT tested");
    }
    // From here on it is an hour earlier, for the keepers as for us.
    clock.set(0);
    assert_eq!(
        (&running["state"], &running["age_ms"]),
        (&json!("running"), &json!(0))
    );
    let late = shown(&home, &["jobs", "wait", &ends, "--timeout", "0.1"]);
    assert_eq!(late.code(), Some(124), "{}", late.err());
    let limited = job(&home, &["jobs", "wait", &limited, "--json"]);
    assert_eq!(
        (&limited["state"], &limited["ended_by"]),
        (&json!("killed"), &json!("timeout"))
    );
    std::fs::write(gate, "").unwrap();
    let ended = job(&home, &["jobs", "wait", &ends, "--json"]);
    assert_eq!(
        (&ended["state"], &ended["exit_code"]),
        (&json!("exited"), &json!(3))
    );
    assert!(
        ended["ended_ms"].as_u64() < ended["started_ms"].as_u64(),
        "{ended}"
    );
    let table = shown(&home, &["jobs", "--all"]);
    assert!(table.out().contains("exit 3"), "{}", table.out());
    let ids = [
        ended["id"].as_str().unwrap(),
        limited["id"].as_str().unwrap(),
    ];
    let removed = shown(&home, &[&["jobs", "rm"], &ids[..]].concat());
    assert_eq!(removed.code(), Some(0), "{}", removed.err());
}
