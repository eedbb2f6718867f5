//! Events while a command runs: their order, their text, and receivers that are slow.

use crate::engine_under_test::engine;
use crate::profile_under_test::{Contract, running};
use bashd::plan::Quota;
use bashd::{
    Call, Config, Engine, Event, KeeperSource, Reply, Request, Running, Stream, Surroundings,
};
use bashd_testkit::{Home, repetitions};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a test waits for a file that a command makes.
const PATIENCE: Duration = Duration::from_secs(20);

/// All that a call told, in order.
#[derive(Default)]
struct Told {
    pids: Vec<i32>,
    out: String,
    err: String,
    outputs: usize,
    /// Where the last piece of each stream began.
    offsets: [u64; 2],
    reply: Option<Box<Reply>>,
}

impl Told {
    /// Takes one event in; each kind must come where it may.
    fn hear(&mut self, event: Event) {
        assert!(self.reply.is_none(), "an event after the last: {event:?}");
        match event {
            Event::Started { pid } => {
                assert_eq!(self.outputs, 0, "started after output");
                self.pids.push(pid);
            }
            Event::Output {
                stream,
                offset,
                text,
            } => {
                assert_eq!(self.pids.len(), 1, "output before the start");
                assert!(!text.is_empty());
                self.outputs += 1;
                let (so_far, last) = match stream {
                    Stream::Out => (&mut self.out, &mut self.offsets[0]),
                    Stream::Err => (&mut self.err, &mut self.offsets[1]),
                };
                let is_first = so_far.is_empty();
                assert!(
                    offset > *last || (is_first && offset == 0),
                    "{offset} after {last}"
                );
                *last = offset;
                so_far.push_str(&text);
            }
            Event::Finished(reply) => self.reply = Some(reply),
            other => panic!("an event that nobody knows: {other:?}"),
        }
    }

    fn reply(&self) -> &Reply {
        self.reply.as_deref().expect("the call is over")
    }
}

/// Hears a call until it is over.
async fn hear_all(mut call: Running, told: &mut Told) {
    while let Some(event) = call.next().await {
        told.hear(event);
    }
    assert!(told.reply.is_some(), "no last event");
    assert!(call.next().await.is_none());
}

async fn told(engine: &Engine, call: impl Into<Call>) -> Told {
    let mut told = Told::default();
    hear_all(engine.stream(call), &mut told).await;
    told
}

/// Hears a call until its stdout is as wanted.
async fn hear_until(call: &mut Running, told: &mut Told, is_enough: impl Fn(&str) -> bool) {
    while !is_enough(&told.out) {
        told.hear(call.next().await.expect("more events"));
        assert!(told.reply.is_none(), "it is over: {:?}", told.reply());
    }
}

fn wait_for(path: &Path) {
    let deadline = Instant::now() + PATIENCE;
    while !path.exists() {
        assert!(Instant::now() < deadline, "no {}", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[tokio::test]
async fn started_then_output_then_finished() {
    let home = Home::new();
    let engine = engine(&home);
    for profile in ["voice", "harness", "phoenix", "default"] {
        let call = Contract::on(&engine, profile).request("echo $$; exit 3");
        let told = told(&engine, call).await;
        let [pid] = told.pids[..] else {
            panic!("{profile}: {:?}", told.pids)
        };
        assert_eq!(told.out, format!("{pid}\n"), "{profile}");
        assert_eq!(told.reply().output, told.out, "{profile}");
        assert_eq!(told.reply().exit_code, Some(3), "{profile}");
    }
}

#[tokio::test]
async fn a_streamed_reply_is_the_reply_of_a_plain_run() {
    let home = Home::new();
    let engine = engine(&home);
    for profile in ["voice", "harness", "phoenix", "default"] {
        let contract = Contract::on(&engine, profile);
        for command in ["echo o; echo e >&2; exit 3", "true", "kill -9 $$", " "] {
            let streamed = told(&engine, contract.request(command)).await;
            let plain = contract.run(command).await;
            assert_eq!(streamed.reply().text, plain.text, "{profile}: {command}");
            assert_eq!(
                streamed.reply().result,
                plain.result,
                "{profile}: {command}"
            );
        }
    }
}

#[tokio::test]
async fn streams_that_are_apart_are_told_apart() {
    let home = Home::new();
    let engine = engine(&home);
    let command = "echo o1; echo e1 >&2; echo o2; echo e2 >&2";
    for (profile, out, err) in [
        ("harness", "o1\no2\n", "e1\ne2\n"),
        ("voice", "o1\no2\n", "e1\ne2\n"),
        ("phoenix", "o1\ne1\no2\ne2\n", ""),
        ("default", "o1\ne1\no2\ne2\n", ""),
    ] {
        let told = told(&engine, Contract::on(&engine, profile).request(command)).await;
        assert_eq!(
            (told.out.as_str(), told.err.as_str()),
            (out, err),
            "{profile}"
        );
    }
}

#[tokio::test]
async fn output_is_told_while_the_command_runs() {
    let home = Home::new();
    let engine = engine(&home);
    let command = "echo one; until [ -e go ]; do sleep 0.01; done; echo two";
    let mut call = engine.stream(Request::new(command));
    let mut told = Told::default();
    hear_until(&mut call, &mut told, |out| out == "one\n").await;
    fs::write(home.workspace().join("go"), "").expect("a file");
    hear_all(call, &mut told).await;
    assert_eq!(told.out, "one\ntwo\n");
    assert_eq!(told.reply().output, told.out);
}

#[tokio::test]
async fn a_character_in_several_writes_arrives_whole() {
    let home = Home::new();
    let engine = engine(&home);
    // The first two bytes of four come with the x; the others only once the x was told.
    let command =
        "printf 'x\\360\\237'; until [ -e go ]; do sleep 0.01; done; printf '\\230\\200y'";
    let mut call = engine.stream(Request::new(command));
    let mut told = Told::default();
    hear_until(&mut call, &mut told, |out| !out.is_empty()).await;
    assert_eq!(told.out, "x");
    fs::write(home.workspace().join("go"), "").expect("a file");
    hear_all(call, &mut told).await;
    assert_eq!(told.out, "x\u{1F600}y");
    assert_eq!(told.reply().output, told.out);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_told_as_the_reply_shows_them() {
    let home = Home::new();
    let engine = engine(&home);
    for command in [
        "printf 'a\\377b'",
        "printf 'a\\360\\237'",
        "printf '\\360\\237'; printf '\\303\\251'",
    ] {
        let told = told(&engine, Request::new(command)).await;
        assert_eq!(told.out, told.reply().output, "{command}");
        assert!(told.out.contains('\u{FFFD}'), "{command}");
    }
}

/// An engine whose spools are so small that little output is a flood.
fn engine_with_quota(home: &Home, head: u64, ring: u64) -> Engine {
    let mut config = Config::new(home.state());
    config.quota = Quota { head, ring };
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}

#[tokio::test]
async fn every_byte_of_a_flood_beyond_the_head_file_is_told() {
    let home = Home::new();
    let engine = engine_with_quota(&home, 64 * 1024, 4 * 1024 * 1024);
    for round in 0..repetitions(200) {
        let told = told(&engine, Request::new("seq -w 1 200000")).await;
        assert_eq!(told.out.len(), 1_400_000, "{round}");
        let lines = told.out.lines().zip(1..);
        let wrong = lines
            .map(|(line, number)| (line.parse(), number))
            .find(|(line, number)| *line != Ok::<u32, _>(*number));
        assert_eq!(wrong, None, "{round}");
        assert_eq!(told.reply().output_bytes, 1_400_000);
        assert_eq!(told.reply().dropped_bytes, 0);
    }
}

#[tokio::test]
async fn a_slow_receiver_neither_slows_the_command_nor_loses_anything() {
    let home = Home::new();
    let engine = engine(&home);
    let command = "seq -w 1 500000; touch finished";
    let mut call = engine.stream(Request::new(command));
    let mut told = Told::default();
    hear_until(&mut call, &mut told, |out| !out.is_empty()).await;
    wait_for(&home.workspace().join("finished"));
    hear_all(call, &mut told).await;
    assert_eq!(told.out.len(), 3_500_000);
    assert_eq!(told.reply().exit_code, Some(0));
}

#[tokio::test]
async fn a_receiver_slower_than_the_limit_still_gets_the_true_reply() {
    let home = Home::new();
    let engine = engine(&home);
    let limit = Duration::from_secs(3);
    let request = Request::new("seq -w 1 500000; touch finished")
        .profile("phoenix")
        .timeout(limit);
    let mut call = engine.stream(request);
    let mut told = Told::default();
    hear_until(&mut call, &mut told, |out| !out.is_empty()).await;
    wait_for(&home.workspace().join("finished"));
    // Longer than limit, grace and what the engine waits for its keeper beyond these.
    std::thread::sleep(limit + Duration::from_millis(3500));
    hear_all(call, &mut told).await;
    assert_eq!(told.out.len(), 3_500_000);
    let reply = told.reply();
    assert_eq!((reply.exit_code, &reply.error), (Some(0), &None));
}

#[tokio::test]
async fn what_a_slow_receiver_missed_is_told_with_an_exact_count() {
    let home = Home::new();
    let engine = engine_with_quota(&home, 64 * 1024, 256 * 1024);
    let command = "echo begin; until [ -e go ]; do sleep 0.01; done; \
        head -c 2000000 /dev/zero | tr '\\0' a; touch finished";
    let mut call = engine.stream(Request::new(command));
    let mut told = Told::default();
    hear_until(&mut call, &mut told, |out| out == "begin\n").await;
    fs::write(home.workspace().join("go"), "").expect("a file");
    wait_for(&home.workspace().join("finished"));
    hear_all(call, &mut told).await;
    let gaps: Vec<u64> = told.out.lines().filter_map(gap).collect();
    // The last bytes may still be in the pipe when the reading goes on: then there are two.
    assert!((1..=3).contains(&gaps.len()), "{} gaps", gaps.len());
    let lines = told.out.lines().filter(|line| gap(line).is_none());
    let kept: usize = lines.map(|line| line.matches('a').count()).sum();
    let missed: u64 = gaps.iter().sum();
    assert!(missed > 1_000_000, "{missed}");
    assert_eq!(kept as u64 + missed, 2_000_000);
    // What was passed on before the ring dropped it was not missed.
    assert!(missed <= told.reply().dropped_bytes);
}

/// The count in a line that stands for missing bytes.
fn gap(line: &str) -> Option<u64> {
    let count = line.strip_prefix("[bashd: ")?;
    count
        .strip_suffix(" bytes of output were lost]")?
        .parse()
        .ok()
}

#[tokio::test]
async fn a_call_in_which_nothing_runs_has_one_event() {
    let home = Home::new();
    let engine = engine(&home);
    let gone = Request::new("true").cwd("gone");
    let unknown = Request::new("true").profile("nope");
    for request in [gone, unknown, Request::new("  ")] {
        let told = told(&engine, request).await;
        assert_eq!((told.pids.len(), told.outputs), (0, 0));
        assert!(told.reply().is_error);
    }
}

#[tokio::test]
async fn a_timeout_is_told_with_what_came_before() {
    let home = Home::new();
    let engine = engine(&home);
    let request = Request::new("echo part; sleep 60").timeout(Duration::from_secs(3));
    let told = told(&engine, request).await;
    assert_eq!(told.out, "part\n");
    assert!(told.reply().timed_out);
    assert_eq!(running(&home), []);
}

#[tokio::test]
async fn offsets_count_the_bytes_that_the_command_wrote() {
    let home = Home::new();
    let engine = engine(&home);
    // The character is split over two writes, so that its first byte is held back.
    let script = "printf 'aé\\303'; sleep 0.1; printf '\\251z'; sleep 0.1; printf end";
    let mut call = engine.stream(Request::new(script));
    let mut upto = 0;
    let mut text_so_far = String::new();
    while let Some(event) = call.next().await {
        if let Event::Output { offset, text, .. } = event {
            assert_eq!(offset, upto, "after {text_so_far:?}");
            upto += text.len() as u64;
            text_so_far.push_str(&text);
        }
    }
    assert_eq!(text_so_far, "aéézend");
}

/// The echo of a key, or the end of a prompt, may be the first letter of a secret.
#[tokio::test]
async fn a_letter_that_may_begin_a_secret_is_told_at_once_and_the_secret_never() {
    let home = Home::new();
    let engine = engine(&home);
    engine.register_secret("HOST", "kestrel-4711").unwrap();
    for (first, rest, shown) in [
        (
            "k",
            "estrel-4711 end\\n",
            "k[secret HOST, 12 characters] end\n",
        ),
        ("ke", "ttle\\n", "kettle\n"),
        ("is it ok", "", "is it ok"),
    ] {
        let go = home.workspace().join("go");
        let waits = "while ! test -e go; do sleep 0.01; done";
        let script = format!("printf '{first}'; {waits}; printf '{rest}'");
        let request = Request::new(script).cwd(home.workspace());
        let mut running = engine.stream(request);
        let mut told = Told::default();
        while told.out.len() < first.len() {
            let event = tokio::time::timeout(PATIENCE, running.next()).await;
            told.hear(event.expect("it is told at once").expect("an event"));
        }
        assert_eq!(told.out, first);
        fs::write(&go, "").unwrap();
        while let Some(event) = running.next().await {
            told.hear(event);
        }
        fs::remove_file(go).unwrap();
        assert_eq!(told.out, shown);
    }
}
