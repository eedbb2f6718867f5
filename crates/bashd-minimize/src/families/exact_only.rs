//! Families whose every line may be a fact that somebody asked for, or a line of a program that
//! they started: the exact tier alone shortens their output.

use super::super::exact::Notation;
use super::Filter;
use crate::invocation::Invocation;

/// A family without noise.
pub(super) struct ExactOnly {
    name: &'static str,
    programs: &'static [&'static str],
    notation: fn(&[Invocation]) -> Notation,
}

impl Filter for ExactOnly {
    fn name(&self) -> &'static str {
        self.name
    }

    fn programs(&self) -> &'static [&'static str] {
        self.programs
    }

    fn notation(&self, commands: &[Invocation]) -> Notation {
        (self.notation)(commands)
    }
}

/// What was committed, pushed, refused by a remote.
pub(super) const GIT: ExactOnly = ExactOnly {
    name: "git",
    programs: &["git", "yadm", "diff", "colordiff"],
    notation: of_git,
};

/// Scripts of a package print what they like, and so do packages while they are installed.
pub(super) const NODE_PACKAGES: ExactOnly = ExactOnly {
    name: "node-packages",
    programs: &[
        "npm", "pnpm", "yarn", "yarnpkg", "bun", "corepack", "lerna", "nx", "turbo",
    ],
    notation: whole,
};

/// Findings are facts.
pub(super) const LINT: ExactOnly = ExactOnly {
    name: "lint",
    programs: &[
        "tsc",
        "eslint",
        "biome",
        "oxlint",
        "prettier",
        "ruff",
        "mypy",
        "flake8",
        "pylint",
        "pyright",
        "basedpyright",
        "black",
        "isort",
        "shellcheck",
        "yamllint",
        "hadolint",
        "markdownlint",
        "rubocop",
        "stylelint",
        "golangci-lint",
        "ty",
        "bandit",
        "vulture",
        "vue-tsc",
        "standard",
        "semgrep",
        "actionlint",
        "swiftlint",
        "ktlint",
        "detekt",
        "clang-tidy",
        "cppcheck",
    ],
    notation: whole,
};

/// Tasks run the user's programs, and a task that was skipped is a fact.
pub(super) const JVM: ExactOnly = ExactOnly {
    name: "jvm",
    programs: &[
        "mvn", "gradle", "sbt", "javac", "kotlinc", "ant", "bazelisk",
    ],
    notation: whole,
};

/// Steps of a build run the user's programs; states of layers and objects are facts.
pub(super) const CONTAINERS: ExactOnly = ExactOnly {
    name: "containers",
    programs: &[
        "docker",
        "podman",
        "buildah",
        "docker-compose",
        "nerdctl",
        "kubectl",
        "helm",
        "oc",
        "k3s",
        "kind",
        "minikube",
    ],
    notation: whole,
};

/// Which host had nothing to change is a fact.
pub(super) const ANSIBLE: ExactOnly = ExactOnly {
    name: "ansible",
    programs: &["ansible", "ansible-playbook", "ansible-galaxy", "molecule"],
    notation: whole,
};

/// What was found.
pub(super) const SEARCH: ExactOnly = ExactOnly {
    name: "search",
    programs: &["grep", "egrep", "fgrep", "rg", "ag", "ack"],
    notation: whole,
};

/// What is there.
pub(super) const LISTINGS: ExactOnly = ExactOnly {
    name: "listings",
    programs: &[
        "find", "fd", "ls", "exa", "eza", "lsd", "dir", "du", "wc", "stat", "locate",
    ],
    notation: whole,
};

/// Trees, whose branches are drawn.
pub(super) const OUTLINES: ExactOnly = ExactOnly {
    name: "outlines",
    programs: &["tree", "pipdeptree", "pstree"],
    notation: repeats,
};

/// Rows and columns.
pub(super) const TABLES: ExactOnly = ExactOnly {
    name: "tables",
    programs: &[
        "ps",
        "df",
        "free",
        "top",
        "lsof",
        "ss",
        "netstat",
        "systemctl",
        "psql",
        "mysql",
        "sqlite",
        "lsblk",
        "mount",
        "ip",
        "vmstat",
        "iostat",
        "who",
        "w",
        "last",
        "column",
        "gh",
        "glab",
        "gcloud",
        "aws",
        "az",
        "route",
        "arp",
        "lscpu",
        "crontab",
        "getent",
    ],
    notation: repeats,
};

fn whole(_commands: &[Invocation]) -> Notation {
    Notation::Whole
}

fn repeats(_commands: &[Invocation]) -> Notation {
    Notation::Repeats
}

/// Subcommands that print patches, whose lines must stay exact.
const PATCHES: &[&str] = &[
    "diff",
    "show",
    "stash",
    "format-patch",
    "apply",
    "am",
    "blame",
    "annotate",
];

/// Options that make others print them.
const PATCH_OPTIONS: &[&str] = &["-p", "--patch", "-u", "-L", "--cc", "-c", "--word-diff"];

fn of_git(commands: &[Invocation]) -> Notation {
    let shows_patches = commands.iter().any(|command| {
        let shows_patch = command.program != "git" || PATCHES.contains(&command.subcommand());
        let is_summary = command
            .arguments
            .iter()
            .any(|argument| argument.contains("stat") || argument.starts_with("--name"));
        shows_patch && !is_summary || PATCH_OPTIONS.iter().any(|option| command.has(option))
    });
    if shows_patches {
        Notation::Nothing
    } else {
        Notation::Whole
    }
}
