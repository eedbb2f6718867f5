//! `no_publishing`: puts a version where everybody gets it, or takes one away.

use super::tool_rows::{ToolRow, asks};
use super::{Concern, Rule, RuleJudge};

pub(super) const RULE: Rule = Rule {
    name: "no_publishing",
    denies: "asks about npm publish, cargo publish, twine upload, gem push, npm unpublish, cargo yank",
    message: "a published version can't be taken back, and removing one breaks other people's builds",
    instead: "Try --dry-run or npm pack first, then let a person publish",
    example: "npm publish",
    judge: RuleJudge::Each(&[Concern::Tools(ROWS)]),
};

const NODE: &[&str] = &[
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "lerna",
    "jsr",
    "npx",
    "changeset",
];

const ROWS: &[ToolRow] = &[
    asks(NODE, "publish").without(&["run", "test", "view"]),
    asks(&["npm", "pnpm", "yarn"], "unpublish|deprecate"),
    asks(&["npm"], "owner|access|token rm|revoke|remove"),
    asks(&["npm"], "dist-tag rm|add"),
    asks(&["cargo"], "publish|yank"),
    asks(&["cargo"], "owner").with(&["--add", "--remove", "-a", "-r"]),
    asks(&["cargo"], "release").with(&["-x", "--execute"]),
    asks(&["twine"], "upload"),
    asks(
        &["poetry", "uv", "flit", "hatch", "pdm", "maturin"],
        "publish|upload",
    ),
    asks(&["python", "python3"], "twine upload").with(&["-m"]),
    asks(&["python", "python3"], "setup.py upload"),
    asks(&["gem"], "push|yank"),
    asks(&["mvn", "mvnw"], "deploy|release:perform"),
    asks(
        &["gradle", "gradlew"],
        "publish|publishPlugins|publishToMavenCentral|uploadArchives",
    ),
    asks(&["dotnet"], "nuget push|delete"),
    asks(&["nuget"], "push|delete"),
    asks(&["vsce", "ovsx"], "publish|unpublish"),
    asks(&["mix"], "hex.publish"),
    asks(&["pod"], "trunk push|delete|deprecate"),
    asks(&["dart", "flutter"], "pub publish").without(&["-n"]),
    asks(&["conda", "anaconda"], "upload"),
    asks(&["goreleaser"], "release").without(&["--snapshot", "--skip=publish", "--skip-publish"]),
    asks(&["semantic-release"], "").without(&["-d"]),
    asks(&["snapcraft"], "upload|release"),
    asks(&["charmcraft"], "upload|release"),
    asks(&["luarocks"], "upload"),
    asks(&["cabal", "stack", "conan", "conan2"], "upload"),
    asks(
        &[
            "opam", "nimble", "gleam", "elm", "spago", "rush", "quarto", "nx",
        ],
        "publish",
    ),
    asks(&["web-ext"], "sign"),
    asks(&["rebar3"], "hex publish|retire"),
    asks(&["sbt", "mill"], "publish*").without(&["publishLocal", "publishM2"]),
    asks(&["lein", "clj", "clojure"], "deploy"),
    asks(&["swift"], "package-registry publish"),
    asks(&["choco", "paket"], "push"),
    asks(&["ansible-galaxy"], "publish"),
    asks(&["fastlane"], "release|deliver|pilot|supply|upload_to_*"),
    asks(&["eas"], "submit"),
    asks(&["release-it", "np"], ""),
    asks(
        &["hf", "huggingface-cli"],
        "upload|upload-large-folder|repo delete",
    ),
    asks(&["chrome-webstore-upload"], "upload|publish"),
    asks(&["tfx"], "publish|unpublish"),
    asks(&["knife"], "share"),
    asks(&["cpan-upload"], ""),
    asks(&["helm"], "push"),
    asks(&["deno"], "publish"),
];
