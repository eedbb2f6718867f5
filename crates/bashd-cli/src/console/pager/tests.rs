//! Pages under keys: scrolling, choosing, searching, copying.

use super::*;

fn lines(count: usize) -> Vec<StyledLine> {
    let line = |number: usize| StyledLine::new(Tone::Plain, number.to_string());
    (0..count).map(line).collect()
}

fn first(pager: &mut Pager) -> String {
    pager.lay_out(80);
    pager
        .visible(3)
        .first()
        .map_or_else(String::new, |row| row.text.text())
}

fn press(pager: &mut Pager, code: KeyCode) -> PagerAction {
    pager.lay_out(80);
    pager.key(&KeyEvent::new(code, KeyModifiers::NONE), 3)
}

fn type_text(pager: &mut Pager, text: &str) {
    for character in text.chars() {
        press(pager, KeyCode::Char(character));
    }
    press(pager, KeyCode::Enter);
}

fn output(name: &str) -> Pager {
    let page = jobs::JobsPage::Output(name.to_owned());
    Pager::of("Job", PageSource::Jobs(page))
}

#[test]
fn a_page_is_read_from_its_beginning_and_a_run_from_its_end() {
    let mut page = Pager::new("Log", lines(10));
    assert_eq!(first(&mut page), "0");
    for (code, expected) in [
        (KeyCode::Down, "1"),
        (KeyCode::PageDown, "4"),
        (KeyCode::End, "7"),
        (KeyCode::Up, "6"),
        (KeyCode::Home, "0"),
    ] {
        assert_eq!(press(&mut page, code), PagerAction::Nothing);
        assert_eq!(first(&mut page), expected, "{code:?}");
    }
    let mut run = output("bg_1");
    let seen = |count| jobs::SeenPage {
        lines: lines(count),
        targets: Vec::new(),
        beside: Vec::new(),
    };
    run.show(seen(10));
    assert_eq!(first(&mut run), "7");
    run.show(seen(12));
    assert_eq!(first(&mut run), "9", "it follows");
    press(&mut run, KeyCode::Up);
    run.show(seen(14));
    assert_eq!(first(&mut run), "8", "not while somebody reads");
    press(&mut run, KeyCode::End);
    run.show(seen(16));
    assert_eq!(first(&mut run), "13");
    assert_eq!(
        press(&mut run, KeyCode::Char('x')),
        PagerAction::End("bg_1".to_owned())
    );
    assert_eq!(press(&mut run, KeyCode::Char('q')), PagerAction::Close);
}

#[test]
fn what_is_chosen_stays_chosen_when_the_list_changes() {
    let mut list = Pager::of("Runs", PageSource::Jobs(jobs::JobsPage::List));
    let seen = |names: &[&str]| jobs::SeenPage {
        lines: lines(names.len()),
        targets: names.iter().map(ToString::to_string).collect(),
        beside: Vec::new(),
    };
    list.show(seen(&["a", "b", "c", "d", "e"]));
    for _ in 0..3 {
        press(&mut list, KeyCode::Down);
    }
    assert_eq!(first(&mut list), "  1", "the choice is in sight");
    assert_eq!(
        press(&mut list, KeyCode::Enter),
        PagerAction::Open(RowTarget::Job("d".to_owned()))
    );
    list.show(seen(&["new", "a", "b", "c", "d"]));
    assert_eq!(
        press(&mut list, KeyCode::Char('s')),
        PagerAction::Answer("d".to_owned())
    );
    list.show(seen(&[]));
    assert_eq!(press(&mut list, KeyCode::Enter), PagerAction::Nothing);
}

#[test]
fn a_search_goes_down_and_up_and_ends_before_the_page_does() {
    let mut page = Pager::new("Log", lines(50));
    press(&mut page, KeyCode::Char('/'));
    assert_eq!(page.footer(80), " /▏ enter searches · esc ends ");
    type_text(&mut page, "^.5");
    assert_eq!(first(&mut page), "15");
    press(&mut page, KeyCode::Char('n'));
    assert_eq!(first(&mut page), "25");
    press(&mut page, KeyCode::Char('N'));
    assert_eq!(first(&mut page), "15");
    assert_eq!(page.footer(80), " /^.5 · 1 of 4 · n N · esc ends ");
    press(&mut page, KeyCode::Char('N'));
    assert!(page.footer(80).contains("no other"), "{}", page.footer(80));
    assert_eq!(press(&mut page, KeyCode::Esc), PagerAction::Nothing);
    assert_eq!(press(&mut page, KeyCode::Esc), PagerAction::Close);
    press(&mut page, KeyCode::Char('/'));
    type_text(&mut page, "x");
    assert!(
        page.footer(80).contains("nothing found"),
        "{}",
        page.footer(80)
    );
}

#[test]
fn matches_at_the_end_of_a_page_are_gone_through_one_by_one() {
    let mut page = Pager::new("Log", lines(50));
    press(&mut page, KeyCode::End);
    press(&mut page, KeyCode::Char('/'));
    type_text(&mut page, "^4");
    let marked = |page: &mut Pager| {
        page.lay_out(80);
        let rows = page.visible(3).into_iter();
        let here = |row: &SeenRow| row.text.0.iter().any(|one| one.tone == Tone::FoundHere);
        let rows = rows.filter(here).map(|row| row.text.text());
        rows.collect::<Vec<_>>()
    };
    assert_eq!(marked(&mut page), ["47"], "the first that is seen");
    for expected in ["48", "49"] {
        press(&mut page, KeyCode::Char('n'));
        assert_eq!(
            (first(&mut page), marked(&mut page)),
            ("47".into(), vec![expected.into()])
        );
    }
    assert_eq!(page.footer(80), " /^4 · 11 of 11 · n N · esc ends ");
    press(&mut page, KeyCode::Char('N'));
    assert_eq!(marked(&mut page), ["48"]);
    // What is selected begins there.
    press(&mut page, KeyCode::Char('v'));
    let copied = PagerAction::Copy("48".to_owned());
    assert_eq!(press(&mut page, KeyCode::Char('y')), copied);
    // Who scrolls away goes on from there.
    press(&mut page, KeyCode::Home);
    assert_eq!(page.footer(80), " /^4 · 11 found · n N · esc ends ");
    press(&mut page, KeyCode::Char('n'));
    assert_eq!(marked(&mut page), ["4"]);
}

#[test]
fn lines_are_selected_and_copied() {
    let mut page = Pager::new("Log", lines(10));
    press(&mut page, KeyCode::Down);
    press(&mut page, KeyCode::Char('v'));
    for _ in 0..4 {
        press(&mut page, KeyCode::Down);
    }
    assert_eq!(first(&mut page), "3", "the selection is in sight");
    assert!(page.visible(3).iter().all(|row| row.is_selected));
    let copied = PagerAction::Copy("1\n2\n3\n4\n5".to_owned());
    assert_eq!(press(&mut page, KeyCode::Char('y')), copied);
    assert_eq!(page.footer(80), " 5 lines copied ");
    let PagerAction::Copy(all) = press(&mut page, KeyCode::Char('y')) else {
        panic!("without a selection all is copied")
    };
    assert_eq!(all.lines().count(), 10);
}

#[test]
fn the_transcript_ends_where_the_prompt_is() {
    let mut page = Pager::of("Transcript", PageSource::Transcript);
    page.replace_from(0, lines(20));
    assert_eq!(first(&mut page), "17");
    press(&mut page, KeyCode::PageUp);
    assert_eq!(first(&mut page), "14");
    page.replace_from(20, lines(4));
    assert_eq!(first(&mut page), "14", "it stands still");
    assert_eq!(press(&mut page, KeyCode::PageDown), PagerAction::Nothing);
    assert_eq!(press(&mut page, KeyCode::End), PagerAction::Close);
}
