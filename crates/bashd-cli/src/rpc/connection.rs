//! One client, from its first line to its last.
//!
//! When its end closes, what it asked for is still carried out and answered, for a while: a script
//! that pipes its requests in wants the answers. Then, or at once if nobody can read them any more,
//! everything is cancelled. Whatever the client does, this comes to an end.

use super::Host;
use super::answer;
use super::calls::{Asked, Calls, Kind, MOST_CALLS, RUN_AT_ONCE};
use super::message::{self, Events, Message, Offers, Said, ToolCall};
use super::requests::{Requests, Waiting};
use crate::serve::asking::CanBeAsked;
use crate::serve::lines::{self, Line, MOST_LINE_BYTES, Outbox};
use bashd::jobs::{JobNews, News, Tell};
use bashd::profile::schema;
use bashd::request::By;
use bashd::{Call, CancellationToken};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The version of the protocol: additions leave it as it is.
const PROTOCOL: u32 = 1;

/// Between two looks at whether the other end is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long the next of the cancelled calls may take to end: more than any keeper needs. After
/// that, what is left waits for a client that does not read.
const CANCELLED_WITHIN: Duration = Duration::from_secs(4);

/// Both directions of a connection.
pub(super) struct Ends {
    input: OwnedFd,
    output: OwnedFd,
    /// A socket, to be shut down at the end.
    socket: Option<UnixStream>,
}

impl Ends {
    /// stdin and stdout.
    pub(super) fn stdio() -> io::Result<Self> {
        Ok(Self {
            input: io::stdin().as_fd().try_clone_to_owned()?,
            output: io::stdout().as_fd().try_clone_to_owned()?,
            socket: None,
        })
    }

    /// A socket; it must be a blocking one.
    pub(super) fn socket(stream: UnixStream) -> io::Result<Self> {
        Ok(Self {
            input: stream.as_fd().try_clone_to_owned()?,
            output: stream.as_fd().try_clone_to_owned()?,
            socket: Some(stream),
        })
    }

    /// Whether nothing more will come.
    fn is_input_closed(&self) -> bool {
        has(&self.input, PollFlags::HUP | PollFlags::RDHUP)
    }

    /// Whether nobody can read what we say.
    fn is_output_closed(&self) -> bool {
        has(&self.output, PollFlags::ERR | PollFlags::HUP)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            // The thread that reads it would wait for ever.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

fn has(fd: &OwnedFd, flags: PollFlags) -> bool {
    let mut polled = [PollFd::new(fd, flags)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut polled, Some(&now)).is_ok()
        && polled.iter().any(|fd| fd.revents().intersects(flags))
}

async fn when(is_so: impl Fn() -> bool) {
    while !is_so() {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// The next news of jobs; never, for who does not want to hear of them.
async fn next_news(news: &mut Option<News>) -> JobNews {
    match news {
        Some(news) => news.next().await,
        None => std::future::pending().await,
    }
}

/// Serves one client to its end.
pub(super) async fn serve(host: Host, ends: Ends, stop: CancellationToken) {
    let (Ok(input), Ok(output)) = (ends.input.try_clone(), ends.output.try_clone()) else {
        return;
    };
    let mut lines = lines::read(File::from(input));
    let (outbox, flushed) = lines::write(File::from(output));
    let engine = host.server.engine.clone();
    let mut connection = Connection {
        calls: Calls::new(engine, outbox.clone(), Arc::clone(&host.turns)),
        offers: Offers::default(),
        waiting: Arc::default(),
        news: None,
        outbox,
        host,
    };
    connection.until_closed(&mut lines, &ends, &stop).await;
    connection.come_to_an_end(&ends, &stop).await;
    let linger = connection.host.linger;
    let broken = connection.outbox.broken.clone();
    drop(connection);
    tokio::select! {
        () = flushed.cancelled() => {}
        () = broken.cancelled() => {}
        () = tokio::time::sleep(linger) => {}
    }
}

struct Connection {
    host: Host,
    outbox: Outbox,
    calls: Calls,
    offers: Offers,
    waiting: Arc<Waiting>,
    /// What happens to the client's jobs, if it wants to hear of it.
    news: Option<News>,
}

impl Connection {
    /// Hears the client until it has nothing more to say, or nobody may listen any more.
    async fn until_closed(
        &mut self,
        lines: &mut mpsc::Receiver<Line>,
        ends: &Ends,
        stop: &CancellationToken,
    ) {
        let broken = self.outbox.broken.clone();
        let linger = self.host.linger;
        // Whoever neither reads nor can say anything more is given up after a while.
        let given_up = async || {
            when(|| ends.is_input_closed()).await;
            tokio::time::sleep(linger).await;
        };
        loop {
            let line = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = broken.cancelled() => return,
                () = self.calls.one_ended() => continue,
                line = lines.recv() => line,
                news = next_news(&mut self.news) => {
                    tokio::select! {
                        biased;
                        () = self.pass_on(news) => continue,
                        () = stop.cancelled() => return,
                        () = given_up() => return,
                    }
                }
            };
            let Some(line) = line else { return };
            tokio::select! {
                biased;
                () = self.hear(line) => {}
                () = stop.cancelled() => return,
                () = given_up() => return,
            }
        }
    }

    /// Tells what happened to jobs: each end, and all of them as a model should hear it. What does
    /// not get there is told the owner's next client.
    async fn pass_on(&self, news: JobNews) {
        match news {
            JobNews::Progress(jobs) => {
                for progress in &jobs {
                    self.outbox.send(&answer::job_progress(progress)).await;
                }
            }
            JobNews::Ended(delivery) => {
                let (server, ended) = (&self.host.server, delivery.ended());
                for job in ended {
                    self.outbox.send(&answer::job_ended(job)).await;
                }
                let text = server.engine.job_notice(&server.profile.name, ended).await;
                let notice = answer::jobs_ended(ended, &text);
                if self.outbox.deliver(&notice).await.is_ok() {
                    delivery.done();
                }
            }
        }
    }

    /// Lets calls end by themselves for a while, then ends them; each is answered.
    async fn come_to_an_end(&mut self, ends: &Ends, stop: &CancellationToken) {
        self.waiting.close();
        let (broken, linger) = (self.outbox.broken.clone(), self.host.linger);
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = broken.cancelled() => {}
            () = self.calls.all_ended() => return,
            () = when(|| ends.is_output_closed()) => {}
            () = tokio::time::sleep(linger) => {}
        }
        self.calls.cancel_all();
        while !self.calls.is_empty() {
            let ended = tokio::time::timeout(CANCELLED_WITHIN, self.calls.one_ended());
            if ended.await.is_err() || broken.is_cancelled() {
                return;
            }
        }
    }

    async fn hear(&mut self, line: Line) {
        let answer = match line {
            Line::TooLong => {
                let most = MOST_LINE_BYTES / (1024 * 1024);
                let error = format!("Failed to parse command: a line may have at most {most} MiB");
                Some(answer::failure(None, "parse", &error))
            }
            Line::Text(text) => match message::read(&text) {
                Ok(message) => self.act(message, text.len()),
                Err(why) => Some(answer::misunderstood(&why)),
            },
        };
        if let Some(answer) = answer {
            self.outbox.send(&answer).await;
        }
    }

    /// Does what was said; calls are answered when they end.
    fn act(&mut self, message: Message, bytes: usize) -> Option<Value> {
        let Message { id, said } = message;
        let of = id.as_ref();
        let (command, answer) = match said {
            Said::Hello(offers) => {
                self.offers = offers;
                self.news = self.news_of_jobs();
                ("hello", Ok(Some(self.greeting())))
            }
            Said::Bash { command, events } => {
                let call = self.bash(command, of);
                let kind = Kind::Bash;
                let asked = Asked {
                    id: id.clone(),
                    kind,
                    call,
                    events,
                    asks: self.asks(of),
                    bytes,
                };
                ("bash", self.start(asked))
            }
            Said::Call(tool_call) => {
                let events = tool_call.events;
                let asked = self.tool_call(tool_call, of).map(|call| Asked {
                    id: id.clone(),
                    kind: Kind::Call,
                    call,
                    events,
                    asks: self.asks(of),
                    bytes,
                });
                ("call", asked.and_then(|asked| self.start(asked)))
            }
            Said::Job { arguments, profile } => {
                let asked = Asked {
                    id: id.clone(),
                    kind: Kind::Job,
                    call: self.plain_call(&arguments, profile),
                    events: Events::Untold,
                    asks: None,
                    bytes,
                };
                ("job", self.start(asked))
            }
            Said::AbortBash => {
                self.calls.cancel_each(Kind::Bash);
                ("abort_bash", Ok(Some(Value::Null)))
            }
            Said::Cancel { target } => ("cancel", self.cancel(&target)),
            Said::Schema { profile } => ("schema", self.schema(profile.as_deref())),
            Said::Reply(reply) => {
                let taken = self.waiting.answer(of.unwrap_or(&Value::Null), reply);
                ("reply", taken.map(|()| None))
            }
        };
        match answer {
            Ok(None) => None,
            Ok(Some(data)) => {
                let data = Some(data).filter(|data| !data.is_null());
                Some(answer::success(of, command, data))
            }
            Err(reason) => Some(answer::failure(of, command, &reason)),
        }
    }

    fn news_of_jobs(&self) -> Option<News> {
        let server = &self.host.server;
        let tell = match self.offers {
            Offers { progress: true, .. } => Tell::EndsAndProgress,
            Offers { jobs: true, .. } => Tell::Ends,
            _ => return None,
        };
        server.engine.jobs().news(server.owner(), tell).ok()
    }

    fn start(&mut self, asked: Asked) -> Result<Option<Value>, String> {
        self.calls.start(asked).map(|()| None)
    }

    /// A command as its user typed it: no other tool is suggested unless the command line says so.
    fn bash(&self, command: String, id: Option<&Value>) -> Call {
        let mut request = self.host.server.defaults.clone();
        request.command = command;
        request.interceptor = Some(request.interceptor == Some(true));
        request.by = By::Program;
        let call = Call::from(request);
        if self.offers.terminal {
            call.in_terminal_of(self.client(id))
        } else {
            call
        }
    }

    fn plain_call(&self, arguments: &Value, profile: Option<String>) -> Call {
        let (server, arguments) = (&self.host.server, arguments.to_string());
        match profile {
            Some(profile) => Call::json(arguments, server.defaults.clone().profile(profile)),
            None => server.call(arguments),
        }
    }

    fn tool_call(&self, said: ToolCall, id: Option<&Value>) -> Result<Call, String> {
        let call = self.plain_call(&said.arguments, said.profile);
        match (said.terminal, self.offers.terminal) {
            (Some(true), false) => Err("this client has offered no terminals: say hello".into()),
            (Some(true) | None, true) => Ok(call.in_terminal_of(self.client(id))),
            (Some(false), _) | (None, false) => Ok(call),
        }
    }

    fn asks(&self, id: Option<&Value>) -> Option<Arc<dyn CanBeAsked>> {
        self.offers.approve.then(|| self.client(id) as _)
    }

    fn client(&self, id: Option<&Value>) -> Arc<Requests> {
        Arc::new(Requests {
            outbox: self.outbox.clone(),
            waiting: Arc::clone(&self.waiting),
            call: id.cloned(),
        })
    }

    fn cancel(&self, target: &Value) -> Result<Option<Value>, String> {
        if self.calls.cancel(target) {
            Ok(Some(Value::Null))
        } else {
            Err(format!("no call with the id {target} is under way"))
        }
    }

    fn schema(&self, profile: Option<&str>) -> Result<Option<Value>, String> {
        let server = &self.host.server;
        let Some(name) = profile else {
            return Ok(Some(server.tool()));
        };
        match self.host.profiles.get(name) {
            Ok(profile) => {
                let pwd = server.cwd.to_string_lossy();
                Ok(Some(schema::definition(
                    &profile,
                    &pwd,
                    server.engine.config(),
                )))
            }
            Err(_) => Err(format!("there is no profile `{name}`")),
        }
    }

    fn greeting(&self) -> Value {
        json!({
            "protocol": PROTOCOL,
            "version": env!("CARGO_PKG_VERSION"),
            "profile": self.host.server.profile.name,
            "cwd": self.host.server.cwd.to_string_lossy(),
            "limits": {
                "line_bytes": MOST_LINE_BYTES,
                "running": RUN_AT_ONCE,
                "calls": MOST_CALLS,
            },
        })
    }
}
