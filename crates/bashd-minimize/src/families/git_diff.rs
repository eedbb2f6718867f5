//! Patches: four lines that name one file become one; every line of a hunk stays exactly as it is.

use super::super::sheet::Sheet;

/// The position in a patch.
#[derive(Default)]
pub(super) struct Patch<'a> {
    /// The names of the file in the line `diff --git`.
    file: Option<(&'a str, &'a str)>,
    in_hunk: bool,
}

impl<'a> Patch<'a> {
    /// Takes a line that belongs to a patch.
    pub(super) fn take(&mut self, line: &'a str, sheet: &mut Sheet<'a>) -> bool {
        if let Some(names) = line.strip_prefix("diff --git a/") {
            self.in_hunk = false;
            self.file = names.split_once(" b/");
            match self.file {
                Some((from, to)) if from == to => sheet.keep(&format!("diff {to}")),
                _ => sheet.keep(line),
            }
            return true;
        }
        if line.starts_with("@@ ") || line.starts_with("@@@ ") {
            self.in_hunk = true;
            sheet.keep(line);
            return true;
        }
        if self.in_hunk {
            let is_of_hunk = line.is_empty() || line.starts_with([' ', '+', '-', '\\']);
            self.in_hunk = is_of_hunk;
            if is_of_hunk {
                sheet.keep(line);
            }
            return is_of_hunk;
        }
        let Some((from, to)) = self.file else {
            return false;
        };
        if line.starts_with("index ") {
            sheet.leave("index lines", line);
            return true;
        }
        // They repeat what the first line says, unless one of them is /dev/null: then another line
        // says so.
        let repeats = |start: &str, name: &str| line.strip_prefix(start) == Some(name);
        if repeats("--- a/", from)
            || repeats("+++ b/", to)
            || line == "--- /dev/null"
            || line == "+++ /dev/null"
        {
            sheet.skip("");
            return true;
        }
        false
    }
}
