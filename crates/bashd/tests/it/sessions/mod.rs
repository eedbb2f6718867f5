//! Sessions: shells that live from call to call.
//!
//! | file | shows |
//! |---|---|
//! | `ahead` | a call finds the shell prepared, whatever the call is like |
//! | `state` | what stays from call to call and what does not, directories, variables of one call |
//! | `hostile` | commands that end, wedge or confuse the shell: right reply, next call works |
//! | `forging` | what earlier calls defined does not speak for later ones |
//! | `ending` | deadlines, cancelling, lost keepers: what ends and what stays |
//! | `overlap` | two calls of one session, eviction, engines that make one call |
//! | `flood` | memory, every byte, exact ends |
//! | `starved` | no descriptors, memory or files left: each call runs once, with its own status |
//! | `restart` | a call that asks for a new shell |
//! | `random` | a thousand hostile calls in random order |

mod ahead;
mod ending;
mod flood;
mod forging;
mod hostile;
mod overlap;
mod random;
mod restart;
mod starved;
mod state;

use crate::engine_under_test::engine;
use bashd::{Engine, Reply, Request};
use bashd_testkit::Home;

/// An engine and the name of a session in it.
struct Session {
    engine: Engine,
    name: &'static str,
}

impl Session {
    fn new(home: &Home) -> Self {
        Self::on(&engine(home), "one")
    }

    fn on(engine: &Engine, name: &'static str) -> Self {
        Self {
            engine: engine.clone(),
            name,
        }
    }

    fn request(&self, command: &str) -> Request {
        Request::new(command).session(self.name)
    }

    async fn run(&self, command: &str) -> Reply {
        self.engine.run(self.request(command)).await
    }

    /// Runs a command that must succeed in a session that stays; its output.
    async fn output(&self, command: &str) -> String {
        let reply = self.run(command).await;
        assert_eq!(reply.session_reset, None, "{command}: {reply:?}");
        assert_eq!(reply.exit_code, Some(0), "{command}: {reply:?}");
        reply.output
    }
}
