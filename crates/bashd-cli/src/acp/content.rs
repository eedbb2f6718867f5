//! A prompt as the command that the user wrote: its text, and links to files as quoted paths.
//!
//! What can't be a part of a command is refused with the reason: leaving it out would run another
//! command than the one that was written.

use agent_client_protocol::v1::schema::{ContentBlock, EmbeddedResourceResource};

/// The command of a prompt, or why there is none.
pub(super) fn command(prompt: &[ContentBlock]) -> Result<String, String> {
    let mut command = String::new();
    let mut ends_with_text = false;
    for block in prompt {
        let is_text = matches!(block, ContentBlock::Text(_));
        if is_text && ends_with_text {
            // Two texts are two paragraphs; a link within a text does not split it.
            command.push('\n');
        }
        match block {
            ContentBlock::Text(text) => command.push_str(&text.text),
            ContentBlock::ResourceLink(link) => command.push_str(&quoted_path(&link.uri)?),
            ContentBlock::Resource(embedded) => {
                let uri = match &embedded.resource {
                    EmbeddedResourceResource::TextResourceContents(text) => &text.uri,
                    EmbeddedResourceResource::BlobResourceContents(blob) => &blob.uri,
                    _ => return Err("a resource of an unknown kind can't be run".to_owned()),
                };
                command.push_str(&quoted_path(uri)?);
            }
            ContentBlock::Image(_) => return Err("an image can't be run".to_owned()),
            ContentBlock::Audio(_) => return Err("a recording can't be run".to_owned()),
            _ => return Err("content of an unknown kind can't be run".to_owned()),
        }
        ends_with_text = is_text;
    }
    if command.trim().is_empty() {
        return Err("the prompt has no text to run".to_owned());
    }
    Ok(command)
}

/// The path that an address names, as one word of a command.
fn quoted_path(uri: &str) -> Result<String, String> {
    let refused = |why: &str| Err(format!("the link {uri} can't be run: {why}"));
    let Some(path) = uri
        .strip_prefix("file://")
        .map(|rest| rest.strip_prefix("localhost").unwrap_or(rest))
    else {
        return refused("only links to files are paths");
    };
    if !path.starts_with('/') {
        return refused("it names another machine");
    }
    if path.contains(['#', '?']) {
        return refused("it names a part of a file");
    }
    match decoded(path) {
        Some(path) if path.contains('\0') => refused("it contains a NUL byte"),
        Some(path) => Ok(format!("'{}'", path.replace('\'', r"'\''"))),
        None => refused("its path is not UTF-8, or wrongly encoded"),
    }
}

/// The text with its `%20` and the like decoded.
fn decoded(path: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut parts = path.split('%');
    bytes.extend_from_slice(parts.next()?.as_bytes());
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(prompt: Value) -> Result<String, String> {
        command(&serde_json::from_value::<Vec<ContentBlock>>(prompt).unwrap())
    }

    fn text(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn link(uri: &str) -> Value {
        json!({"type": "resource_link", "uri": uri, "name": "x"})
    }

    #[test]
    fn links_are_quoted_paths_where_they_stand() {
        let prompt = json!([text("wc -l "), link("file:///a%20b/it's"), text(" | cat")]);
        assert_eq!(read(prompt).unwrap(), r"wc -l '/a b/it'\''s' | cat");
        let resource = json!({"uri": "file:///x;rm%20y", "text": "content"});
        let prompt = json!([text("cat "), {"type": "resource", "resource": resource}]);
        assert_eq!(read(prompt).unwrap(), "cat '/x;rm y'");
        assert_eq!(
            read(json!([text("echo a"), text("echo b")])).unwrap(),
            "echo a\necho b"
        );
    }

    #[test]
    fn what_is_no_part_of_a_command_is_refused_with_the_reason() {
        let image = json!({"type": "image", "data": "", "mimeType": "image/png"});
        for (block, reason) in [
            (image, "an image can't be run"),
            (
                link("https://example.com/x"),
                "only links to files are paths",
            ),
            (link("file://elsewhere/x"), "another machine"),
            (link("file:///x#L1-3"), "a part of a file"),
            (link("file:///x%00y"), "NUL"),
            (link("file:///%ff"), "UTF-8"),
        ] {
            let refused = read(json!([text("rm -f "), block])).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
        assert!(read(json!([])).is_err());
    }
}
