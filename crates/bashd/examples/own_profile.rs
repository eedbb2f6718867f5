//! A profile of one's own: a TOML file in a directory, its tool definition for an LLM API, and the
//! replies to a good and a bad call.
//!
//! `cargo run -p bashd --example own_profile`

#![expect(clippy::print_stdout, reason = "an example shows its result")]

use bashd::profile::library::Library;
use bashd::profile::schema;
use bashd::{Call, Config, Engine, Error, KeeperSource, Request, Surroundings};

/// The name is that of the file, and stands in it.
const NAME: &str = "terse";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    bashd::run_if_asked();
    let profiles = tempfile::tempdir()?;
    let file = profiles.path().join(NAME).with_extension("toml");
    std::fs::write(file, include_str!("own_profile.toml"))?;

    let mut config = Config::new(std::env::temp_dir().join("bashd-example"));
    config.profiles_dir = Some(profiles.path().to_owned());

    let library = Library::new(config.profiles_dir.clone());
    let profile = library.get(NAME).map_err(Error::from)?;
    let definition = schema::definition(&profile, "/tmp", &config);
    println!("{}", serde_json::to_string_pretty(&definition)?);

    let surroundings = Surroundings {
        cwd: std::env::temp_dir(),
        #[expect(clippy::disallowed_methods, reason = "a host may read its environment")]
        env: std::env::vars_os().collect(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let engine = Engine::new(config, surroundings, KeeperSource::Hook)?;
        for arguments in [
            r#"{"script": "seq 1 1000; exit 3"}"#,
            r#"{"skript": "echo hello"}"#,
        ] {
            let call = Call::json(arguments, Request::new("").profile(NAME));
            let reply = engine.run(call).await;
            println!("\n{arguments}\n{}", reply.text.trim_end());
        }
        Ok(())
    })
}
