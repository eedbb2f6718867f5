//! `server.json`, by which the MCP registry knows bashd.

use serde_json::Value;

const PAGE: &str = include_str!("../../../../../server.json");
const README: &str = include_str!("../../../../../README.md");

/// What the registry's schema requires of a page, and of each package and argument on it.
const REQUIRED: [&str; 3] = ["name", "description", "version"];
const OF_PACKAGE: [&str; 3] = ["registryType", "identifier", "transport"];

/// Everything that the schema of 2025-12-11 knows of a page and of a package; a package may have
/// nothing else.
const KNOWN: [&str; 11] = [
    "$schema",
    "_meta",
    "description",
    "icons",
    "name",
    "packages",
    "remotes",
    "repository",
    "title",
    "version",
    "websiteUrl",
];
const KNOWN_OF_PACKAGE: [&str; 10] = [
    "environmentVariables",
    "fileSha256",
    "identifier",
    "packageArguments",
    "registryBaseUrl",
    "registryType",
    "runtimeArguments",
    "runtimeHint",
    "transport",
    "version",
];

/// Whether an object has no other members than these.
fn has_only(value: &Value, known: &[&str]) {
    for name in value.as_object().unwrap().keys() {
        assert!(known.contains(&name.as_str()), "{name} is unknown");
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    let text = value[name].as_str();
    text.unwrap_or_else(|| panic!("no text `{name}` in {value}"))
}

#[test]
fn the_registrys_page_says_what_is_true() {
    let page: Value = serde_json::from_str(PAGE).unwrap();
    assert_eq!(page["version"], env!("CARGO_PKG_VERSION"));
    for package in page["packages"].as_array().unwrap() {
        // What a release publishes: this crate.
        assert_eq!(package["registryType"], "cargo");
        assert_eq!(package["identifier"], env!("CARGO_PKG_NAME"));
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(package["transport"]["type"], "stdio");
        assert_eq!(package["packageArguments"][0]["value"], "mcp");
    }
    // By this the registry knows that whoever publishes the package also wrote the page. It looks
    // at what crates.io shows, which has no comments.
    let mark = format!("mcp-name: {}", text(&page, "name"));
    let mut shown = README.split("<!--").enumerate().map(|(number, part)| {
        let after = part.split_once("-->").map(|(_, after)| after);
        after.filter(|_| number > 0).unwrap_or(part)
    });
    assert!(
        shown.any(|part| part.contains(&mark)),
        "README.md does not show `{mark}`"
    );
}

#[test]
fn the_registrys_page_keeps_to_the_schema() {
    let page: Value = serde_json::from_str(PAGE).unwrap();
    has_only(&page, &KNOWN);
    let schema = text(&page, "$schema");
    assert!(schema.ends_with("/schemas/2025-12-11/server.schema.json"));
    for name in REQUIRED {
        assert!(!text(&page, name).is_empty(), "{name}");
    }
    let (space, name) = text(&page, "name").split_once('/').unwrap();
    let is_plain = |text: &str, more: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    assert!(is_plain(space, ".-") && is_plain(name, "._-"));
    assert!(text(&page, "description").chars().count() <= 100);
    assert!(text(&page, "title").chars().count() <= 100);
    for package in page["packages"].as_array().unwrap() {
        has_only(package, &KNOWN_OF_PACKAGE);
        for name in OF_PACKAGE {
            assert!(!package[name].is_null(), "{name} in {package}");
        }
        // One version, no range.
        assert!(
            text(package, "version")
                .split('.')
                .all(|part| part.parse::<u32>().is_ok())
        );
        for argument in package["packageArguments"].as_array().unwrap() {
            assert_eq!(argument["type"], "positional");
            assert!(!text(argument, "value").is_empty());
        }
    }
}
