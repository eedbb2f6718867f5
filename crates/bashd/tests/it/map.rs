//! Maps: an item in a command, as a real shell reads it.

use bashd::map::{ItemTemplate, MARK};

#[test]
#[expect(clippy::disallowed_methods, reason = "a real shell reads the command")]
fn whatever_an_item_holds_the_shell_sees_it_as_it_is() {
    let items = [
        "a b",
        "it's",
        "\"",
        "$HOME",
        "`id`",
        "$(id)",
        "\\",
        "*",
        "#x",
        "~",
        "-n",
        "a\nb",
        "; echo no",
        "' ; echo no; '",
        "\" ; echo no; \"",
        "!!",
        "{}",
        "é",
    ];
    let commands = [
        "printf '<%s>' {}",
        "printf '<%s>' \"{}\"",
        "printf '<%s>' '{}'",
        "printf '<%s>' \"$(printf %s {})\"",
        "printf '<%s>' \"$(printf %s \"{}\")\"",
        "printf '<%s>' a{}b | sed 's/<a/</; s/b>$/>/'",
        "(printf '<%s>' {})",
        "x=$(( (1+2) * 2 )); printf '<%s>' {}",
        "cat <<< x >/dev/null\nprintf '<%s>' {}",
        "# it's\nprintf '<%s>' {}",
        "printf '<%s>'",
        "for i in {}; do printf '<%s>' \"$i\"; done",
        "printf '<%s>' ${x:-}{}",
    ];
    for command in commands {
        for item in items {
            // Lines are no matter of this one.
            if command.contains("sed") && item.contains('\n') {
                continue;
            }
            let script = ItemTemplate::new(command, MARK).unwrap().with(item);
            let ran = std::process::Command::new("bash")
                .args(["-c", &script])
                .output();
            let out = String::from_utf8(ran.unwrap().stdout).unwrap();
            assert_eq!(out, format!("<{item}>"), "{script}");
        }
    }
}
