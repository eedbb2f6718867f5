//! The line at which commands are typed: editing, several lines, history.

use crate::render::{StyledLine, Tone, width};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Commands that are remembered.
const MOST_REMEMBERED: usize = 1000;

/// What is being typed.
#[derive(Debug, Default)]
pub(super) struct Prompt {
    text: Vec<char>,
    at: usize,
    history: Vec<String>,
    /// Which history entry is shown, counted from the end; 0 is what was typed.
    back: usize,
    /// What was typed before the user went into the history.
    typed: String,
}

/// Columns before each row of the prompt.
const SIGN: usize = 2;

/// The prompt as it is shown.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PromptRows {
    pub(super) rows: Vec<String>,
    /// The row and the column of the cursor.
    pub(super) cursor: (usize, usize),
}

/// What a line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptLine {
    /// Nothing.
    Blank,
    /// `command` or `!command`: recorded, and part of what an agent may be told.
    Run(String),
    /// `!!command`: recorded, but no agent is told about it.
    RunApart(String),
    /// `{"command": …}`: a call as an agent would make it.
    Call(String),
    /// `/log text` and the like.
    Word(String, String),
}

impl PromptLine {
    /// Reads a line.
    pub(super) fn parse(text: &str) -> Self {
        let text = text.trim();
        let run = |command: &str, kind: fn(String) -> Self| match command.trim() {
            "" => Self::Blank,
            command => kind(command.to_owned()),
        };
        if let Some(command) = text.strip_prefix("!!") {
            run(command, Self::RunApart)
        } else if let Some(command) = text.strip_prefix('!') {
            run(command, Self::Run)
        } else if text.starts_with('{') {
            Self::Call(text.to_owned())
        } else if let Some((word, rest)) = word_of(text) {
            Self::Word(word.to_owned(), rest.trim().to_owned())
        } else {
            run(text, Self::Run)
        }
    }
}

/// The word and what follows it, if a text begins with `/word`. A program's path has a second
/// slash.
fn word_of(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('/')?;
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (!word.contains('/')).then_some((word, rest))
}

impl Prompt {
    /// What is typed so far.
    pub(super) fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// The text before the cursor.
    pub(super) fn before_cursor(&self) -> String {
        self.text.iter().take(self.at).collect()
    }

    /// The prompt in rows of so many columns: what is longer goes on in the next one.
    pub(super) fn rows(&self, columns: usize) -> PromptRows {
        let room = columns.saturating_sub(SIGN).max(2);
        let broken = |line: &str| StyledLine::new(Tone::Plain, line).wrapped(room);
        let text = self.text();
        let mut rows: Vec<StyledLine> = text.split('\n').flat_map(broken).collect();
        let before: Vec<StyledLine> = self.before_cursor().split('\n').flat_map(broken).collect();
        let last = before.last().map_or(0, |row| width(&row.text()));
        let mut cursor = (before.len().saturating_sub(1), last);
        // Behind a full row it stands where the next character will be.
        let is_at_line_end = self.text.get(self.at) == Some(&'\n');
        if last >= room && !is_at_line_end {
            cursor = (cursor.0 + 1, 0);
            if rows.len() <= cursor.0 {
                rows.push(StyledLine::default());
            }
        }
        let sign = |row| if row == 0 { '›' } else { ' ' };
        let rows = rows.iter().enumerate();
        PromptRows {
            rows: rows
                .map(|(row, text)| format!("{} {}", sign(row), text.text()))
                .collect(),
            cursor: (cursor.0, cursor.1 + SIGN),
        }
    }

    /// Puts text in at the cursor.
    pub(super) fn insert(&mut self, text: &str) {
        for character in text.chars().filter(|one| *one == '\n' || !one.is_control()) {
            self.text.insert(self.at, character);
            self.at += 1;
        }
    }

    /// Replaces the whole text.
    pub(super) fn set(&mut self, text: &str) {
        self.text = text.chars().collect();
        self.at = self.text.len();
    }

    /// Takes the line away and remembers it.
    pub(super) fn take(&mut self) -> String {
        let text = self.text();
        self.set("");
        self.back = 0;
        if !text.trim().is_empty() && self.history.last() != Some(&text) {
            self.history.push(text.clone());
            let excess = self.history.len().saturating_sub(MOST_REMEMBERED);
            self.history.drain(..excess);
        }
        text
    }

    /// Edits the text, if the key does that.
    pub(super) fn edit(&mut self, key: &KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('a') if control => self.at = 0,
            KeyCode::Char('e') if control => self.at = self.text.len(),
            KeyCode::Char('u') if control => {
                self.text.drain(..self.at);
                self.at = 0;
            }
            KeyCode::Char('k') if control => self.text.truncate(self.at),
            KeyCode::Char('w') if control => self.remove_word(),
            KeyCode::Char('j') if control => self.insert("\n"),
            KeyCode::Enter if key.modifiers.contains(KeyModifiers::ALT) => self.insert("\n"),
            KeyCode::Char(character) if !control => self.insert(&character.to_string()),
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                self.text.remove(self.at);
            }
            KeyCode::Delete if self.at < self.text.len() => drop(self.text.remove(self.at)),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.text.len()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.len(),
            KeyCode::Up => self.look_back(),
            KeyCode::Down => self.look_forward(),
            _ => {}
        }
    }

    fn remove_word(&mut self) {
        let before = self.text.get(..self.at).unwrap_or_default();
        let blanks = before
            .iter()
            .rev()
            .take_while(|one| one.is_whitespace())
            .count();
        let rest = before.iter().rev().skip(blanks);
        let count = blanks + rest.take_while(|one| !one.is_whitespace()).count();
        self.text.drain(self.at - count..self.at);
        self.at -= count;
    }

    fn look_back(&mut self) {
        if self.back == 0 {
            self.typed = self.text();
        }
        self.show_history((self.back + 1).min(self.history.len()));
    }

    fn look_forward(&mut self) {
        self.show_history(self.back.saturating_sub(1));
    }

    fn show_history(&mut self, back: usize) {
        if back == self.back {
            return;
        }
        self.back = back;
        let at = self.history.len().checked_sub(back);
        let line = at.filter(|_| back > 0).and_then(|at| self.history.get(at));
        let text = line.unwrap_or(&self.typed).clone();
        self.set(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(prompt: &mut Prompt, keys: &[(KeyCode, KeyModifiers)]) {
        for (code, modifiers) in keys {
            prompt.edit(&KeyEvent::new(*code, *modifiers));
        }
    }

    #[test]
    fn lines_are_told_apart() {
        let run = |text: &str| PromptLine::Run(text.to_owned());
        assert_eq!(PromptLine::parse(" ! ls -l "), run("ls -l"));
        assert_eq!(
            PromptLine::parse("!!date"),
            PromptLine::RunApart("date".to_owned())
        );
        assert_eq!(PromptLine::parse("!"), PromptLine::Blank);
        assert_eq!(PromptLine::parse("  "), PromptLine::Blank);
        assert_eq!(PromptLine::parse(" ls -l"), run("ls -l"));
        assert_eq!(PromptLine::parse("/bin/ls /tmp"), run("/bin/ls /tmp"));
        assert_eq!(
            PromptLine::parse(" {\"a"),
            PromptLine::Call("{\"a".to_owned())
        );
        let search = PromptLine::Word("log".to_owned(), "git push".to_owned());
        assert_eq!(PromptLine::parse("/log  git push"), search);
        assert_eq!(
            PromptLine::parse("!for a in b\ndo x\ndone"),
            run("for a in b\ndo x\ndone")
        );
    }

    #[test]
    fn text_is_edited_where_the_cursor_is() {
        let mut prompt = Prompt::default();
        prompt.insert("!echo 日本 two");
        let (none, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        press(
            &mut prompt,
            &[(KeyCode::Char('w'), control), (KeyCode::Char('x'), none)],
        );
        assert_eq!(prompt.text(), "!echo 日本 x");
        press(
            &mut prompt,
            &[
                (KeyCode::Home, none),
                (KeyCode::Delete, none),
                (KeyCode::Char('?'), none),
            ],
        );
        assert_eq!(prompt.text(), "?echo 日本 x");
        press(
            &mut prompt,
            &[
                (KeyCode::End, none),
                (KeyCode::Left, none),
                (KeyCode::Backspace, none),
            ],
        );
        assert_eq!(prompt.text(), "?echo 日本x");
        press(
            &mut prompt,
            &[
                (KeyCode::Enter, KeyModifiers::ALT),
                (KeyCode::Char('k'), control),
            ],
        );
        assert_eq!(prompt.text(), "?echo 日本\n");
    }

    #[test]
    fn what_is_longer_than_a_row_goes_on_in_the_next() {
        let mut prompt = Prompt::default();
        let shown = |prompt: &Prompt| {
            let PromptRows { rows, cursor } = prompt.rows(10);
            (rows.join("|"), cursor)
        };
        assert_eq!(shown(&prompt), ("› ".to_owned(), (0, 2)));
        prompt.insert("echo abc");
        assert_eq!(shown(&prompt), ("› echo abc|  ".to_owned(), (1, 2)));
        prompt.insert("def\n日本語日本");
        assert_eq!(
            shown(&prompt),
            ("› echo abc|  def|  日本語日|  本".to_owned(), (3, 4))
        );
        let up = [(KeyCode::Home, KeyModifiers::NONE)];
        press(&mut prompt, &up);
        assert_eq!(shown(&prompt).1, (0, 2));
        let right = [(KeyCode::Right, KeyModifiers::NONE); 9];
        press(&mut prompt, &right);
        assert_eq!(shown(&prompt).1, (1, 3));
    }

    #[test]
    fn history_goes_back_and_returns_to_what_was_typed() {
        let mut prompt = Prompt::default();
        for line in ["!one", "!two", "!two"] {
            prompt.insert(line);
            assert_eq!(prompt.take(), line);
        }
        prompt.insert("!thr");
        let up = (KeyCode::Up, KeyModifiers::NONE);
        let down = (KeyCode::Down, KeyModifiers::NONE);
        press(&mut prompt, &[up]);
        assert_eq!(prompt.text(), "!two");
        press(&mut prompt, &[up, up, up]);
        assert_eq!(prompt.text(), "!one");
        press(&mut prompt, &[down, down, down]);
        assert_eq!(prompt.text(), "!thr");
    }
}
