//! One client, from its first line to its last.
//!
//! When the client closes its end, its requests are still carried out and answered for a while: a
//! script that pipes its requests in wants the answers. Then, or at once if nobody can read the
//! answers any more, everything is cancelled. Whatever the client does, the connection ends.

use super::RpcServer;
use super::answer;
use super::calls::{CallKind, CallWork, ClientCalls, MOST_CALLS, NewCall};
use super::message::{self, Events, Offers, RpcMessage, RpcToolCall, Said};
use super::requests::{OpenQuestions, Requests};
use crate::serve::lines::{self, ClientLine, MOST_LINE_BYTES, Outbox};
use crate::serve::{RUN_AT_ONCE, ServerBase, asking};
use crate::tape::{TapeRecorder, TapedIn, TapedOut};
use bashd::jobs::{JobNews, OwnerNews, Tell};
use bashd::profile::offered::OfferedTool;
use bashd::request::By;
use bashd::{Call, CancellationToken, Profile, Request};
use rustix::event::{PollFd, PollFlags, Timespec};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// The version of the protocol: additions leave it as it is.
pub(super) const PROTOCOL: u32 = 1;

/// How often to check whether the other end is still there.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long to wait for the next cancelled call to end: more than any keeper needs. After that, the
/// remaining calls can only be waiting for a client that does not read.
const CANCELLED_WITHIN: Duration = Duration::from_secs(4);

/// Both directions of a connection.
pub(super) struct ConnectionEnds {
    input: OwnedFd,
    output: OwnedFd,
    /// A socket, to be shut down at the end.
    socket: Option<UnixStream>,
    /// What is said is recorded there.
    tape: Option<Arc<TapeRecorder>>,
}

impl ConnectionEnds {
    /// stdin and stdout.
    pub(super) fn stdio(tape: Option<Arc<TapeRecorder>>) -> io::Result<Self> {
        let (input, output) = lines::stdio()?;
        Ok(Self {
            input,
            output,
            socket: None,
            tape,
        })
    }

    /// A socket; it must be a blocking one.
    pub(super) fn socket(stream: UnixStream) -> io::Result<Self> {
        Ok(Self {
            input: stream.as_fd().try_clone_to_owned()?,
            output: stream.as_fd().try_clone_to_owned()?,
            socket: Some(stream),
            tape: None,
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

impl Drop for ConnectionEnds {
    fn drop(&mut self) {
        if let Some(socket) = &self.socket {
            // The thread that reads it would wait forever.
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

/// Waits for ends of jobs at other places; forever if the client does not want to know.
async fn next_ends_there(server: &ServerBase, is_wanted: bool) {
    if !is_wanted {
        return std::future::pending().await;
    }
    let (profile, known) = (&server.profile.name, HashSet::new());
    let ends = server
        .engine
        .next_ends_there(profile, server.owner(), &known);
    drop(ends.await);
}

/// The next news of jobs; waits forever if the client does not want any.
async fn next_news(news: &mut Option<OwnerNews>) -> JobNews {
    match news {
        Some(news) => news.next().await,
        None => std::future::pending().await,
    }
}

/// Serves one client to its end.
pub(super) async fn serve(mut host: RpcServer, ends: ConnectionEnds, stop: CancellationToken) {
    // A connection is a client: sessions and jobs are its own.
    let client = host.server.client();
    host.server = client.base.clone();
    let (Ok(input), Ok(output)) = (ends.input.try_clone(), ends.output.try_clone()) else {
        return;
    };
    let (input, output) = (File::from(input), File::from(output));
    let (mut lines, (outbox, flushed)) = match &ends.tape {
        Some(tape) => (
            lines::read(TapedIn(input, Arc::clone(tape))),
            lines::write(TapedOut(output, Arc::clone(tape))),
        ),
        None => (lines::read(input), lines::write(output)),
    };
    let engine = host.server.engine.clone();
    let limit = host.server.defaults.timeout;
    let limit = limit.unwrap_or(Duration::from_secs(host.server.profile.limits.timeout_s));
    let mut connection = RpcConnection {
        calls: ClientCalls::new(engine, outbox.clone(), limit, host.turns.client()),
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
    drop(client);
    tokio::select! {
        () = flushed.cancelled() => {}
        () = broken.cancelled() => {}
        () = tokio::time::sleep(linger) => {}
    }
}

struct RpcConnection {
    host: RpcServer,
    outbox: Outbox,
    calls: ClientCalls,
    offers: Offers,
    waiting: Arc<OpenQuestions>,
    /// The news of the client's jobs, if it wants any.
    news: Option<OwnerNews>,
}

impl RpcConnection {
    /// Reads the client's messages until it closes its end, or until we must stop.
    async fn until_closed(
        &mut self,
        lines: &mut mpsc::Receiver<ClientLine>,
        ends: &ConnectionEnds,
        stop: &CancellationToken,
    ) {
        let broken = self.outbox.broken.clone();
        let linger = self.host.linger;
        // A client that neither reads nor can send anything more is given up after a while.
        let given_up = async || {
            when(|| ends.is_input_closed()).await;
            tokio::time::sleep(linger).await;
        };
        // Where others wait for places, a client that takes none of its replies has to leave.
        let not_taken = self.not_taken(ends);
        let mut not_taken = std::pin::pin!(not_taken);
        loop {
            let wants_ends = self.news.is_some();
            let line = tokio::select! {
                biased;
                () = stop.cancelled() => return,
                () = broken.cancelled() => return,
                () = &mut not_taken => return,
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
                () = next_ends_there(&self.host.server, wants_ends) => {
                    tokio::select! {
                        biased;
                        () = self.pass_on_ends_there() => continue,
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
                () = &mut not_taken => return,
                () = given_up() => return,
            }
        }
    }

    /// Resolves when one client of many has taken none of its replies for too long, and says so.
    fn not_taken(&self, ends: &ConnectionEnds) -> impl Future<Output = ()> + use<> {
        let (outbox, printer) = (self.outbox.clone(), self.host.printer.clone());
        let (is_one_of_many, patience) = (ends.socket.is_some(), self.host.patience);
        async move {
            if !is_one_of_many {
                std::future::pending::<()>().await;
            }
            outbox.not_taken(patience).await;
            outbox.broken.cancel();
            let seconds = patience.as_secs();
            printer.warn(&format!(
                "a client was dropped: it has read none of its replies for {seconds} s"
            ));
        }
    }

    /// Sends the news of jobs: each end, and the text about all of them for a model. The owner's
    /// next client gets what this one did not.
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
                    let reply = server.engine.job_reply(&server.profile.name, job).await;
                    self.outbox.send(&answer::job_ended(job, &reply)).await;
                }
                let text = server.engine.job_notice(&server.profile.name, ended).await;
                let ids: Vec<&str> = ended.iter().map(|job| job.id.as_str()).collect();
                let notice = answer::jobs_ended(&ids, &text);
                if self.outbox.deliver(&notice).await.is_ok() {
                    delivery.done();
                }
            }
        }
    }

    /// Sends the text for a model about ends of jobs at other places.
    async fn pass_on_ends_there(&self) {
        let server = &self.host.server;
        let (engine, profile, owner) = (&server.engine, &server.profile.name, server.owner());
        if let Some(delivery) = engine.ends_there(profile, owner).await {
            let ids: Vec<&str> = delivery.ended().map(|job| job.id.as_str()).collect();
            let notice = answer::jobs_ended(&ids, &delivery.text());
            if self.outbox.deliver(&notice).await.is_ok() {
                delivery.done();
            }
        }
    }

    /// Lets calls end by themselves for a while, then ends them; each is answered.
    async fn come_to_an_end(&mut self, ends: &ConnectionEnds, stop: &CancellationToken) {
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

    async fn hear(&mut self, line: ClientLine) {
        let answer = match line {
            ClientLine::TooLong(id) => {
                let most = MOST_LINE_BYTES / (1024 * 1024);
                let error = format!("Failed to parse command: a line may have at most {most} MiB");
                Some(answer::failure(id.as_ref(), "parse", &error))
            }
            ClientLine::Text(text) => match message::read(&text) {
                Ok(message) => self.act(message, text.len()),
                Err(why) => Some(answer::misunderstood(&why)),
            },
        };
        if let Some(answer) = answer {
            self.outbox.send(&answer).await;
        }
    }

    /// Carries out a request; calls are answered when they end.
    fn act(&mut self, message: RpcMessage, bytes: usize) -> Option<Value> {
        let RpcMessage { id, said } = message;
        let of = id.as_ref();
        let new = |kind, call, events| NewCall {
            id: id.clone(),
            kind,
            work: CallWork::Engine(Box::new(call)),
            events,
            bytes,
        };
        let (command, answer) = match said {
            Said::Hello(offers) => {
                self.offers = offers;
                self.news = self.news_of_jobs();
                ("hello", Ok(Some(self.greeting())))
            }
            Said::Bash { command, events } => {
                let call = self.bash(command, of);
                ("bash", self.start(new(CallKind::Bash, call, events)))
            }
            Said::Call(tool_call) => {
                let events = tool_call.events;
                let call = self.tool_call(tool_call, of);
                let started = call.and_then(|call| self.start(new(CallKind::Call, call, events)));
                ("call", started)
            }
            Said::Job { arguments, profile } => {
                let call = self.plain_call(&arguments, profile);
                ("job", self.start(new(CallKind::Job, call, Events::Untold)))
            }
            Said::AbortBash => {
                self.calls.cancel_each(CallKind::Bash);
                ("abort_bash", Ok(Some(Value::Null)))
            }
            Said::Cancel { target } => ("cancel", self.cancel(&target)),
            Said::Secret { name, value } => {
                let registered = self.host.server.engine.register_secret(&name, &value);
                let answer = registered.map_err(|refusal| refusal.to_string());
                ("secret", answer.map(|()| Some(Value::Null)))
            }
            Said::Schema { profile } => {
                let tools = self.tools(profile.as_deref());
                let first = tools.map(|tools| Some(tools.into_iter().next()?.definition));
                ("schema", first)
            }
            Said::AllSchemas { profile } => {
                let tools = self.tools(profile.as_deref());
                let forms = tools.map(|tools| tools.into_iter().map(|tool| tool.in_form).collect());
                ("schema", forms.map(Some))
            }
            Said::Tools { profile } => ("tools", self.requests(profile.as_deref())),
            Said::Artifact { arguments } => {
                let server = &self.host.server;
                let store = server.engine.artifacts().seen_by(server.owner());
                let reading = NewCall {
                    id: id.clone(),
                    kind: CallKind::Artifact,
                    work: CallWork::Reading(Box::new(store), arguments),
                    events: Events::Untold,
                    bytes,
                };
                ("artifact", self.start(reading))
            }
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

    fn news_of_jobs(&self) -> Option<OwnerNews> {
        let server = &self.host.server;
        let tell = match self.offers {
            Offers { progress: true, .. } => Tell::EndsAndProgress,
            Offers { jobs: true, .. } => Tell::Ends,
            _ => return None,
        };
        server.engine.jobs().news(server.owner(), tell).ok()
    }

    fn start(&mut self, call: NewCall) -> Result<Option<Value>, String> {
        self.calls.start(call).map(|()| None)
    }

    /// A command as a user typed it: no other tool is suggested unless the command line asks for
    /// that.
    fn bash(&self, command: String, id: Option<&Value>) -> Call {
        let mut request = self.host.server.request();
        request.command = command;
        request.interceptor = Some(request.interceptor == Some(true));
        request.by = By::Program;
        // The older document ends what takes too long.
        request.on_timeout = None;
        let call = self.asking(Call::from(request), id);
        if self.offers.terminal {
            call.in_terminal_of(self.client(id))
        } else {
            call
        }
    }

    fn plain_call(&self, arguments: &Value, profile: Option<String>) -> Call {
        Call::json(arguments.to_string(), self.defaults(profile))
    }

    /// What a model's call leaves open.
    fn defaults(&self, profile: Option<String>) -> Request {
        let defaults = self.host.server.request();
        match profile {
            Some(profile) => defaults.profile(profile),
            None => defaults,
        }
    }

    fn tool_call(&self, said: RpcToolCall, id: Option<&Value>) -> Result<Call, String> {
        let mut defaults = self.defaults(said.profile);
        if self.offers.terminal && said.terminal != Some(false) {
            // What runs in a terminal of the client can't go on as a job.
            defaults.on_timeout = None;
        }
        let call = Call::json(said.arguments.to_string(), defaults);
        let call = match said.tool {
            Some(tool) => call.tool(tool),
            None => call,
        };
        let call = self.asking(call, id);
        match (said.terminal, self.offers.terminal) {
            (Some(true), false) => {
                Err("this client has not offered terminals: send `hello` first".into())
            }
            (Some(true) | None, true) => Ok(call.in_terminal_of(self.client(id))),
            (Some(false), _) | (None, false) => Ok(call),
        }
    }

    /// The call, which asks the client for approval if the client can be asked.
    fn asking(&self, call: Call, id: Option<&Value>) -> Call {
        if self.offers.approve {
            asking::on_behalf_of(self.client(id), call)
        } else {
            call
        }
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
            Err(format!("no call with the id {target} is in progress"))
        }
    }

    /// The tools of a profile, or of the server's own.
    fn tools(&self, profile: Option<&str>) -> Result<Vec<OfferedTool>, String> {
        let tools = self.host.server.tools_of(&*self.profile(profile)?);
        tools.map_err(|error| error.to_string())
    }

    /// Likewise, each with the request by which it is called.
    fn requests(&self, profile: Option<&str>) -> Result<Option<Value>, String> {
        let tools = self.host.server.requests_of(&*self.profile(profile)?);
        let tools = tools.map_err(|error| error.to_string())?;
        Ok(Some(json!({ "tools": tools })))
    }

    /// The profile of this name, or the server's own.
    fn profile(&self, name: Option<&str>) -> Result<Arc<Profile>, String> {
        match name {
            None => Ok(Arc::clone(&self.host.server.profile)),
            Some(name) => {
                let found = self.host.profiles.get(name);
                found.map_err(|_| format!("there is no profile `{name}`"))
            }
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
