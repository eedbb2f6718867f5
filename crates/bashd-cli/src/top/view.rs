//! What `bashd top` shows: a table of calls, the selected one in full, and what can be done.

use super::app::{TopApp, TopMode};
use crate::answering::NOT_YET;
use crate::check::underline;
use crate::for_people::{cut, duration, fitting, one_line, rows, size};
use crate::render::{StyledLine, Tone};
use crate::watched::{WatchedCall, WatchedFilter, WatchedState};
use bashd::feed::AskedEffects;
use bashd::ledger::Timestamp;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::Paragraph;
use std::time::Instant;
use unicode_width::UnicodeWidthChar;

/// Rows of a reason at most.
const REASON: usize = 4;

/// Rows of a command below the list at least, so that the list stands still, and at most; opened,
/// it is whole.
const COMMAND: (usize, usize) = (2, 4);

/// Whether colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TopColours {
    On,
    Off,
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &TopApp, colours: TopColours, now: Timestamp) {
    let area = frame.area();
    let columns = usize::from(area.width);
    let mut lines = vec![title(app, columns)];
    match &app.mode {
        TopMode::Opened(id) => lines.extend(opened(app, id, area, colours)),
        TopMode::List | TopMode::Searching | TopMode::Ending(_) => {
            lines.extend(table(app, area, colours, now));
        }
    }
    lines.resize_with(usize::from(area.height.saturating_sub(1)), Line::default);
    lines.push(footer(app, columns, colours));
    frame.render_widget(Paragraph::new(Text::from(lines)), area);
}

fn title(app: &TopApp, columns: usize) -> Line<'static> {
    let (asking, running) = app.calls.count();
    let mut text = format!("bashd top · {running} running");
    if asking > 0 {
        text = format!("{text} · {asking} asking");
    }
    text = format!("{text} · shows {}", app.filter.word());
    if !app.search.is_empty() || app.mode == TopMode::Searching {
        text = format!("{text} · /{}", app.search);
    }
    let style = Style::default().add_modifier(Modifier::BOLD);
    Line::from(Span::styled(cut(&one_line(&text), columns), style))
}

/// How wide the columns are that depend on the width.
struct TopColumns {
    client: usize,
    session: usize,
    command: usize,
}

impl TopColumns {
    fn of(columns: usize) -> Self {
        let (client, session) = if columns >= 90 { (16, 10) } else { (9, 0) };
        // State, time and bytes with their gaps.
        let before = 9 + 1 + 6 + 1 + 7 + 1 + client + 1 + session + usize::from(session > 0);
        Self {
            client,
            session,
            command: columns.saturating_sub(before),
        }
    }

    fn row(&self, cells: [&str; 6]) -> String {
        let [state, time, bytes, client, session, command] = cells;
        let mut row = format!(
            "{:<9} {time:>6} {bytes:>7} {:<2$} ",
            cut(state, 9),
            cut(client, self.client),
            self.client
        );
        if self.session > 0 {
            row = format!("{row}{:<1$} ", cut(session, self.session), self.session);
        }
        row + &cut(command, self.command)
    }
}

fn table(app: &TopApp, area: Rect, colours: TopColours, now: Timestamp) -> Vec<Line<'static>> {
    let columns = usize::from(area.width);
    let widths = TopColumns::of(columns);
    let head = ["STATE", "TIME", "BYTES", "CLIENT", "SESSION", "COMMAND"];
    let faint = Style::default().add_modifier(Modifier::DIM);
    let mut lines = vec![Line::from(Span::styled(widths.row(head), faint))];
    let wanted = app.wanted();
    let selected = app.selected_row(&wanted);
    let below = wanted.get(selected);
    let below = below.map_or_else(Vec::new, |call| details(call, columns, colours));
    // Title, head and footer.
    let room = usize::from(area.height)
        .saturating_sub(3 + below.len())
        .max(1);
    let first = selected.saturating_sub(room.saturating_sub(1));
    for (number, call) in wanted.iter().enumerate().skip(first).take(room) {
        let mut style = style_of(call, colours);
        if number == selected {
            style = style.add_modifier(Modifier::REVERSED);
        }
        let text = widths.row([
            &call.word(),
            &duration(call.millis(now)),
            &size(call.bytes),
            &one_line(&call.begun.owner),
            &one_line(call.session()),
            &one_line(&call.command()),
        ]);
        lines.push(Line::from(Span::styled(format!("{text:<columns$}"), style)));
    }
    if wanted.is_empty() {
        let nothing = match (app.search.is_empty(), app.filter) {
            (true, WatchedFilter::All) => "nothing yet: calls appear here as they come in",
            (true, _) => "none of these now: f shows others",
            (false, WatchedFilter::All) => "no call has this text: esc clears it",
            (false, _) => "no call has this text: f shows others, esc clears it",
        };
        lines.push(Line::from(Span::styled(nothing, faint)));
    }
    lines.resize_with(room + 1, Line::default);
    lines.extend(below);
    lines
}

/// The selected call: its command, where and whose it is, and why it asks.
fn details(call: &WatchedCall, columns: usize, colours: TopColours) -> Vec<Line<'static>> {
    let rule = Span::styled(
        "─".repeat(columns),
        Style::default().add_modifier(Modifier::DIM),
    );
    let mut lines = vec![Line::from(rule)];
    let warning = style_of(call, colours);
    let asks = match &call.state {
        WatchedState::Asks(asks) => Some(asks),
        _ => None,
    };
    let part = asks.and_then(|asks| marked(&call.begun.command, asks.part?, columns));
    if let Some((text, marks)) = part {
        lines.push(Line::from(text));
        lines.push(Line::from(Span::styled(marks, warning)));
    } else {
        let (least, most) = COMMAND;
        let mut command = rows(&one_line(&call.begun.command), columns);
        if command.len() > most {
            command.truncate(most - 1);
            command.push("… (enter opens all of it)".to_owned());
        }
        command.resize_with(command.len().max(least), String::new);
        lines.extend(command.into_iter().map(Line::from));
    }
    let mut about = vec![one_line(&call.begun.owner)];
    if call.begun.session.is_some() {
        about.push(format!("session {}", one_line(call.session())));
    }
    about.push(one_line(&call.begun.profile));
    if !call.begun.cwd.is_empty() {
        about.push(one_line(&call.begun.cwd));
    }
    about.extend(
        call.site
            .as_ref()
            .map(|site| format!("at {}", one_line(site))),
    );
    about.push(call.id.clone());
    let faint = Style::default().add_modifier(Modifier::DIM);
    let about = rows(&about.join(" · "), columns).into_iter();
    lines.extend(about.map(|row| Line::from(Span::styled(row, faint))));
    let last = match &call.state {
        WatchedState::Asks(asks) => format!("{}: {}", asks.rule, one_line(&asks.message)),
        WatchedState::Ended(ended) => ended.error.as_deref().map(one_line).unwrap_or_default(),
        _ => String::new(),
    };
    let effects = asks.and_then(|asks| asks.effects.as_ref());
    let last = match effects {
        Some(effects) => format!("{last}. {}", deed_of(effects, &call.id)),
        None => last,
    };
    // One decides by it, so it is whole.
    let reason = rows(&last, columns).into_iter().take(REASON);
    lines.extend(reason.map(|row| Line::from(Span::styled(row, warning))));
    lines
}

/// What a command did that somebody is asked about, in a line.
fn deed_of(effects: &AskedEffects, id: &str) -> String {
    let mut parts = vec![format!("{}; {}", effects.ending, effects.changed)];
    for (title, lines) in [("refused", &effects.refused), ("hosts", &effects.hosts)] {
        if !lines.is_empty() {
            parts.push(format!("{title}: {}", one_line(&lines.join("; "))));
        }
    }
    parts.push(format!("look: bashd changes show {id} --diff"));
    parts.join(" · ")
}

/// The line of a command that a part of it is in, and the marks under that part; both begin so
/// that the part can be seen.
fn marked(command: &str, (start, end): (usize, usize), columns: usize) -> Option<(String, String)> {
    let touched = underline::lines(command, bashd::script::Span { start, end });
    let (text, marks) = touched.into_iter().next()?;
    let before = marks.len() - marks.trim_start().len();
    // What does not fit begins with a third of the room before the part.
    let skipped = if marks.len() < columns {
        0
    } else {
        before.saturating_sub(columns / 3)
    };
    let mut passed = 0;
    let rest = text.trim_start_matches(|character: char| {
        let goes_on = passed < skipped;
        passed += if goes_on {
            character.width().unwrap_or(0)
        } else {
            0
        };
        goes_on
    });
    let marks = marks.get(passed..).unwrap_or_default();
    Some((cut(rest, columns), marks.chars().take(columns).collect()))
}

/// One call and the end of its output.
fn opened(app: &TopApp, id: &str, area: Rect, colours: TopColours) -> Vec<Line<'static>> {
    let columns = usize::from(area.width);
    let Some(call) = app.calls.get(id) else {
        return vec![Line::from("this call is not known any more")];
    };
    let state = format!("{} · {}", call.word(), size(call.bytes));
    let head = format!("{state} · {}", one_line(&call.begun.command));
    // Title, footer, and at least half of the rest for the output.
    let room = usize::from(area.height.saturating_sub(2));
    let head = rows(&head, columns).into_iter().take(room / 2);
    let style = style_of(call, colours);
    let mut lines: Vec<_> = head
        .map(|row| Line::from(Span::styled(row, style)))
        .collect();
    let room = room.saturating_sub(lines.len());
    let output = app.output.iter();
    let output: Vec<String> = output
        .flat_map(|line| StyledLine::new(Tone::Plain, line).wrapped(columns))
        .map(|row| row.text())
        .collect();
    let most_back = output.len().saturating_sub(room);
    app.most_back.set(most_back);
    let end = output.len() - app.look_back.min(most_back);
    let first = end.saturating_sub(room);
    let seen = output.get(first..end).unwrap_or_default().iter();
    lines.extend(seen.map(|row| Line::from(row.clone())));
    lines
}

fn footer(app: &TopApp, columns: usize, colours: TopColours) -> Line<'static> {
    let asks = app.asks().is_some();
    let is_answerable = app.is_answerable(Instant::now());
    let warning = match colours {
        TopColours::On => Style::default().fg(Color::Yellow),
        TopColours::Off => Style::default().add_modifier(Modifier::BOLD),
    };
    let plain = Style::default().add_modifier(Modifier::DIM);
    let (text, style) = match &app.mode {
        _ if !app.remark.is_empty() => (app.remark.clone(), warning),
        TopMode::Searching => (
            "type to search · enter keeps · esc clears".to_owned(),
            plain,
        ),
        TopMode::Ending(_) => (
            "end it and all it started? y ends · any other key leaves it".to_owned(),
            warning,
        ),
        TopMode::Opened(_) | TopMode::List if asks && !is_answerable => {
            (NOT_YET.to_owned(), warning)
        }
        TopMode::Opened(_) | TopMode::List if asks => (ANSWERS.to_owned(), warning),
        TopMode::Opened(_) => ("esc back · ↑↓ scroll · x end · q quit".to_owned(), plain),
        TopMode::List => {
            let parts = [
                (3, "↑↓ select"),
                (1, "enter open"),
                (2, "/ search"),
                (4, "f filter"),
                (1, "x end"),
                (0, "q quit"),
            ];
            (fitting(&parts, columns + 2).trim().to_owned(), plain)
        }
    };
    Line::from(Span::styled(cut(&one_line(&text), columns), style))
}

/// What can be done with one that asks.
const ANSWERS: &str = "allow: o once · s session · A always · d deny · q quit";

fn style_of(call: &WatchedCall, colours: TopColours) -> Style {
    let plain = Style::default();
    let is_asking = matches!(call.state, WatchedState::Asks(_));
    if colours == TopColours::Off {
        return if is_asking || call.failed() {
            plain.add_modifier(Modifier::BOLD)
        } else {
            plain
        };
    }
    match &call.state {
        _ if is_asking => plain.fg(Color::Yellow).add_modifier(Modifier::BOLD),
        _ if call.failed() => plain.fg(Color::Red),
        WatchedState::Running | WatchedState::Job(_) => plain.fg(Color::Green),
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::{WatchedCalls, some_calls};
    use crossterm::event::{KeyCode, KeyEvent};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::Duration;

    fn shown(app: &TopApp, (columns, rows): (u16, u16)) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        let now = Timestamp::from_second(10).unwrap();
        terminal
            .draw(|frame| draw(frame, app, TopColours::Off, now))
            .unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y: u16| {
            let cells = (0..columns).map(|x| buffer[(x, y)].symbol());
            cells.collect::<String>().trim_end().to_owned()
        };
        (0..rows).map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn everything_fits_into_sixty_columns_without_colour() {
        let mut app = TopApp::new(some_calls());
        app.settle(Instant::now().checked_sub(Duration::from_secs(1)).unwrap());
        insta::assert_snapshot!(shown(&app, (60, 12)), @r"
        bashd top · 1 running · 1 asking · shows all
        STATE       TIME   BYTES CLIENT    COMMAND
        ASKS        7.0s      0B mcp:K3T9… git push --force
        running     8.0s      0B rpc:9QX4… npm run dev
        exit 0      1.5s  2.0KiB cli:0     true
        exit 101    1.5s  2.0KiB mcp:K3T9… cargo test
        ────────────────────────────────────────────────────────────
        git push --force
        ^^^^^^^^^^^^^^^^
        mcp:K3T9AZ2C.1 · session s1 · default · /srv · c
        no_force_push: it loses history
        allow: o once · s session · A always · d deny · q quit
        ");
    }

    #[test]
    fn what_a_question_is_about_is_marked_and_in_sight() {
        let command = "cd /srv && git push --force";
        let (text, marks) = marked(command, (11, 27), 60).unwrap();
        assert_eq!(text, command);
        assert_eq!(marks, format!("{}{}", " ".repeat(11), "^".repeat(16)));
        let long = format!("{}; git push --force", "x".repeat(100));
        let (text, marks) = marked(&long, (102, 118), 60).unwrap();
        let at = marks.find('^').unwrap();
        assert!(
            text.split_at(at).1.starts_with("git push --force"),
            "{text}\n{marks}"
        );
        assert_eq!(marked("true", (9, 12), 60), None);
    }

    #[test]
    fn keys_select_search_and_filter() {
        let mut app = TopApp::new(some_calls());
        for key in [
            KeyCode::Down,
            KeyCode::Char('/'),
            KeyCode::Char('c'),
            KeyCode::Char('a'),
        ] {
            app.key(&KeyEvent::from(key), Instant::now());
        }
        assert_eq!(app.selected().unwrap().id, "a");
        app.key(&KeyEvent::from(KeyCode::Enter), Instant::now());
        assert!(shown(&app, (100, 12)).contains("/ca"));
        app.key(&KeyEvent::from(KeyCode::Char('f')), Instant::now());
        let others = "no call has this text: f shows others";
        assert!(shown(&app, (100, 12)).contains(others));
        let mut app = TopApp::new(WatchedCalls::default());
        assert!(shown(&app, (100, 12)).contains("nothing yet"));
        app.key(&KeyEvent::from(KeyCode::Char('f')), Instant::now());
        assert!(shown(&app, (100, 12)).contains("none of these now: f shows others"));
        assert!(!shown(&app, (100, 12)).contains("nothing yet"));
    }

    #[test]
    fn a_key_answers_only_what_was_there_to_read() {
        use super::super::app::TopDeed;
        use bashd::approval::ApprovalAnswer;
        use crossterm::event::KeyModifiers;
        let start = Instant::now();
        let later = start + Duration::from_secs(1);
        let mut app = TopApp::new(some_calls());
        app.settle(start);
        let allow = KeyEvent::from(KeyCode::Char('o'));
        assert_eq!(app.key(&allow, start), TopDeed::Nothing, "it has just come");
        let always = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::CONTROL);
        assert_eq!(app.key(&always, later), TopDeed::Nothing);
        let answer = TopDeed::Answer("c".to_owned(), ApprovalAnswer::Once);
        assert_eq!(app.key(&allow, later), answer);
    }

    #[test]
    fn opened_output_is_wrapped_and_scrolls_to_its_beginning() {
        let mut app = TopApp::new(some_calls());
        app.key(&KeyEvent::from(KeyCode::Enter), Instant::now());
        let numbers: Vec<String> = (0..100).map(|number| format!("{number:06}")).collect();
        app.output = vec![numbers.concat(), "last".to_owned()];
        let rows = |app: &TopApp| shown(app, (60, 8));
        assert!(rows(&app).contains("last"), "{}", rows(&app));
        for _ in 0..3 {
            app.key(&KeyEvent::from(KeyCode::PageUp), Instant::now());
        }
        let first = rows(&app);
        // Title, state, and then the first row of the output.
        let row = first.lines().nth(2).unwrap();
        assert!(row.starts_with("000000000001"), "{first}");
        assert_eq!(row.len(), 60, "{first}");
        assert!(!first.contains("last"), "{first}");
        // It is no further than that, so the first key down moves it.
        app.key(&KeyEvent::from(KeyCode::Down), Instant::now());
        assert_ne!(rows(&app), first);
        app.key(&KeyEvent::from(KeyCode::End), Instant::now());
        assert!(rows(&app).contains("last"), "{}", rows(&app));
    }
}
