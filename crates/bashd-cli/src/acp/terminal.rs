//! The terminals of a client of the Agent Client Protocol.

use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CreateTerminalRequest, EnvVariable, KillTerminalRequest, ReleaseTerminalRequest, SessionId,
    TerminalExitStatus, TerminalId, TerminalOutputRequest, WaitForTerminalExitRequest,
};
use agent_client_protocol::{Client, Error, JsonRpcRequest};
use bashd::{ClientAnswer, ClientTerminal, NewTerminal, TerminalExit, TerminalOutput};
use serde_json::Value;

/// The client's terminals, for one session.
pub(super) struct Terminals {
    pub(super) connection: ConnectionTo<Client>,
    pub(super) session: SessionId,
}

impl Terminals {
    fn ask<Request>(&self, request: Request) -> ClientAnswer<'_, Request::Response>
    where
        Request: JsonRpcRequest + Send + 'static,
        Request::Response: Send,
    {
        let sent = self.connection.send_request(request);
        Box::pin(async move { sent.block_task().await.map_err(|error| reason(&error)) })
    }

    fn look(&self, request: TerminalOutputRequest) -> ClientAnswer<'_, TerminalOutput> {
        let shown = self.ask(request);
        Box::pin(async move {
            shown.await.map(|shown| TerminalOutput {
                text: shown.output,
                truncated: shown.truncated,
                exit: shown.exit_status.map(exit),
            })
        })
    }

    fn terminal(id: &str) -> TerminalId {
        TerminalId::new(id.to_owned())
    }
}

/// The client's reason for refusing.
fn reason(error: &Error) -> String {
    let details = match &error.data {
        Some(Value::String(text)) => Some(text),
        Some(Value::Object(data)) => match data.get("details") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    };
    match details {
        Some(details) => format!("{}: {details}", error.message),
        None => error.message.clone(),
    }
}

fn exit(status: TerminalExitStatus) -> TerminalExit {
    TerminalExit {
        code: status.exit_code.map(|code| code as i32),
        signal: status.signal,
    }
}

impl ClientTerminal for Terminals {
    fn create(&self, new: NewTerminal) -> ClientAnswer<'_, String> {
        let variable = |(name, value): (String, String)| EnvVariable::new(name, value);
        let request = CreateTerminalRequest::new(self.session.clone(), new.command)
            .args(new.args)
            .env(new.env.into_iter().map(variable).collect())
            .cwd(std::path::PathBuf::from(new.cwd))
            .output_byte_limit(new.output_byte_limit);
        let created = self.ask(request);
        Box::pin(async move { created.await.map(|created| created.terminal_id.to_string()) })
    }

    fn output<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalOutput> {
        self.look(TerminalOutputRequest::new(
            self.session.clone(),
            Self::terminal(id),
        ))
    }

    fn output_again<'a>(&'a self, id: &'a str, limit: u64) -> ClientAnswer<'a, TerminalOutput> {
        // The protocol has no field for it; a client ignores what it does not know.
        let meta = serde_json::Map::from_iter([("outputByteLimit".to_owned(), limit.into())]);
        let request = TerminalOutputRequest::new(self.session.clone(), Self::terminal(id));
        self.look(request.meta(meta))
    }

    fn wait_for_exit<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, TerminalExit> {
        let request = WaitForTerminalExitRequest::new(self.session.clone(), Self::terminal(id));
        let exited = self.ask(request);
        Box::pin(async move { exited.await.map(|exited| exit(exited.exit_status)) })
    }

    fn kill<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        let request = KillTerminalRequest::new(self.session.clone(), Self::terminal(id));
        let killed = self.ask(request);
        Box::pin(async move { killed.await.map(drop) })
    }

    fn release<'a>(&'a self, id: &'a str) -> ClientAnswer<'a, ()> {
        let request = ReleaseTerminalRequest::new(self.session.clone(), Self::terminal(id));
        let released = self.ask(request);
        Box::pin(async move { released.await.map(drop) })
    }
}
