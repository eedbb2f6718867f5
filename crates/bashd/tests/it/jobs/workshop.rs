//! An engine whose jobs may stay in the state directory, and shortcuts to look at them. No tests
//! here.

use bashd::config::{Config, Surroundings};
use bashd::jobs::{Condition, Job, JobState, Jobs, OutputQuery, WaitFor, Whose};
use bashd::{Engine, KeeperSource, Reply, Request};
use bashd_testkit::Home;
use std::time::{Duration, Instant};

/// Whose jobs those of these tests are.
pub(super) const OWNER: &str = "tests";

/// A limit that a test never reaches unless something is wrong.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// An engine and its jobs. Fields are dropped in this order, and the home's end is the leak check.
pub(super) struct Workshop {
    pub(super) engine: Engine,
    pub(super) jobs: Jobs,
    pub(super) home: Home,
}

impl Workshop {
    pub(super) fn new() -> Self {
        Self::with(|_| {})
    }

    /// With its configuration changed.
    pub(super) fn with(change: impl FnOnce(&mut Config)) -> Self {
        let home = Home::new().keeping_in_state(&["runs"]);
        let mut config = Config::new(home.state());
        change(&mut config);
        let engine = engine(&home, config);
        let jobs = engine.jobs();
        Self { engine, jobs, home }
    }

    /// A request of the default profile.
    pub(super) fn request(&self, command: impl Into<String>) -> Request {
        Request::new(command)
            .owner(OWNER)
            .cwd(self.home.workspace())
    }

    /// Starts a job, which must not end at once.
    pub(super) async fn start(&self, command: impl Into<String>) -> Job {
        self.start_request(self.request(command).background()).await
    }

    pub(super) async fn start_request(&self, request: Request) -> Job {
        let reply = self.engine.run(request).await;
        self.job_of(&reply)
    }

    pub(super) fn job_of(&self, reply: &Reply) -> Job {
        let id = reply
            .job
            .as_deref()
            .unwrap_or_else(|| panic!("no job in {reply:?}"));
        self.find(id)
    }

    pub(super) fn find(&self, name: &str) -> Job {
        self.jobs.find(Whose::Owner(OWNER), name).expect("a job")
    }

    /// Waits until its shell has ended.
    pub(super) async fn ended(&self, job: &Job) -> Job {
        self.wait(job, Condition::Exit).await
    }

    /// Waits for something that must come.
    pub(super) async fn wait(&self, job: &Job, condition: Condition) -> Job {
        let wait = WaitFor::new(condition, PATIENCE);
        let waited = self.jobs.wait(vec![job.clone()], &wait).await;
        let [one] = waited.as_slice() else {
            panic!("one job, not {waited:?}");
        };
        assert_eq!(one.met, bashd::jobs::Met::Yes, "{one:?}");
        one.job.clone()
    }

    /// All of its output.
    pub(super) async fn output(&self, job: &Job) -> String {
        let query = OutputQuery::default();
        self.jobs.output(job, &query).await.expect("output").text
    }

    /// Waits until a job is in this state.
    pub(super) async fn until_state(&self, job: &Job, state: JobState) -> Job {
        let begun = Instant::now();
        loop {
            let now = self.jobs.again(job).await.expect("the job");
            if now.state == state {
                return now;
            }
            assert!(begun.elapsed() < PATIENCE, "not {state:?}: {now:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Asks the job tool.
    pub(super) async fn tool(&self, input: &str) -> Reply {
        let call = bashd::Call::json(input, self.request(""));
        self.engine.job(call).await
    }

    /// Ends everything.
    pub(super) async fn close(&self) {
        for job in self.jobs.list(Whose::Everybody) {
            self.jobs.kill(&job).await.expect("an end");
        }
    }
}

/// An engine in a home.
pub(super) fn engine(home: &Home, config: Config) -> Engine {
    let surroundings = Surroundings {
        cwd: home.workspace(),
        env: home.env(),
    };
    Engine::new(config, surroundings, KeeperSource::Hook).expect("an engine")
}
