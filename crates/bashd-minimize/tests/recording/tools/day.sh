# A working day: the set from which the page's figure is taken that no filter was developed with.
#
# The rule, written down before the first of these commands was run:
#
# - Per tool the commands that an agent runs on an ordinary day, at the verbosity at which agents run them, on public projects that
#   no other case uses: looking around, building, testing, breaking something, looking at what broke. They were chosen
#   by what is run, not by what can be saved; none was run before it stood here.
# - At least six commands of each of the ten tools that agents run most, two or three of the others.
# - At least one in three fails (a changed line of a real project, a missing package, a wrong name).
# - An output under 1,000 characters is no case: it is never minimized. Every other output is one.
# - No case is removed, shortened or recorded again for what a filter makes of it. `facts` are those that `propose-facts` finds in
#   the raw text; none is removed for being lost. Where one is wrong, `propose-facts` is, and all are proposed anew.
set_name=day_

# The releases of a package as commits: a history with real changes. Its notes are the messages.
release_history() { # name, versions...
    local name=$1 version sources=$home/src
    shift
    fresh
    quietly 'git init -q -b main; git config user.name "Ada Brown"; git config user.email ada@example.com; git config commit.gpgsign false'
    local day=1
    for version in "$@"; do
        [ -d "$sources/$name-$version" ] || (mkdir -p "$sources" && cd "$sources" && neutral pip download -q --no-deps --no-build-isolation --no-binary :all: "$name==$version"; tar xzf "$name-$version.tar.gz")
        find "$project" -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +
        cp -a "$sources/$name-$version/." "$project/"
        day=$((day + 1))
        quietly "git add -A; GIT_AUTHOR_DATE='2024-03-$(printf %02d $day)T10:00:00Z' GIT_COMMITTER_DATE='2024-03-$(printf %02d $day)T10:00:00Z' git commit -q -m 'Release $version' -m \"\$(sed -n '/^Version $version/,/^Version/p' CHANGES.rst | sed -n '3,16p')\"; git tag $version"
    done
}

tool=git
release_history Jinja2 3.0.0 3.0.1 3.0.2 3.0.3 3.1.0 3.1.1 3.1.2
record log 'git log -10'
record log_stat 'git log --stat -4'
record log_graph 'git log --oneline --graph --decorate --all -60'
record show 'git show HEAD'
record diff_releases 'git diff 3.1.0 3.1.2 -- src'
record diff_stat 'git diff --stat 3.0.0 3.1.0'
record blame 'git blame -L 100,180 src/jinja2/environment.py'
record grep 'git grep -n "def visit_" src'
quietly 'git checkout -q -b feature 3.0.3; perl -pi -e "s/return self/return  self/; s/import typing as t/import typing/" src/jinja2/*.py; git commit -qam "Reformat"; git checkout -q main'
record status_many 'git checkout -q -b work 3.1.1 && perl -pi -e "s/True/False/" tests/*.py src/jinja2/*.py && rm -f docs/*.rst && touch src/jinja2/new_{a,b,c}.py && git status'
record diff_work 'git diff'
record switch_refused 'git checkout 3.0.0'
record stash_apply 'git stash -q -u && git checkout -q 3.0.0 && git stash pop'
quietly 'git reset -q --hard; git clean -qfd; git checkout -q main'
record merge_conflict 'git merge feature'
record status_conflict 'git status && git diff | head -200 && exit 1'
quietly 'git merge --abort'
record rebase_conflict 'git rebase main feature'
quietly 'git rebase --abort; git checkout -q main'
record apply_fails 'git diff 3.0.0 3.0.1 > /tmp/p.patch; git apply --check -v /tmp/p.patch'
record fsck_missing 'git rev-parse nothing; git log no-such-branch; for t in 9.1 9.2 9.3; do git checkout $t; git show $t:setup.py; git diff $t; done'

tool=cargo
crate_sources heck-0.5.0
record test 'cargo test'
record clippy 'cargo clippy --all-targets -- -W clippy::pedantic -W clippy::nursery'
quietly "perl -pi -e 's/to_uppercase/to_lowercase/' src/upper_camel.rs src/shouty_snake.rs"
record test_fail 'cargo test 2>&1 | tail -150; exit ${PIPESTATUS[0]}'
record test_fail_quiet 'cargo test -q --no-fail-fast'
quietly "perl -pi -e 's/fmt::Result/fmt::Reslt/; s/&str/str/ if \$. % 11 == 0' src/*.rs"
record check_fail 'cargo check'
crate_sources either-1.13.0
record build_test 'cargo test --all-features'
quietly "perl -pi -e 's/Left\(inner\) => Right/Left(inner) => Left/ if \$n++ < 4; s/Some\(l\)/Some(&l)/' src/lib.rs"
record build_fail 'cargo build --all-features'
crate_sources indexmap-2.5.0
record nextest 'cargo nextest run'
quietly "perl -pi -e 's/self.len\(\)/self.len() + 1/ if \$n++ == 2; s/fn retain/fn retein/ if /pub/' src/set.rs src/map.rs"
record nextest_broken 'cargo nextest run --no-fail-fast'
fresh
quietly 'cargo init --name tool .; cargo add clap --features derive; cargo add serde_json ureq'
record first_build 'cargo build'
record tree 'cargo tree'
record run_help 'cargo run -- --help; cargo run -- --nothing; cargo doc --no-deps --document-private-items; cargo build --bin nothing --features absent'
record add_missing 'cargo add tokio-nothing-here; cargo add serde@99; cargo add rand --features nothing; cargo install --path nowhere'

tool=pytest
python_sources toolz==0.12.1
record whole 'python -m pytest'
record one_file_verbose 'python -m pytest toolz/tests/test_itertoolz.py -v'
quietly "perl -pi -e 's/yield/return/ if \$n++ == 5; s/return seq/return None/ if \$m++ == 1' toolz/itertoolz.py"
record broken 'python -m pytest'
record broken_short 'python -m pytest -q --tb=short -x'
record broken_rerun 'python -m pytest --lf -vv'
python_sources markdown==3.7
record quiet 'python -m pytest -q tests'
quietly "perl -pi -e 's/text = /txt = / if \$n++ == 3' markdown/blockprocessors.py"
record fail_many 'python -m pytest tests/test_syntax -q'
record fail_summary 'python -m pytest tests/test_syntax --tb=no -rf'
python_sources pluggy==1.5.0
record slowest 'PYTHONPATH=src python -m pytest testing --durations=10 -q'
quietly "sed -i 's/^import pytest/import pytest, nothing_here/' testing/test_helpers.py testing/test_hookcaller.py testing/test_tracer.py"
record import_errors 'PYTHONPATH=src python -m pytest testing'
record wrong_names 'python -m pytest tests/nothing.py -p nothing; python -m pytest --no-such-option; python -m pytest testing/test_details.py::test_absent testing/test_tracer.py -k "nothing and also"'
tool=unittest
python_sources toolz==0.12.1
record discover 'python -m unittest discover -s toolz -v; exit 1'
python_sources sqlparse==0.5.1
record broken 'python -m unittest tests.test_format tests.test_split tests.absent -v'

tool=pip
fresh
quietly 'python -m venv .v; printf "fastapi\nuvicorn[standard]\nhttpx\nsqlalchemy\nalembic\npydantic-settings\npytest\nruff\n" > requirements.txt'
record requirements '.v/bin/pip install -r requirements.txt'
record requirements_again '.v/bin/pip install -r requirements.txt'
record list '.v/bin/pip list'
record missing 'printf "fastapi==0.1.99\n" > bad.txt; .v/bin/pip install -r bad.txt; .v/bin/pip install fastapy-nothing==1'
record conflict '.v/bin/pip install "starlette==0.20.0" "fastapi==0.115.0"'
record build_fails '.v/bin/pip install --no-binary :all: psycopg2==2.9.9'
record uninstall '.v/bin/pip uninstall -y fastapi uvicorn sqlalchemy; .v/bin/pip check; .v/bin/pip show fastapi httpx starlette'
tool=uv
fresh
quietly 'uv init --name service .'
record add 'uv add fastapi "uvicorn[standard]" httpx sqlalchemy alembic pydantic-settings'
record add_dev 'uv add --dev pytest ruff mypy pre-commit ipython; uv tree'
record no_solution 'uv add "starlette==0.20.0" "fastapi==0.115.0"'
record run_fails 'uv run python -c "import fastapi, absent_module"; uv run pytest; uv run ruff check --select ALL .; uv sync --extra nothing'
tool=poetry
fresh
quietly 'poetry init -n --name service; poetry config virtualenvs.in-project true --local'
record add 'poetry add fastapi httpx'
record no_solution 'poetry add "starlette==0.20.0" "fastapi==0.115.0"'

tool=npm
fresh
quietly 'npm init -y'
record install 'npm install express@4 mongoose lodash axios'
record install_dev 'npm install --save-dev webpack webpack-cli babel-loader @babel/core @babel/preset-env jest eslint@8'
record ci 'rm -rf node_modules && npm ci'
record list 'npm ls'
record list_all 'npm ls --all'
record outdated 'npm outdated'
record missing 'npm install nothing-of-that-name-here-9'
record conflict 'npm install react@16 react-dom@18 @testing-library/react@14'
record no_script 'npm run biuld; npm test; npm run'
quietly 'mkdir -p src; printf "import _ from \"lodash\"; import axios from \"axios\"; import \"./absent\"; import x from \"not-installed\";\nexport default _.chunk([1], axios);\n" > src/index.js'
record webpack_fails 'npx webpack --mode development'
record webpack 'sed -i "s/import .\/absent.; import x from .not-installed.;//; s/import \"..absent\"; import x from \"not-installed\";//" src/index.js; npx webpack --mode development'
tool=pnpm
fresh
quietly 'npm init -y'
record add 'pnpm add express@4 mongoose lodash axios'
record add_dev 'pnpm add -D vite vitest typescript eslint@8 prettier; pnpm list --depth 1'
record missing 'pnpm add nothing-of-that-name-here-9; pnpm run biuld; pnpm install --frozen-lockfile --lockfile-only; pnpm why lodash express'
tool=yarn
fresh
quietly 'npm init -y'
record add 'yarn add express@4 mongoose lodash axios'
record missing 'yarn add nothing-of-that-name-here-9; yarn run biuld; yarn why express; yarn list --depth=0'
tool=bun
fresh
quietly 'npm init -y'
record install 'bun add express@4 mongoose lodash axios; bun pm ls --all'

tool=tsc
fresh
quietly 'npm init -y; npm install rxjs@7 typescript@5; cp -r node_modules/rxjs/src rx; find rx -name "*.json" -delete'
quietly "cd rx && perl -pi -e 's/: void/: number/ if \$n++ % 9 == 0' internal/operators/*.ts"
record no_emit 'npx tsc --noEmit --strict --target es2022 --moduleResolution node rx/index.ts'
record pretty 'npx tsc --noEmit --strict --pretty --target es2022 --moduleResolution node rx/ajax/index.ts rx/operators/index.ts'
record list_files 'npx tsc --noEmit --listFiles --target es2022 --moduleResolution node rx/fetch/index.ts | head -150'
tool=eslint
quietly 'npm install eslint@9 @eslint/js typescript-eslint underscore@1.13'
quietly 'printf "import js from \"@eslint/js\"; import ts from \"typescript-eslint\"; export default ts.config(js.configs.recommended, ...ts.configs.recommended);\n" > eslint.config.mjs'
record project 'npx eslint rx'
record stylish_js 'cp -r node_modules/underscore/cjs under; npx eslint under'
record compact_fix 'npx eslint --fix --max-warnings 0 rx/internal/observable rx/internal/scheduler'
tool=jest
fresh
quietly 'npm init -y; npm install jest@29; mkdir -p lib test; cp node_modules/semver/functions/*.js lib/ 2>/dev/null; npm install semver@7'
quietly 'for f in compare inc parse satisfies valid diff; do case $f in compare) e="expect(s.compare(a,b)).toBe(-1)";; inc) e="expect(s.inc(a,\"minor\")).toBe(b)";; parse) e="expect(s.parse(a).major).toBe(1)";; satisfies) e="expect(s.satisfies(b,\"^\"+a)).toBe(true)";; valid) e="expect(s.valid(a)).toBe(a)";; diff) e="expect(s.diff(a,b)).toBe(\"minor\")";; esac; { echo "const s = require(\"semver\");"; echo "describe(\"$f\", () => {"; for n in 1 2 3 4 5 6 7 8; do echo "  it(\"handles release $n of $f\", () => { const a = \"1.$n.0\", b = \"1.$((n + 1)).0\"; $e; });"; done; echo "});"; } > test/$f.test.js; done'
record pass 'npx jest'
record pass_verbose 'npx jest --verbose'
quietly 'sed -i "s/\"minor\"/\"major\"/" test/inc.test.js; sed -i "s/toBe(-1)/toBe(1)/" test/compare.test.js; echo "describe(" >> test/diff.test.js'
record fail 'npx jest'
record fail_bail 'npx jest --bail --ci --coverage'
tool=vitest
fresh
quietly 'npm init -y; npm install vitest@2 semver@7; mkdir test; for f in compare inc parse valid; do { echo "import { describe, it, expect } from \"vitest\"; import s from \"semver\";"; echo "describe(\"$f\", () => {"; for n in 1 2 3 4 5 6 7 8 9; do echo "  it(\"$f of release $n\", () => { expect(s.$f(\"1.$n.0\", \"minor\")).toBeTruthy(); });"; done; echo "});"; } > test/$f.test.ts; done'
record run 'npx vitest run'
record run_verbose 'npx vitest run --reporter=verbose'
tool=mocha
fresh
quietly 'npm init -y; npm install mocha@10 chai@4 qs@6; mkdir test; { echo "const { expect } = require(\"chai\"); const qs = require(\"qs\");"; for g in parse stringify nested arrays; do echo "describe(\"$g\", () => {"; for n in 1 2 3 4 5 6 7; do echo "  it(\"$g number $n keeps its value\", () => { expect(qs.parse(qs.stringify({ a: { b: [$n, \"$g\"] } }))).to.deep.equal({ a: { b: [\"$n\", \"$g\"] } }); });"; done; echo "});"; done; } > test/all.js'
record pass 'npx mocha'
quietly 'sed -i "s/\[\"3\", /[\"30\", /" test/all.js; sed -i "s/\"nested\"\] } }); });/\"nestled\"] } }); });/" test/all.js'
record fail 'npx mocha'

# zlib and lz4 as their crates carry them.
c_sources() { # crate, directory in it
    crate_sources "$1"
    mv "$project/$2" /tmp/c-sources && rm -rf "$project" && mv /tmp/c-sources "$project"
}
tool=make
c_sources libz-sys-1.1.20 src/zlib
record configure_make './configure && make -j2'
record make_test 'make test'
record make_warnings 'make clean && make CFLAGS="-O2 -Wall -Wextra -Wconversion -fPIC" libz.a'
quietly "perl -pi -e 's/return Z_OK/return Z_OKAY/ if \$n++ % 3 == 0' inflate.c deflate.c"
record make_errors 'make -k'
record no_target 'make nothing; make -C nowhere; make -f Absent.mk; CC=no-such-compiler ./configure; make CC=no-such-compiler -k'
tool=cmake
c_sources libz-sys-1.1.20 src/zlib
record configure 'cmake -S . -B build'
record build 'cmake --build build -j2'
record configure_fails 'printf "find_package(OpenSSL 9 REQUIRED)\nfind_package(Nothing CONFIG REQUIRED)\n" >> CMakeLists.txt; cmake -S . -B other'
tool=ctest
record run 'ctest --test-dir build --output-on-failure -V'
tool=ninja
c_sources libz-sys-1.1.20 src/zlib
quietly 'cmake -S . -B build -G Ninja'
record verbose 'ninja -C build -v'
quietly "perl -pi -e 's/uInt/uIntt/ if \$n++ % 7 == 3' inftrees.c trees.c"
record errors 'ninja -C build -k 0'
tool=gcc
c_sources lz4-sys-1.11.1+lz4-1.10.0 liblz4/lib
record warnings 'gcc -c -Wall -Wextra -Wcast-qual -Wconversion -Wsign-conversion lz4.c lz4hc.c lz4frame.c'
quietly "perl -pi -e 's/LZ4_stream_t\*/LZ4_streem_t*/ if \$n++ % 5 == 0' lz4.c lz4hc.c"
record errors 'gcc -c -Wall lz4.c lz4hc.c'
record link_errors 'git init -q; gcc -o prog lz4frame.c'
tool=clang
record errors 'clang -c -Wall -Weverything -Wno-unsafe-buffer-usage lz4hc.c lz4frame.c'

tool=podman
fresh
quietly 'mkdir -p root/bin; cp /bin/busybox root/bin/; for a in sh ls cat echo sleep seq false true mkdir touch cp sed grep find; do ln -sf busybox root/bin/$a; done; tar -C root -cf root.tar .; podman import root.tar localhost/base:1; printf "FROM localhost/base:1\nWORKDIR /app\nCOPY app /app\nENV MODE=production\nRUN mkdir -p /app/out && for n in \$(seq 1 40); do echo step \$n of the installation; done\nRUN for f in /app/*.py; do echo compiling \$f; done\nEXPOSE 8000\nCMD [\"sh\", \"-c\", \"echo ready\"]\n" > Containerfile; mkdir app; for n in $(seq 1 30); do echo "print($n)" > app/part$n.py; done'
record build 'podman build --isolation=chroot -t shop:latest .'
record build_again 'podman build --isolation=chroot -t shop:latest .'
record build_fails 'printf "RUN echo before && for n in \$(seq 1 50); do echo checking part \$n; done && cat /app/absent.conf\n" >> Containerfile; podman build --isolation=chroot -t shop:broken .'
record pull_fails 'podman pull nothing.example.com/absent:1; podman run --rm absent-image true; podman logs nobody; podman rm nobody; podman exec nobody ls; podman build -f Absent .'
record images 'for n in 1 2 3 4 5 6 7 8 9 10 11 12; do podman tag shop:latest registry.example.com/team/shop:1.$n; done; podman images; podman history shop:latest; for n in 1 2 3 4 5 6; do podman create --name worker-$n shop:latest sleep 100 >/dev/null; done; podman ps -a'
quietly 'podman rm -af; podman rmi -af'
tool=docker
record no_daemon 'docker ps; docker images; docker compose up -d; docker build .; docker logs web; docker run --rm alpine true; docker info'
tool=kubectl
record no_server 'kubectl get pods; kubectl logs deploy/web; kubectl apply -f absent.yaml; kubectl describe pod web-1'

tool=grep
release_history Jinja2 3.1.2
record recursive 'grep -rn "environment" src'
record files 'grep -rln "import" .'
record context 'grep -rn -B2 -A4 "raise TypeError" src'
record count 'grep -rc "def " src tests'
record no_such_files 'grep -n "def " src/jinja2/absent.py src/nothing/*.py setup.py tests/conftest.py no.py src/jinja2/utils.py'
tool=rg
record word 'rg -n "Undefined" src tests'
record heading 'rg --heading -n "async def" src tests'
record files_with 'rg -l "import pytest"; rg --files | sort'
record nothing 'rg -n "class " absent_a absent_b src/jinja2/nodes.py src/absent.py'
tool=find
record python 'find . -name "*.py" -not -path "./.git/*"'
record everything 'find . -type f -not -path "./.git/*" | sort'
record long 'find src tests -type f -ls'
record absent 'find src absent1 absent2 tests -name "test_*.py" -newer nothing; find nowhere src -name "*.py" -size +4k'
tool=ls
record long 'ls -la src/jinja2 tests tests/res'
record recursive 'ls -R docs examples src'
record absent 'ls -la src/jinja2 absent docs nothing/here'
tool=tree
record levels 'tree -L 3 -I .git'

tool=logs
python_sources sqlparse==0.5.1
record install_log 'tail -n 300 /var/log/dpkg.log'
record term_log 'tail -c 20000 /var/log/apt/term.log'
record django_server 'rm -rf s && mkdir s && cd s && django-admin startproject site1 . && python manage.py migrate >/dev/null && (setsid timeout 40 python manage.py runserver --noreload 127.0.0.1:18755 >server.log 2>&1 & echo $! >pid); for i in $(seq 1 80); do curl -sf http://127.0.0.1:18755/ >/dev/null && break; sleep 0.3; done; for n in $(seq 1 60); do curl -s http://127.0.0.1:18755/items/$((n % 7))?page=$n >/dev/null; curl -s http://127.0.0.1:18755/ >/dev/null; done; kill $(cat pid); cat server.log'

tool=go
fresh
quietly 'cp -r /usr/share/gocode/src/github.com/spf13/pflag/. .; [ -e go.mod ] || go mod init github.com/spf13/pflag'
record test 'go test ./...'
record test_verbose 'go test -v ./...'
quietly "perl -pi -e 's/return nil/return fmt.Errorf(\"no\")/ if \$n++ == 9; s/len\(f.args\)/len(f.args)+1/' flag.go"
record test_fail 'go test ./...'
quietly "perl -pi -e 's/\*FlagSet\)/*FlagSett)/ if \$n++ % 9 == 0' *.go"
record build_fail 'go build ./...; go vet ./...'
tool=mypy
python_sources pluggy==1.5.0
record strict 'mypy --strict src testing'
python_sources toolz==0.12.1
record untyped 'mypy --strict toolz'
tool=ruff
record all 'ruff check --select ALL toolz'
record default_rules 'ruff check --select E,F,I,UP,B toolz'
record format 'ruff format --diff toolz'
tool=pylint
record package 'pylint toolz/itertoolz.py toolz/dicttoolz.py'
tool=terraform
fresh
quietly 'cat > main.tf <<X
variable "names" { default = ["web", "api", "worker", "cron", "cache"] }
resource "terraform_data" "service" {
  for_each = toset(var.names)
  input = { name = each.key, image = "registry.example.com/\${each.key}:1.4.2", replicas = 3, labels = { team = "shop", tier = "backend" } }
}
resource "terraform_data" "config" {
  triggers_replace = [for s in terraform_data.service : s.id]
  input = jsonencode({ services = var.names })
}
output "images" { value = { for k, s in terraform_data.service : k => s.input.image } }
X
terraform init'
record plan 'terraform plan'
record apply 'terraform apply -auto-approve'
record change 'sed -i s/1.4.2/1.5.0/ main.tf && terraform plan -no-color'
record broken 'echo "resource \"terraform_data\" \"x\" { input = var.absent, count = }" >> main.tf; terraform plan -no-color; sed -i "\$d" main.tf; echo "output \"x\" { value = terraform_data.absent.id }" >> main.tf; terraform validate -no-color'
tool=ansible
fresh
quietly 'printf "[web]\nweb[1:6]\n[db]\ndb[1:2]\n" > hosts; cat > site.yml <<X
- name: prepare hosts
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: directories
      file: { path: "/tmp/project/h/{{ inventory_hostname }}/{{ item }}", state: directory }
      loop: [bin, etc, log]
    - name: settings
      copy: { dest: "/tmp/project/h/{{ inventory_hostname }}/etc/app.conf", content: "host={{ inventory_hostname }}" }
    - name: check the port
      command: grep -q "port" /tmp/project/h/{{ inventory_hostname }}/etc/app.conf
      when: inventory_hostname in groups["db"]
X'
record fails 'ansible-playbook -i hosts site.yml'
record again 'sed -i "/check the port/,\$d" site.yml; ansible-playbook -i hosts site.yml'
tool=apt
fresh
record install 'apt-get install -y --no-install-recommends --reinstall fortune-mod cowsay lolcat nmap'
record update 'apt-get update; apt list --upgradable'
record missing 'apt-get install -y nothing-of-that-name-here cowsay python9; apt-get install -y python3=9.9 cowsay=99; apt-cache policy cowsay fortune-mod nmap'
tool=curl
fresh
quietly 'mkdir www; head -c 40000000 /dev/zero > www/big.bin; (cd www; setsid timeout 60 python3 -m http.server 18766 --bind 127.0.0.1 >/dev/null 2>&1 &); sleep 1'
record download 'curl -v --limit-rate 20M -o big.bin http://127.0.0.1:18766/big.bin'
record refused 'curl -v --retry 2 --retry-delay 1 --retry-connrefused http://127.0.0.1:18799/api/v1/items; curl -sS -v http://127.0.0.1:18766/absent/page -H "Accept: text/plain"'
tool=wget
record download 'wget http://127.0.0.1:18766/big.bin'
tool=rsync
record tree 'cp -r /usr/share/doc/git . 2>/dev/null; rsync -avz /usr/share/doc/g* copy/'
record fails 'rsync -av absent/ copy/; rsync -avn --delete www/ copy/ absent2/; rsync -e "ssh -p 1" -av www/ nobody@127.0.0.1:x/'
# `ps` and `df` are not here: their outputs told of the machine they were recorded on.
tool=du
record directories 'du -h --max-depth=2 /usr/share | sort -rh | head -60'
tool=psql
fresh
quietly 'rm -rf /tmp/pgdata; mkdir /tmp/pgdata; chown postgres /tmp/pgdata; P=/usr/lib/postgresql/15/bin; setpriv --reuid=postgres --regid=postgres --clear-groups $P/initdb -D /tmp/pgdata -U dev; setpriv --reuid=postgres --regid=postgres --clear-groups $P/pg_ctl -D /tmp/pgdata -o "-p 18734 -k /tmp -h \"\"" -l /tmp/pgdata/log -w start
psql -h /tmp -p 18734 -U dev postgres -c "create table orders (id serial primary key, customer text not null, placed timestamptz not null default now(), total numeric(10,2), status text)" -c "insert into orders (customer, placed, total, status) select \$\$customer \$\$ || n % 17, timestamptz \$\$2024-05-01 08:00Z\$\$ + n * interval \$\$37 minutes\$\$, n * 7.31, (array[\$\$new\$\$, \$\$paid\$\$, \$\$shipped\$\$])[n % 3 + 1] from generate_series(1, 400) n"'
record rows 'psql -h /tmp -p 18734 -U dev postgres -c "select * from orders order by id limit 60"'
record grouped 'psql -h /tmp -p 18734 -U dev postgres -c "select customer, status, count(*), sum(total) from orders group by 1, 2 order by 1, 2"'
record wrong 'psql -h /tmp -p 18734 -U dev postgres -v ON_ERROR_STOP=1 <<X
\d orders
select custmer from orders;
X
for q in "select * from order" "insert into orders (id) values (1)" "select sum(status) from orders" "delete from customers"; do psql -h /tmp -p 18734 -U dev postgres -c "$q"; done'
quietly 'setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/pg_ctl -D /tmp/pgdata -m immediate stop; rm -rf /tmp/pgdata'
tool=maven
fresh
quietly 'mkdir -p src/main/java/demo src/test/java/demo; printf "<project><modelVersion>4.0.0</modelVersion><groupId>demo</groupId><artifactId>shop</artifactId><version>1</version><properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target></properties><dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.13.2</version><scope>test</scope></dependency></dependencies></project>" > pom.xml; echo "package demo; public class Cart { public int total(int a, int b) { return a + b; } }" > src/main/java/demo/Cart.java; printf "package demo; import org.junit.*; public class CartTest { @Test public void adds() { Assert.assertEquals(3, new Cart().total(1, 2)); } @Test public void addsMore() { Assert.assertEquals(7, new Cart().total(1, 2)); } }" > src/test/java/demo/CartTest.java'
record test_fails 'mvn test'
record package_ok 'sed -i s/assertEquals.7/assertEquals\(3/ src/test/java/demo/CartTest.java; mvn package'
record compile_fails 'echo "package demo; class Bad { int f() { return undefined; } String g() { return 1; } }" > src/main/java/demo/Bad.java; mvn compile'
tool=gradle
fresh
quietly 'mkdir -p src/main/java/demo; printf "plugins { id \"java\" }\n" > build.gradle; echo "rootProject.name = \"shop\"" > settings.gradle; echo "package demo; public class Cart { int f() { return undefined; } String g() { return 1; } void h() { absent(); } }" > src/main/java/demo/Cart.java'
record build_fails 'gradle --no-daemon --offline build'
record tasks 'gradle --no-daemon --offline tasks'
tool=systemctl
record units 'systemctl list-unit-files --no-pager --type=service'
record not_running 'systemctl status; systemctl restart nginx; journalctl -u nginx -n 20; systemctl list-timers; systemctl cat ssh.service systemd-logind.service'
set_name=
