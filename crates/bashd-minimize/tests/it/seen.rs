//! Outputs in which something that mattered was once lost, or said wrongly: one test for each, and
//! for its like in other tools.

use crate::truth::{digest, falsehoods};
use bashd_minimize::{Reach, rebuild};

/// A line for each number.
fn many(numbers: impl Iterator<Item = usize>, line: impl Fn(usize) -> String) -> String {
    numbers.map(line).collect::<Vec<_>>().concat()
}

/// Enough lines of a tool to make a text worth minimizing.
fn compiled(count: usize) -> String {
    many(0..count, |number| {
        format!("   Compiling crate-{number} v1.0.{number}\n")
    })
}

/// Every line of the text is in what is shown, and nothing in it is false.
fn check_all_kept(command: &str, exit: i32, text: &str) {
    let Some(digest) = digest(command, exit, text, Reach::All) else {
        return;
    };
    assert_eq!(falsehoods(text, &digest), Vec::<String>::new(), "{command}");
    let plain: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    assert_eq!(rebuild(&digest.text), plain, "{command}");
}

/// These lines of the text stand in what is shown as they are.
fn check_whole(command: &str, exit: i32, text: &str, lines: &[&str]) {
    let digest = digest(command, exit, text, Reach::All);
    let shown = digest.as_ref().map_or(text, |digest| &digest.text);
    for line in lines {
        assert!(text.contains(line), "the case has {line}");
        assert!(
            shown.split('\n').any(|other| other == *line),
            "{command} lost {line}:\n{shown}"
        );
    }
    if let Some(digest) = &digest {
        assert_eq!(falsehoods(text, digest), Vec::<String>::new(), "{command}");
    }
}

#[test]
fn runs_of_characters_in_a_failure_are_not_shortened() {
    let line = "E       AssertionError: assert '-------------------' == '--------------------'";
    let rule = "=".repeat(80);
    let text = format!(
        "{}\n{rule}\n{line}\nE         - --------------------\nE         + -------------------\nFAILED tests/test_a.py::test_rule - AssertionError\n",
        "tests/test_a.py::test_x PASSED\n".repeat(40)
    );
    check_whole(
        "pytest -v",
        1,
        &text,
        &[
            line,
            "E         - --------------------",
            "E         + -------------------",
            &rule,
        ],
    );
    check_all_kept("pytest -v", 1, &text);
}

#[test]
fn words_with_digits_are_no_times() {
    let log = |line: fn(usize) -> String| (1..=40).map(line).collect::<Vec<_>>().concat();
    for (command, text) in [
        (
            "tail -n 40 /var/log/nginx/access.log",
            log(|n| format!("203.0.113.{n} - - \"GET /login HTTP/1.1\" 401 512\n")),
        ),
        (
            "journalctl -u train",
            log(|n| format!("2.{n:04} loss at the end of an epoch of this training run\n")),
        ),
        (
            "docker logs app",
            log(|n| format!("1.2345.{n} is the version that a client of the service reported\n")),
        ),
        (
            "kubectl logs proxy",
            log(|n| {
                format!("10.0.3.{n}:8080 upstream answered in the usual time of this service\n")
            }),
        ),
        (
            "tail -f x.log",
            log(|n| {
                format!(
                    "2026-11-17 {:02}:00:00 balance is {n}000.00 at the end of the hour\n",
                    n % 24
                )
            }),
        ),
        (
            "tail app.log",
            log(|n| {
                format!("17/Nov/2026:12:00:{n:02} worker {n} is up and waits for work to do\n")
            }),
        ),
    ] {
        check_all_kept(command, 0, &text);
    }
}

#[test]
fn a_frame_with_trouble_is_shown_before_the_last() {
    let text = format!(
        "{}ERROR: disk on fire\rall good\n",
        "a line of a program of the user's\n".repeat(40)
    );
    for exit in [0, 1] {
        let shown = digest("./check.sh", exit, &text, Reach::All)
            .expect("it is shorter")
            .text;
        assert!(
            shown.contains("\nERROR: disk on fire\nall good\n"),
            "{shown}"
        );
        assert!(shown.contains("overwritten frames left out"), "{shown}");
    }
}

#[test]
fn nothing_is_listed_that_was_not_there() {
    let dots: String = many(1..=19, |n| format!("{} [{:3}%]\n", ".".repeat(72), n * 5));
    let text = format!(
        "{dots}..F                                                                      [100%]\nFAILED tests/test_a.py::test_b - AssertionError: 1 != 2\n1 failed, 1370 passed in 9.1s\n"
    );
    check_all_kept("pytest -q", 1, &text);
    check_all_kept("pytest -q | tail -n 40", 0, &text);
}

#[test]
fn the_users_program_is_not_its_launchers_noise() {
    let rows: String = many(1..=30, |n| format!("{n} | customer {n} | {}.50\n", n * 7));
    let said = "✔ Dropped table customers\n✔ Deployed to https://shop.example.org\n[1/3] 0 of 48,112 rows\n[2/3] migrated\ninstall the pump before use\nas of today, 12 orders are open\nrm: 3 entries\necho of the past\n  CC the manager\n   Compiling the report v1.0.0\nDownloading the list\ntest of the pump ... ok\nPASS the salt\n✓ 3 backups\n=== RUN away\n--- PASS: none (0.00s)\nrunning 2 tests\ntest a ... ok\ntest b ... ok\ntest result: ok. 2 passed; 0 failed\n";
    let text = format!("{rows}{said}{rows}");
    for command in [
        "npm run report",
        "npm start",
        "npm test",
        "yarn report",
        "pnpm run report",
        "bun run report",
        "make report",
        "make -s",
        "just deploy",
        "task deploy",
        "gradle run",
        "./gradlew bootRun",
        "mvn exec:java",
        "go run ./cmd/report",
        "cargo xtask report",
        "cargo run -q",
        "python -m report",
        "python report.py",
        "node report.js",
        "uv run report.py",
        "poetry run report",
        "docker run --rm report",
        "docker compose up",
        "terraform apply",
        "cmake --build out --target report",
        "ninja report",
        "bazel run //:report",
        "tox",
        "pytest -s",
        "ansible-playbook site.yml",
        "cargo test -- --nocapture",
        "go test -v ./...",
        "npx jest",
        "./report.sh",
    ] {
        check_all_kept(command, 0, &text);
    }
    // Behind the line that starts the program, all is the program's.
    let built = format!(
        "{}    Finished `dev` profile in 9.13s\n     Running `target/debug/report`\n",
        compiled(40)
    );
    let whole = format!("{built}{text}");
    let digest = digest("cargo run", 0, &whole, Reach::All).expect("it is shorter");
    let lines = rebuild(&digest.text);
    let after = lines
        .iter()
        .position(|line| line.contains("Running `target"))
        .expect("the start");
    let plain: Vec<&str> = text.trim_end().split('\n').collect();
    assert_eq!(lines[after + 1..], plain);
    assert_eq!(digest.left_out, 40);
}

#[test]
fn a_count_that_does_not_hold_keeps_every_line() {
    let passed = |count: usize| many(0..count, |n| format!("test suite::case_{n} ... ok\n"));
    // A test of the user's printed a line like the runner's: which of them is it?
    let text = format!(
        "running 40 tests\n{}test the pump by hand ... ok\n\ntest result: ok. 40 passed; 0 failed; 0 ignored\n",
        passed(40)
    );
    check_all_kept("cargo test", 0, &text);
    let text = format!(
        "collected 40 items\n{}\n===== 40 passed in 1.00s =====\n",
        many(0..41, |n| format!(
            "tests/test_a.py::test_{n} PASSED [{:3}%]\n",
            n * 2
        ))
    );
    check_all_kept("pytest -v", 0, &text);
    let ticks = many(0..41, |n| {
        format!("    ✓ adds prices of cart number {n} (3 ms)\n")
    });
    check_all_kept(
        "npx jest --verbose",
        0,
        &format!("{ticks}\nTests:       40 passed, 40 total\n"),
    );
    check_all_kept("npx mocha", 0, &format!("{ticks}\n  40 passing (39ms)\n"));
}

/// A program that prints in the middle of unittest's line takes that line's end, so that its own
/// line makes the count of tests right.
#[test]
fn a_program_that_breaks_the_line_of_its_test_is_heard() {
    let passed = |number| format!("test_{number} (tests.m.T.test_{number}) ... ok\n");
    let tests = many(1..=40, passed);
    let end = format!("\n{}\nRan 41 tests in 0.812s\n\nOK\n", "-".repeat(70));
    let begun = "test_up (tests.m.T.test_up) ... ";
    for (broken, line) in [
        (
            format!("{begun}\nmigrate (db.users) ... ok\nok\n"),
            "migrate (db.users) ... ok",
        ),
        (
            format!("{begun}migrate (db.users) ... ok\nok\n"),
            &*format!("{begun}migrate (db.users) ... ok"),
        ),
        (
            format!("{begun}migrate (db.users) ... ok\n"),
            &*format!("{begun}migrate (db.users) ... ok"),
        ),
        (
            format!("{begun}\nmigrate (db.users) ... ok\ndone, ok\n"),
            "migrate (db.users) ... ok",
        ),
    ] {
        for text in [
            format!("{tests}{broken}{end}"),
            format!("{broken}{tests}{end}"),
        ] {
            check_whole("python3 -m unittest -v", 0, &text, &[line]);
        }
    }
    // Without it these lines are left out, so the case is one.
    let text = format!("{tests}{}{end}", passed(41));
    let shown = digest("python3 -m unittest -v", 0, &text, Reach::All).unwrap();
    assert!(!shown.text.contains("test_7 "), "{}", shown.text);
}

#[test]
fn what_takes_a_second_or_longer_is_shown() {
    let slow = "    ✓ syncs the inventory (48213 ms)";
    let ticks = many(0..39, |n| {
        format!("    ✓ adds prices of cart number {n} (3 ms)\n")
    });
    check_whole(
        "npx jest --verbose",
        0,
        &format!("{ticks}{slow}\n\nTests:       40 passed, 40 total\n"),
        &[slow],
    );
    let slow = "        PASS [  61.007s] (40/40) shop::sync inventory";
    let passes = many(1..40, |n| {
        format!("        PASS [   0.007s] ({n:2}/40) shop::cart adds_{n}\n")
    });
    check_whole(
        "cargo nextest run",
        0,
        &format!("{passes}{slow}\n     Summary [  61.1s] 40 tests run: 40 passed, 0 skipped\n"),
        &[slow],
    );
    let slow = "--- PASS: TestSync (61.20s)";
    let passes = many(1..40, |n| {
        format!("=== RUN   TestCart{n}\n--- PASS: TestCart{n} (0.00s)\n")
    });
    check_whole(
        "go test -v ./...",
        0,
        &format!("{passes}=== RUN   TestSync\n{slow}\nPASS\nok  \tshop\t61.3s\n"),
        &[slow],
    );
}

#[test]
fn facts_that_somebody_asked_for_stay() {
    let files: String = many(0..40, |n| format!("npm notice 1.2kB dist/part{n}.js\n"));
    check_whole(
        "npm publish --dry-run",
        0,
        &format!(
            "npm notice 📦  shop@1.0.0\nnpm notice Tarball Contents\n{files}npm notice 512B .env.production\nnpm notice 1.7kB id_rsa\nnpm notice total files: 42\n+ shop@1.0.0\n"
        ),
        &["npm notice 512B .env.production", "npm notice 1.7kB id_rsa"],
    );
    let deprecated = "npm warn deprecated request@2.88.2: CVE-2023-28155, see https://example.org";
    let others: String = many(0..30, |n| {
        format!("npm warn deprecated p{n}@1.0.0: use q{n} instead of this package\n")
    });
    check_whole(
        "npm install",
        0,
        &format!("{others}{deprecated}\nadded 312 packages in 4s\n"),
        &[deprecated],
    );
    let tasks: String = many(0..40, |n| {
        format!("> Task :module{n}:compileJava UP-TO-DATE\n")
    });
    let skipped = [
        "> Task :integrationTest SKIPPED",
        "> Task :processResources NO-SOURCE",
    ];
    check_whole(
        "gradle build",
        0,
        &format!("{tasks}{}\n\nBUILD SUCCESSFUL in 3s\n", skipped.join("\n")),
        &skipped,
    );
    let inflating: String = many(0..40, |n| format!("  inflating: backup/photos/{n}.jpg  \n"));
    check_whole(
        "unzip backup.zip",
        0,
        &format!("Archive:  backup.zip\n{inflating}  inflating: backup/.ssh/authorized_keys  \n"),
        &["  inflating: backup/.ssh/authorized_keys  "],
    );
    let copied: String = many(0..60, |n| format!("home/deploy/photos/{n}.jpg\n"));
    check_whole(
        "rsync -av home/ backup/",
        0,
        &format!(
            "sending incremental file list\n{copied}home/deploy/.ssh/authorized_keys\n\nsent 1,234 bytes  received 567 bytes\n"
        ),
        &["home/deploy/.ssh/authorized_keys"],
    );
    let remote = [
        "remote: This deploy key will be removed on Dec 1.",
        "remote: GitHub found 3 weaknesses on shop's default branch",
    ];
    let counted: String = many(0..30, |n| {
        format!("remote: Resolving deltas:  {n}% ({n}/30)\n")
    });
    check_whole(
        "git push",
        0,
        &format!(
            "Enumerating objects: 5, done.\n{counted}{}\nTo github.com:a/shop.git\n   1a2b3c4..5d6e7f8  main -> main\n",
            remote.join("\n")
        ),
        &remote,
    );
}

#[test]
fn whole_outputs_that_are_facts_stay() {
    let certificate = "* Server certificate:\n*  subject: CN=shop.example.org\n*  start date: Jan  1 00:00:00 2019 GMT\n*  expire date: Jan  1 00:00:00 2020 GMT\n*  issuer: CN=Example CA\n*  SSL certificate verify result: certificate has expired (10), continuing anyway.\n";
    let headers: String = many(0..30, |n| {
        format!("< x-part-{n}: value of the header number {n}\n")
    });
    check_all_kept(
        "curl -kv https://shop.example.org",
        0,
        &format!("*   Trying 203.0.113.7:443...\n{certificate}> GET / HTTP/2\n{headers}"),
    );
    let plan: String = many(0..30, |n| {
        format!(
            "Inst lib{n} [1.0.{n}-1] (1.0.{n}-2 Debian:12 [amd64])\nConf lib{n} (1.0.{n}-2 Debian:12 [amd64])\n"
        )
    });
    check_all_kept("apt-get -s upgrade", 0, &plan);
    let layers: String = many(0..20, |n| {
        format!("{n:012x}: Pulling fs layer\n{n:012x}: Download complete\n")
    });
    check_all_kept(
        "docker pull shop",
        0,
        &format!("{layers}00000000001f: Downloading  3.2MB/120MB\n"),
    );
    let steps: String = many(0..30, |n| {
        format!("#{n} [{n}/30] RUN step {n}\n#{n} 0.312 0 of 48,112 rows\n#{n} DONE {n}.1s\n")
    });
    check_all_kept("docker build .", 0, &steps);
    let hosts: String = many(0..40, |n| format!("ok: [web{n}]\nskipping: [db{n}]\n"));
    check_all_kept("ansible-playbook site.yml", 0, &hosts);
    let pods: String = many(0..40, |n| {
        format!("web-{n}   0/1   CrashLoopBackOff   {n}   3d\n")
    });
    check_all_kept("kubectl get pods", 0, &pods);
}

#[test]
fn a_silence_of_half_an_hour_is_seen() {
    let beat = |minute: usize, second: usize| {
        format!("Nov 17 10:{minute:02}:{second:02} web app[7]: heartbeat of the pump is well\n")
    };
    let before: String = many(0..30, |n| beat(n / 6, n % 6 * 10));
    let after: String = many(0..30, |n| beat(38 + n / 6, n % 6 * 10));
    check_whole(
        "journalctl -u app",
        0,
        &format!("{before}{after}"),
        &[
            "Nov 17 10:00:00 web app[7]: heartbeat of the pump is well",
            "Nov 17 10:38:00 web app[7]: heartbeat of the pump is well",
        ],
    );
    let shown = digest(
        "journalctl -u app",
        0,
        &format!("{before}{after}"),
        Reach::All,
    )
    .expect("it is shorter")
    .text;
    assert!(
        shown.contains("[again ×29 until Nov 17 10:04:50, at most 10 s apart]"),
        "{shown}"
    );
}

#[test]
fn a_blank_that_is_the_difference_stays() {
    let lines = [
        "    Expected: \"total: 3\"",
        "    Received: \"total: 3\"  ",
        "    - total: 3",
        "    + total: 3 ",
    ];
    let passed: String = many(0..30, |n| {
        format!("    ✓ adds prices of cart number {n} (3 ms)\n")
    });
    let text = format!(
        "FAIL tests/a.test.js\n{passed}  ● total › adds\n\n{}\n\nTests:       1 failed, 30 passed, 31 total\n",
        lines.join("\n")
    );
    let shown = digest("npx jest", 1, &text, Reach::All).map_or(text.clone(), |digest| digest.text);
    for line in lines {
        assert!(
            rebuild(&shown).iter().any(|other| other == line),
            "{line:?}"
        );
    }
    check_all_kept("npx jest", 1, &text);
}

#[test]
fn a_masked_status_leaves_nothing_out() {
    let text = format!(
        "{}running 40 tests\n{}\ntest result: ok. 40 passed; 0 failed\n",
        compiled(40),
        many(0..40, |n| format!("test suite::case_{n} ... ok\n"))
    );
    for command in [
        "trap \"exit 0\" EXIT; cargo test",
        "cargo(){ command cargo \"$@\"||true; }; cargo test",
        "find . -name Cargo.toml -exec cargo test \\;",
        "script -c 'cargo test' /dev/null",
        "script -qec 'cargo test' /dev/null",
        "watch -g cargo test",
        "alias cargo='cargo ||:'; cargo test",
        "eval cargo test",
        ". ./env.sh; cargo test",
        "cargo test; true",
        "cargo test | cat",
        "xargs -n1 cargo test < list",
        "parallel cargo test ::: a b",
        "ssh host cargo test",
    ] {
        check_all_kept(command, 0, &text);
    }
}

#[test]
fn every_text_that_was_shortened_says_so() {
    // Colours alone, frames alone, repeats alone.
    for text in [
        "\u{1b}[32mok\u{1b}[0m \u{1b}[1mline\u{1b}[0m of many\n".repeat(3)
            + &many(0..100, |n| {
                format!("\u{1b}[31m{}\u{1b}[0m\n", n * 7919 % 1000)
            }),
        many(0..400, |n| format!("{n} of 400 done\r")) + "\n",
        "one and the same line of this text\n".repeat(60),
    ] {
        for command in ["./x", "cargo build", "git log", "git diff"] {
            if let Some(digest) = digest(command, 0, &text, Reach::All) {
                let last = digest.text.lines().next_back().expect("a line");
                assert!(last.starts_with("[minimized: "), "{last}");
                assert_eq!(falsehoods(&text, &digest), Vec::<String>::new());
            }
        }
    }
}

/// What a compiler says of `a.c` is about the directory that make has entered.
#[test]
fn the_directory_of_a_finding_stays() {
    let part = |n: usize| {
        format!(
            "make[1]: Entering directory '/src/part{n}'\ncc -c a.c\na.c:3:1: warning: unused\nmake[1]: Leaving directory '/src/part{n}'\n"
        )
    };
    check_all_kept("make", 0, &many(0..12, part));
}

/// What is installed or fetched is what somebody asked for.
#[test]
fn versions_of_an_installation_stay() {
    let text = format!("{}  Installed package `tool v1.0.0`\n", compiled(40));
    check_all_kept("cargo install tool", 0, &text);
    check_all_kept("cargo fetch", 0, &text);
    let packages = many(0..30, |n| format!("  - Installing package-{n} (1.{n}.0)\n"));
    check_all_kept("poetry install", 0, &packages);
    let packages = many(0..60, |n| format!(" + package-{n}==1.{n}.0\n"));
    check_all_kept("uv pip install -r requirements.txt", 0, &packages);
    let packages = many(0..30, |n| {
        format!("  Downloading package_{n}-1.{n}.0-py3-none-any.whl (3 kB)\n")
    });
    check_all_kept("pip download -r requirements.txt", 0, &packages);
    check_all_kept("pip install -r requirements.txt", 0, &packages);
}
