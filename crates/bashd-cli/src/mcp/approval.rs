//! Asks the client's user whether a command may run, if a rule says so.
//!
//! With a handshake the server may ask while the call runs. A stateless client is told that input is
//! needed, and calls again with it; the state that it brings back is sealed and bound to the same
//! arguments.

use super::handler::is_stateless;
use crate::serve::asking::{CanBeAsked, PATIENCE};
use bashd::approval::{Approval, ApprovalAnswer};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, RequestStateCodec,
    SealOptions,
};
use rmcp::service::{ElicitationMode, Peer, RequestContext};
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A question is taken back before nobody waits for its answer any more.
const TAKEN_BACK: Duration = PATIENCE.saturating_sub(Duration::from_millis(100));

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
    /// The client has said yes to this command.
    Approved(String),
    /// Nobody can be asked, or the user said no.
    Nobody,
}

/// Seals what stateless clients carry between two calls. Its key belongs to this process; `None` if the
/// system has no randomness to make one, and then nobody can be asked.
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
        let request = InputRequest::Elicitation(ElicitRequest::new(form(approval)));
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
                Way::Approved(command) if *command == approval.command => ApprovalAnswer::Approved,
                Way::Approved(_) | Way::Nobody => ApprovalAnswer::Refused,
                Way::Now(peer) => {
                    let form = form(&approval);
                    let asked = peer.create_elicitation_with_timeout(form, Some(TAKEN_BACK));
                    match asked.await.map(|result| result.action) {
                        Ok(ElicitationAction::Accept) => ApprovalAnswer::Approved,
                        _ => ApprovalAnswer::Refused,
                    }
                }
                Way::Later => {
                    let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
                    *open = Some(approval);
                    ApprovalAnswer::Refused
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
    match result.map(|result| result.action) {
        Some(ElicitationAction::Accept) => Way::Approved(command),
        Some(_) => Way::Nobody,
        None => Way::Later,
    }
}

/// A question to accept or decline: there is nothing to fill in.
fn form(approval: &Approval) -> ElicitRequestParams {
    let objection = &approval.objection;
    let message = format!(
        "May this command run?\n\n{}\n\n{} ({})",
        approval.command, objection.message, objection.rule
    );
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}
