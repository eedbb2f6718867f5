//! A tool's arguments, in the spelling of every profile: read or refused with a reason.

use bashd::Profile;
use bashd::request::parse;
use std::sync::OnceLock;

/// Reads the bytes as the arguments of a call.
pub fn try_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for profile in profiles() {
        if let Err(refusal) = parse(profile, &text) {
            assert!(
                !profile
                    .refusals
                    .text(&refusal, &profile.tool.name)
                    .is_empty(),
                "{refusal:?}"
            );
        }
    }
}

fn profiles() -> &'static [Profile] {
    static PROFILES: OnceLock<Vec<Profile>> = OnceLock::new();
    PROFILES.get_or_init(|| {
        let profile = |name| Profile::builtin(name).ok().flatten();
        Profile::names().filter_map(profile).collect()
    })
}
