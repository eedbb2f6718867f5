//! Texts that are certain, and texts that are not. `tests/it/soundness.rs` asks real bash about
//! many more.

use super::is_certain;

#[test]
fn what_agents_write_is_certain() {
    for text in [
        "",
        "\n",
        "# nothing but this",
        "true",
        "cd /a/b && make -j8 CC=gcc 2>&1 | tail -5 > 'a b'; echo \"a; $b\"\n",
        "v1=$((v1 + 1)); [[ $v1 ]] || exit 1",
        "a=b c+='d e' f= g=\"$h\" cmd",
        "a=(x 'y z' \"$w\"\n  # one\n  [3]=u) b+=()",
        "declare -A m=([a]=1 [b]=2)",
        "local x=(1)",
        "a[0]=x; a[$i]=$y; a[i+1]=z",
        "echo $x ${x} ${x:-a b} ${x##*/} ${x%.*} ${x//a/b} ${#x} ${a[@]} ${!x} ${x:1:2} ${x:-$(pwd)} ${x//\\//_}",
        "echo $? $# $@ $* $$ $! $- $1 $0 a$ b",
        "echo \"costs 5$\" \"$/ $.\" \"a\\\"b\\$c\\`d\" \"line\nline\" 'it'\\''s'",
        "echo $'a\\'b\\n' \\; \\( a\\ b {} {a,b} *.c [a-z]* [[:alpha:]] a#b HEAD~1 é",
        "echo a \\\n  b",
        "x=$(ls | wc -l) y=\"$(echo \"$(pwd)\")\" z=$(( (1 + $x) * ${y} % $(nproc) ))",
        "(( i++ )); (( (a + b) > c )) && true",
        "[ -f a ] && [ \"$x\" = y ] || test -z \"$z\"",
        "[[ -f $a && ! -d \"$b\" || $c == *.txt ]]",
        "[[ $a =~ ^[0-9]+$ ]] && [[ a < b ]] && [[ $n -gt 3 ]]",
        "! grep -q x y",
        "a | while read -r x; do echo \"$x\"; done",
        "if a; then b; elif c && d; then e\nelse\n  f; fi >log 2>&1",
        "for i in 1 2 $(seq 3); do echo $i; done",
        "for i in a b # all\ndo echo $i\ndone < in",
        "for i in; do a; done; for i; do b; done",
        "for ((i=0; i<10; i++)); do echo $i; done",
        "while true; do break; done & until false; do a; done",
        "{ a; b; } | (c; d) && (e)",
        "case $x in\n  a|b) echo;;\n  (c*) ;;\n  'd e')\n    f\n    ;;\n  *) g; esac",
        "f() { echo \"$1\"; }\ng ()\n{\n  return 1\n}\nfunction h { a; }; function k() { b; }",
        "a >b 2>>c <d &>e &>>f 3<>g >|h 2>&1 >&2 2>&- <&3 <<<\"$x\" < <(y) > >(z)",
        "> a; <b c",
        "diff <(a | b) <(c)",
        "cat > f <<'EOF'\nif ( ` $(\nEOF\ncat <<-E | tr a b\n\ta $x\n\tE\ncat <<\"X\"\nX",
        "a && # then\n\n  b",
        "echo if then fi done esac } { ! [ ]",
    ] {
        assert!(is_certain(text), "{text:?}");
    }
}

/// What bash would not accept.
const MISTAKES: &[&str] = &[
    "echo 'a",
    "echo \"a",
    "echo $(a",
    "echo ${a",
    "echo $((1 + 2)",
    "a &&",
    "a |",
    "&& a",
    "a ;; b",
    "a ; ; b",
    "a & ; b",
    "a &&& b",
    "a | | b",
    "a | ! b",
    "(a",
    "a)",
    "()",
    "( )",
    "{ a }",
    "{ }",
    "{a; }",
    "}",
    "fi",
    "if a; then fi",
    "if a then b; fi",
    "if a; b; fi",
    "if a; then b; else c; elif d; then e; fi",
    "for i in a b do c; done",
    "for i in a; c; done",
    "for i in a > b; do c; done",
    "for a in<(b); do c; done",
    "if<(a); then b; fi",
    "for ((i=0; i<1)); do a; done",
    "while a; do b; fi",
    "while a; done",
    "case a in b) c;; d;; esac",
    "case a in b) c; done",
    "case a b) c;; esac",
    "f() a b)",
    "f( { a; }",
    "f() { a; ",
    "a f() { b; }",
    "f() { a; } >b c",
    "f() { a; } b",
    "[[ a",
    "[[ a b ]]",
    "[[ -f ]]",
    "[[ a == ]]",
    "[[ a ]] b",
    "[[ a ]]b",
    "[[ a=b -f c ]]",
    "a >",
    "a > > b",
    "a > #b",
    "a > 2>b",
    "> a &>>x=1",
    "a >&-b; (c) >&-d",
    "a=(b",
    "a=(b > c)",
    "a b=(c)",
    "a=(b) (c)",
    "a[b c",
    "cat <<EOF\na",
    "cat <<'EOF'\nEOF ",
    "cat <<EOF\na\\\nEOF",
    "cat <<EOF",
    "declare <(a) x=(b)",
    "echo $(a=(\\;))",
    "case a in b) for c in esac; do d; done;; esac",
    "(a) (b)",
    "{ a; } b",
    "if a; then b; fi c",
];

#[test]
fn mistakes_are_not() {
    for text in MISTAKES {
        assert!(!is_certain(text), "{text:?}");
    }
}

#[test]
fn what_is_not_known_is_not() {
    let deep = format!("{}a{}", "( ".repeat(MANY), " )".repeat(MANY));
    let substitutions = format!("echo {}a{}", "$(b ".repeat(MANY), ")".repeat(MANY));
    let expansions = format!("echo {}a{}", "${b:-".repeat(MANY), "}".repeat(MANY));
    let branches = format!("if a; then b\n{}fi", "elif c; then d\n".repeat(MANY));
    let long = "a\n".repeat(super::MOST_BYTES);
    for text in [
        "echo `a`",
        "! ",
        "for a#b in c; do d; done",
        "for 1 in a; do b; done",
        "[[ a && ]]",
        "> a &>x=1",
        "a 2>(b)",
        ">a b=(c)",
        "a=(b)c",
        "time a",
        "coproc a",
        "select x in a; do b; done",
        "a |& b",
        "case a in b) c;& d) e;; esac",
        "echo @(a|b)",
        "[[ ( a ) ]]",
        "[[ a == @(b) ]]",
        "echo $[1]",
        "echo $(a # b\n)",
        "echo $(case a in b) c;; esac)",
        "echo $(cat <<'E'\nE\n)",
        "cat <<'A' <<'B'\nA\nB\n",
        "cat <<'A' \"\n\"\nA\n",
        "cat <<'A' $(b\nc)\nA\n",
        "cat <<E\n$(a)\nE\n",
        "a\\\nb",
        "a\r\n",
        "a\u{1}",
        "a\0",
        "alias a=b",
        "shopt -s extglob",
        "set -o posix",
        "eval 'shopt -s expand_aliases'",
        "set -o history -H",
        "export POSIXLY_CORRECT=1",
        &deep,
        &substitutions,
        &expansions,
        &branches,
        &long,
    ] {
        assert!(!is_certain(text), "{text:?}");
    }
}

/// Deeper than anything may be nested.
const MANY: usize = 1000;
