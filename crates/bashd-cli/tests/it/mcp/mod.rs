//! `bashd mcp`: what the server says, to clients of ours and of others.
//!
//! | file | shows |
//! |---|---|
//! | `stdio` | tools, results, progress, cancellation, approval and logging on stdin and stdout |
//! | `stateless` | the same without a handshake |
//! | `jobs` | background jobs: the tool, what waits, resources and news of them |
//! | `tasks` | calls that take long, for clients that know tasks and for those that do not |
//! | `ends` | jobs that ended, told once; what a model is told of the profile that is served |
//! | `configs` | the configurations that `docs/mcp.md` shows |
//! | `registry` | `server.json` |
//! | `resources` | stored output, as a tool and by address, and news of it |
//! | `http` | the token, Host and Origin, and a call |
//! | `http_seats` | silent connections and abandoned sessions lock nobody out |
//! | `hostile` | clients that mean no good: errors, bounded memory, no crash, no leak |
//! | `agents` | what the models of real agents read, by `./test --with agents` |
//! | `setups` | real agents that `bashd init` set up: their files, their models, their hooks |
//! | `trained` | the contracts that models were trained on, by every front end and three of their own clients |
//! | `peers` | the official SDKs' clients, the inspector and the conformance suite |

mod agents;
mod client;
mod configs;
mod effects;
mod ends;
mod hostile;
mod http;
mod http_seats;
mod jobs;
mod needs;
mod peers;
mod registry;
mod resources;
mod setups;
mod stateless;
mod stdio;
mod tasks;
mod trained;

pub(crate) use client::Client;
pub(crate) use http::Server as HttpServer;
pub(crate) use peers::{in_home, node, packages, scripts};
