//! What the server answers to the requests of the protocol.

#![expect(
    deprecated,
    reason = "clients of the handshake set the level of log messages"
)]

use super::approval::Seal;
use super::artifact;
use super::bash::{self, BashTool};
use super::ends::{self, UntoldEnds};
use super::instructions;
use super::job;
use super::load::Load;
use super::log::ClientLogLevel;
use super::news::{self, ResourceNews, Subscriptions};
use super::params;
use super::resources;
use super::result::ResultForm;
use super::tasks::{self, FollowedTasks};
use crate::serve::client::ServedClient;
use crate::serve::fair_turns::{ClientTurns, FairTurns};
use crate::serve::{RUN_AT_ONCE, ServerBase};
use bashd::artifact::ArtifactStore;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskMethod, CancelTaskParams,
    CompleteRequestMethod, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    ErrorCode, ErrorData, GetTaskMethod, GetTaskParams, GetTaskResult, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsRequestMethod, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities,
    ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams, UpdateTaskMethod, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use std::sync::{Arc, OnceLock};

/// Requests that we answer. If rmcp can't read their parameters, they reach us as unknown.
const KNOWN: &[&str] = &[
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tasks/cancel",
    "tasks/get",
    "tasks/update",
    "tools/call",
    "tools/list",
];

/// Requests that we answer only for clients with a handshake.
const KNOWN_WITH_HANDSHAKE: &[&str] = &[
    "initialize",
    "logging/setLevel",
    "resources/subscribe",
    "resources/unsubscribe",
];

/// Whether a request uses the revision without a handshake.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// What all clients of a server share.
pub(super) struct McpServer {
    pub(super) server: ServerBase,
    pub(super) seal: Seal,
    turns: FairTurns,
    pub(super) news: ResourceNews,
    pub(super) tasks: FollowedTasks,
    pub(super) form: ResultForm,
    job: Option<Tool>,
    /// Every tool, in the order in which clients see them.
    tools: Vec<Tool>,
}

impl McpServer {
    /// What is ready for clients.
    pub(super) fn new(server: ServerBase, form: ResultForm) -> Arc<Self> {
        let job = job::tool(&server, form);
        let offered = server.tools.iter();
        let mut tools: Vec<Tool> = offered.map(|tool| bash::tool(tool, form)).collect();
        tools.extend(job.clone());
        if ServerBase::stores_output(&server.profile) {
            tools.push(artifact::tool(form));
        }
        Arc::new(Self {
            job,
            tools,
            news: ResourceNews::new(),
            tasks: FollowedTasks::default(),
            form,
            server,
            seal: Seal::new(),
            turns: FairTurns::new(RUN_AT_ONCE),
        })
    }
}

/// One client's view of the server.
pub(super) struct Handler {
    shared: Arc<McpServer>,
    /// Who the client is in requests of a handshake, or on stdin.
    own: OnceLock<ServedClient>,
    /// Who it is in requests that belong to no session.
    by_token: Option<Arc<ServedClient>>,
    load: Arc<Load>,
    /// Its part in the places of the server.
    turns: ClientTurns,
    log: Arc<ClientLogLevel>,
    subscriptions: Subscriptions,
}

impl Handler {
    /// A handler for one client.
    pub(super) fn new(
        shared: Arc<McpServer>,
        load: Arc<Load>,
        by_token: Option<Arc<ServedClient>>,
    ) -> Self {
        Self {
            own: OnceLock::new(),
            by_token,
            turns: shared.turns.client(),
            shared,
            load,
            log: Arc::default(),
            subscriptions: Subscriptions::new(),
        }
    }

    /// The server as the client of a request sees it.
    fn server(&self, context: &RequestContext<RoleServer>) -> &ServerBase {
        match &self.by_token {
            Some(client) if is_stateless(context) => &client.base,
            _ => self.own(),
        }
    }

    /// The server as the client of this session sees it.
    fn own(&self) -> &ServerBase {
        &self.own.get_or_init(|| self.shared.server.client()).base
    }

    /// Works on stored output, in a thread that may wait for files.
    async fn in_store<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&ArtifactStore) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let server = self.server(context);
        let store = server.engine.artifacts().seen_by(server.owner());
        let done = tokio::task::spawn_blocking(move || work(&store)).await;
        done.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

/// The capability by which a host registers secrets: an object of names and values.
const SECRETS: &str = "bashd/secrets";

impl Handler {
    /// Registers the secrets that the host names when it connects.
    fn register_secrets(&self, request: &InitializeRequestParams) -> Result<(), ErrorData> {
        let offered = request.capabilities.experimental.as_ref();
        let Some(secrets) = offered.and_then(|offered| offered.get(SECRETS)) else {
            return Ok(());
        };
        let refused = |text: String| ErrorData::invalid_params(text, None);
        let mut told = Vec::with_capacity(secrets.len());
        for (name, value) in secrets {
            let Some(value) = value.as_str() else {
                return Err(refused(format!(
                    "{SECRETS}: the value of {name} is not a text"
                )));
            };
            told.push((&**name, value));
        }
        let registered = self.shared.server.engine.register_secrets(&told);
        registered.map_err(|refusal| refused(format!("{SECRETS}: {refusal}")))
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_logging()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe();
        let capabilities = if tasks::are_possible(&self.shared.server) {
            capabilities.enable_tasks().build()
        } else {
            capabilities.build()
        };
        let mut about = Implementation::new("bashd", env!("CARGO_PKG_VERSION"));
        about.title = Some("bashd".to_owned());
        about.description = Some(env!("CARGO_PKG_DESCRIPTION").to_owned());
        let instructions = instructions::text(&self.shared.server, &self.shared.tools);
        let mut info = ServerConfig::new(capabilities).with_instructions(instructions);
        info.server_info = about;
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.register_secrets(&request)?;
        context.peer.set_peer_info(request.clone());
        let mut answer = self.negotiate_initialize(&request)?;
        // The revisions with a handshake have no such tasks.
        answer.capabilities.extensions = None;
        Ok(answer)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.shared.tools.clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let mut tools = self.shared.tools.iter();
        tools.find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let offered = self.shared.server.tool_named(&request.name);
        let mut tools = self.shared.tools.iter();
        if offered.is_none() && !tools.any(|tool| tool.name == request.name) {
            let text = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(text, None));
        }
        let (shared, load) = (&self.shared, &self.load);
        if shared
            .job
            .as_ref()
            .is_some_and(|job| job.name == request.name)
        {
            let server = self.server(&context);
            let answer = job::answer(shared, server, load, request, context);
            return Ok(Box::pin(answer).await.into());
        }
        if offered.is_none() {
            let arguments = request.arguments.unwrap_or_default();
            let form = shared.form;
            let engine = self.server(&context).engine.clone();
            let answer = self.in_store(&context, move |store| {
                artifact::answer((&engine, store), form, arguments)
            });
            let mut answer = answer.await?;
            if !context.ct.is_cancelled()
                && let Some(ends) = UntoldEnds::before_answer(shared, self.server(&context)).await
            {
                ends.before_text_of(&mut answer);
            }
            return Ok(answer.into());
        }
        let calls = BashTool {
            shared,
            server: self.server(&context),
            load,
            turns: &self.turns,
            log: &self.log,
        };
        Box::pin(calls.run(request, context)).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        if !tasks::are_known(&context) {
            return Err(ErrorData::method_not_found::<GetTaskMethod>());
        }
        let task = tasks::get(&self.shared, self.server(&context), &request.task_id);
        Ok(GetTaskResult::new(task.await?))
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !tasks::are_known(&context) {
            return Err(ErrorData::method_not_found::<UpdateTaskMethod>());
        }
        // No task of ours asks for anything: what needs approval is asked before it runs.
        tasks::find(self.server(&context), &request.task_id)
            .await
            .map(drop)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !tasks::are_known(&context) {
            return Err(ErrorData::method_not_found::<CancelTaskMethod>());
        }
        tasks::cancel(self.server(&context), &request.task_id).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let is_first = cursor.is_none();
        let listed = self.in_store(&context, move |store| {
            resources::list(store, cursor.as_deref())
        });
        let mut listed = listed.await??;
        if is_first {
            let server = self.server(&context).clone();
            let jobs = tokio::task::spawn_blocking(move || job::list(&server)).await;
            let jobs = jobs.unwrap_or_default();
            listed.resources.splice(..0, jobs);
        }
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::templates())
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(read) = job::read(self.server(&context), &request.uri).await {
            return Ok(read?.into());
        }
        let read = self.in_store(&context, move |store| resources::read(store, &request.uri));
        Ok(read.await??.into())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if self.subscriptions.add(request.uri) {
            Ok(())
        } else {
            Err(ErrorData::invalid_request("too many subscriptions", None))
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.remove(&request.uri);
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let server = self.own().clone();
        let telling = ends::tell(server.clone(), Arc::clone(&self.log), context.peer.clone());
        self.subscriptions.begin(&self.shared, server, context.peer);
        self.subscriptions.meanwhile(telling);
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(news::accepted(requested))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let server = match &self.by_token {
            Some(client) => &client.base,
            None => self.own(),
        };
        news::pass_on(&self.shared, server, &context).await;
        Ok(())
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
            let complaint = params::complaint(&method, request.params.as_ref());
            ErrorData::invalid_params(complaint, None)
        } else {
            let text = format!("there is no method {method}");
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
        })
    }
}
