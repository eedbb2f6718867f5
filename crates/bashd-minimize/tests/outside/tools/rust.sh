# Rust: every chosen crate is tested; checks, documentation and trees of the first ones.
tool=cargo
for one in $(chosen crate); do
    crate "$one"
    record "test_$(name_of "$one")" 'cargo test'
    case $(chosen crate 5) in *"$one"*)
        record "clippy_$(name_of "$one")" 'cargo clippy --all-targets -- -W clippy::pedantic' ;;
    esac
    case $(chosen crate 3) in *"$one"*)
        quietly 'rm -rf target'
        record "build_verbose_$(name_of "$one")" 'cargo build --all-targets -v'
        record "doc_$(name_of "$one")" 'cargo doc -v'
        record "tree_$(name_of "$one")" 'cargo tree --all-features --target all -e all' ;;
    esac
    case $(chosen crate 2) in *"$one"*)
        record "package_list_$(name_of "$one")" 'cargo package --allow-dirty -v --no-verify' ;;
    esac
done
fresh
quietly 'cargo init -q --name shop'
cat >"$project/src/main.rs" <<'R'
use bitflags::bitflags;
bitflags! { #[derive(Debug)] struct Marks: u32 { const PAID = 1; const SENT = 2; const LATE = 4; } }
fn main() {
    println!("ID   MARKS            TOTAL");
    for id in 1..=40u32 { println!("{id:<4} {:<16?} {:>6}.00", Marks::from_bits_truncate(id), id * 17); }
    println!("install is done for 40 customers\nas of today 0 of 40 orders are open");
    println!("✔ Dropped table orders_2019\n[1/3] 0 of 48,112 rows\n   Compiling invoices for March");
}
R
owned
quietly 'cargo add -q bitflags'
record run_program 'cargo run'
record_terminal run_terminal 'touch src/main.rs; cargo run'
record add_features 'cargo add tokio --features full && cargo add serde clap rand && cargo tree'
record update_dry 'cargo update --dry-run --verbose'
record metadata_fetch 'cargo fetch -v && cargo tree --duplicates'

tool=rustc
for one in $(chosen crate 4); do
    crate "$one"
    record "lints_$(name_of "$one")" 'rustc --edition 2021 --crate-type lib --emit metadata -W missing_docs -W unreachable_pub -W unused_qualifications -W single_use_lifetimes src/lib.rs -o /tmp/lib.rmeta'
    tool=rustfmt
    record "check_$(name_of "$one")" 'rustfmt --check --edition 2021 --config max_width=70 src/lib.rs'
    tool=rustdoc
    record "test_$(name_of "$one")" 'rustdoc --test --edition 2021 src/lib.rs'
    tool=rustc
done
