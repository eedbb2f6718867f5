//! `server.json`, by which the MCP registry knows bashd.

use serde_json::Value;

#[test]
fn the_registrys_page_says_what_is_true() {
    let page = include_str!("../../../../../server.json");
    let page: Value = serde_json::from_str(page).unwrap();
    assert_eq!(page["version"], env!("CARGO_PKG_VERSION"));
    // The registry's own bounds.
    assert!(page["description"].as_str().unwrap().len() <= 100);
    for package in page["packages"].as_array().unwrap() {
        assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(package["transport"]["type"], "stdio");
        assert_eq!(package["packageArguments"][0]["value"], "mcp");
    }
}
