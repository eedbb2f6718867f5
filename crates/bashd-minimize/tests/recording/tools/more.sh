# More of what agents run most: whole test suites, verbose builds and installs, with and without a terminal.
tool=pytest
python_sources packaging==24.2
record suite_packaging 'PYTHONPATH=src pytest -v tests/test_utils.py tests/test_requirements.py'
record quiet_packaging 'PYTHONPATH=src pytest tests/test_metadata.py tests/test_utils.py tests/test_requirements.py'
record_terminal suite_terminal 'PYTHONPATH=src pytest -v tests/test_utils.py tests/test_structures.py'
quietly "perl -pi -e 's/foo-bar/foo_bar/ if \$n++ < 40' tests/test_utils.py"
record suite_fail 'PYTHONPATH=src pytest -v tests/test_utils.py'
python_sources marshmallow==3.23.1
record suite_marshmallow 'PYTHONPATH=src pytest -v tests/test_fields.py'
record quiet_marshmallow 'PYTHONPATH=src pytest tests/test_utils.py tests/test_registry.py tests/test_options.py tests/test_error_store.py'
python_sources humanize==4.11.0
record suite_humanize 'PYTHONPATH=src pytest -v tests/test_filesize.py'
record suite_humanize_again 'PYTHONPATH=src pytest -vv tests/test_lists.py tests/test_i18n.py'
python_sources itsdangerous==2.2.0
record suite_itsdangerous 'PYTHONPATH=src pytest -v tests/test_itsdangerous/test_signer.py tests/test_itsdangerous/test_timed.py'
python_sources itsdangerous==2.2.0
record coverage_suite 'PYTHONPATH=src pytest --cov=itsdangerous --cov-report=term-missing -v'
quietly "perl -pi -e 's/return True/return False/ if \$n++ == 1' src/itsdangerous/signer.py"
record suite_fail_small 'PYTHONPATH=src python -m pytest -v'
tool=cargo
for crate in strsim-0.11.1 itoa-1.0.11 smallvec-1.13.2 humantime-2.1.0; do
    crate_sources $crate
    record suite_${crate%-*} 'cargo test'
    record suite_release_${crate%-*} 'cargo test --release --all-features 2>&1'
done
crate_sources strsim-0.11.1
record_terminal suite_terminal 'cargo test'
quietly "perl -pi -e 's/assert_eq!\(3, /assert_eq!(4, /' src/lib.rs"
record suite_fail 'cargo test'
fresh
quietly 'cargo init --lib --name demo .; cargo add serde --features derive; cargo add serde_json regex syn thiserror'
record build_many 'cargo build'
record_terminal build_many_terminal 'cargo clean -q; cargo check'
record test_build 'cargo clean -q; cargo test'
record build_very_verbose 'cargo clean -q; cargo build -vv'
quietly "printf 'use serde::Serialize;\n#[derive(Serialize)]\npub struct A { b: std::rc::Rc<u8>, }\npub fn f(x: &str) -> String { let y = x; x.len() }\npub fn k<'\''a>(a: &'\''a str, b: &str) -> &'\''a str { b }\npub fn m() { let v = vec![1]; let w = v; println!(\"{:?}\", v); undefined(); }\n' > src/lib.rs"
record build_fail 'cargo clean -q; cargo build'
tool=npm
fresh
quietly 'npm init -y'
record install_http 'npm install express webpack jest eslint --loglevel http --no-audit'
record install_verbose 'rm -rf node_modules; npm ci --loglevel verbose'
record_terminal install_many_terminal 'rm -rf node_modules package-lock.json; npm install react react-dom next typescript prettier'
record install_deprecated 'npm install request@2.88.2 mkdirp@0.5.1 glob@7 rimraf@2 uuid@3 har-validator@5 core-js@2 istanbul@0.4 popper.js@1'
record install_engine 'npm install --engine-strict nothing-here-1 nothing-here-2 --loglevel http'
tool=pnpm
fresh
quietly 'npm init -y'
record_terminal add_terminal 'pnpm add express webpack jest eslint --reporter=default'
record add_append 'rm -rf node_modules; pnpm install --reporter=append-only --force'
tool=go
fresh
quietly 'cp -a /usr/lib/go-1.19/src/container /usr/lib/go-1.19/src/text . ; go mod init example.com/std; find . -name "*_test.go" | xargs sed -i "s/^//"'
record suite_verbose 'go test -v ./container/... ./text/tabwriter'
quietly 'sed -i "s/h\[i\] < h\[j\]/h[i] > h[j]/" container/heap/heap_test.go; sed -i "s/l.len++/l.len += 2/" container/list/list.go'
record suite_fail 'go test ./container/...'
record suite_fail_verbose 'go test -v ./container/...'
tool=make
c_project
record silent_steps 'make clean; make CFLAGS="-w -Iinclude" -j2 V=1'
record_terminal terminal 'make clean; make CFLAGS="-Wall -Iinclude"'
tool=cmake
record test_all 'cmake -B out -G Ninja && cmake --build out && ctest --test-dir out'
tool=jest
node_project
quietly 'npm install --save-dev jest'
record_terminal pass_terminal 'npx jest --verbose'
record pass_coverage_verbose 'npx jest --verbose --coverage'
tool=apt
fresh
record install_many 'apt-get install -y --no-install-recommends --reinstall cmake ninja-build ripgrep fd-find tree rsync jq sqlite3 bc'
record_terminal install_terminal 'apt-get install -y --no-install-recommends --reinstall cmake-data ninja-build ripgrep jq bc'
tool=unittest
python_sources more-itertools==10.5.0
record suite 'python -m unittest -v tests.test_more'
quietly "perl -pi -e 's/yield/return/ if /^        yield/ && \$n++ == 2' more_itertools/more.py"
record suite_fail 'python -m unittest -v tests.test_more'
tool=wget
fresh
tool=go
fresh
record std_verbose 'go test -v sort container/heap container/list container/ring bufio'
record std_build 'go build -v -a strings bytes sort bufio strconv'
record std_many 'go test -v strconv unicode/utf8 path'
tool=pytest
python_sources more-itertools==10.5.0
record suite_recipes_all 'pytest -v tests/test_recipes.py -k "not random"'
record suite_more 'pytest -v tests/test_more.py -k "Chunked or Peekable or Windowed or Bucket or Seekable or Split or Numeric or Map or Sort or Locate"'
python_sources werkzeug==3.1.3
record suite_werkzeug 'PYTHONPATH=src pytest -v tests/test_http.py tests/test_urls.py tests/test_utils.py'
record suite_datastructures 'PYTHONPATH=src pytest -v tests/test_datastructures.py'
tool=npm
fresh
quietly 'npm init -y'
record install_verbose_ok 'npm install chalk commander debug --loglevel verbose --no-audit'
record install_http_more 'npm install gulp karma rollup --loglevel http --no-audit'
tool=cargo
crate_sources textwrap-0.16.1
record nextest_all 'cargo nextest run --lib --all-features'
record test_all_features 'cargo test --all-features --lib'
