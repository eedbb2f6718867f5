//! The table of past calls: at a terminal two lines for each, elsewhere one.

use super::result;
use crate::failure::Failure;
use crate::for_people::{self, one_line};
use crate::print::{BufferedStdout, Paint, Printer};
use bashd::ledger::Record;
use jiff::tz::TimeZone;

/// Columns before the command at a terminal.
const BEFORE: usize = 19 + 2 + 9 + 2 + 6 + 2 + 7 + 2;

/// How rows look.
pub(super) struct LogTable {
    zone: TimeZone,
    /// Of the terminal, if there is one.
    columns: Option<usize>,
}

impl LogTable {
    /// For where stdout goes.
    pub(super) fn of(zone: TimeZone) -> Self {
        let columns = Printer::columns().filter(|_| Printer::is_terminal());
        Self { zone, columns }
    }

    /// The names of the columns.
    pub(super) fn title(&self, page: &mut BufferedStdout) -> Result<(), Failure> {
        let title = match self.columns {
            Some(_) => format!(
                "{:<19}  {:<9}  {:>6}  {:>7}  {}",
                "TIME", "RESULT", "TOOK", "OUTPUT", "COMMAND"
            ),
            None => format!(
                "{:<19}  {:<20}  {:<8}  {:<18}  {:<8}  {:<9}  {:>6}  {:>7}  {:<20}  {}",
                "TIME",
                "ID",
                "PROFILE",
                "OWNER",
                "SESSION",
                "RESULT",
                "TOOK",
                "OUTPUT",
                "CWD",
                "COMMAND"
            ),
        };
        page.line(page.paint(Paint::Title, &title))
    }

    /// One call.
    pub(super) fn row(&self, page: &mut BufferedStdout, record: &Record) -> Result<(), Failure> {
        let time = record.time.to_zoned(self.zone.clone());
        let time = time.strftime("%Y-%m-%d %H:%M:%S").to_string();
        let paint = if record.failed() {
            Paint::Bad
        } else {
            Paint::Good
        };
        let result = page.paint(paint, &format!("{:<9}", result(record)));
        let took = for_people::duration(record.wall_ms);
        let output = for_people::size(record.output_bytes);
        let command = one_line(&record.command);
        let session = record.session.as_deref().map(|name| match name {
            "" => "(own)".to_owned(),
            name => one_line(name),
        });
        let Some(columns) = self.columns else {
            return page.line(format_args!(
                "{time:<19}  {:<20}  {:<8}  {:<18}  {:<8}  {result}  {took:>6}  {output:>7}  {:<20}  {command}",
                record.id,
                one_line(&record.profile),
                or_dash(one_line(&record.owner)),
                or_dash(session.unwrap_or_default()),
                or_dash(one_line(&record.cwd)),
            ));
        };
        let before = format!("{time:<19}  {result}  {took:>6}  {output:>7}  ");
        for line in for_people::entry(&before, BEFORE, &command, columns) {
            page.line(line)?;
        }
        let session = session.map(|name| format!("session {name}"));
        let about = [
            Some(one_line(&record.owner)),
            session,
            Some(one_line(&record.profile)),
            Some(one_line(&record.cwd)),
            Some(record.id.clone()),
        ];
        let about = about.into_iter().flatten().filter(|part| !part.is_empty());
        let about = about.collect::<Vec<_>>().join(" · ");
        for line in for_people::wrapped(&about, 4, Some(columns)) {
            page.line(page.paint(Paint::Faint, &format!("    {line}")))?;
        }
        Ok(())
    }
}

fn or_dash(text: String) -> String {
    if text.is_empty() {
        return "-".to_owned();
    }
    text
}
