//! The house rules that a machine can check. Each test names the offenders, and what to do about
//! them.

use bashd_testkit::sources::{self, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Code lines (neither blank nor comment) that a file may have.
const MOST_CODE_LINES: usize = 500;

/// Files that may be longer, each with its reason beside it: tables and grammars.
const LONG_BY_NATURE: &[&str] = &[];

/// Columns that a comment may have.
const MOST_COLUMNS: usize = 100;

/// Names that refuse nothing, and so attract everything.
const EMPTY_NAMES: &[&str] = &[
    "common", "core", "helper", "helpers", "misc", "util", "utils",
];

/// The only places where `unsafe` may stand.
const MAY_BE_UNSAFE: &[&str] = &[
    "crates/bashd-keeper/src/os/",
    "crates/bashd/src/exec/reactor.rs",
    "crates/bashd-testkit/src/forked.rs",
    "crates/bashd-testkit/src/keeper_hook.rs",
];

/// Files that start the user's own editor and pager, which the person at them ends, and the
/// desktop's notices and the browser, which end by themselves.
const OF_THE_USER: &[&str] = &[
    "crates/bashd/src/place/carrier.rs",
    // Its test alone, in which real shells read its line.
    "crates/bashd/src/place/line.rs",
    "crates/bashd-outpost/src/lib.rs",
    "crates/bashd-cli/src/config/edit.rs",
    "crates/bashd-cli/src/notify.rs",
    "crates/bashd-cli/src/pager.rs",
    // A client whose session is recorded or played.
    "crates/bashd-cli/src/tape/client.rs",
    "crates/bashd-cli/src/web/opening.rs",
];

/// Documents and how many lines they may have, so that they stay read.
const MOST_LINES: &[(&str, usize)] = &[
    ("README.md", 150),
    ("ARCHITECTURE.md", 200),
    ("CONTRIBUTING.md", 80),
];

/// Fails with the list of offenders, if there are any.
fn none(offenders: &[String], rule: &str) {
    assert!(
        offenders.is_empty(),
        "{rule}:\n  {}",
        offenders.join("\n  ")
    );
}

fn rust_files() -> Vec<Source> {
    sources::all()
        .into_iter()
        .filter(|source| source.is("rs"))
        .collect()
}

#[test]
fn every_file_says_what_it_is_for() {
    let silent = rust_files()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "));
    let silent: Vec<String> = silent.map(|source| source.path).collect();
    none(&silent, "every Rust file opens with `//!` and its purpose");
}

#[test]
fn no_file_is_too_long() {
    let lengths = rust_files()
        .into_iter()
        .map(|source| (source.code_lines().count(), source.path));
    let long: Vec<String> = lengths
        .filter(|(length, path)| {
            *length > MOST_CODE_LINES && !LONG_BY_NATURE.contains(&path.as_str())
        })
        .map(|(length, path)| format!("{path}: {length} code lines"))
        .collect();
    none(&long, "split these by what they do");
}

#[test]
fn comments_stay_within_100_columns() {
    let is_wide = |line: &str| {
        let text = line.trim_start();
        // A row of a table can't be broken.
        let is_row = text.trim_start_matches(['/', '!']).starts_with(" |");
        text.starts_with("//") && !is_row && line.chars().count() > MOST_COLUMNS
    };
    let mut wide = Vec::new();
    for source in rust_files() {
        let lines = source.text.lines().enumerate();
        let lines = lines.filter(|(_, line)| is_wide(line));
        wide.extend(lines.map(|(at, _)| format!("{}:{}", source.path, at + 1)));
    }
    none(&wide, "break these comments");
}

#[test]
fn no_name_is_empty_of_meaning() {
    let is_empty = |path: &str| {
        let mut parts = Path::new(path).iter().filter_map(|part| part.to_str());
        parts.any(|part| EMPTY_NAMES.contains(&part.trim_end_matches(".rs")))
    };
    let paths = rust_files().into_iter().map(|source| source.path);
    let mut offenders: Vec<String> = paths.filter(|path| is_empty(path)).collect();
    for manifest in sources::all()
        .iter()
        .filter(|source| source.path.ends_with("Cargo.toml"))
    {
        let name = manifest
            .text
            .lines()
            .find_map(|line| line.strip_prefix("name = "));
        let last = name.and_then(|name| name.trim_matches('"').rsplit('-').next());
        if last.is_some_and(|last| EMPTY_NAMES.contains(&last)) {
            offenders.push(manifest.path.clone());
        }
    }
    none(&offenders, "name modules and crates after what they do");
}

/// What each crate of ours may depend on, among ours and those that would pull a wall down.
const ARROWS: &[(&str, &[&str])] = &[
    ("bashd-keeper", &[]),
    ("bashd-script", &[]),
    ("bashd-minimize", &["bashd-script"]),
    (
        "bashd",
        &["bashd-keeper", "bashd-minimize", "bashd-script", "tokio"],
    ),
];

#[test]
fn arrows_point_one_way() {
    let watched =
        |name: &str| name.starts_with("bashd") || ["anyhow", "clap", "tokio"].contains(&name);
    let mut offenders = Vec::new();
    for (package, allowed) in ARROWS {
        let path = format!("crates/{package}/Cargo.toml");
        let manifest = sources::text(&path).unwrap_or_else(|| panic!("{path} is missing"));
        let dependencies: Vec<&str> = manifest
            .lines()
            .skip_while(|line| *line != "[dependencies]")
            .skip(1)
            .take_while(|line| !line.starts_with('['))
            .filter_map(|line| line.split(['.', ' ', '=']).next())
            .filter(|name| !name.is_empty())
            .collect();
        assert!(
            dependencies.contains(&"memchr"),
            "{path} was not understood: {dependencies:?}"
        );
        let wrong = dependencies
            .into_iter()
            .filter(|name| watched(name) && !allowed.contains(name));
        offenders.extend(wrong.map(|name| format!("{path}: {name}")));
    }
    none(&offenders, "a crate knows nothing of those that use it");
}

#[test]
fn unsafe_is_only_where_it_may_be() {
    let offenders = lines_where(&rust_files(), |path, line| {
        let is_unsafe = [
            "unsafe {",
            "unsafe fn",
            "unsafe impl",
            "unsafe extern",
            "unsafe trait",
            "[unsafe(",
        ];
        !MAY_BE_UNSAFE.iter().any(|place| path.starts_with(place))
            && path != "crates/bashd/tests/it/tidy.rs"
            && is_unsafe.iter().any(|form| line.contains(form))
    });
    none(
        &offenders,
        "put it behind a safe function in crates/bashd-keeper/src/os",
    );
}

#[test]
fn processes_are_made_in_exec_only() {
    let offenders = lines_where(&rust_files(), |path, line| {
        let is_ours =
            path.starts_with("crates/") && path.contains("/src/") && !path.contains("testkit");
        let may_make = path.starts_with("crates/bashd-keeper/src/") || OF_THE_USER.contains(&path);
        is_ours && !may_make && line.contains("Command::new")
            // clap's builder has the same name.
            && !line.contains("clap::Command::new")
    });
    none(
        &offenders,
        "a process that no keeper holds is a process that nobody ends",
    );
}

#[test]
fn every_file_of_tests_is_on_its_map() {
    let sources = rust_files();
    let maps: Vec<&Source> = sources
        .iter()
        .filter(|source| source.path.ends_with("/tests/it/main.rs"))
        .collect();
    assert!(!maps.is_empty(), "no map was found");
    let mut offenders = Vec::new();
    for map in maps {
        let folder = map.path.trim_end_matches("main.rs");
        let files = sources
            .iter()
            .filter_map(|source| source.path.strip_prefix(folder));
        let modules: BTreeSet<&str> = files
            .filter(|file| *file != "main.rs")
            .filter_map(|file| file.split('/').next())
            .map(|file| file.trim_end_matches(".rs"))
            .collect();
        for module in modules {
            let is_compiled = map.text.contains(&format!("\nmod {module};\n"));
            let is_described = map.text.contains(&format!("//! | `{module}` | "));
            if !is_compiled || !is_described {
                offenders.push(format!(
                    "{folder}{module}: compiled {is_compiled}, described {is_described}"
                ));
            }
        }
    }
    none(
        &offenders,
        "add a `mod` line and a row of the map in main.rs",
    );
}

/// Lines of a file that fits on a screen, where the reader sees which of two types is meant.
const ONE_SCREEN: usize = 60;

#[test]
fn a_name_means_one_thing() {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for source in rust_files()
        .iter()
        .filter(|source| is_product(&source.path))
    {
        let text = source.text.split("\n#[cfg(test)]\nmod tests {").next();
        let text = text.unwrap_or_default();
        let fits_a_screen = text.lines().count() <= ONE_SCREEN;
        for line in text.lines().filter(|line| !line.starts_with(' ')) {
            let Some((is_private, name)) = type_named_in(line) else {
                continue;
            };
            count += 1;
            if !(is_private && fits_a_screen) {
                types.entry(name).or_default().push(source.path.clone());
            }
        }
    }
    assert!(count > 600, "only {count} types were recognised");
    let shared = types.iter().filter(|(_, paths)| paths.len() > 1);
    let shared: Vec<String> = shared
        .map(|(name, paths)| format!("{name}: {}", paths.join(", ")))
        .collect();
    none(
        &shared,
        "give each type a name of its own (docs/glossary.md has the nouns)",
    );
}

/// Whether a file is part of the product, and not of its tests.
fn is_product(path: &str) -> bool {
    let is_test = path.ends_with("/tests.rs") || path.contains("/tests/");
    path.starts_with("crates/") && path.contains("/src/") && !is_test && !path.contains("testkit")
}

/// The type that a line defines, and whether it is private.
fn type_named_in(line: &str) -> Option<(bool, String)> {
    let mut words = line.split_whitespace().peekable();
    let is_public = words.next_if(|word| word.starts_with("pub")).is_some();
    // The rest of `pub(in some::path)`.
    if line.starts_with("pub(in ") {
        words.next();
    }
    let keyword = words.next()?;
    if !["struct", "enum", "trait", "type", "union"].contains(&keyword) {
        return None;
    }
    let rest = words.next()?;
    let name: String = rest
        .chars()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    (!name.is_empty()).then_some((!is_public, name))
}

#[test]
fn definitions_of_types_are_found() {
    let found = type_named_in;
    assert_eq!(
        found("pub(crate) struct One<'a> {"),
        Some((false, "One".into()))
    );
    assert_eq!(
        found("pub(in crate::a) enum Two {"),
        Some((false, "Two".into()))
    );
    assert_eq!(found("trait Three: Send {"), Some((true, "Three".into())));
    assert_eq!(found("pub type Four = u8;"), Some((false, "Four".into())));
    assert_eq!(found("impl Five {"), None);
    assert_eq!(found("pub fn six() {}"), None);
}

#[test]
fn a_plan_is_final() {
    let offenders = lines_where(&rust_files(), |path, line| {
        let is_elsewhere = is_product(path) && !path.starts_with("crates/bashd/src/plan");
        is_elsewhere && (line.contains("&mut Plan") || line.contains("let mut plan"))
    });
    none(
        &offenders,
        "decide it in `plan::draft` or `plan::resolve`: no later stage changes a plan",
    );
}

#[test]
fn documents_stay_short() {
    let lengths = MOST_LINES.iter().filter_map(|(path, most)| {
        let length = sources::text(path)?.lines().count();
        (length > *most).then(|| format!("{path}: {length} lines, at most {most}"))
    });
    none(&lengths.collect::<Vec<_>>(), "move details to docs/");
}

#[test]
fn documents_name_only_paths_that_exist() {
    let sources = sources::all();
    let documents = sources.iter().filter(|source| source.is("md"));
    let mut offenders = Vec::new();
    let mut checked = 0;
    for document in documents {
        for path in paths_named_in(&document.text) {
            checked += 1;
            if !exists(&path) {
                offenders.push(format!("{}: `{path}`", document.path));
            }
        }
    }
    assert!(checked > 5, "only {checked} paths were recognised");
    none(&offenders, "these paths are dead");
}

/// What stands in backticks outside code blocks and looks like a path of this repository.
fn paths_named_in(text: &str) -> Vec<String> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    let prose = prose.join("\n");
    let quoted = prose
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    quoted
        .filter(|text| looks_like_a_path(text))
        .map(str::to_owned)
        .collect()
}

fn looks_like_a_path(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '/' | '_' | '-');
    let places = [
        ".ci/",
        ".config/",
        "bench/",
        "crates/",
        "docs/",
        "fuzz/",
        "profiles/",
        "src/",
        "tests/",
    ];
    let is_document = Path::new(text)
        .extension()
        .is_some_and(|extension| extension == "md")
        && text.starts_with(|c: char| c.is_ascii_uppercase());
    text.chars().all(plain)
        && (is_document
            || text.starts_with("./")
            || places.iter().any(|place| text.starts_with(place)))
}

/// Whether a path exists from the root, or from one of the crates, as documents of that crate write
/// it.
fn exists(path: &str) -> bool {
    let root = sources::root();
    let places = [
        "",
        "crates/bashd",
        "crates/bashd-cli",
        "crates/bashd-keeper",
        "crates/bashd-minimize",
        "crates/bashd-script",
        "crates/bashd-testkit",
    ];
    places
        .iter()
        .any(|place| root.join(place).join(path).exists())
}

#[test]
fn nothing_names_the_machine_it_was_written_on() {
    // In pieces, so that this file does not name them.
    let needles: Vec<String> = [
        ["/ro", "ot/"],
        ["/wo", "rk/"],
        ["index.crates", ".io"],
        ["static.crates", ".io"],
        ["sparse", "+http"],
        ["registry", "+http"],
        ["replace", "-with ="],
    ]
    .iter()
    .map(|pieces| pieces.concat())
    .collect();
    let mut offenders = Vec::new();
    // Lock files name the public index by their nature.
    for source in sources::all()
        .iter()
        .filter(|source| !source.path.ends_with("Cargo.lock"))
    {
        // An internal address, whose namespace is called so.
        let text = source.text.replace("memory://root", "memory:");
        let found = needles.iter().filter(|needle| text.contains(*needle));
        offenders.extend(found.map(|needle| format!("{}: {needle}", source.path)));
    }
    none(
        &offenders,
        "paths of one machine and hosts of one network do not belong here",
    );
}

#[test]
fn the_lock_file_is_kept() {
    assert!(
        sources::text("Cargo.lock").is_some(),
        "Cargo.lock is missing"
    );
    let ignored = sources::text(".gitignore").unwrap_or_default();
    assert!(
        !ignored.lines().any(|line| line.contains("Cargo.lock")),
        "Cargo.lock is ignored"
    );
}

#[test]
fn the_libraries_repeat_the_clippy_values_of_the_workspace() {
    let workspace = sources::text("clippy.toml").expect("clippy.toml");
    let library = sources::text("crates/bashd/clippy.toml").expect("the library's clippy.toml");
    let values = workspace
        .lines()
        .filter(|line| line.contains(" = ") && !line.contains('{'));
    let mut missing: Vec<String> = values
        .filter(|line| !library.contains(*line))
        .map(str::to_owned)
        .collect();
    let methods = workspace
        .lines()
        .filter_map(|line| line.trim().strip_prefix("{ path = ")?.split(',').next());
    missing.extend(
        methods
            .filter(|method| !library.contains(*method))
            .map(str::to_owned),
    );
    for (package, _) in ARROWS {
        let path = format!("crates/{package}/clippy.toml");
        if sources::text(&path).as_deref() != Some(&*library) {
            missing.push(format!("{path} differs from crates/bashd/clippy.toml"));
        }
    }
    none(
        &missing,
        "the nearest clippy.toml wins whole, so every library crate repeats these",
    );
}

/// The code lines of `sources` for which `is_wrong(path, line)` holds.
fn lines_where(sources: &[Source], is_wrong: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let lines = source
            .code_lines()
            .filter(|(_, line)| is_wrong(&source.path, line));
        found.extend(lines.map(|(number, line)| format!("{}:{number}: {line}", source.path)));
    }
    found
}
