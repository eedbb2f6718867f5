#!/bin/sh
# Installs bashd @VERSION@ for this user: fetches the archive for this machine, compares its SHA-256 with that in SHA256SUMS,
# and unpacks it below a prefix. Nothing is changed before the archive is known to be whole.
#
#   sh install.sh                     into ~/.local
#   sh install.sh --prefix /usr/local elsewhere
#   sh install.sh --base URL          from there (https://, http:// or file://), where `./dist` has put its files
#   sh install.sh --uninstall         removes what it installed; configuration and state stay
#   sh install.sh --help              this text
#
# BASHD_BASE and BASHD_PREFIX are the same as --base and --prefix.
set -eu

version=@VERSION@
base=${BASHD_BASE:-https://github.com/bashd/bashd/releases/download/v$version}
prefix=${BASHD_PREFIX:-${HOME:-}/.local}

say() { printf '%s\n' "install.sh: $*"; }
fail() { printf '%s\n' "install.sh: $*" >&2; exit 1; }
has() { command -v "$1" >/dev/null 2>&1; }

usage() {
  cat <<USAGE
Installs bashd $version: fetches the archive for this machine, checks its SHA-256, and unpacks it below a prefix.

  --prefix DIRECTORY  where to: $prefix
  --base URL          where from: $base
  --uninstall         remove what was installed; configuration and state stay
USAGE
}

# fetch NAME FILE
fetch() {
  case $base in
    file://*) cp "${base#file://}/$1" "$2" 2>/dev/null ;;
    *)
      if has curl; then
        curl --fail --silent --show-error --location --output "$2" "$base/$1"
      elif has wget; then
        wget -q -O "$2" "$base/$1"
      else
        fail "neither curl nor wget is here: install one of them, or fetch the files of $base and use --base file:///DIRECTORY"
      fi
      ;;
  esac || fail "$base/$1 can't be fetched"
}

checksum() {
  if has sha256sum; then
    sha256sum "$1"
  elif has openssl; then
    openssl dgst -sha256 -r "$1"
  else
    fail "neither sha256sum nor openssl is here: the archive can't be checked, so nothing is installed"
  fi
}

machine() {
  [ "$(uname -s)" = Linux ] || fail "bashd needs Linux, and this is $(uname -s)"
  kernel=$(uname -r)
  major=${kernel%%.*}
  minor=${kernel#*.}
  minor=${minor%%[!0-9]*}
  [ "$major" -gt 5 ] || { [ "$major" -eq 5 ] && [ "$minor" -ge 9 ]; } || fail "bashd needs Linux 5.9 or newer, and this is $kernel"
  case $(uname -m) in
    x86_64 | amd64) machine=x86_64 ;;
    aarch64 | arm64) machine=aarch64 ;;
    *) fail "there is no archive for $(uname -m); with Rust: cargo install bashd-cli" ;;
  esac
}

# Removes the files that the list of an earlier installation names.
remove_listed() {
  list="$prefix/share/bashd/installed"
  [ -f "$list" ] || return 1
  while IFS= read -r file; do
    case $file in
      '' | /* | *..*) ;;
      *) rm -f "$prefix/$file" ;;
    esac
  done <"$list"
  rm -f "$list"
  rmdir "$prefix/share/bashd" 2>/dev/null || true
}

install_files() {
  from=$1
  list="$scratch/installed"
  (cd "$from" && find bin share -type f) | sort >"$list"
  # The program last, and by renaming: one that runs is not disturbed, and half an installation does not start.
  { grep -v '^bin/' "$list"; grep '^bin/' "$list"; } >"$scratch/order"
  remove_stale "$list"
  while IFS= read -r file; do
    mkdir -p "$prefix/$(dirname "$file")" || fail "$prefix can't be written: choose another --prefix, or be root"
    cp -p "$from/$file" "$prefix/$file.new.$$" && mv -f "$prefix/$file.new.$$" "$prefix/$file" || fail "$prefix/$file can't be written"
  done <"$scratch/order"
  cp "$list" "$prefix/share/bashd/installed"
}

# What an older version had, and this one has not.
remove_stale() {
  old="$prefix/share/bashd/installed"
  [ -f "$old" ] || return 0
  while IFS= read -r file; do
    case $file in '' | /* | *..*) continue ;; esac
    grep -qxF "$file" "$1" || rm -f "$prefix/$file"
  done <"$old"
}

main() {
  action=install
  while [ $# -gt 0 ]; do
    case $1 in
      -h | --help) usage; exit 0 ;;
      --base) base=${2:?--base needs an address}; shift ;;
      --prefix) prefix=${2:?--prefix needs a directory}; shift ;;
      --uninstall) action=uninstall ;;
      *) fail "$1: unknown (--help lists what there is)" ;;
    esac
    shift
  done
  base=${base%/}
  case $prefix in /*) ;; *) fail "--prefix must be an absolute path, not '$prefix'" ;; esac
  if [ $action = uninstall ]; then
    remove_listed || fail "nothing of this installer is below $prefix"
    say "removed from $prefix; configuration (~/.config/bashd) and state (~/.local/state/bashd) stay"
    exit 0
  fi
  machine
  has tar || fail "tar is missing"
  has bash || say "bash is not here: bashd runs commands by it, so install it, too"
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' INT TERM
  name=bashd-$version-$machine-linux
  fetch SHA256SUMS "$scratch/SHA256SUMS"
  expected=$(sed -n "s/^\([0-9a-f]\{64\}\)  $name\.tar\.gz\$/\1/p" "$scratch/SHA256SUMS")
  [ -n "$expected" ] || fail "$base/SHA256SUMS names no $name.tar.gz: there is none for this machine"
  say "fetching $name.tar.gz"
  fetch "$name.tar.gz" "$scratch/archive"
  found=$(checksum "$scratch/archive")
  found=${found%% *}
  [ "$found" = "$expected" ] || fail "the archive is damaged or not ours: its SHA-256 is $found, not $expected. Nothing was installed"
  mkdir "$scratch/files"
  gzip -dc "$scratch/archive" | tar -xf - -C "$scratch/files"
  unit=$scratch/files/$name/share/systemd/user/bashd.service
  sed "s|/usr/bin/bashd|$prefix/bin/bashd|" "$unit" >"$unit.new" && mv "$unit.new" "$unit"
  install_files "$scratch/files/$name"
  say "$("$prefix/bin/bashd" --version) is $prefix/bin/bashd"
  case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) say "$prefix/bin is not in PATH: add it, by a line 'export PATH=\"$prefix/bin:\$PATH\"' in ~/.profile" ;;
  esac
  say "try: bashd run 'echo hello'; then, for your agents: bashd init"
}

# All of it was read before any of it runs.
main "$@"
