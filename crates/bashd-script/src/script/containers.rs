//! Containers that see the host's files: `docker run -v /:/mnt alpine rm -rf /mnt`.

use super::view::SimpleCommand;
use super::word::{ScriptText, Word, WordPart};

/// The command that a container runs, with the host's paths in place of the container's; none if it
/// sees none.
pub(super) fn on_host(command: &SimpleCommand, inner: usize) -> Option<Vec<Word>> {
    if !matches!(command.name(), Some("docker" | "podman" | "nerdctl")) {
        return None;
    }
    let mounts = mounts(command.words.get(..inner)?);
    let words = command.words.get(inner..)?;
    let mapped: Vec<Word> = words.iter().map(|word| mapped(word, &mounts)).collect();
    (mapped != words).then_some(mapped)
}

/// What is mounted, and where.
fn mounts(options: &[Word]) -> Vec<(Word, String)> {
    let mut found = Vec::new();
    for (index, word) in options.iter().enumerate() {
        let text = word.known_beginning();
        let is_volume = matches!(text, "-v" | "--volume" | "--mount") && word.parts.len() == 1;
        let value = if is_volume {
            options.get(index + 1).cloned()
        } else {
            let length = ["--volume=", "--mount=", "-v"]
                .iter()
                .find(|option| text.starts_with(**option))
                .map(|option| option.len());
            length.and_then(|length| super::wrappers::rest_of(word, length))
        };
        found.extend(value.as_ref().and_then(mount));
    }
    found
}

/// `/:/mnt:ro`, or `type=bind,source=/,target=/mnt`.
fn mount(value: &Word) -> Option<(Word, String)> {
    if let Some(text) = value
        .known()
        .filter(|text| text.contains("source=") || text.contains("src="))
    {
        let field = |names: &[&str]| {
            let mut fields = text.split(',').filter_map(|field| field.split_once('='));
            fields
                .find(|(name, _)| names.contains(name))
                .map(|(_, value)| value)
        };
        let source = field(&["source", "src"])?;
        let target = field(&["target", "destination", "dst"])?;
        return Some((Word::of(source, value.span), target.to_owned()));
    }
    // The source may be a home or a variable; the target is text.
    let (index, text) = value
        .parts
        .iter()
        .enumerate()
        .find_map(|(index, part)| match part {
            WordPart::Text(text) if text.contains(':') => Some((index, text.as_str())),
            _ => None,
        })?;
    let (source_end, target) = text.split_once(':')?;
    let target = target.split(':').next()?;
    let mut source = Word {
        span: value.span,
        ..Word::default()
    };
    for part in value.parts.iter().take(index) {
        source.push(part.clone());
    }
    source.push(WordPart::Text(source_end.into()));
    if let (0, Some(path)) = (index, source_end.strip_prefix('~')) {
        // Docker takes no tilde, but who writes one means the home.
        source = Word {
            span: value.span,
            ..Word::default()
        };
        source.push(WordPart::Tilde(ScriptText::default()));
        source.push(WordPart::Text(path.into()));
    }
    Some((source, target.to_owned()))
}

/// What is mounted as text: a path, or the home.
fn source_text(source: &Word) -> Option<String> {
    if let Some(path) = source.known() {
        return Some(path.to_owned());
    }
    let home = source.after_home()?;
    let text = home.iter().map(|part| match part {
        WordPart::Text(text) => Some(text.as_str()),
        _ => None,
    });
    let text: Option<String> = text.collect();
    Some(format!("~{}", text?))
}

fn mapped(word: &Word, mounts: &[(Word, String)]) -> Word {
    let text = word.known_beginning();
    for (source, target) in mounts {
        let rest = text.strip_prefix(target.trim_end_matches('/'));
        let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) else {
            // A script in a word may name the target anywhere.
            continue;
        };
        let mut mapped = source.clone();
        mapped.push(WordPart::Text("/".into()));
        mapped.push(WordPart::Text(rest.trim_start_matches('/').into()));
        for part in word.parts.iter().skip(1) {
            mapped.push(part.clone());
        }
        mapped.span = word.span;
        return mapped;
    }
    // `sh -c 'rm -rf /mnt'`
    if let (Some(text), true) = (word.known(), word.known_beginning().contains(' ')) {
        let mut text = text.to_owned();
        for (source, target) in mounts {
            if let Some(source) = source_text(source).filter(|_| target.len() > 1) {
                text = text.replace(target.as_str(), &source).replace("//", "/");
            }
        }
        return Word::of(text, word.span);
    }
    word.clone()
}
