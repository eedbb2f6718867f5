//! What the server answers to the requests of the protocol.

#![expect(
    deprecated,
    reason = "clients of the handshake set the level of log messages"
)]

use super::approval::{self, Seal};
use super::bash::{self, Calls};
use super::load::Load;
use super::log::Log;
use crate::serve::Server;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, ErrorData, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
    SetLevelRequestParams, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// What a model should know before its first call.
const INSTRUCTIONS: &str = include_str!("instructions.txt");

/// Requests that we answer; what rmcp can't read of their parameters reaches us as unknown.
const KNOWN: &[&str] = &["tools/call", "tools/list", "server/discover"];

/// The same, of clients with a handshake only.
const KNOWN_WITH_HANDSHAKE: &[&str] = &["initialize", "logging/setLevel"];

/// Whether a request is of the revision that has no handshake.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Commands that run at the same time; further ones wait for their turn.
const AT_ONCE: usize = 128;

/// What all clients of a server share.
pub(super) struct Shared {
    pub(super) server: Server,
    pub(super) seal: Seal,
    pub(super) turns: Semaphore,
    bash: Tool,
}

impl Shared {
    /// What is ready for clients.
    pub(super) fn new(server: Server) -> Arc<Self> {
        // An engine has one approver for its life; whom it asks follows from the call.
        let _ = server.engine.ask(approval::approver());
        Arc::new(Self {
            bash: bash::tool(&server),
            server,
            seal: Seal::new(),
            turns: Semaphore::new(AT_ONCE),
        })
    }
}

/// One client's view of the server.
pub(super) struct Handler {
    shared: Arc<Shared>,
    load: Arc<Load>,
    log: Log,
}

impl Handler {
    /// A handler for one client.
    pub(super) fn new(shared: Arc<Shared>, load: Arc<Load>) -> Self {
        Self {
            shared,
            load,
            log: Log::default(),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_logging()
            .build();
        let mut about = Implementation::new("bashd", env!("CARGO_PKG_VERSION"));
        about.title = Some("bashd".to_owned());
        about.description = Some(env!("CARGO_PKG_DESCRIPTION").to_owned());
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS.trim_end());
        info.server_info = about;
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![
            self.shared.bash.clone(),
        ]))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        (name == self.shared.bash.name).then(|| self.shared.bash.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != self.shared.bash.name {
            let text = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(text, None));
        }
        let calls = Calls {
            shared: &self.shared,
            load: &self.load,
            log: &self.log,
        };
        Box::pin(calls.run(request, context)).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if is_stateless(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.log.set(request.level);
        Ok(())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let is_known = KNOWN.contains(&method.as_str())
            || !is_stateless(&context) && KNOWN_WITH_HANDSHAKE.contains(&method.as_str());
        Err(if is_known {
            ErrorData::invalid_params(format!("the parameters of {method} can't be read"), None)
        } else {
            let text = format!("there is no method {method}");
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
        })
    }
}
