//! Asks the client's user whether a command may run, if a rule says so.
//!
//! With a handshake the server may ask while the call runs. A stateless client is told that input
//! is needed, and calls again with it; the state that it brings back is sealed and bound to the
//! same arguments.

use super::handler::is_stateless;
use crate::serve::asking::{self, CanBeAsked, PATIENCE};
use bashd::approval::{Approval, ApprovalAnswer};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, EnumSchema, InputRequest, InputRequests, InputRequiredResult,
    RequestStateCodec, SealOptions,
};
use rmcp::service::{ElicitationMode, Peer, RequestContext};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A question is taken back before nobody waits for its answer any more.
const TAKEN_BACK: Duration = PATIENCE.saturating_sub(Duration::from_millis(100));

/// The field of the form: without a choice in it, an answer is none.
const CHOICE: &str = "choice";

/// The name of our question in a stateless answer.
const QUESTION: &str = "approval";

/// Whom a call can ask.
pub(super) struct CallClient {
    way: Way,
    /// The question that has no answer yet.
    open: Mutex<Option<Approval>>,
}

enum Way {
    /// The client, while it waits.
    Now(Peer<RoleServer>),
    /// The client, by a second call.
    Later,
    /// The client's user has answered for this command.
    Answered(String, ApprovalAnswer),
    /// Nobody can be asked.
    Nobody,
}

/// Seals what stateless clients carry between two calls. Its key belongs to this process; `None` if
/// the system has no randomness to make one, and then nobody can be asked.
pub(super) struct Seal(Option<RequestStateCodec>);

impl Seal {
    /// A seal with a fresh key.
    pub(super) fn new() -> Self {
        let mut key = [0; 32];
        let length = rustix::rand::getrandom(&mut key, rustix::rand::GetRandomFlags::empty());
        let codec = RequestStateCodec::try_new(key).ok();
        Self(codec.filter(|_| length == Ok(key.len())))
    }

    fn close(&self, command: &str, arguments: &str) -> Option<String> {
        let options = SealOptions::new()
            .associated_data(arguments.as_bytes())
            .ttl(PATIENCE);
        let codec = self.0.as_ref()?;
        Some(codec.seal_with(command.as_bytes(), &options))
    }

    fn open(&self, state: &str, arguments: &str) -> Option<String> {
        let codec = self.0.as_ref()?;
        let command = codec.open_with(state, arguments.as_bytes()).ok()?;
        String::from_utf8(command).ok()
    }
}

impl CallClient {
    /// Finds whom the call of this request can ask.
    pub(super) fn of(
        request: &CallToolRequestParams,
        arguments: &str,
        context: &RequestContext<RoleServer>,
        seal: &Seal,
    ) -> Arc<Self> {
        let way = if is_stateless(context) {
            stateless(request, arguments, context, seal)
        } else {
            let modes = context.peer.supported_elicitation_modes();
            if modes.contains(&ElicitationMode::Form) {
                Way::Now(context.peer.clone())
            } else {
                Way::Nobody
            }
        };
        Arc::new(Self {
            way,
            open: Mutex::default(),
        })
    }

    /// The answer that asks a stateless client, if there is an open question.
    pub(super) fn question(&self, arguments: &str, seal: &Seal) -> Option<InputRequiredResult> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let approval = open.as_ref()?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form(
            approval,
            asking::question(approval),
        )?));
        let requests = InputRequests::from([(QUESTION.to_owned(), request)]);
        let state = seal.close(&approval.command, arguments)?;
        let mut result = InputRequiredResult::from_request_state(state);
        result.input_requests = Some(requests);
        Some(result)
    }
}

impl CanBeAsked for CallClient {
    fn ask(
        self: Arc<Self>,
        approval: Approval,
    ) -> Pin<Box<dyn Future<Output = ApprovalAnswer> + Send>> {
        Box::pin(async move {
            match &self.way {
                // Its command has run, and a second call would run it again.
                Way::Answered(..) | Way::Later if approval.effects.is_some() => {
                    ApprovalAnswer::Nobody
                }
                Way::Answered(command, answer) if *command == approval.command => *answer,
                Way::Answered(..) => ApprovalAnswer::Refused,
                Way::Nobody => ApprovalAnswer::Nobody,
                Way::Now(peer) => {
                    let message = asking::question_in_time(&approval).await;
                    match form(&approval, message) {
                        Some(form) => {
                            let asked =
                                peer.create_elicitation_with_timeout(form, Some(TAKEN_BACK));
                            asked
                                .await
                                .map_or(ApprovalAnswer::Refused, |result| answer_of(&result))
                        }
                        None => ApprovalAnswer::Nobody,
                    }
                }
                Way::Later => {
                    let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                    *open = Some(approval);
                    ApprovalAnswer::Nobody
                }
            }
        })
    }
}

fn stateless(
    request: &CallToolRequestParams,
    arguments: &str,
    context: &RequestContext<RoleServer>,
    seal: &Seal,
) -> Way {
    let offered = context
        .client_capabilities()
        .and_then(|capabilities| capabilities.elicitation);
    let Some(offered) = offered else {
        return Way::Nobody;
    };
    if offered.form.is_none() && offered.url.is_some() {
        return Way::Nobody;
    }
    let state = request.request_state.as_deref();
    let Some(command) = state.and_then(|state| seal.open(state, arguments)) else {
        return Way::Later;
    };
    let responses = request.input_responses.as_ref();
    let response = responses.and_then(|responses| responses.get(QUESTION));
    let result =
        response.and_then(|response| serde_json::from_value::<ElicitResult>(response.clone()).ok());
    match result {
        Some(result) => Way::Answered(command, answer_of(&result)),
        None => Way::Later,
    }
}

/// What the user chose. Accepting alone is not a choice: some clients accept forms without showing
/// them to anybody.
fn answer_of(result: &ElicitResult) -> ApprovalAnswer {
    let content = result.content.as_ref();
    let choice = content.and_then(|content| content.get(CHOICE)?.as_str());
    match (&result.action, choice) {
        (ElicitationAction::Accept, Some(word)) => ApprovalAnswer::of_word(word),
        _ => ApprovalAnswer::Refused,
    }
}

/// A form with one required choice and no default: a client can't fill it in by itself, and
/// declines it where nobody is there.
fn form(approval: &Approval, message: String) -> Option<ElicitRequestParams> {
    let choices = approval.choices().iter();
    let words: Vec<String> = choices
        .clone()
        .map(|(word, _)| (*word).to_owned())
        .collect();
    let titles: Vec<String> = choices
        .map(|(_, answer)| asking::meaning(approval, *answer).to_owned())
        .collect();
    let choice = EnumSchema::builder(words).enum_titles(titles);
    let form = ElicitationSchema::builder().required_enum_schema(CHOICE, choice.ok()?.build());
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: form.build().ok()?,
    })
}
