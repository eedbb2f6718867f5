//! The four test runners in strict safe mode. They run the project's code by nature; what is
//! refused are options that load other code, start another program, or write to a given place.

use super::StepWord;
use super::options::{Long, Number, Operands, Options, Short, shown};
use super::policy::PolicyDenial;
use crate::script::WordPart;

const PYTEST: Options = Options {
    short: Short::Only {
        flags: "vqxslh",
        valued: "kmn",
        attached: "r",
        number: Number::Refused,
    },
    long: Long::Only(&[&[
        "verbose",
        "quiet",
        "exitfirst",
        "maxfail=",
        "lf",
        "last-failed",
        "ff",
        "failed-first",
        "nf",
        "new-first",
        "sw",
        "stepwise",
        "stepwise-skip",
        "collect-only",
        "co",
        "tb=",
        "durations=",
        "durations-min=",
        "showlocals",
        "header",
        "summary",
        "capture=",
        "color=",
        "strict-markers",
        "strict-config",
        "strict",
        "runxfail",
        "disable-warnings",
        "disable-pytest-warnings",
        "ignore=",
        "ignore-glob=",
        "deselect=",
        "markers",
        "fixtures",
        "fixtures-per-test",
        "verbosity=",
        "full-trace",
        "setup-show",
        "setup-only",
        "setup-plan",
        "version",
        "help",
        "timeout=",
        "no-cov",
        "show-capture=",
        "code-highlight=",
    ]]),
    operands: Operands::NoFileOfOptions,
};

const SWIFT: Options = Options {
    short: Short::Only {
        flags: "vqlh",
        valued: "cs",
        attached: "",
        number: Number::Refused,
    },
    long: Long::Only(&[&[
        "filter=",
        "skip=",
        "parallel",
        "num-workers=",
        "verbose",
        "quiet",
        "configuration=",
        "list-tests",
        "skip-build",
        "enable-code-coverage",
        "disable-code-coverage",
        "specifier=",
        "sanitize=",
        "very-verbose",
        "show-codecov-path",
        "help",
        "version",
    ]]),
    operands: Operands::Any,
};

/// npm's own options, before `--`.
const NPM: Options = Options {
    short: Short::Only {
        flags: "sqd",
        valued: "w",
        attached: "",
        number: Number::Refused,
    },
    long: Long::Only(&[&[
        "silent",
        "quiet",
        "if-present",
        "workspaces",
        "workspace=",
        "include-workspace-root",
        "loglevel=",
        "color",
        "foreground-scripts",
        "ignore-scripts",
    ]]),
    operands: Operands::Any,
};

/// After npm's `--`: everything but what the usual JavaScript runners load code by, or write to a
/// given place with.
const SCRIPT: Options = Options {
    short: Short::AllBut {
        refused: "rc",
        valued: "tgf",
    },
    long: Long::Except(&[
        "require",
        "config",
        "outputFile",
        "output",
        "output-file",
        "setupFiles",
        "setupFilesAfterEnv",
        "globalSetup",
        "globalTeardown",
        "global-setup",
        "import",
        "loader",
        "experimental-loader",
        "rootDir",
        "root",
        "roots",
        "coverageDirectory",
        "coverage.reportsDirectory",
        "cacheDirectory",
        "testRunner",
        "runner",
        "transform",
        "resolver",
        "preset",
        "env",
        "environment",
        "testEnvironment",
        "reporter",
        "reporters",
        "reporter-options",
        "reporter-option",
        "file",
        "ui",
        "package",
        "opts",
        "node-option",
        "testResultsProcessor",
        "snapshotResolver",
        "watchPlugins",
        "modulePaths",
        "moduleDirectories",
        "filter",
        "inspect",
        "inspect-brk",
        "api",
        "browser",
        "trace",
    ]),
    operands: Operands::Any,
};

/// Options of xcodebuild: with a value, and without one. They begin with one dash.
const XCODEBUILD_VALUED: &[&str] = &[
    "-scheme",
    "-workspace",
    "-project",
    "-destination",
    "-configuration",
    "-sdk",
    "-testPlan",
    "-target",
    "-arch",
    "-parallel-testing-enabled",
    "-parallel-testing-worker-count",
    "-enableCodeCoverage",
    "-test-iterations",
    "-test-timeouts-enabled",
    "-destination-timeout",
    "-maximum-parallel-testing-workers",
    "-default-test-execution-time-allowance",
    "-maximum-test-execution-time-allowance",
    "-jobs",
    "-testLanguage",
    "-testRegion",
];
/// Those whose value is a path: a project elsewhere brings other code along.
const XCODEBUILD_PLACES: &[&str] = &["-project", "-workspace"];
const XCODEBUILD_PLAIN: &[&str] = &[
    "-quiet",
    "-verbose",
    "-retry-tests-on-failure",
    "-run-tests-until-failure",
    "-alltargets",
    "-hideShellScriptEnvironment",
    "-showTestPlans",
    "-parallelizeTargets",
];
const XCODEBUILD_BEGINNINGS: &[&str] = &[
    "-only-testing:",
    "-skip-testing:",
    "-only-test-configuration:",
];

pub(super) fn pytest(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "pytest [PATH…] [-k EXPRESSION] [-m MARKERS] [-x] [-v], with paths below here";
    // A test elsewhere is other code.
    let is_far = |word: &&StepWord| match word {
        StepWord::Literal(text) => !text.starts_with('-') && !stays_here(text),
        StepWord::Pattern(parts) => parts.iter().any(|part| match part {
            WordPart::Text(text) => !stays_here(text),
            _ => false,
        }),
    };
    if let Some(word) = arguments.iter().find(is_far) {
        return Err(PolicyDenial::new(
            format!("pytest with {}", shown(word)),
            accepted,
        ));
    }
    let read = PYTEST.read(arguments).map(drop);
    read.map_err(|what| PolicyDenial::new(format!("pytest with {what}"), accepted))
}

pub(super) fn swift(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "swift test [--filter NAME] [--skip NAME] [--parallel]";
    let rest = after_test("swift", arguments, accepted)?;
    let read = SWIFT.read(rest).map(drop);
    read.map_err(|what| PolicyDenial::new(format!("swift test with {what}"), accepted))
}

pub(super) fn npm(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "npm test [-- FILTER…]";
    let rest = after_test("npm", arguments, accepted)?;
    let is_end = |word: &StepWord| matches!(word, StepWord::Literal(text) if text == "--");
    let end = rest.iter().position(is_end).unwrap_or(rest.len());
    let (own, script) = rest.split_at_checked(end).unwrap_or_default();
    // A workspace elsewhere brings other code along.
    let is_far = |word: &&StepWord| match word {
        StepWord::Literal(text) => text.split('=').any(|path| !stays_here(path)),
        StepWord::Pattern(_) => false,
    };
    if let Some(word) = own.iter().find(is_far) {
        let what = format!("npm test with {}", shown(word));
        return Err(PolicyDenial::new(what, accepted));
    }
    let script: Vec<StepWord> = script
        .iter()
        .skip(1)
        .filter(|word| !is_own_reporter(word))
        .cloned()
        .collect();
    let read = NPM.read(own).and_then(|_| SCRIPT.read(&script).map(drop));
    read.map_err(|what| PolicyDenial::new(format!("npm test with {what}"), accepted))
}

pub(super) fn xcodebuild(arguments: &[StepWord]) -> Result<(), PolicyDenial> {
    let accepted = "xcodebuild test -scheme NAME [-destination WHERE] [-only-testing:TEST]";
    let mut rest = after_test("xcodebuild", arguments, accepted)?.iter();
    while let Some(word) = rest.next() {
        let option = match word {
            StepWord::Literal(text) => text.as_str(),
            StepWord::Pattern(_) => "",
        };
        let begins = XCODEBUILD_BEGINNINGS
            .iter()
            .any(|beginning| option.starts_with(beginning));
        let is_plain = begins || XCODEBUILD_PLAIN.contains(&option);
        let names_place = XCODEBUILD_PLACES.contains(&option);
        let is_value = |value: &str| !value.starts_with('-') && (!names_place || stays_here(value));
        let is_valued = XCODEBUILD_VALUED.contains(&option)
            && matches!(rest.next(), Some(StepWord::Literal(value)) if is_value(value));
        if !is_plain && !is_valued {
            return Err(PolicyDenial::new(
                format!("xcodebuild test with {}", shown(word)),
                accepted,
            ));
        }
    }
    Ok(())
}

/// Reporters that runners bring along: they print, and load nothing.
const REPORTERS: &[&str] = &[
    "dot", "spec", "min", "list", "tap", "verbose", "basic", "default", "nyan", "progress",
    "landing", "line",
];

fn is_own_reporter(word: &StepWord) -> bool {
    let StepWord::Literal(text) = word else {
        return false;
    };
    let name = text.strip_prefix("--reporter=");
    let name = name.or_else(|| text.strip_prefix("--reporters="));
    name.is_some_and(|name| REPORTERS.contains(&name))
}

/// Whether a path stays below the working directory.
fn stays_here(path: &str) -> bool {
    !path.starts_with(['/', '~']) && path.split('/').all(|name| name != "..")
}

/// What follows the word `test`, which must come first.
fn after_test<'a>(
    program: &str,
    arguments: &'a [StepWord],
    accepted: &'static str,
) -> Result<&'a [StepWord], PolicyDenial> {
    match arguments.split_first() {
        Some((StepWord::Literal(word), rest)) if word == "test" => Ok(rest),
        _ => Err(PolicyDenial::new(
            format!("{program} without test as its first word"),
            accepted,
        )),
    }
}
