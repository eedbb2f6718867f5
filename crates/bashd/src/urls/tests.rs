//! Internal URLs on a directory of their own: which texts are addresses, and where they lead.

use super::*;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;

const ALL: [&str; 7] = [
    "artifact", "local", "skill", "agent", "memory", "rule", "plan",
];

/// Two stored outputs.
struct Stored(PathBuf);

impl ArtifactPaths for Stored {
    fn ids(&self) -> io::Result<Vec<u64>> {
        Ok(vec![0, 3])
    }

    fn path(&self, id: u64) -> io::Result<PathBuf> {
        match id {
            0 | 3 => Ok(self.0.join(format!("{id}.log"))),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// Directories of every kind, with something in them.
struct World {
    root: tempfile::TempDir,
    directories: UrlDirectories,
    stored: Option<Stored>,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| Some(root.path().join(name));
        for (file, text) in [
            ("skills/demo/SKILL.md", "demo"),
            ("skills/demo/files/a.txt", "a"),
            ("skills/it's/SKILL.md", "quote"),
            ("skills/plug:in/SKILL.md", "plugin"),
            ("skills/no-skill/README", ""),
            ("agents/Reviewer.md", "report"),
            ("memory/memory_summary.md", "summary"),
            ("memory/notes/today.md", "today"),
            ("rules/style.md", "style"),
            ("outside/secret", "secret"),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for link in [
            "skills/demo/out",
            "memory/out",
            "rules/out.md",
            "agents/out.md",
        ] {
            symlink(root.path().join("outside"), root.path().join(link)).unwrap();
        }
        let directories = UrlDirectories {
            local: at("local"),
            skills: at("skills"),
            agents: at("agents"),
            memory: at("memory"),
            rules: at("rules"),
        };
        let stored = Some(Stored(root.path().join("artifacts")));
        Self {
            root,
            directories,
            stored,
        }
    }

    fn expand(&self, request: Request) -> Expanded {
        let command = Command::as_given(&request.command);
        let places = UrlTargets {
            directories: &self.directories,
            artifacts: self
                .stored
                .as_ref()
                .map(|stored| stored as &dyn ArtifactPaths),
        };
        let schemes = ALL.map(str::to_owned);
        expand(&schemes, request, command, &places)
    }

    /// The command after expansion, with the root written as `ROOT`.
    fn run(&self, command: &str) -> String {
        let expanded = self.expand(Request::new(command));
        assert_eq!(expanded.problem, None, "{command}");
        self.short(&expanded.command.to_run)
    }

    fn short(&self, text: &str) -> String {
        text.replace(self.root.path().to_str().unwrap(), "ROOT")
    }

    fn refused(&self, command: &str) -> String {
        let expanded = self.expand(Request::new(command));
        let problem = expanded
            .problem
            .unwrap_or_else(|| panic!("accepted: {command}"));
        assert_eq!(expanded.command.to_run, command);
        assert!(expanded.parents.is_empty());
        problem.detail
    }

    fn check(&self, cases: &[(&str, &str)]) {
        for (command, expected) in cases {
            assert_eq!(self.run(command), *expected, "{command}");
        }
    }
}

#[test]
fn pi_urls_basic_and_several_in_a_command() {
    World::new().check(&[
        (
            "python skill://demo/files/a.txt",
            "python 'ROOT/skills/demo/files/a.txt'",
        ),
        (
            "cp skill://demo/files/a.txt local://copy.txt",
            "cp 'ROOT/skills/demo/files/a.txt' 'ROOT/local/copy.txt'",
        ),
        ("cat skill://demo", "cat 'ROOT/skills/demo/SKILL.md'"),
        ("cat skill://demo/", "cat 'ROOT/skills/demo/SKILL.md'"),
        (
            "cat skill://demo/files/a.txt?x=1#y",
            "cat 'ROOT/skills/demo/files/a.txt'",
        ),
        ("ls && echo hi", "ls && echo hi"),
        ("curl https://example.org/x", "curl https://example.org/x"),
        (
            "echo skill:// local:// local:/",
            "echo skill:// local:// local:/",
        ),
    ]);
}

#[test]
fn pi_urls_mixed_schemes() {
    World::new().check(&[
        (
            "cat artifact://3 memory://root memory://root/notes/today.md agent://Reviewer rule://style",
            "cat 'ROOT/artifacts/3.log' 'ROOT/memory/memory_summary.md' 'ROOT/memory/notes/today.md' 'ROOT/agents/Reviewer.md' 'ROOT/rules/style.md'",
        ),
        ("jq . agent://Reviewer/json/path", "jq . 'ROOT/agents/Reviewer.md'"),
        ("jq . agent://Reviewer?q=.x", "jq . 'ROOT/agents/Reviewer.md'"),
    ]);
}

#[test]
fn pi_urls_names_with_colons() {
    World::new().check(&[
        ("cat skill://plug:in", "cat 'ROOT/skills/plug:in/SKILL.md'"),
        (
            "cat skill://plug%3Ain",
            "cat 'ROOT/skills/plug:in/SKILL.md'",
        ),
        ("cat skill://demo:1-5", "cat 'ROOT/skills/demo/1-5'"),
        ("cat skill://plug:in:7", "cat 'ROOT/skills/plug:in/7'"),
    ]);
}

#[test]
fn pi_urls_single_and_double_quoted() {
    World::new().check(&[
        ("cat 'skill://demo'", "cat 'ROOT/skills/demo/SKILL.md'"),
        ("cat \"skill://demo\"", "cat 'ROOT/skills/demo/SKILL.md'"),
        ("x --f=\"local://a\"", "x --f='ROOT/local/a'"),
        ("F='local://a' x", "F='ROOT/local/a' x"),
        ("cat local://'a b'/c\\ d", "cat 'ROOT/local/a b/c d'"),
        ("cat \"local://a\"/b", "cat 'ROOT/local/a/b'"),
    ]);
}

#[test]
fn pi_urls_spaces_and_quotes_are_escaped() {
    World::new().check(&[
        ("cat skill://it%27s", r"cat 'ROOT/skills/it'\''s/SKILL.md'"),
        ("cat local://a%20b%24x", "cat 'ROOT/local/a b$x'"),
        ("cat local://a%3Bb", "cat 'ROOT/local/a;b'"),
    ]);
}

#[test]
fn pi_urls_prose_comments_and_here_documents_stay() {
    let world = World::new();
    for text in [
        "echo \"see skill://demo now\"",
        "echo 'see skill://demo now'",
        "git commit -m 'Use local://x for notes'",
        "echo \"skill://demo is good\"",
        "echo \"x\" # cat skill://demo",
        "cat <<E\nskill://nobody\nE\n",
        "cat <<'E' > f\nlocal://../x\nE\necho",
        "cat <<-\"E\"\n\tskill://nobody\n\tE",
        "echo $'skill://nobody x'",
        "echo \\'skill://demo\\'",
        "echo \"a \\\" skill://nobody\"",
        "echo ${x:-skill://nobody}",
        "echo $((1<<2)) \"rule://nobody x\"",
    ] {
        assert_eq!(world.run(text), text);
    }
    world.check(&[
        (
            "cat <<E; cat skill://demo\nskill://nobody\nE\ncat local://x",
            "cat <<E; cat 'ROOT/skills/demo/SKILL.md'\nskill://nobody\nE\ncat 'ROOT/local/x'",
        ),
        ("echo '#'; cat local://x", "echo '#'; cat 'ROOT/local/x'"),
        ("echo a#b local://x", "echo a#b 'ROOT/local/x'"),
        ("cat <<< local://x", "cat <<< 'ROOT/local/x'"),
    ]);
}

#[test]
fn pi_urls_inside_substitutions() {
    World::new().check(&[
        ("echo $(cat local://x)", "echo $(cat 'ROOT/local/x')"),
        (
            "echo \"a $(cat local://x) b\"",
            "echo \"a $(cat 'ROOT/local/x') b\"",
        ),
        ("echo `cat local://x`", "echo `cat 'ROOT/local/x'`"),
        (
            "echo \"a `cat local://x` local://y z\"",
            "echo \"a `cat 'ROOT/local/x'` local://y z\"",
        ),
        ("diff <(sort local://x) f", "diff <(sort 'ROOT/local/x') f"),
        (
            "[[ -f local://x ]] && for f in local://a local://b; do :; done",
            "[[ -f 'ROOT/local/x' ]] && for f in 'ROOT/local/a' 'ROOT/local/b'; do :; done",
        ),
        ("a=(local://x)", "a=('ROOT/local/x')"),
    ]);
}

#[test]
fn pi_urls_end_before_operators() {
    World::new().check(&[
        ("cat local://x;ls", "cat 'ROOT/local/x';ls"),
        ("cat local://x&&ls", "cat 'ROOT/local/x'&&ls"),
        ("cat local://x|wc -l", "cat 'ROOT/local/x'|wc -l"),
        ("(cat local://x)", "(cat 'ROOT/local/x')"),
        ("ls >local://out.txt 2>&1", "ls >'ROOT/local/out.txt' 2>&1"),
        ("cat <local://x>y", "cat <'ROOT/local/x'>y"),
    ]);
}

#[test]
fn pi_urls_local_with_one_slash_in_its_three_forms() {
    World::new().check(&[
        ("cat local:/a/b", "cat 'ROOT/local/a/b'"),
        ("cat 'local:/a'", "cat 'ROOT/local/a'"),
        ("cat \"local:/a\"", "cat 'ROOT/local/a'"),
        ("x=local:/a", "x='ROOT/local/a'"),
    ]);
}

#[test]
fn pi_urls_not_inside_paths_or_words() {
    let world = World::new();
    for text in [
        "cat /repo/local:/x",
        "cat ./local:/x",
        "cat mylocal:/x",
        "cat not-local:/x",
        "cat git+local://x",
        "cat myskill://nobody",
        "cat not-rule://nobody",
        "cat x.skill://nobody",
        "cat skill:/demo",
        "cat LOCAL://x",
    ] {
        assert_eq!(world.run(text), text);
    }
}

#[test]
fn pi_urls_values_and_directories_are_raw() {
    let world = World::new();
    let request = Request::new("run")
        .env("A", "skill://it%27s")
        .env("B", "from local://a b, 'local://c' and https://x")
        .env("C", "no address")
        .cwd("local://job/dir");
    let expanded = world.expand(request);
    assert_eq!(expanded.problem, None);
    let env: Vec<_> = expanded
        .request
        .env
        .iter()
        .map(|(_, value)| world.short(value.to_str().unwrap()))
        .collect();
    assert_eq!(
        env,
        [
            "ROOT/skills/it's/SKILL.md",
            "from ROOT/local/a b, ROOT/local/c and https://x",
            "no address"
        ]
    );
    let cwd = expanded.request.cwd.unwrap();
    assert_eq!(world.short(cwd.to_str().unwrap()), "ROOT/local/job/dir");
    let local = world.root.path().join("local");
    assert_eq!(
        expanded.parents,
        [local.clone(), local],
        "none for the directory"
    );
}

#[test]
fn pi_urls_parents_of_local_files_are_named_and_not_made() {
    let world = World::new();
    let expanded = world.expand(Request::new("touch local://deep/er/f"));
    let parent = world.root.path().join("local/deep/er");
    assert_eq!(expanded.parents, [parent]);
    assert!(!world.root.path().join("local").exists());
}

#[test]
fn pi_urls_unknown_names_list_what_there_is() {
    let world = World::new();
    for (command, text) in [
        (
            "cat skill://nobody",
            "Unknown skill: nobody. Available: demo, it's, plug:in",
        ),
        ("cat skill:///x", "Invalid skill:// URL: skill:///x"),
        (
            "cat skill://%20",
            "skill:// URL requires a skill name: skill://%20",
        ),
        (
            "cat skill://..",
            "Unknown skill: ... Available: demo, it's, plug:in",
        ),
        (
            "cat rule://nobody",
            "Failed to resolve rule:// URL in bash command: rule://nobody\nUnknown rule: nobody\nAvailable: out, style",
        ),
        (
            "cat agent://nobody",
            "Failed to resolve agent:// URL in bash command: agent://nobody\nNot found: nobody\nAvailable: Reviewer, out",
        ),
        (
            "cat agent://Reviewer/a?q=b",
            "Failed to resolve agent:// URL in bash command: agent://Reviewer/a?q=b\nagent:// URL can have a path or ?q=, not both",
        ),
        (
            "cat memory://root/none.md",
            "Failed to resolve memory:// URL in bash command: memory://root/none.md\nMemory file not found: memory://root/none.md",
        ),
        (
            "cat memory://other",
            "Failed to resolve memory:// URL in bash command: memory://other\nUnknown memory namespace: other. Available: root",
        ),
        (
            "cat artifact://x",
            "Failed to resolve artifact:// URL in bash command: artifact://x\nartifact:// ID must be numeric, got: x",
        ),
        (
            "cat artifact:///x",
            "Failed to resolve artifact:// URL in bash command: artifact:///x\nartifact:// URL requires a numeric ID: artifact://0",
        ),
        (
            "cat artifact://7",
            "Failed to resolve artifact:// URL in bash command: artifact://7\nArtifact 7 not found. Available: 0, 3",
        ),
        (
            "cat plan://x",
            "Cannot resolve plan:// URL in bash command: plan://x\nInternal URL router is unavailable for this protocol in the current session.",
        ),
        (
            "cat local://$name",
            "Failed to resolve local:// URL in bash command: local://$name\nOnly the shell knows what it expands to. Write the whole URL, or give it in env.",
        ),
    ] {
        assert_eq!(world.refused(command), text, "{command}");
    }
}

#[test]
fn pi_urls_what_is_not_set_up_is_said() {
    let mut world = World::new();
    world.directories = UrlDirectories::default();
    world.stored = None;
    for (command, text) in [
        (
            "cat local://x",
            "Cannot resolve local:// URL in bash command: local protocol options are unavailable for this session.",
        ),
        (
            "cat agent://x",
            "Cannot resolve agent:// URL in bash command: agent://x\nInternal URL router is unavailable for this protocol in the current session.",
        ),
        (
            "cat memory://root",
            "Cannot resolve memory:// URL in bash command: memory://root\nInternal URL router is unavailable for this protocol in the current session.",
        ),
        (
            "cat rule://x",
            "Cannot resolve rule:// URL in bash command: rule://x\nInternal URL router is unavailable for this protocol in the current session.",
        ),
        (
            "cat artifact://0",
            "Failed to resolve artifact:// URL in bash command: artifact://0\nNo session - artifacts unavailable",
        ),
    ] {
        assert_eq!(world.refused(command), text, "{command}");
    }
    // Without skills there are no such addresses.
    assert_eq!(
        world.run("cat skill://x \"skill://$y\""),
        "cat skill://x \"skill://$y\""
    );
    let expanded = world.expand(Request::new("ls").cwd("http://x"));
    let text = "Unsupported internal URL in bash command: http://x";
    assert_eq!(expanded.problem.unwrap().detail, text);
    assert_eq!(
        world.expand(Request::new("ls").cwd("a/b://c")).problem,
        None
    );
}

#[test]
fn pi_urls_traversal_is_refused_plain_encoded_and_by_link() {
    let world = World::new();
    let in_skill = "Path traversal (..) is not allowed in skill:// URLs";
    let in_local = "Path traversal (..) is not allowed in local:// URLs";
    for (command, text) in [
        ("cat skill://demo/../x", in_skill),
        ("cat skill://demo/%2e%2e/x", in_skill),
        ("cat skill://demo/a%2F..%2Fb", in_skill),
        ("cat skill://demo/a\\\\..\\\\b", in_skill),
        (
            "cat skill://demo/%2Fetc/passwd",
            "Absolute paths are not allowed in skill:// URLs",
        ),
        (
            "cat skill://demo//etc/passwd",
            "Absolute paths are not allowed in skill:// URLs",
        ),
        (
            "cat skill://demo/%zz",
            "Invalid skill:// URL path encoding: skill://demo/%zz",
        ),
        (
            "cat skill://demo/%00",
            "Invalid skill:// URL path encoding: skill://demo/%00",
        ),
        (
            "cat skill://demo/out/secret",
            "Path traversal is not allowed in skill:// URLs",
        ),
        ("cat local://../x", in_local),
        ("cat local://a/../../x", in_local),
        ("cat local://%2e%2e/x", in_local),
        (
            "cat local://%2Fetc",
            "Absolute paths are not allowed in local:// URLs",
        ),
        (
            "cat local:///etc",
            "Absolute paths are not allowed in local:// URLs",
        ),
        (
            "cat memory://root/../x",
            "Failed to resolve memory:// URL in bash command: memory://root/../x\nPath traversal (..) is not allowed in memory:// URLs",
        ),
        (
            "cat memory://root/out/secret",
            "Failed to resolve memory:// URL in bash command: memory://root/out/secret\nPath traversal is not allowed in memory:// URLs",
        ),
        (
            "cat rule://out",
            "Failed to resolve rule:// URL in bash command: rule://out\nPath traversal is not allowed in rule:// URLs",
        ),
        (
            "cat agent://out",
            "Failed to resolve agent:// URL in bash command: agent://out\nPath traversal is not allowed in agent:// URLs",
        ),
    ] {
        assert_eq!(world.refused(command), text, "{command}");
    }
    let local = world.root.path().join("local");
    fs::create_dir(&local).unwrap();
    symlink(world.root.path().join("outside"), local.join("out")).unwrap();
    symlink(world.root.path().join("nowhere"), local.join("dangling")).unwrap();
    for command in [
        "cat local://out/secret",
        "touch local://out/new",
        "touch local://dangling",
    ] {
        assert_eq!(
            world.refused(command),
            "local:// URL escapes local root",
            "{command}"
        );
    }
}

#[test]
fn what_has_no_path_is_said() {
    let world = World::new();
    fs::create_dir(world.root.path().join("rules/dir.md")).unwrap();
    assert_eq!(
        world.refused("cat rule://dir"),
        "rule:// URL resolved without a filesystem path and cannot be used in bash: rule://dir"
    );
}

proptest::proptest! {
    #[test]
    fn any_text_is_scanned_without_harm(text in "[ '\"`$(){}<\\\\\n#ab;]{0,12}(local://x)?[ '\"`$(){}<\\\\\n#ab;]{0,12}(skill://d)?[ '\"`)]{0,4}") {
        let schemes = ALL.map(str::to_owned);
        for spelling in [Spelling::Shell, Spelling::Plain] {
            let found = addresses(&text, &schemes, spelling);
            let mut end = 0;
            for found in found {
                proptest::prop_assert!(found.span.start >= end && text.get(found.span.clone()).is_some());
                end = found.span.end;
            }
        }
    }
}
