//! A script from the steps that strict safe mode allows: every word is quoted, so the shell has
//! nothing left to expand.

use super::globs;
use crate::error::Result;
use crate::guard::safe_mode::{Step, StepRedirect, StepWord};
use crate::script::Joint;
use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Before git: makes sure that drivers named by the repository's own configuration start no
/// program. Their names are known only there, so git is asked for them; asking starts nothing.
const WITHOUT_DRIVERS: &str = r#"while IFS= read -r -d '' scope && IFS= read -r -d '' key; do
case $scope in local|worktree) ;; *) continue ;; esac
case $key in
filter.*.clean|filter.*.smudge|filter.*.process) value= ;;
filter.*.required) value=false ;;
diff.*.textconv) value=cat ;;
merge.*.driver) value=false ;;
*) continue ;;
esac
export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=$key" "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=$value"
export GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
done < <(git config --null --name-only --show-scope --list 2>/dev/null)
unset -v scope key value
"#;

/// The script of these steps, with patterns matched against the files of `cwd`.
pub(super) fn script(steps: &[Step], cwd: &Path) -> Result<String> {
    let mut script = String::new();
    if steps.iter().any(runs_git) {
        script.push_str(WITHOUT_DRIVERS);
    }
    for step in steps {
        script.push_str(match step.joint {
            Joint::First => "",
            Joint::Sequence => "\n",
            Joint::And => " && ",
            Joint::Or => " || ",
            Joint::Pipe => " | ",
        });
        write_step(&mut script, step, cwd)?;
    }
    script.push('\n');
    Ok(script)
}

fn runs_git(step: &Step) -> bool {
    matches!(step.words.first(), Some(StepWord::Literal(name)) if name == "git")
}

fn write_step(script: &mut String, step: &Step, cwd: &Path) -> Result<()> {
    for (at, word) in step.words.iter().enumerate() {
        if at > 0 {
            script.push(' ');
        }
        match word {
            StepWord::Literal(text) => quote(script, OsStr::new(text)),
            StepWord::Pattern(parts) => {
                for (at, path) in globs::expand(parts, cwd)?.iter().enumerate() {
                    if at > 0 {
                        script.push(' ');
                    }
                    quote(script, path);
                }
            }
        }
    }
    for redirect in &step.redirects {
        // Writing to a string can't fail.
        let _ = match redirect {
            StepRedirect::Read(file) => {
                script.push_str(" < ");
                quote(script, OsStr::new(file));
                Ok(())
            }
            StepRedirect::Duplicate(from, to) => write!(script, " {from}>&{to}"),
            StepRedirect::Discard(descriptor) => write!(script, " {descriptor}>/dev/null"),
        };
    }
    Ok(())
}

/// Quotes a word so that it stays as it is, even if it is not UTF-8.
fn quote(script: &mut String, word: &OsStr) {
    if let Some(text) = word.to_str() {
        script.push('\'');
        script.push_str(&text.replace('\'', r"'\''"));
    } else {
        script.push_str("$'");
        for byte in word.as_bytes() {
            let _ = write!(script, "\\x{byte:02x}");
        }
    }
    script.push('\'');
}
