//! What confinement refused, in one line.

use crate::notice::Notice;
use crate::plan::{Dealings, Refused};

/// What there is to say about what a run was refused.
pub(super) fn notices(dealings: &Dealings) -> Vec<Notice> {
    let mut notices = Vec::new();
    if let Some(line) = line(dealings) {
        notices.push(Notice::refusal(line));
    }
    if !dealings.made.is_empty() {
        let paths: Vec<String> = dealings.made.iter().map(|path| one_line(path)).collect();
        let text = format!(
            "made where others run it, and protected from now on: {}",
            paths.join("; ")
        );
        notices.push(Notice::refusal(text));
    }
    if dealings.network_lost {
        let text = "the proxy of the command's network has ended: its connections fail";
        notices.push(Notice::request(text));
    }
    if dealings.watch_lost {
        let text = "what watched the command's files has ended: its calls on files fail";
        notices.push(Notice::request(text));
    } else if dealings.unseen > 0 {
        let count = dealings.unseen;
        let text =
            format!("{count} calls on files could not be looked into: refusals may be missing");
        notices.push(Notice::request(text));
    }
    notices
}

/// `refused by confinement: write /etc/hosts; connect example.com:443`.
fn line(dealings: &Dealings) -> Option<String> {
    let listed = dealings.refused.iter().map(text);
    let rest = (dealings.more_refused > 0).then(|| format!("{} more", dealings.more_refused));
    let parts: Vec<String> = listed.chain(rest).collect();
    (!parts.is_empty()).then(|| format!("refused by confinement: {}", parts.join("; ")))
}

/// One refusal.
pub(crate) fn text(refused: &Refused) -> String {
    let (kind, what) = (refused.kind.name(), one_line(&refused.what));
    match refused.count {
        1 => format!("{kind} {what}"),
        count => format!("{kind} {what} ({count} times)"),
    }
}

/// A path or a host as it can be shown in one line.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::RefusedKind;

    #[test]
    fn refusals_are_one_line() {
        let mut dealings = Dealings::default();
        assert_eq!(line(&dealings), None);
        dealings.refuse(RefusedKind::Write, "/etc/ho\nsts", 9);
        dealings.refuse(RefusedKind::Connect, "example.com:443", 9);
        dealings.refuse(RefusedKind::Connect, "example.com:443", 9);
        dealings.more_refused = 3;
        let expected = "refused by confinement: write /etc/ho\u{fffd}sts; \
                        connect example.com:443 (2 times); 3 more";
        assert_eq!(line(&dealings).as_deref(), Some(expected));
    }
}
