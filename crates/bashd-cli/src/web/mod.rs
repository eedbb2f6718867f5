//! `bashd web`: a page with the calls, jobs and questions of all of this user's bashd processes.
//!
//! `access` says who may ask, `browsers` which browsers were let in, `peers` whose a connection is,
//! by the `looks` of a few threads;
//! `now` is the one stream of what happens, `rows` what it says of a call, `runs` is one run's
//! output and what is done to it, `tree` its processes, `past` what was; `metrics` is for
//! Prometheus; `assets` is the page itself, `routes` which
//! address is what. Nothing here runs commands: as in `top`, what is done to a call goes through
//! its keeper, or through the question that it has open.

pub(crate) mod access;
mod answer;
mod assets;
mod browsers;
mod effects;
mod listening;
mod looks;
mod metrics;
mod now;
mod opening;
mod past;
mod peers;
mod routes;
mod rows;
mod runs;
mod tree;

use crate::args::WebOptions;
use crate::exit_status::ExitStatus;
use crate::failure::{Failure, FailureKind};
use crate::print::Printer;
use crate::runtime;
use crate::settings::ConfigInForce;
use crate::signals::Signals;
use access::WebAccess;
use bashd::CancellationToken;
use bashd::changes::ChangeStore;
use browsers::Browsers;
use listening::WebListener;
use now::NowBoard;
use past::PastDesk;
use runs::RunDesk;
use std::io;
use std::sync::Arc;

/// What every connection is served with.
pub(crate) struct WebServer {
    access: WebAccess,
    browsers: Browsers,
    board: Arc<NowBoard>,
    runs: RunDesk,
    changes: ChangeStore,
    past: PastDesk,
    /// What a program shows that asks for metrics; nobody may without it.
    metrics_token: Option<String>,
    /// Where people find it, without the token.
    base: String,
    printer: Printer,
    stop: CancellationToken,
}

impl WebServer {
    /// Tells the person at the terminal how to get in.
    fn tell_link(&self, before: &str) {
        let link = self.link();
        self.printer.note(&format!("{before}{link}"));
    }

    fn link(&self) -> String {
        format!("{}/#{}", self.base, self.browsers.token())
    }
}

/// Serves the page until a signal ends it.
pub(crate) fn web(
    arguments: &WebOptions,
    settings: &ConfigInForce,
    printer: &Printer,
) -> Result<ExitStatus, Failure> {
    let config = &settings.config;
    if !config.feed {
        let why = "calls are not told: `feed.enabled` is false";
        return Err(Failure::new(FailureKind::Usage, why)
            .hint("bashd --set feed.enabled=true … switches it on"));
    }
    let failed = |error: io::Error| Failure::of(FailureKind::System, error.into());
    let runtime = runtime::build().map_err(failed)?;
    let (done, signal) = runtime.block_on(async {
        bashd::serve_from_here();
        let stop = CancellationToken::new();
        let signals = Signals::listen().map_err(failed)?;
        let browsers = Browsers::in_state(&config.state_dir)?;
        let listener = WebListener::open(arguments, browsers.last_port())?;
        browsers.remember_port(listener.port());
        let asked = arguments.metrics.then(|| metrics::token(&config.state_dir));
        let metrics_token = asked.transpose()?;
        let server = Arc::new(WebServer {
            access: WebAccess::of(arguments),
            browsers,
            board: NowBoard::new(config),
            runs: RunDesk::of(config),
            changes: ChangeStore::in_state(&config.state_dir),
            past: PastDesk::of(config),
            metrics_token,
            base: listener.base(&arguments.allow_origin),
            printer: printer.clone(),
            stop: stop.clone(),
        });
        listener.say_where(printer);
        server.tell_link("open ");
        if server.metrics_token.is_some() {
            let file = metrics::token_file(&config.state_dir);
            let base = &server.base;
            printer.note(&format!(
                "metrics are at {base}/metrics, for the bearer of {}",
                file.display()
            ));
        }
        if arguments.open {
            opening::open(&server.link(), printer);
        }
        let board = Arc::clone(&server.board);
        tokio::spawn(Arc::clone(&board).keep(stop.clone()));
        let serving = listener.serve(server, stop.clone());
        let result = signals.heed(&stop, serving).await;
        board.leave().await;
        Ok::<_, Failure>(result)
    })?;
    // A thread that still waits for the feed must not delay the end.
    runtime.shutdown_background();
    done?;
    Ok(signal.unwrap_or(ExitStatus::Success))
}
