//! `bashd mcp`: what the server says, to clients of ours and of others.
//!
//! | file | shows |
//! |---|---|
//! | `stdio` | tools, results, progress, cancellation, approval and logging on stdin and stdout |
//! | `stateless` | the same without a handshake |
//! | `http` | the token, Host and Origin, and a call |
//! | `hostile` | clients that mean no good: errors, bounded memory, no crash, no leak |
//! | `peers` | the official SDKs' clients, the inspector and the conformance suite |

mod client;
mod hostile;
mod http;
mod peers;
mod stateless;
mod stdio;
