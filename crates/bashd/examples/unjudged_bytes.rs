//! The exact bytes of a script of one's own. A reply is made for a model: text, cut to a window,
//! and judged before it runs. A program that wants every byte of both streams takes the run itself,
//! which no rule judges and the ledger does not record. So it is for scripts that the program wrote
//! itself, never for a model's.
//!
//! `cargo run -p bashd --example unjudged_bytes`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::output::{Source, StreamPiece};
use bashd::plan::Streams;
use bashd::{Config, Engine, KeeperSource, Request, Surroundings};
use std::io;

/// Every byte that a stream had; an error if the spool's quota made it drop some.
fn all_bytes(stream: &impl Source) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for piece in stream.read(0..stream.len())? {
        match piece {
            StreamPiece::Kept(kept) => bytes.extend(kept),
            StreamPiece::Dropped(count) | StreamPiece::Replaced { bytes: count, .. } => {
                return Err(io::Error::other(format!("{count} bytes were dropped")));
            }
        }
    }
    Ok(bytes)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bashd::run_if_asked();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let surroundings = Surroundings {
            cwd: std::env::current_dir()?,
            #[expect(clippy::disallowed_methods, reason = "a host may read its environment")]
            env: std::env::vars_os().collect(),
        };
        let config = Config::new(std::env::temp_dir().join("bashd-example"));
        let engine = Engine::new(config, surroundings, KeeperSource::Hook)?;
        let script = r"printf '\377\000'; head -c 1000000 /dev/zero; printf warning >&2; exit 3";
        let request = Request::new(script);

        let run = engine.run_unjudged(&request, Streams::Apart).await?;
        let out = all_bytes(&run.out)?;
        let err = run.err.as_ref().map(all_bytes).transpose()?;
        let start = out.get(..2);
        println!(
            "the run: {:?}, {} bytes that start with {start:?}",
            run.exit,
            out.len()
        );
        println!(
            "  and on stderr {:?}",
            err.map(String::from_utf8).transpose()?
        );

        let reply = engine.run(request).await;
        let (shown, omitted) = (reply.output.len(), reply.omitted_bytes);
        println!(
            "the reply: {:?}, {shown} bytes of text, {omitted} left out",
            reply.exit_code
        );
        Ok(())
    })
}
