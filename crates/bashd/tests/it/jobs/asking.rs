//! Whether a job waits for input: what the kernel tells, and where it can't.

use super::workshop::Workshop;
use bashd::jobs::{AfterInput, Condition, Job, JobState, Sure};
use bashd_testkit::unprivileged::is_second_run;
use bashd_testkit::{SetId, as_each_user, loudly};
use regex::Regex;

/// A program that waits, once it has said so, for what these lines say.
fn python(wait: &str) -> String {
    format!(
        "exec python3 -u -c 'import asyncio, os, select, sys\nr, w = os.pipe()\nprint(\"ready\")\n{wait}'"
    )
}

fn ready() -> Condition {
    Condition::matches(Regex::new("ready").expect("a pattern"))
}

async fn start(shop: &Workshop, command: &str) -> Job {
    let request = shop.request(command).background().stdin_open();
    let job = shop.start_request(request).await;
    shop.wait(&job, ready()).await
}

/// Starts these, and sees that none of them is said to wait for input while another job is, several
/// times: as often the keepers look.
async fn stay_unknown(shop: &Workshop, commands: &[String]) -> Vec<Job> {
    let mut jobs = Vec::new();
    for command in commands {
        jobs.push(start(shop, command).await);
    }
    let control = start(shop, "echo ready; while read -r line; do echo $line; done").await;
    for _ in 0..3 {
        shop.until_state(&control, JobState::WaitingForInput).await;
        for job in &jobs {
            let now = shop.jobs.again(job).await.expect("the job");
            assert_eq!(now.state, JobState::Running, "{now:?}");
            assert_eq!(now.waiting, None, "{now:?}");
        }
        let open = AfterInput::StayOpen;
        let sent = shop.jobs.send(&control, b"more\n", open).await;
        sent.expect("a line");
        // What was written is news: it does not wait any more, until it does again.
        shop.until_state(&control, JobState::Running).await;
    }
    jobs
}

#[tokio::test]
async fn of_event_loops_it_is_unknown() {
    let shop = Workshop::new();
    let two = "p = select.poll(); p.register(0); p.register(r); p.poll()";
    let other = "p = select.poll(); p.register(r); p.poll()";
    let epoll = "e = select.epoll(); e.register(0, select.EPOLLIN); e.poll()";
    let asyncio = "loop = asyncio.new_event_loop(); loop.add_reader(0, print); loop.run_forever()";
    let select = "select.select([0, r], [], [])";
    let commands = [select, two, other, epoll, asyncio].map(python);
    stay_unknown(&shop, &commands).await;
    shop.close().await;
}

#[tokio::test]
async fn who_polls_stdin_and_nothing_else_probably_waits() {
    let shop = Workshop::new();
    let select = "select.select([0], [], [])";
    let poll = "p = select.poll(); p.register(0); p.poll()";
    for (wait, sure) in [
        (select, Sure::Probably),
        (poll, Sure::Probably),
        ("sys.stdin.readline()", Sure::Yes),
    ] {
        let job = start(&shop, &python(wait)).await;
        let job = shop.until_state(&job, JobState::WaitingForInput).await;
        let waiting = job.waiting.expect("a question");
        assert_eq!(waiting.sure, sure, "{wait}");
    }
    shop.close().await;
}

#[test]
fn of_set_id_programs_it_is_unknown() {
    let is_root = rustix::process::getuid().is_root();
    if !is_root && !is_second_run() {
        return loudly("not root: that a set-id program waits for input is unknown is NOT tested");
    }
    let _made = is_root.then(|| SetId::copy_of("/usr/bin/cat"));
    as_each_user(|| {
        if is_root {
            return; // Root may look at anything; the run without rights tests it.
        }
        let program = SetId::made_for_this_run("cat");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime
            .expect("a runtime")
            .block_on(set_id(&program.display().to_string()));
    });
}

async fn set_id(cat: &str) {
    let shop = Workshop::new();
    let probe = shop.request(format!("{cat} /proc/self/status | grep ^Uid"));
    let probe = shop.engine.run(probe).await;
    if !probe.output.contains("\t0\t") {
        return loudly(
            "set-id programs have no effect here: one that waits for input is NOT tested",
        );
    }
    let command = format!("echo ready; {cat}; echo over");
    let jobs = stay_unknown(&shop, &[command]).await;
    let close = AfterInput::Close;
    let sent = shop.jobs.send(&jobs[0], b"it did\n", close).await;
    sent.expect("a line");
    let job = shop.ended(&jobs[0]).await;
    assert_eq!(shop.output(&job).await, "ready\nit did\nover\n");
    shop.close().await;
}
