//! Keys by name, and the bytes that a program expects for them.
//!
//! Names are those of tmux and emacs: `Up`, `F5`, `Enter`, `C-c`, `M-x`, `S-Tab`, `C-M-Left`. The
//! bytes are xterm's, in application cursor mode if the program asked for it, or those of the Kitty
//! keyboard protocol if it asked for that.

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    /// The key.
    pub code: Code,
    /// Shift, Alt, Ctrl.
    pub modifiers: Modifiers,
}

/// A key without modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "keys are called what they are called")]
pub enum Code {
    /// The key that writes this character.
    Character(char),
    /// `F1` to `F12`.
    Function(u8),
    Up,
    Down,
    Right,
    Left,
    Home,
    End,
    Insert,
    Delete,
    PageUp,
    PageDown,
    Enter,
    Tab,
    Backspace,
    Escape,
}

/// The modifiers of a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "keys are called what they are called")]
pub struct Modifiers {
    pub shift: bool,
    pub alt: bool,
    pub control: bool,
}

/// How a program wants its keys encoded.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct KeyModes {
    /// Arrows, `Home` and `End` in their application form.
    pub application_cursor: bool,
    /// A paste between markers.
    pub bracketed_paste: bool,
    /// Flags of the Kitty keyboard protocol; 0 is xterm's encoding.
    pub kitty: u8,
}

/// Keys whose name is a word, each first by the name that lists show.
const NAMES: &[(&str, Code)] = &[
    ("Enter", Code::Enter),
    ("Return", Code::Enter),
    ("Tab", Code::Tab),
    ("Escape", Code::Escape),
    ("Esc", Code::Escape),
    ("Space", Code::Character(' ')),
    ("Backspace", Code::Backspace),
    ("BSpace", Code::Backspace),
    ("Up", Code::Up),
    ("Down", Code::Down),
    ("Left", Code::Left),
    ("Right", Code::Right),
    ("Home", Code::Home),
    ("End", Code::End),
    ("PageUp", Code::PageUp),
    ("PPage", Code::PageUp),
    ("PageDown", Code::PageDown),
    ("NPage", Code::PageDown),
    ("Insert", Code::Insert),
    ("IC", Code::Insert),
    ("Delete", Code::Delete),
    ("DC", Code::Delete),
];

/// The names of the keys, for people: `Enter, Tab, …, F1 to F12`.
pub(crate) fn names() -> String {
    let mut listed: Vec<Code> = Vec::new();
    let mut names = String::new();
    for (name, code) in NAMES {
        if !listed.contains(code) {
            listed.push(*code);
            names.extend([name, ", "]);
        }
    }
    names + "F1 to F12"
}

/// Flags of the Kitty protocol: keys that write text are sent as escape codes, too.
const KITTY_ALL_KEYS: u8 = 8;

impl KeyPress {
    /// The key of that name, ignoring case; a single character is its own name.
    pub fn named(name: &str) -> Option<Self> {
        let mut modifiers = Modifiers::default();
        let mut rest = name;
        while let Some((modifier, key)) = rest.split_once('-').filter(|(_, key)| !key.is_empty()) {
            match modifier {
                "C" | "c" | "Ctrl" | "ctrl" => modifiers.control = true,
                "M" | "m" | "A" | "a" | "Alt" | "alt" => modifiers.alt = true,
                "S" | "s" | "Shift" | "shift" => modifiers.shift = true,
                _ => break,
            }
            rest = key;
        }
        let code = Code::named(rest)?;
        Some(Self { code, modifiers })
    }

    /// The bytes that this key sends.
    pub fn bytes(self, modes: KeyModes) -> Vec<u8> {
        if modes.kitty != 0
            && let Some(bytes) = self.kitty_bytes(modes.kitty)
        {
            return bytes;
        }
        let modified = self.modifiers.number();
        match self.code {
            Code::Character(character) => self.with_alt(character_bytes(character, self.modifiers)),
            Code::Enter => self.with_alt(b"\r".to_vec()),
            Code::Escape => self.with_alt(b"\x1b".to_vec()),
            Code::Tab if self.modifiers.shift => self.with_alt(b"\x1b[Z".to_vec()),
            Code::Tab => self.with_alt(b"\t".to_vec()),
            Code::Backspace if self.modifiers.control => self.with_alt(b"\x08".to_vec()),
            Code::Backspace => self.with_alt(b"\x7f".to_vec()),
            code => match code.form() {
                Some(KeyForm::Letter(letter)) if modified > 1 => {
                    format!("\x1b[1;{modified}{letter}").into_bytes()
                }
                Some(KeyForm::Letter(letter)) => {
                    let is_function = matches!(code, Code::Function(_));
                    let is_single = is_function || modes.application_cursor && modes.kitty == 0;
                    let introducer = if is_single { 'O' } else { '[' };
                    format!("\x1b{introducer}{letter}").into_bytes()
                }
                Some(KeyForm::Number(number)) => tilde(number, modified),
                None => Vec::new(),
            },
        }
    }

    /// The bytes of the Kitty protocol, if they differ from xterm's.
    fn kitty_bytes(self, flags: u8) -> Option<Vec<u8>> {
        let modified = self.modifiers.number();
        let number = match self.code {
            Code::Escape => 27,
            Code::Enter | Code::Tab | Code::Backspace
                if modified == 1 && flags & KITTY_ALL_KEYS == 0 =>
            {
                return None;
            }
            Code::Enter => 13,
            Code::Tab => 9,
            Code::Backspace => 127,
            Code::Character(character) => {
                let writes_text = !self.modifiers.control && !self.modifiers.alt;
                if writes_text && flags & KITTY_ALL_KEYS == 0 {
                    return None;
                }
                u32::from(character.to_lowercase().next().unwrap_or(character))
            }
            // The old letter of F3 is also the answer to a cursor position query.
            Code::Function(3) => return Some(tilde(13, modified)),
            Code::Function(number @ 1..=4) if modified == 1 => {
                let letter = char::from(b'O' + number);
                return Some(format!("\x1b[{letter}").into_bytes());
            }
            _ => return None,
        };
        let bytes = match modified {
            1 => format!("\x1b[{number}u"),
            _ => format!("\x1b[{number};{modified}u"),
        };
        Some(bytes.into_bytes())
    }

    fn with_alt(self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.modifiers.alt {
            bytes.insert(0, 0x1b);
        }
        bytes
    }
}

/// How a key without a character is encoded.
enum KeyForm {
    Letter(char),
    Number(u8),
}

impl Code {
    fn named(name: &str) -> Option<Self> {
        let mut characters = name.chars();
        if let (Some(only), None) = (characters.next(), characters.next()) {
            return Some(Self::Character(only));
        }
        let known = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, code)| *code).or_else(|| {
            let number = name.strip_prefix(['F', 'f'])?.parse().ok()?;
            (1..=12).contains(&number).then_some(Self::Function(number))
        })
    }

    fn form(self) -> Option<KeyForm> {
        Some(match self {
            Self::Up => KeyForm::Letter('A'),
            Self::Down => KeyForm::Letter('B'),
            Self::Right => KeyForm::Letter('C'),
            Self::Left => KeyForm::Letter('D'),
            Self::End => KeyForm::Letter('F'),
            Self::Home => KeyForm::Letter('H'),
            Self::Insert => KeyForm::Number(2),
            Self::Delete => KeyForm::Number(3),
            Self::PageUp => KeyForm::Number(5),
            Self::PageDown => KeyForm::Number(6),
            Self::Function(number @ 1..=4) => KeyForm::Letter(char::from(b'O' + number)),
            Self::Function(5) => KeyForm::Number(15),
            Self::Function(number @ 6..=10) => KeyForm::Number(number + 11),
            Self::Function(number @ 11..=12) => KeyForm::Number(number + 12),
            Self::Function(_)
            | Self::Character(_)
            | Self::Enter
            | Self::Tab
            | Self::Backspace
            | Self::Escape => return None,
        })
    }
}

impl Modifiers {
    /// The number that encodes modifiers in escape sequences.
    fn number(self) -> u8 {
        1 + u8::from(self.shift) + 2 * u8::from(self.alt) + 4 * u8::from(self.control)
    }
}

fn tilde(number: u8, modified: u8) -> Vec<u8> {
    match modified {
        1 => format!("\x1b[{number}~").into_bytes(),
        _ => format!("\x1b[{number};{modified}~").into_bytes(),
    }
}

fn character_bytes(character: char, modifiers: Modifiers) -> Vec<u8> {
    let control = match character {
        _ if !modifiers.control => None,
        'a'..='z' | 'A'..='Z' => Some(character.to_ascii_uppercase() as u8 - b'@'),
        '@' | ' ' | '2' => Some(0),
        '[' | '3' => Some(0x1b),
        '\\' | '4' => Some(0x1c),
        ']' | '5' => Some(0x1d),
        '^' | '6' => Some(0x1e),
        '_' | '7' | '/' => Some(0x1f),
        '?' | '8' => Some(0x7f),
        _ => None,
    };
    match control {
        Some(byte) => vec![byte],
        None if modifiers.shift => character.to_uppercase().collect::<String>().into_bytes(),
        None => character.to_string().into_bytes(),
    }
}

/// A text as a paste: between markers if the program asked for them, and unable to end the paste
/// early. Lines end as the key `Enter` ends them.
pub fn paste(text: &str, modes: KeyModes) -> Vec<u8> {
    let text = text.replace("\r\n", "\n").replace('\n', "\r");
    if modes.bracketed_paste {
        let text: String = text.chars().filter(|one| *one != '\u{1b}').collect();
        return format!("\x1b[200~{text}\x1b[201~").into_bytes();
    }
    text.into_bytes()
}

/// What a text names: a key that is pressed once (`F12`), or the same twice (`C-] C-]`, then true).
/// A single character is no name: it is typed all the time.
pub fn once_or_twice(text: &str) -> Option<(KeyPress, bool)> {
    let key = |name: &str| KeyPress::named(name).filter(|_| name.chars().count() > 1);
    let mut names = text.split_whitespace();
    let first = key(names.next()?)?;
    match (names.next(), names.next()) {
        (None, _) => Some((first, false)),
        (Some(second), None) => (key(second)? == first).then_some((first, true)),
        (Some(_), Some(_)) => None,
    }
}
