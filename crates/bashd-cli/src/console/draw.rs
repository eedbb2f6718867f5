//! Draws the console: what ran, a line of remarks, the prompt; over them a terminal or a page.

use super::app::App;
use super::jobs::OutputView;
use super::overlay::Overlay;
use super::pager::{Pager, SeenRow};
use super::palette;
use super::prompt::PromptRows;
use super::question::ConsoleQuestion;
use crate::answering::NOT_YET;
use crate::for_people;
use crate::render::{self, Ink, InkStyle, Tone};
use bashd::screen::{Cell, Colour};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Position, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Block, Clear, Paragraph};
use std::rc::Rc;

/// Rows of the prompt at most.
const MOST_PROMPT_ROWS: u16 = 8;

/// Which colors the terminal has. Ours are always among its first sixteen, which its user chose
/// for a light or a dark background.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ColorUse {
    /// Every mixed one.
    All,
    /// 256.
    Indexed,
    Sixteen,
    None,
}

impl ColorUse {
    /// What the terminal says of itself.
    pub(super) fn of(term: &str, colorterm: &str) -> Self {
        if matches!(colorterm, "truecolor" | "24bit") || term.ends_with("-direct") {
            Self::All
        } else if term.contains("256color") {
            Self::Indexed
        } else {
            Self::Sixteen
        }
    }
}

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, app: &App, paint: ColorUse) {
    let shown = app.prompt().rows(usize::from(frame.area().width));
    let rows = (shown.rows.len() as u16).clamp(1, MOST_PROMPT_ROWS);
    let [above, remark, prompt] = Layout::vertical([
        Constraint::Min(1),
        Constraint::Length(1),
        Constraint::Length(rows),
    ])
    .areas(frame.area());
    let lines = app.lines((usize::from(above.width), usize::from(above.height)));
    let lines = lines.iter().map(|line| line_of(line, paint));
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()), above);
    let bar = bar(app, usize::from(remark.width));
    let style = Style::default().add_modifier(Modifier::REVERSED);
    frame.render_widget(Paragraph::new(bar).style(style), remark);
    draw_prompt(frame, app, &shown, prompt);
    if let Some(overlay) = app.overlay() {
        draw_overlay(frame, overlay, paint);
    } else if let Some(pager) = app.pager() {
        let (area, beside) = panes(frame.area(), pager.beside());
        let title = format!(" {} ", pager.title);
        let columns = usize::from(area.width.saturating_sub(2));
        let footer = pager.footer(columns);
        let block = Block::bordered().title(title).title_bottom(footer);
        let rows = pager.visible(usize::from(block.inner(area).height));
        let rows: Vec<_> = rows
            .into_iter()
            .map(|row| row_of(row, columns, paint))
            .collect();
        frame.render_widget(Clear, frame.area());
        frame.render_widget(Paragraph::new(rows).block(block), area);
        for (view, area) in pager.beside().iter().zip(beside.iter()) {
            draw_beside(frame, view, *area, paint);
        }
    }
    if let Some((question, is_answerable)) = app.question() {
        let keys = if is_answerable {
            question.choices().to_owned()
        } else {
            format!(" {NOT_YET} ")
        };
        draw_question(frame, question, &keys, paint);
    }
}

/// What the console does, what there is to say, and at the right end where it is. At a command's
/// terminal and at a question, the frame says what keys do.
fn bar(app: &App, columns: usize) -> String {
    let remark = if app.overlay().is_some() || app.question().is_some() {
        String::new()
    } else {
        app.remark()
    };
    let left = format!("[{}] {remark}", app.doing());
    let place = app.runs().place();
    let room = columns.saturating_sub(render::width(&left) + 1);
    for_people::cut(&format!("{left} {place:>room$}"), columns)
}

/// Columns of a screen on which a list and an output stand side by side; below that, one above the
/// other.
const WIDE: u16 = 110;

/// Columns and rows of a page's text on a screen of this size.
pub(super) fn page_size(pager: &Pager, (columns, rows): (u16, u16)) -> (usize, usize) {
    let (area, _) = panes(Rect::new(0, 0, columns, rows), pager.beside());
    let inner = Block::bordered().inner(area);
    (usize::from(inner.width), usize::from(inner.height).max(1))
}

/// Where a page is, and what stands beside it.
fn panes(whole: Rect, beside: &[OutputView]) -> (Rect, Rc<[Rect]>) {
    if beside.is_empty() || whole.height < 12 {
        return (whole, Rc::default());
    }
    let halves = [Constraint::Fill(1), Constraint::Fill(1)];
    let [page, rest] = if whole.width >= WIDE {
        Layout::horizontal(halves).areas(whole)
    } else {
        Layout::vertical(halves).areas(whole)
    };
    let each = beside.iter().map(|_| Constraint::Fill(1));
    (page, Layout::vertical(each).split(rest))
}

/// The end of an output, in a pane of its own.
fn draw_beside(frame: &mut Frame<'_>, view: &OutputView, area: Rect, paint: ColorUse) {
    let block = Block::bordered().title(format!(" {} ", view.title));
    let inner = block.inner(area);
    let (columns, most) = (usize::from(inner.width), usize::from(inner.height));
    // A line has at least one row.
    let from = view.lines.len().saturating_sub(most);
    let last = view.lines.get(from..).unwrap_or_default();
    let rows: Vec<_> = last.iter().flat_map(|line| line.wrapped(columns)).collect();
    let from = rows.len().saturating_sub(most);
    let rows = rows.iter().skip(from).map(|row| line_of(row, paint));
    frame.render_widget(Paragraph::new(rows.collect::<Vec<_>>()).block(block), area);
}

/// A question stands in the middle, before whatever else is shown.
fn draw_question(frame: &mut Frame<'_>, question: &ConsoleQuestion, keys: &str, paint: ColorUse) {
    let whole = frame.area();
    let width = whole.width.saturating_sub(4).clamp(1, 100);
    let inner = usize::from(width.saturating_sub(2));
    let lines = question.lines(inner);
    let rows: Vec<_> = lines.iter().map(|row| line_of(row, paint)).collect();
    let height = (rows.len() as u16 + 2).min(whole.height);
    let area = Rect::new(
        whole.x + (whole.width - width) / 2,
        whole.y + (whole.height - height) / 2,
        width,
        height,
    );
    let room = usize::from(height.saturating_sub(2));
    let first = question.first_row(rows.len(), room);
    let rows: Vec<_> = rows.into_iter().skip(first).take(room).collect();
    let title = match question.subject.effects {
        Some(_) => " ! May this become real? ",
        None => " ! May this run? ",
    };
    let block = Block::bordered()
        .title(title)
        .title_bottom(keys)
        .border_style(style_of(Tone::Warning, paint));
    // Nothing stands beside it, so that nothing of it is read as part of something else.
    frame.render_widget(
        Clear,
        Rect {
            x: whole.x,
            width: whole.width,
            ..area
        },
    );
    frame.render_widget(Paragraph::new(rows).block(block), area);
}

fn draw_prompt(frame: &mut Frame<'_>, app: &App, shown: &PromptRows, area: Rect) {
    let (row, column) = (shown.cursor.0 as u16, shown.cursor.1 as u16);
    let hidden = row.saturating_sub(area.height.saturating_sub(1));
    let text = shown.rows.join("\n");
    frame.render_widget(Paragraph::new(text).scroll((hidden, 0)), area);
    let is_covered = app.overlay().is_some() || app.pager().is_some() || app.question().is_some();
    if !is_covered {
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
    // What fits is said, the most important first.
    let ends = overlay.ends_by();
    let parts = [
        (0, &*ends),
        (1, "ctrl-t hides"),
        (2, "input goes to the terminal"),
    ];
    let footer = for_people::fitting(&parts, usize::from(width.saturating_sub(2)));
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
    let switches = [
        (cell.is_bold, Modifier::BOLD),
        (cell.is_dim, Modifier::DIM),
        (cell.is_italic, Modifier::ITALIC),
        (cell.is_underlined, Modifier::UNDERLINED),
        (cell.is_inverse, Modifier::REVERSED),
    ];
    let style = written((cell.foreground, cell.background), switches, paint);
    Span::styled(cell.text.clone(), style)
}

/// What a command wrote, in the colors that it chose.
fn written(
    (foreground, background): (Colour, Colour),
    switches: [(bool, Modifier); 5],
    paint: ColorUse,
) -> Style {
    let mut style = Style::default();
    if paint != ColorUse::None {
        style = style
            .fg(colour_of(foreground, paint))
            .bg(colour_of(background, paint));
    }
    for (_, modifier) in switches.into_iter().filter(|(is_on, _)| *is_on) {
        style = style.add_modifier(modifier);
    }
    style
}

fn style_of_ink(ink: Ink, paint: ColorUse) -> Style {
    let switches = [
        (ink.has(InkStyle::Bold), Modifier::BOLD),
        (ink.has(InkStyle::Dim), Modifier::DIM),
        (ink.has(InkStyle::Italic), Modifier::ITALIC),
        (ink.has(InkStyle::Underlined), Modifier::UNDERLINED),
        (ink.has(InkStyle::Inverse), Modifier::REVERSED),
    ];
    written((ink.foreground, ink.background), switches, paint)
}

/// The color as far as the terminal has it.
fn colour_of(colour: Colour, paint: ColorUse) -> Color {
    match (colour, paint) {
        (Colour::Default, _) | (_, ColorUse::None) => Color::Reset,
        (Colour::Rgb(red, green, blue), ColorUse::All) => Color::Rgb(red, green, blue),
        (Colour::Rgb(red, green, blue), ColorUse::Indexed) => {
            Color::Indexed(palette::of_256([red, green, blue]))
        }
        (Colour::Rgb(red, green, blue), ColorUse::Sixteen) => {
            Color::Indexed(palette::of_16([red, green, blue]))
        }
        (Colour::Indexed(index), ColorUse::Sixteen) if index >= 16 => {
            Color::Indexed(palette::of_16(palette::mixed(index)))
        }
        (Colour::Indexed(index), _) => Color::Indexed(index),
    }
}

fn row_of(row: SeenRow, columns: usize, paint: ColorUse) -> Line<'static> {
    let line = line_of(&row.text.shortened(columns), paint);
    if row.is_selected {
        return line.patch_style(Modifier::REVERSED);
    }
    line
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
            Tone::Found => plain.add_modifier(Modifier::REVERSED),
            Tone::FoundHere => plain.add_modifier(Modifier::REVERSED | Modifier::BOLD),
            Tone::Own(ink) => style_of_ink(ink, paint),
            _ => plain,
        };
    }
    match tone {
        Tone::Plain => plain,
        Tone::Own(ink) => style_of_ink(ink, paint),
        Tone::Found => plain.fg(Color::Black).bg(Color::Yellow),
        Tone::FoundHere => plain
            .fg(Color::Black)
            .bg(Color::Cyan)
            .add_modifier(Modifier::BOLD),
        Tone::Command => plain.add_modifier(Modifier::BOLD),
        Tone::Faint => plain.add_modifier(Modifier::DIM),
        Tone::Good => plain.fg(Color::Green),
        Tone::Bad => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
        Tone::Warning => plain.fg(Color::Yellow),
        Tone::Active => plain.fg(Color::Cyan),
    }
}
