//! One call as a front end makes it: an input, and the token that stops it.

use crate::approval::Approver;
use crate::exec::TurnTicket;
use crate::exec::terminal::{ClientTerminal, TerminalHost};
use crate::profile::Profile;
use crate::request::{self, Refusal, RefusalKind, Request};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;

/// What an engine is asked to do, and how to stop it.
#[derive(Debug, Clone)]
pub struct Call {
    input: CallInput,
    pub(crate) cancel: CancellationToken,
    pub(crate) terminal: Option<TerminalHost>,
    pub(crate) approver: Option<OwnApprover>,
    pub(crate) ticket: KeptTicket,
    /// The tool that is called, if not the profile's first.
    pub(crate) tool: Option<String>,
    /// When it was made: its caller waits since then.
    pub(crate) came: Instant,
}

/// The place in the line of its session that a call got when it arrived, until it begins to run.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptTicket(Arc<Mutex<Option<TurnTicket>>>);

impl KeptTicket {
    pub(crate) fn keep(&self, ticket: Option<TurnTicket>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = ticket;
    }

    pub(crate) fn take(&self) -> Option<TurnTicket> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }
}

/// Who is asked, as part of a call.
#[derive(Clone)]
pub(crate) struct OwnApprover(pub(crate) Approver);

impl fmt::Debug for OwnApprover {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnApprover")
    }
}

#[derive(Debug, Clone)]
enum CallInput {
    /// A request in the engine's own terms.
    Typed(Request),
    /// A model's arguments as the profile spells them, on top of what the front end fills in.
    Json { text: String, defaults: Request },
    /// Arguments that are not valid text.
    NotText(Box<NotText>),
}

#[derive(Debug, Clone)]
struct NotText {
    /// As much of them as can be shown.
    shown: String,
    problem: String,
    defaults: Request,
}

impl Call {
    fn of(input: CallInput) -> Self {
        Self {
            input,
            cancel: CancellationToken::new(),
            terminal: None,
            approver: None,
            ticket: KeptTicket::default(),
            tool: None,
            came: Instant::now(),
        }
    }

    /// A call with a model's JSON arguments. `defaults` supplies the profile, and whatever the
    /// profile's parameters leave open.
    pub fn json(text: impl Into<String>, defaults: Request) -> Self {
        let text = text.into();
        Self::of(CallInput::Json { text, defaults })
    }

    /// Like [`Call::json`], with the arguments as they arrived: bytes that are not UTF-8 are not
    /// JSON either, and the profile says so in its own words.
    pub fn json_bytes(bytes: Vec<u8>, defaults: Request) -> Self {
        let input = match String::from_utf8(bytes) {
            Ok(text) => CallInput::Json { text, defaults },
            Err(error) => CallInput::NotText(Box::new(NotText {
                shown: String::from_utf8_lossy(error.as_bytes()).into_owned(),
                problem: error.utf8_error().to_string(),
                defaults,
            })),
        };
        Self::of(input)
    }

    /// Calls the tool of this name, and not the first one of the profile.
    #[must_use]
    pub fn tool(mut self, name: impl Into<String>) -> Self {
        self.tool = Some(name.into());
        self
    }

    /// The same call for one command of several, which has time of its own.
    pub(crate) fn with_request(&self, request: Request) -> Self {
        Self {
            input: CallInput::Typed(request),
            came: Instant::now(),
            ..self.clone()
        }
    }

    /// Ends the command when this token is cancelled.
    #[must_use]
    pub fn cancel_by(mut self, token: CancellationToken) -> Self {
        self.cancel = token;
        self
    }

    /// Runs the command in a terminal of the client, unless it needs something that only a run of
    /// our own has (input, our terminal, a session, continuing as a job).
    #[must_use]
    pub fn in_terminal_of(mut self, client: Arc<dyn ClientTerminal>) -> Self {
        self.terminal = Some(TerminalHost(client));
        self
    }

    /// Asks this approver where a rule wants approval, and not the engine's own.
    #[must_use]
    pub fn approved_by(mut self, approver: Approver) -> Self {
        self.approver = Some(OwnApprover(approver));
        self
    }

    /// What is known before the arguments are read.
    pub(crate) fn defaults(&self) -> &Request {
        match &self.input {
            CallInput::Typed(request) => request,
            CallInput::Json { defaults, .. } => defaults,
            CallInput::NotText(input) => &input.defaults,
        }
    }

    /// Name of the profile; empty for the configured one.
    pub(crate) fn profile(&self) -> &str {
        &self.defaults().profile
    }

    /// Whose jobs are meant, if the caller said so.
    pub(crate) fn owner(&self) -> Option<&str> {
        self.defaults().owner.as_deref()
    }

    /// How long the server lets a call wait, if it says so.
    pub(crate) fn wait_max(&self) -> Option<Duration> {
        self.defaults().wait_max
    }

    /// The requested directory, for a call that ends before it is resolved; empty if only the shell
    /// of a session could tell.
    pub(crate) fn directory(&self, profile: &Profile, here: &Path) -> PathBuf {
        let read = self.request(profile);
        let request = read.as_ref().unwrap_or_else(|_| self.defaults());
        match &request.cwd {
            Some(cwd) => here.join(cwd),
            None if profile.session.name_of(request).is_some() => PathBuf::new(),
            None => here.to_owned(),
        }
    }

    /// What the caller said, read as the profile reads it.
    pub(crate) fn request(&self, profile: &Profile) -> Result<Request, Refusal> {
        let mut request = self.as_said(profile)?;
        if let Some(rules) = &profile.at_terminal {
            rules.apply(&mut request);
        }
        Ok(request)
    }

    fn as_said(&self, profile: &Profile) -> Result<Request, Refusal> {
        match &self.input {
            CallInput::Typed(request) => Ok(request.clone()),
            CallInput::NotText(input) => {
                Err(Refusal::new(RefusalKind::InvalidJson, &input.problem))
            }
            CallInput::Json { text, defaults } => {
                request::parse_over(profile, text, defaults.clone())
            }
        }
    }

    /// The text to record if no request could be read from it.
    pub(crate) fn raw_text(&self) -> &str {
        match &self.input {
            CallInput::Typed(request) => &request.command,
            CallInput::Json { text, .. } => text,
            CallInput::NotText(input) => &input.shown,
        }
    }
}

impl From<Request> for Call {
    fn from(request: Request) -> Self {
        Self::of(CallInput::Typed(request))
    }
}
