# cargo: a small workspace with dependencies, real crates with their test suites, and what goes wrong in them.
crate_sources semver-1.0.23
record test_pass 'cargo test'
record test_doc_color 'CARGO_TERM_COLOR=always cargo test'
quietly "perl -pi -e 's/assert_eq!\(v, version\(\"1.2.3\"\)\)/assert_eq!(v, version(\"1.2.4\"))/; s/Ordering::Less/Ordering::Greater/' tests/test_version.rs src/impls.rs; perl -0pi -e 's/self.minor/self.major/' src/eval.rs"
record test_fail 'cargo test --no-fail-fast'
record test_fail_backtrace 'RUST_BACKTRACE=1 cargo test --test test_version_req'
record nextest_fail 'cargo nextest run --no-fail-fast'
record_terminal nextest_terminal 'cargo nextest run'
crate_sources textwrap-0.16.1
record build_deps 'cargo build --all-features'
record test_pass_many 'cargo test --lib'
record nextest_pass 'cargo nextest run --lib'
record_terminal build_terminal 'cargo clean -q; cargo build --all-features'
record clippy_warnings 'cargo clippy --all-features -- -W clippy::pedantic'
record clippy_color 'touch src/lib.rs; CARGO_TERM_COLOR=always cargo clippy'
record tree 'cargo tree --all-features -e normal,dev'
record doc 'cargo doc --all-features'
quietly "perl -pi -e 's/usize/u32/ if \$. % 9 == 0' src/core.rs src/fill.rs src/wrap.rs src/refill.rs"
record build_errors 'cargo build'
record check_errors_color 'cargo check --color always'
record clippy_errors 'cargo clippy'
crate_sources smallvec-1.13.2
record test_warnings 'cargo test --all-features'
quietly "perl -pi -e 's/fn test_/fn unused_helper() { let x = 1; let mut y = 2; }\n    fn test_/ if /fn test_/ && \$n++ < 1; s/assert_eq!\(v.len\(\), 2\)/assert_eq!(v.len(), 3)/; s/let mut v/let mut v/' src/tests.rs"
record test_fail_warnings 'cargo test --features union,write,drain_filter'
crate_sources humantime-2.1.0
record bench 'cargo bench'
record test_one 'cargo test && cargo build --release'
fresh
quietly 'cargo init --lib --name demo .; cargo add serde --features derive; cargo add serde_json regex tokio --features tokio/full; cargo add anyhow clap'
record add 'cargo add reqwest tracing --features reqwest/json'
record update 'rm -f Cargo.lock; cargo update -v'
quietly "printf 'use serde::Serialize;\n#[derive(Serialize)]\npub struct A { b: std::rc::Rc<u8>, }\npub fn f(x: &str) -> String { let y = x; x.len() }\npub async fn g() { tokio::spawn(async { let r = std::rc::Rc::new(1); h().await; drop(r); }); }\nasync fn h() {}\npub fn k<'a>(a: &'a str, b: &str) -> &'a str { b }\npub fn m() { let v = vec![1]; let w = v; println!(\"{:?}\", v); undefined(); }\n' > src/lib.rs"
record check_borrow 'cargo check'
record run_missing 'cargo run --bin nothing; cargo test --test nothing; cargo build --features nothing,other'
record fmt_check 'cargo fmt --check'
