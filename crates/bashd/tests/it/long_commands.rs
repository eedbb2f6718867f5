//! Commands that are too long for one argument: they end as short ones do, in every shell of every
//! profile. What their last words do must show, so the padding comes first.

use crate::profile_under_test::{Contract, copy_profile, engine_with_own_profiles};
use bashd_testkit::{Home, loudly};
use std::fs;
use std::path::Path;

/// The last words of a command: what they write, into `out` or to the caller, and their status.
const ENDS: [(&str, &str, Option<&str>, i32); 8] = [
    ("echo hi > out", "", Some("hi\n"), 0),
    ("echo hi; exit 7", "hi\n", None, 7),
    ("echo hi >> out; exit 7\n\n", "", Some("hi\n"), 7),
    ("echo hi", "hi\n", None, 0),
    ("(exit 5)", "", None, 5),
    ("cat <<E\nhi $#\nE\n", "hi 0\n", None, 0),
    ("echo h\\\ni\\\n", "hi\n", None, 0),
    ("sh -c 'echo hi; exit 3'", "hi\n", None, 3),
];

/// Around the longest argument of this system, and well above it.
const LENGTHS: [usize; 4] = [131_071, 131_072, 131_073, 300_000];

/// Every shell of every profile that is here, and the name of the pair.
fn shells(home: &Home) -> Vec<(String, Contract)> {
    let zsh = (r#"["/bin/zsh", "-c"]"#, r#"["/nowhere/zsh", "-c"]"#);
    let bash = (r#"["/bin/bash", "-lc"]"#, r#"["/nowhere/bash", "-lc"]"#);
    copy_profile(home, "voice", "voice_bash", &[zsh]);
    copy_profile(home, "voice", "voice_sh", &[zsh, bash]);
    let engine = engine_with_own_profiles(home, home.workspace());
    if !Path::new("/bin/zsh").exists() {
        loudly("there is no /bin/zsh: long commands are NOT tested with it");
    }
    let names = [
        "voice",
        "voice_bash",
        "voice_sh",
        "harness",
        "phoenix",
        "default",
        "pi",
    ];
    let contract = |name: &&str| ((*name).to_owned(), Contract::on(&engine, name));
    names.iter().map(contract).collect()
}

fn files(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).expect("the workspace").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.collect()
}

#[tokio::test]
async fn p_08_a_long_command_ends_as_a_short_one_in_every_shell() {
    let home = Home::new();
    for (shell, contract) in shells(&home) {
        for (index, (end, output, file, status)) in ENDS.into_iter().enumerate() {
            let length = LENGTHS[index % LENGTHS.len()];
            let padding = "x".repeat(length - end.len() - ": ''; ".len());
            let command = format!(": '{padding}'; {end}");
            assert_eq!(command.len(), length);
            let reply = contract.run(command).await;
            let what = format!("{shell}: {end:?}: {reply:?}");
            assert_eq!(reply.output, output, "{what}");
            assert_eq!(reply.exit_code, Some(status), "{what}");
            let expected: &[&str] = if file.is_some() { &["out"] } else { &[] };
            assert_eq!(files(&home.workspace()), expected, "{what}");
            if let Some(text) = file {
                let path = home.workspace().join("out");
                assert_eq!(fs::read_to_string(&path).expect("a file"), text, "{what}");
                fs::remove_file(path).expect("a removal");
            }
        }
    }
}

#[tokio::test]
async fn p_08_what_cannot_be_read_whole_does_not_run() {
    let home = Home::new();
    let padding = "x".repeat(200_000);
    for (shell, contract) in shells(&home) {
        if shell != "voice_sh" {
            continue;
        }
        // It reads the command with `cat`, which is not there.
        let call = contract.request(format!(": '{padding}'; echo ran"));
        let reply = contract.engine.run(call.env("PATH", "/nowhere")).await;
        assert_ne!(reply.exit_code, Some(0), "{reply:?}");
        assert!(!reply.output.contains("ran"), "{reply:?}");
    }
}
