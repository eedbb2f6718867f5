//! `no_database_loss`: drops or empties what a database holds.

use super::concern::{ProgramCall, Sought, WholeConcern};
use super::options::operands;
use super::pipelines::{has_unknown, holds, near};
use super::tool_rows::{ToolRow, asks};
use super::{Concern, Decision, Rule, RuleJudge};
use crate::script::{CommandOrigin, Joint, Script, SimpleCommand, Span, Word, WordPart};

pub(super) const RULE: Rule = Rule {
    name: "no_database_loss",
    denies: "asks about DROP and TRUNCATE, DELETE without WHERE, dropdb, FLUSHALL, dropDatabase, migrate:fresh",
    message: "this drops or empties tables or a whole database",
    instead: "Make a dump first, work on a copy, or give DELETE a WHERE",
    example: "psql -c 'DROP DATABASE app'",
    judge: RuleJudge::Both(
        &[
            Concern::Programs {
                names: CLIENTS,
                judge: statements,
            },
            Concern::Programs {
                names: &["dropdb", "dropuser"],
                judge: |call| {
                    Decision::ask_if(!operands(call.words).all(is_test) && !call.words.is_empty())
                },
            },
            Concern::Tools(ROWS),
        ],
        WholeConcern {
            names: &[CLIENTS],
            signs: &[],
            judge: fed,
        },
    ),
};

const CLIENTS: &[&str] = &[
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlcmd",
    "cockroach",
    "clickhouse-client",
    "clickhouse",
    "mongosh",
    "mongo",
    "redis-cli",
    "cqlsh",
    "duckdb",
    "usql",
    "pgcli",
    "mycli",
    "influx",
    "valkey-cli",
    "keydb-cli",
    "bq",
    "snowsql",
    "isql",
    "sqlplus",
    "wrangler",
    "turso",
    "pscale",
    "trino",
    "presto",
    "hive",
    "beeline",
    "impala-shell",
    "spark-sql",
    "litecli",
    "osql",
    "surreal",
];

const ROWS: &[ToolRow] = &[
    asks(
        &["mysqladmin", "mariadb-admin"],
        "drop|flush-privileges|shutdown",
    ),
    asks(
        &["rails", "rake", "bin/rails"],
        "db:drop*|db:reset*|db:purge|db:schema:load|db:drop:all|db:migrate:reset",
    ),
    asks(&["bundle"], "exec rails|rake db:drop*|db:reset*"),
    asks(&["prisma"], "migrate reset"),
    asks(&["prisma"], "db push").with(&["--force-reset"]),
    asks(&["npx", "pnpm", "yarn", "bunx"], "prisma migrate reset"),
    asks(&["npx", "pnpm", "yarn", "bunx"], "prisma db push").with(&["--force-reset"]),
    asks(
        &["php", "artisan"],
        "migrate:fresh|migrate:reset|db:wipe|migrate:refresh",
    ),
    asks(&["python", "python3", "django-admin"], "flush|reset_db").without(&["-c"]),
    asks(&["mix"], "ecto.drop|ecto.reset"),
    asks(
        &["knex", "sequelize", "sequelize-cli", "typeorm"],
        "db:drop|schema:drop|migrate:rollback|db:migrate:undo:all",
    )
    .with(&["--all"]),
    asks(
        &["sequelize", "sequelize-cli", "typeorm"],
        "db:drop|schema:drop",
    ),
    asks(&["alembic"], "downgrade base"),
    asks(&["sqlx", "diesel"], "database|db drop|reset"),
    asks(&["dotnet"], "ef database drop"),
    asks(&["hasura"], "migrate apply").with(&["--down"]),
    asks(&["pg_dropcluster", "pg_resetwal"], ""),
    asks(&["pg_restore"], "").with(&["-c", "--clean"]),
    asks(&["mongorestore"], "").with(&["--drop"]),
    asks(&["influx"], "delete"),
    asks(&["flyway"], "clean"),
    asks(&["liquibase"], "drop-all|dropAll"),
    asks(&["elasticsearch-users"], "userdel"),
    asks(&["drizzle-kit"], "drop"),
    asks(&["drizzle-kit"], "push").with(&["--force"]),
    asks(
        &["python", "python3", "django-admin", "manage.py"],
        "migrate zero",
    ),
    asks(&["manage.py"], "flush|reset_db"),
    asks(&["npx", "pnpm", "yarn", "bunx"], "drizzle-kit push").with(&["--force"]),
    asks(&["goose"], "reset"),
    asks(&["goose"], "down-to 0"),
    asks(&["migrate", "dbmate"], "drop"),
    asks(&["atlas"], "schema clean"),
    asks(
        &["symfony", "console", "php", "doctrine"],
        "doctrine:database:drop|doctrine:schema:drop|orm:schema-tool:drop",
    )
    .with(&["--force", "-f"]),
    asks(&["wp"], "db reset|drop|clean"),
    asks(&["drush"], "sql-drop|sql:drop|site-install"),
];

/// A database whose name says that it is for tests.
fn is_test(word: &Word) -> bool {
    let text = word.known().unwrap_or_default().to_ascii_lowercase();
    text.contains("test")
        || text.contains("tmp")
        || text == ":memory:"
        || text.starts_with("/tmp/")
        || text.contains("scratch")
}

fn statements(call: &ProgramCall<'_>) -> Decision {
    let here = call
        .command
        .redirects
        .iter()
        .map(|redirect| &redirect.target);
    let texts = call.words.iter().chain(here);
    let named: Vec<&Word> = operands(call.words).take(2).collect();
    let names_test = named
        .iter()
        .any(|word| is_test(word) && word.known().is_some_and(|text| !text.contains(' ')));
    let loses = texts.map(text_of).any(|text| is_loss_of_text(&text));
    let joined: Vec<String> = call.words.iter().map(text_of).collect();
    let by_words = is_cache(call.command) && is_loss(&joined.join(" "));
    Decision::ask_if((loses || by_words) && !names_test)
}

/// What is known of a word, with blanks for the rest.
fn text_of(word: &Word) -> String {
    let mut text = String::new();
    for part in &word.parts {
        match part {
            WordPart::Text(known) | WordPart::Glob(known) => text.push_str(known),
            WordPart::Tilde(_) | WordPart::Variable { .. } | WordPart::Unknown { .. } => {
                text.push(' ');
            }
        }
    }
    text
}

/// Whether a text has a statement that drops or empties something, however its comments are read.
fn is_loss_of_text(text: &str) -> bool {
    if !text.contains("--") && !text.contains("/*") && !text.contains('#') {
        return is_loss(text);
    }
    is_loss(&without_comments(text, false))
        || text.contains('#') && is_loss(&without_comments(text, true))
}

/// A text with a blank in place of each comment; `has_hashes` if `#` begins one, as for `mysql`,
/// which also runs what stands in `/*! … */`.
fn without_comments(text: &str, has_hashes: bool) -> String {
    let mut plain = String::new();
    let mut rest = text;
    let mut quote = None;
    while let Some(first) = rest.chars().next() {
        let behind = rest.get(first.len_utf8()..).unwrap_or_default();
        let is_lined = rest.starts_with("--") && !plain.is_empty() || has_hashes && first == '#';
        if quote.is_some() {
            quote = quote.filter(|quote| *quote != first);
        } else if matches!(first, '\'' | '"' | '`') && behind.contains(first) {
            quote = Some(first);
        } else if is_lined {
            rest = rest
                .find('\n')
                .and_then(|end| rest.get(end..))
                .unwrap_or_default();
            plain.push(' ');
            continue;
        } else if let Some(inner) = rest.strip_prefix("/*!") {
            rest = inner.trim_start_matches(|c: char| c.is_ascii_digit());
            continue;
        } else if let Some(inner) = rest.strip_prefix("/*") {
            rest = inner.split_once("*/").map_or("", |(_, after)| after);
            plain.push(' ');
            continue;
        } else if let Some(after) = rest.strip_prefix("*/") {
            rest = after;
            plain.push(' ');
            continue;
        }
        plain.push(first);
        rest = behind;
    }
    plain
}

/// Whether a text has a statement that drops or empties something.
fn is_loss(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let lower = lower.replace(['\n', '\t', '"', '`'], " ");
    let has = |part: &str| lower.contains(part);
    let mut words = lower
        .split([' ', ';', '(', ')', ','])
        .filter(|word| !word.is_empty())
        .peekable();
    let mut drops = false;
    while let Some(word) = words.next() {
        let next = words.peek().copied().unwrap_or_default();
        drops |= word == "drop"
            && matches!(
                next,
                "database"
                    | "table"
                    | "schema"
                    | "owned"
                    | "user"
                    | "role"
                    | "keyspace"
                    | "tables"
                    | "collection"
                    | "materialized"
            )
            || word == "truncate" && !next.is_empty() && next != "-s"
            || matches!(word, "flushall" | "flushdb");
    }
    let parts: Vec<&str> = lower.split(';').collect();
    let unbounded = parts.iter().any(|statement| {
        let statement = statement.trim();
        let at = statement.find("delete from");
        let update = statement
            .find("update ")
            .filter(|_| statement.contains(" set "));
        let is_start = |at: usize| {
            at == 0
                || statement
                    .get(..at)
                    .is_some_and(|before| before.ends_with([' ', '\'']))
        };
        let condition = statement.split_once("where").map(|(_, after)| after.trim());
        let selects = condition.is_some_and(|condition| {
            !matches!(
                condition.trim_end_matches('\''),
                "true" | "1" | "1=1" | "1 = 1"
            )
        });
        (at.is_some_and(is_start) || update.is_some_and(|at| at == 0))
            && !selects
            && !statement.contains("limit")
    });
    let mongo = has("dropdatabase(")
        || has(".drop(")
        || has("deletemany({})")
        || has(".remove({})")
        || has("deletemany( {} )");
    drops || unbounded || mongo
}

/// `echo 'DROP TABLE x' | mysql`: statements that another command writes into the client.
fn fed(script: &Script, sought: Sought<'_>) -> Option<(Decision, Span)> {
    let loses = |source: &SimpleCommand| {
        let here = source.redirects.iter().map(|redirect| &redirect.target);
        let texts: Vec<String> = source.arguments().iter().chain(here).map(text_of).collect();
        is_loss_of_text(&texts.join(" "))
    };
    let prints = |other: &SimpleCommand| matches!(other.name(), Some("echo" | "printf" | "cat"));
    sought.commands().find_map(|(at, client)| {
        let is_for_tests = operands(client.arguments()).any(is_test);
        if is_for_tests {
            return None;
        }
        // `mysql < <(echo 'DROP TABLE x')`
        let inside = |other: &SimpleCommand| {
            let mut targets = client.redirects.iter();
            targets.any(|redirect| holds(&redirect.target, other))
        };
        if client
            .redirects
            .iter()
            .any(|redirect| has_unknown(&redirect.target))
            && near(script, at)
                .iter()
                .any(|other| prints(other) && inside(other) && loses(other))
        {
            return Some((Decision::Ask, client.span));
        }
        // `redis-cli KEYS '*' | xargs redis-cli DEL`
        if is_cache(client) && deletes_list(client) {
            return Some((Decision::Ask, client.span));
        }
        if client.place.joint != Joint::Pipe {
            return None;
        }
        let before = script.commands.get(..at)?.iter().rev().take(8);
        let mut sources = before.filter(|other| {
            other.place.pipeline == client.place.pipeline
                && other.place.stage + 1 == client.place.stage
                && other.origin == CommandOrigin::Written
        });
        // `manage.py sqlflush` prints what empties every table.
        let empties = |other: &SimpleCommand| other.arguments().iter().any(|it| it.is("sqlflush"));
        let source = sources.find(|other| prints(other) || empties(other))?;
        (loses(source) || empties(source)).then_some((Decision::Ask, client.span))
    })
}

fn is_cache(client: &SimpleCommand) -> bool {
    matches!(
        client.name(),
        Some("redis-cli" | "valkey-cli" | "keydb-cli")
    )
}

fn deletes_list(client: &SimpleCommand) -> bool {
    let mut words = client.arguments().iter();
    let deletes = |word: &Word| {
        let text = word.known().unwrap_or_default();
        text.eq_ignore_ascii_case("del") || text.eq_ignore_ascii_case("unlink")
    };
    words.any(deletes) && words.any(super::no_git_discard::is_list)
}
