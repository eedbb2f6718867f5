//! `bashd web`: a flood while a page follows it, beside the same flood alone; and the first byte of
//! any place of a gibibyte, beside a bare round trip to the same server.

use crate::bench::Bench;
use crate::binaries;
use crate::measure::in_turn;
use crate::table::Row;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A flood that is followed costs at most this much.
const BAR: f64 = 1.10;

/// The first byte of any place comes at most this much later than a bare answer.
const BYTE_BAR: Duration = Duration::from_millis(50);

/// Pairs of a round.
const PAIRS: usize = 2;

/// Bytes that a page asks for at a time.
const SLICE: u64 = 128 * 1024;

pub(super) fn run(bench: &Bench) -> Result<Vec<Row>> {
    let program = binaries::build("bashd-cli", "bashd")?;
    let page = ServedPage::start(bench, program)?;
    let bytes = bench.effort.choose(1 << 30, 8 << 20);
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(PAIRS, 1),
        Bench::pause,
        || page.flood(bytes, true),
        || page.flood(bytes, false),
    )?;
    let against = "the same without a page";
    let followed = Row::ratio("page, a flood followed", against, &compared, BAR);
    let job = page.job(bytes, "2GiB")?;
    let mut at = 0;
    let compared = in_turn(
        bench.effort,
        bench.effort.choose(50, 2),
        || Ok(()),
        || {
            // All over the output, none near the one before.
            at = (at + bytes / 7 * 3 + 4_321) % bytes;
            let begun = Instant::now();
            let (head, body) = page.ask(
                &format!("/api/runs/{job}/output?at={at}&bytes=65536&lines=400"),
                None,
            )?;
            ensure!(head.contains(" 200 ") && !body.is_empty(), "{head}");
            Ok(begun.elapsed())
        },
        || {
            let begun = Instant::now();
            page.ask("/api/runs/none", None)?;
            Ok(begun.elapsed())
        },
    )?;
    let nominal = compared.limit.p50;
    let against = "an answer that reads nothing";
    let first = Row::time_over("page, any byte", against, &compared, nominal, BYTE_BAR);
    page.bashd(&["jobs", "kill", &job])?;
    Ok(vec![followed, first])
}

/// A server and a browser that came in.
struct ServedPage {
    program: PathBuf,
    env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    child: Child,
    address: String,
    headers: String,
}

impl ServedPage {
    fn start(bench: &Bench, program: PathBuf) -> Result<Self> {
        let mut child = Command::new(&program)
            .args(["web", "--port", "0"])
            .env_clear()
            .envs(bench.env.iter().map(|(name, value)| (name, value)))
            .stderr(Stdio::piped())
            .spawn()?;
        let mut said = BufReader::new(child.stderr.take().context("no stderr")?).lines();
        let link = said.find_map(|line| {
            let (base, token) = line
                .ok()?
                .rsplit_once("/#")
                .map(|(base, token)| (base.to_owned(), token.to_owned()))?;
            Some((base.rsplit('/').next()?.to_owned(), token))
        });
        let (address, token) = link.context("no link was printed")?;
        // What else it says must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        let mut page = Self {
            program,
            env: bench.env.clone(),
            child,
            headers: format!("Host: {address}\r\nOrigin: http://{address}\r\n"),
            address,
        };
        let (head, body) = page.ask("/api/enter", Some(&json!({"token": token})))?;
        let key: Value = serde_json::from_slice(&body)?;
        let key = key["key"].as_str().context("no key")?;
        let cookie = head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = cookie
            .and_then(|cookie| cookie.split(';').next())
            .context("no cookie")?;
        let known = format!("Cookie: {cookie}\r\nX-Bashd-Key: {key}\r\n");
        page.headers.push_str(&known);
        Ok(page)
    }

    /// One request; its head and body.
    fn ask(&self, path: &str, body: Option<&Value>) -> Result<(String, Vec<u8>)> {
        let mut stream = TcpStream::connect(&self.address)?;
        let (method, text) = match body {
            Some(body) => ("POST", body.to_string()),
            None => ("GET", String::new()),
        };
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
            self.headers,
            text.len()
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let end = answer
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .context("no head")?;
        let head = String::from_utf8_lossy(answer.get(..end).unwrap_or_default()).into_owned();
        Ok((head, answer.split_off(end + 4)))
    }

    fn bashd(&self, words: &[&str]) -> Result<String> {
        let output = Command::new(&self.program)
            .args(words)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A job that writes so many bytes and stays; its id, once all is written.
    fn job(&self, bytes: u64, kept: &str) -> Result<String> {
        let done = Path::new("/proc/self/fd");
        ensure!(done.exists(), "no /proc");
        let kept = format!("jobs.output_bytes={kept}");
        let script = format!("{}; echo; echo END; sleep 600", super::flood::lines(bytes));
        self.bashd(&["--set", &kept, "run", "--background", &script])?;
        let id = self.newest_job()?;
        let begun = Instant::now();
        while !self
            .bashd(&["jobs", "output", &id, "--tail", "1"])?
            .contains("END")
        {
            ensure!(
                begun.elapsed() < Duration::from_mins(3),
                "the job does not end"
            );
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(id)
    }

    fn newest_job(&self) -> Result<String> {
        let text = self.bashd(&["jobs", "--all", "--json"])?;
        let job: Value = serde_json::from_str(text.lines().last().context("no job")?)?;
        Ok(job["id"].as_str().context("no id")?.to_owned())
    }

    /// A flood as a job, from its start to its end; with a page that follows it, as the script of
    /// the page does.
    fn flood(&self, bytes: u64, followed: bool) -> Result<Duration> {
        let home = self.env.first().map(|(_, home)| PathBuf::from(home));
        let mark = home.context("there is no home")?.join("go");
        let _ = std::fs::remove_file(&mark);
        let over = mark.with_file_name("over");
        let _ = std::fs::remove_file(&over);
        let script = format!(
            "until [ -e {0} ]; do sleep 0.01; done; {1}; touch {2}; sleep 600",
            mark.display(),
            super::flood::lines(bytes),
            over.display()
        );
        self.bashd(&["run", "--background", &script])?;
        let id = self.newest_job()?;
        let is_over = AtomicBool::new(false);
        let took = std::thread::scope(|scope| {
            let following = followed.then(|| scope.spawn(|| self.follow(&id, &is_over)));
            std::thread::sleep(Duration::from_millis(100));
            let begun = Instant::now();
            let written = std::fs::write(&mark, "");
            while !over.exists() && begun.elapsed() < Duration::from_mins(2) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let took = begun.elapsed();
            is_over.store(true, Ordering::Relaxed);
            if let Some(following) = following {
                let seen = following
                    .join()
                    .map_err(|_| anyhow::anyhow!("the page failed"))??;
                ensure!(seen > 0, "the page followed nothing");
            }
            written?;
            ensure!(over.exists(), "the flood does not end");
            Ok(took)
        })?;
        self.bashd(&["jobs", "kill", &id])?;
        Ok(took)
    }

    /// Follows a run's end until it is over; how far it got.
    fn follow(&self, id: &str, is_over: &AtomicBool) -> Result<u64> {
        let mut at = 0;
        while !is_over.load(Ordering::Relaxed) {
            let path = format!("/api/runs/{id}/output?at={at}&wait=500&bytes={SLICE}");
            let (head, _) = self.ask(&path, None)?;
            let number = |name: &str| {
                let line = head
                    .lines()
                    .find_map(|line| line.strip_prefix(&format!("x-bashd-{name}: ")));
                line.and_then(|text| text.trim().parse::<u64>().ok())
            };
            let (next, total) = (
                number("next").context("no place")?,
                number("total").context("no total")?,
            );
            // Far behind, the page goes to the end, and a screen shows what is there now and then.
            at = if total.saturating_sub(next) > 1 << 20 {
                total
            } else {
                next
            };
            std::thread::sleep(Duration::from_millis(30));
        }
        Ok(at)
    }
}

impl Drop for ServedPage {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
