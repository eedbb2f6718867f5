//! The pages as a book: each is in its table of contents, and every link leads to what exists.

use bashd_testkit::{loudly, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

/// A link of a page, and where it is.
#[derive(Debug, PartialEq)]
struct Link {
    line: usize,
    target: String,
}

/// The links of a page, outside of code.
fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code {
            continue;
        }
        let prose: Vec<&str> = line.split('`').step_by(2).collect();
        let prose = prose.join("`");
        for rest in prose.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default().to_owned();
            found.push(Link {
                line: index + 1,
                target,
            });
        }
    }
    found
}

/// The anchors of a page: its headings as both GitHub and mdBook name them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let headings = text.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    let anchor = |heading: &str| {
        let title = heading.trim_start_matches('#').trim();
        let letters = title.chars().filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            c if c.is_alphanumeric() => Some(c.to_ascii_lowercase()),
            _ => None,
        });
        letters.collect::<String>()
    };
    headings.map(anchor).collect()
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// What is wrong with a link of a page.
fn problem(page: &Path, text: &str, target: &str) -> Option<String> {
    if ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| target.starts_with(scheme))
    {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let folder = page.parent().unwrap_or(Path::new(""));
    let led = if path.is_empty() {
        page.to_owned()
    } else {
        plain(&folder.join(path))
    };
    if !sources::root().join(&led).exists() {
        return Some(format!("there is no {}", led.display()));
    }
    if anchor.is_empty() {
        return None;
    }
    let other = sources::text(&led.to_string_lossy()).unwrap_or_default();
    let there = anchors(if path.is_empty() { text } else { &other });
    (!there.contains(anchor)).then(|| format!("{} has no #{anchor}", led.display()))
}

#[test]
fn every_link_leads_to_what_exists() {
    let mut problems = Vec::new();
    let mut checked = 0;
    for page in sources::all().iter().filter(|source| source.is("md")) {
        for link in links(&page.text) {
            checked += 1;
            let found = problem(Path::new(&page.path), &page.text, &link.target);
            problems.extend(found.map(|what| format!("{}:{}: {what}", page.path, link.line)));
        }
    }
    assert!(checked > 150, "only {checked} links");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_page_is_in_the_book_once() {
    let contents = sources::text("docs/SUMMARY.md").expect("docs/SUMMARY.md");
    let named: Vec<String> = links(&contents)
        .into_iter()
        .map(|link| link.target)
        .collect();
    let unique: BTreeSet<&String> = named.iter().collect();
    assert_eq!(unique.len(), named.len(), "a page is named twice");
    let pages = sources::all().into_iter().filter_map(|source| {
        let name = source.path.strip_prefix("docs/")?;
        (source.is("md") && name != "SUMMARY.md").then(|| name.to_owned())
    });
    let pages: BTreeSet<String> = pages.collect();
    let named: BTreeSet<String> = named.into_iter().collect();
    assert_eq!(
        pages, named,
        "the pages, and those that docs/SUMMARY.md names"
    );
}

#[test]
fn the_readme_links_every_page_that_is_for_readers() {
    let readme = sources::text("README.md").unwrap();
    let named: BTreeSet<String> = links(&readme).into_iter().map(|link| link.target).collect();
    let pages = sources::all().into_iter().map(|source| source.path);
    let pages = pages.filter(|path| {
        path.starts_with("docs/") && Path::new(path).extension().is_some_and(|kind| kind == "md")
    });
    let missing: Vec<String> = pages.filter(|path| !named.contains(path)).collect();
    assert!(missing.is_empty(), "README.md does not link {missing:?}");
}

/// What names a place in a page of HTML.
fn attributes<'html>(html: &'html str, name: &str) -> Vec<&'html str> {
    let start = format!(" {name}=\"");
    let values = html.split(&start).skip(1);
    values.filter_map(|rest| rest.split('"').next()).collect()
}

/// What is wrong with the links of a built book.
fn broken_links(book: &Path) -> (usize, Vec<String>) {
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(book).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|kind| kind == "html") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            pages.insert(name, fs::read_to_string(path).unwrap());
        }
    }
    let (mut checked, mut problems) = (0, Vec::new());
    // The page for what is missing and that for printers repeat the others.
    let own = |name: &str| !["404.html", "print.html", "toc.html"].contains(&name);
    for (name, html) in pages.iter().filter(|(name, _)| own(name)) {
        let links = ["href", "src"].map(|kind| attributes(html, kind)).concat();
        for link in links.into_iter().filter(|link| !link.contains(':')) {
            checked += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let led = if path.is_empty() { name } else { path };
            let there = pages.get(led);
            let is_there = there.is_some() || book.join(led).is_file();
            let has_anchor = |page: &String| attributes(page, "id").contains(&anchor);
            if !is_there || (!anchor.is_empty() && !there.is_some_and(has_anchor)) {
                problems.push(format!("{name}: {link}"));
            }
        }
    }
    (checked, problems)
}

#[test]
fn the_book_is_built_and_its_links_lead_somewhere() {
    let Some(builder) = std::env::var_os("BASHD_TEST_BOOK") else {
        loudly("the book is NOT built (./test --with book)");
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let built = Command::new(builder)
        .arg(sources::root())
        .arg(place.path())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{told}");
    for page in ["index.html", "print.html", "keeper.html"] {
        assert!(place.path().join(page).exists(), "the book lacks {page}");
    }
    let (checked, problems) = broken_links(place.path());
    assert!(checked > 1000, "only {checked} links");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn broken_links_of_a_book_are_found() {
    let place = tempfile::tempdir().unwrap();
    let page = r##"<h2 id="here"></h2><a href="#here"></a><a href="b.html#there"></a><img src="x.png">
        <a class="far" href="https://example.com/"></a><a href="c.html"></a><a href="b.html#no"></a>"##;
    fs::write(place.path().join("a.html"), page).unwrap();
    fs::write(place.path().join("b.html"), r#"<p id="there">"#).unwrap();
    let (checked, problems) = broken_links(place.path());
    let expected = ["a.html: c.html", "a.html: b.html#no", "a.html: x.png"];
    assert_eq!(
        (checked, problems),
        (5, expected.map(str::to_owned).to_vec())
    );
}

#[test]
fn links_and_anchors_are_found() {
    let text = "# One `two`: three\n[a](b.md#c) `[no](x)` [d](e \"f\")\n```\n[no](y)\n# no\n```\n";
    let found: Vec<String> = links(text).into_iter().map(|link| link.target).collect();
    assert_eq!(found, ["b.md#c", "e"]);
    assert_eq!(anchors(text), BTreeSet::from(["one-two-three".to_owned()]));
}
