//! Draws the console: what ran, a line of remarks, the prompt; over them a terminal or a page.

use super::app::App;
use super::overlay::Overlay;
use crate::render::{self, Tone};
use bashd::screen::{Cell, Colour};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};

/// Rows of the prompt at most.
const MOST_PROMPT_ROWS: u16 = 8;

/// Whether colors are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColorUse {
    Colours,
    None,
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, paint: ColorUse) {
    let text = app.prompt().text();
    let rows = (text.split('\n').count() as u16).clamp(1, MOST_PROMPT_ROWS);
    let [above, remark, prompt] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(rows),
    ])
    .areas(frame.area());
    let lines = app.lines(usize::from(above.width));
    let skipped = lines.len().saturating_sub(usize::from(above.height));
    let lines = lines.iter().skip(skipped).map(|line| line_of(line, paint));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), above);
    let state = if app.runs().is_running() {
        "running"
    } else {
        "ready"
    };
    let place = format!("[{state}] {}  {}", app.remark(), app.runs().place());
    let style = style_of(Tone::Faint, paint).add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(place).style(style), remark);
    draw_prompt(frame, app, prompt);
    if let Some(overlay) = app.overlay() {
        draw_overlay(frame, overlay, paint);
    } else if let Some(pager) = app.pager() {
        let area = frame.area();
        let title = format!(" {} ", pager.title);
        let block = Block::bordered().title(title).title_bottom(pager.footer());
        let rows = pager.visible(usize::from(block.inner(area).height));
        let rows: Vec<_> = rows.iter().map(|line| line_of(line, paint)).collect();
        frame.render_widget(Clear, area);
        frame.render_widget(Paragraph::new(rows).block(block), area);
    }
}

fn draw_prompt(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let text = app.prompt().text();
    let rows: Vec<_> = text
        .split('\n')
        .enumerate()
        .map(|(row, line)| format!("{} {line}", if row == 0 { '›' } else { ' ' }))
        .collect();
    let before = app.prompt().before_cursor();
    let row = before.matches('\n').count() as u16;
    let column = render::width(before.rsplit('\n').next().unwrap_or_default()) as u16 + 2;
    let hidden = row.saturating_sub(area.height.saturating_sub(1));
    frame.render_widget(Paragraph::new(rows.join("\n")).scroll((hidden, 0)), area);
    if app.overlay().is_none() && app.pager().is_none() {
        let last = area.right().saturating_sub(1);
        frame.set_cursor_position(Position::new(
            (area.x + column).min(last),
            area.y + row - hidden,
        ));
    }
}

fn draw_overlay(frame: &mut Frame<'_>, overlay: &Overlay, paint: ColorUse) {
    let screen = overlay.screen();
    let size = screen.size();
    let whole = frame.area();
    let width = (size.columns() + 2).min(whole.width);
    let height = (size.rows() + 2).min(whole.height);
    let area = Rect::new(
        whole.x + (whole.width - width) / 2,
        whole.y + (whole.height - height) / 2,
        width,
        height,
    );
    let title = match screen.title() {
        "" => " Console ".to_owned(),
        title => format!(" Console · {title} "),
    };
    let end_key = overlay.ends_by().label();
    let footer = format!(" {end_key} ends it · ctrl-t hides · input goes to the terminal ");
    let block = Block::bordered().title(title).title_bottom(footer);
    let inner = block.inner(area);
    let rows = (0..size.rows()).map(|row| {
        let cells = screen.cells(row);
        Line::from(
            cells
                .iter()
                .map(|cell| cell_of(cell, paint))
                .collect::<Vec<_>>(),
        )
    });
    frame.render_widget(Clear, area);
    frame.render_widget(
        Paragraph::new(rows.collect::<Text<'_>>()).block(block),
        area,
    );
    let cursor = screen.cursor();
    let (column, row) = (inner.x + cursor.column, inner.y + cursor.row);
    if cursor.is_visible && screen.looks_back() == 0 && inner.contains(Position::new(column, row)) {
        frame.set_cursor_position(Position::new(column, row));
    }
}

fn cell_of(cell: &Cell, paint: ColorUse) -> Span<'static> {
    let mut style = Style::default();
    if paint == ColorUse::Colours {
        style = style
            .fg(colour_of(cell.foreground))
            .bg(colour_of(cell.background));
    }
    let switches = [
        (cell.is_bold, Modifier::BOLD),
        (cell.is_dim, Modifier::DIM),
        (cell.is_italic, Modifier::ITALIC),
        (cell.is_underlined, Modifier::UNDERLINED),
        (cell.is_inverse, Modifier::REVERSED),
    ];
    for (_, modifier) in switches.into_iter().filter(|(is_on, _)| *is_on) {
        style = style.add_modifier(modifier);
    }
    Span::styled(cell.text.clone(), style)
}

fn colour_of(colour: Colour) -> Color {
    match colour {
        Colour::Default => Color::Reset,
        Colour::Indexed(index) => Color::Indexed(index),
        Colour::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}

fn line_of(line: &render::StyledLine, paint: ColorUse) -> Line<'static> {
    let spans = line.0.iter();
    let spans = spans.map(|span| Span::styled(span.text.clone(), style_of(span.tone, paint)));
    Line::from(spans.collect::<Vec<_>>())
}

fn style_of(tone: Tone, paint: ColorUse) -> Style {
    let plain = Style::default();
    if paint == ColorUse::None {
        return match tone {
            Tone::Command => plain.add_modifier(Modifier::BOLD),
            _ => plain,
        };
    }
    match tone {
        Tone::Plain => plain,
        Tone::Command => plain.add_modifier(Modifier::BOLD),
        Tone::Faint => plain.add_modifier(Modifier::DIM),
        Tone::Good => plain.fg(Color::Green),
        Tone::Bad => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
        Tone::Warning => plain.fg(Color::Yellow),
        Tone::Active => plain.fg(Color::Cyan),
    }
}
