//! Turns the compiled-in profiles from TOML into JSON, which is read several times as fast.
//!
//! A program that makes one call (`bashd run`) reads one profile, and TOML took a tenth of its own
//! time.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

#[expect(
    clippy::disallowed_methods,
    reason = "a build script is told everything by variables"
)]
fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=profiles");
    let directory = env::var("OUT_DIR")?;
    for entry in fs::read_dir("profiles")? {
        let path = entry?.path();
        let Some(name) = path
            .file_stem()
            .filter(|_| path.extension() == Some("toml".as_ref()))
        else {
            continue;
        };
        let said = |error| format!("{}: {error}", path.display());
        let profile: toml::Table = fs::read_to_string(&path)?.parse().map_err(said)?;
        let target = Path::new(&directory).join(format!("{}.json", name.display()));
        fs::write(target, serde_json::to_string(&profile)?)?;
    }
    Ok(())
}
