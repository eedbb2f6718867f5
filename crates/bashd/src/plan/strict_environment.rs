//! The environment of a strict run: what safe mode takes out of it, and what it puts in.

use super::Variables;
use bashd_script::guard::safe_mode::environment::{is_removed, own_path, settings};
use std::path::Path;

/// The environment of a strict run: nothing in it steers what runs.
pub(super) fn scrub(env: &mut Variables, workspace: &Path) {
    env.retain(|name, _| !is_removed(name));
    let path = env.get("PATH");
    if let Some(path) = path.map(|path| own_path(path, workspace, env.get("HOME"))) {
        env.set("PATH", path);
    }
    env.extend(settings());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    fn scrubbed(env: &[(&str, &str)], workspace: &str) -> Vec<(String, String)> {
        let mut env: Variables = env.iter().copied().collect();
        scrub(&mut env, Path::new(workspace));
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        env.iter()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    #[test]
    fn what_steers_is_gone_and_what_describes_stays() {
        let kept = scrubbed(
            &[
                ("GIT_EXTERNAL_DIFF", "evil"),
                ("GIT_PAGER", "evil"),
                ("BASH_FUNC_git%%", "() { evil; }"),
                ("BASH_ENV", "evil"),
                ("NODE_OPTIONS", "--require evil"),
                ("LD_PRELOAD", "evil"),
                ("npm_config_script_shell", "evil"),
                ("USER", "me"),
            ],
            "/w",
        );
        assert!(
            kept.iter().all(|(_, value)| !value.contains("evil")),
            "{kept:?}"
        );
        assert!(kept.contains(&("USER".into(), "me".into())));
        assert!(kept.contains(&("GIT_PAGER".into(), "cat".into())));
    }

    #[test]
    fn no_program_comes_from_the_workspace() {
        let path = "/w/node_modules/.bin:.::bin:/usr/bin:/x/../w:/wide";
        for (workspace, expected) in [
            ("/w", "/usr/bin:/wide"),
            ("/", "/w/node_modules/.bin:/usr/bin:/wide"),
        ] {
            let kept = scrubbed(&[("PATH", path)], workspace);
            assert!(kept.contains(&("PATH".into(), expected.into())), "{kept:?}");
        }
        let kept = scrubbed(&[("PATH", "/h/bin:/bin"), ("HOME", "/h")], "/h");
        assert!(
            kept.contains(&("PATH".into(), "/h/bin:/bin".into())),
            "{kept:?}"
        );
    }
}
