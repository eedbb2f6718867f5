//! The processes above this one, for rules about commands that end processes.

use bashd_script::guard::Ancestor;
use std::fs;
use std::sync::OnceLock;

/// No process has more ancestors than this.
const MOST: usize = 64;

/// This process and those above it, looked up once: they stay the same for as long as it lives.
pub(crate) fn of_this_process() -> &'static [Ancestor] {
    static ANCESTORS: OnceLock<Vec<Ancestor>> = OnceLock::new();
    ANCESTORS.get_or_init(|| above(std::process::id()))
}

/// A process and those above it.
pub(crate) fn above(pid: u32) -> Vec<Ancestor> {
    let mut found = Vec::new();
    let mut next = Some(pid);
    while let Some(pid) = next.filter(|pid| *pid > 0 && found.len() < MOST) {
        let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
            break;
        };
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let Some((name, parent)) = name_and_parent(&stat) else {
            break;
        };
        found.push(Ancestor::new(pid, name, line.trim_end()));
        next = Some(parent);
    }
    found
}

/// `12 (a name) S 11 …`: the name may have blanks and parentheses in it.
fn name_and_parent(stat: &str) -> Option<(&str, u32)> {
    let (before, after) = stat.rsplit_once(')')?;
    let (_, name) = before.split_once('(')?;
    let parent = after.split_whitespace().nth(1)?;
    Some((name, parent.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_have_anything_in_it() {
        assert_eq!(name_and_parent("12 (a) b) S 11 12"), Some(("a) b", 11)));
        assert_eq!(name_and_parent("nonsense"), None);
    }

    #[test]
    fn this_process_is_the_first_and_its_parent_the_second() {
        let all = of_this_process();
        assert_eq!(all[0].pid, std::process::id());
        assert_eq!(all[1].pid, std::os::unix::process::parent_id());
        assert!(!all[0].command_line.is_empty());
    }
}
