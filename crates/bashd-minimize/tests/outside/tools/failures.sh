# Failures that the other corpus has not: one cause each, in the middle of an ordinary run.
tool=cargo
one=$(chosen crate 6 | tail -1)
crate "$one"
quietly "printf 'fn main() { panic!(\"no compiler for the target\"); }\n' > build.rs"
record failure_build_script 'cargo build -vv'
crate "$one"
quietly "sed -i 's/^edition.*/edition = \"2015\"/; 0,/^\\[dependencies\\]/s//[dependencies]\\nnothing-of-this-name-here = \"1\"/' Cargo.toml; grep -q nothing-of Cargo.toml || printf '[dependencies]\nnothing-of-this-name-here = \"1\"\n' >> Cargo.toml"
record failure_no_such_crate 'for i in 1 2 3; do cargo build -v; cargo test; done'
fresh
quietly 'cargo init -q --name shop && cargo add -q bitflags@=1.0.0 && cargo add -q bitflags2@1 || true'
printf 'extern "C" { fn nowhere_at_all(x: i32) -> i32; }\nfn main() { println!("{}", unsafe { nowhere_at_all(3) }); }\n' >"$project/src/main.rs" && owned
record failure_linker 'cargo build'
printf 'use std::thread;\nfn main() { for i in 0..40 { println!("order {i} of 40 is done"); } let h = thread::spawn(|| { let v: Vec<u8> = Vec::new(); v[3] }); let r = h.join(); println!("{r:?}"); std::process::abort(); }\n' >"$project/src/main.rs" && owned
record failure_run_aborts 'RUST_BACKTRACE=1 cargo run'
printf 'fn main() {}\n#[cfg(test)] mod tests { %s #[test] #[should_panic(expected = "refused")] fn panics_otherwise() { panic!("accepted") } #[test] fn overflow() { let mut v = vec![0u8; 3]; v[2] = 255; assert_eq!(v[2] + std::hint::black_box(1), 0); } }\n' "$(for i in $(seq 1 50); do echo "#[test] fn order_$i() { println!(\"{}\", $i); }"; done)" >"$project/src/main.rs" && owned
record failure_should_panic 'cargo test'
record failure_timeout_hidden 'trap "exit 0" EXIT; cargo test'
record failure_or_true 'cargo() { command cargo "$@" || true; }; cargo test'
tool=npm
fresh
printf '{"name":"shop","version":"1.0.0","scripts":{"test":"node a.js && node b.js","postinstall":"node c.js"}}' >"$project/package.json"
printf 'for (let i = 0; i < 40; i++) console.log(`ok ${i} order ${i} is paid`);\n' >"$project/a.js"
printf 'const orders = JSON.parse("{\\"a\\": 1,}");\n' >"$project/b.js"
printf 'console.log("rows\\n".repeat(60)); setTimeout(() => Promise.reject(new Error("certificate has expired")), 5);\n' >"$project/c.js" && owned
record failure_script_throws 'npm test'
record failure_postinstall 'npm install --foreground-scripts --loglevel verbose'
record failure_peer_conflict 'npm install --no-save react@19 react-dom@16 @testing-library/react@12'
record failure_bad_json 'printf "{\"name\": \"shop\",, }" > package.json; for i in 1 2 3; do npm install; npm run build; npm ls; done'
tool=pnpm
fresh && quietly 'npm init -y'
record failure_frozen_lock 'pnpm add -s is-number; npm pkg set dependencies.is-number=99.9.9; for i in 1 2 3 4; do pnpm install --frozen-lockfile; pnpm install; done'
tool=yarn
record failure_no_version 'for i in 1 2 3 4 5; do yarn add is-number@99.9.9 --verbose; yarn run nothing; done'
tool=tsc
fresh
for i in $(seq 1 12); do printf 'import { x } from "./none%s";\nexport const a%s: number = "text";\nexport function f(p: { a: string }): void { p.b; return 1; }\nlet u = <any>x; u.foo(; \n' "$i" "$i" >"$project/a$i.ts"; done
printf '{"compilerOptions":{"strict":true,"moduleResolution":"node16","module":"esnext","nothing":true},"include":["*.ts"],"extends":"./absent.json"}' >"$project/tsconfig.json" && owned
record failure_config 'tsc -p . --listFiles'
record failure_syntax 'tsc --noEmit --strict --pretty a1.ts a2.ts a3.ts'
tool=vite
printf '<script type="module" src="/main.js"></script>' >"$project/index.html"
printf 'import { thing } from "./none.js";\nimport "not-installed";\nconsole.log(thing);\n' >"$project/main.js" && owned
record failure_unresolved 'for i in 1 2 3; do vite build --debug; done'
tool=webpack
record failure_unresolved 'webpack --mode production --entry ./main.js'
tool=esbuild
record failure_unresolved 'for i in 1 2 3 4; do esbuild main.js a$i.ts --bundle --outdir=/tmp/o; done'
tool=jest
fresh
printf '{"name":"shop","version":"1.0.0"}' >"$project/package.json"
{ for i in $(seq 1 30); do printf 'test("order %s", () => { expect(%s).toBe(%s); });\n' "$i" "$i" "$i"; done; printf 'test("trailing blank", () => { expect("total: 3 ").toBe("total: 3"); });\ntest("never ends", async () => { await new Promise(() => {}); }, 300);\ntest("snapshot", () => { expect({ a: [1, 2, { b: "---------------------" }] }).toEqual({ a: [1, 2, { b: "----------------------" }] }); });\nafterAll(() => { throw new Error("the database is still open"); });\n'; } >"$project/shop.test.js" && owned
record failure_blank_and_timeout 'jest --verbose'
tool=mocha
mkdir -p "$project/test" && sed 's/^test(/it(/; s/afterAll/after/; s/expect(\(.*\)).to\(Be\|Equal\)(\(.*\)); });/require("assert").deepStrictEqual(\1, \3); });/' "$project/shop.test.js" | sed 's/}, 300);/}).timeout(300);/' >"$project/test/shop.js" && owned
record failure_blank_and_timeout 'mocha'
tool=vitest
record failure_blank_and_timeout 'vitest run --globals shop.test.js'
tool=pytest
fresh
{ printf 'import pytest, asyncio, warnings\n@pytest.fixture\ndef database():\n    yield 1\n    raise RuntimeError("the database is still open")\n'; for i in $(seq 1 40); do printf 'def test_order_%s(): assert %s == %s\n' "$i" "$i" "$i"; done; printf 'def test_rule(): assert "-------------------" == "--------------------"\ndef test_uses(database): assert database\ndef test_missing(no_such_fixture): pass\n@pytest.mark.parametrize("a", [1, "1", 1.0, "one"])\ndef test_same(a): assert a == 1, f"{a!r} differs"\ndef test_warns(): warnings.warn("this column goes away in 9.0", DeprecationWarning)\n@pytest.mark.xfail(strict=True)\ndef test_unexpectedly_passes(): pass\ndef test_exit():\n    import sys; print("ERROR: disk on fire\\rall good"); sys.exit(3)\n'; } >"$project/test_shop.py" && owned
record failure_fixtures 'python -m pytest -rA -v'
record failure_quiet 'python -m pytest -q --tb=short'
printf 'import os\nprint("\\n".join(f"loading part {i}" for i in range(60)))\nos._exit(7)\n' >"$project/conftest.py" && owned
record failure_conftest_dies 'for i in 1 2; do python -m pytest; done'
tool=unittest
rm -f "$project/conftest.py"
{ printf 'import unittest\nclass Orders(unittest.TestCase):\n'; for i in $(seq 1 30); do printf '    def test_order_%s(self): self.assertEqual(%s, %s)\n' "$i" "$i" "$i"; done; printf '    @unittest.expectedFailure\n    def test_odd(self): pass\n    def test_sub(self):\n        for i in range(4):\n            with self.subTest(i=i): self.assertLess(i, 2)\n    @classmethod\n    def tearDownClass(cls): raise OSError("socket left open")\n'; } >"$project/test_unit.py" && owned
record failure_subtests 'python -m unittest -v test_unit'
tool=pip
record failure_conflict 'python3 -m venv v; v/bin/pip install "django==4.2" "djangorestframework==3.16" "asgiref<3"'
record failure_build_c 'printf "from setuptools import *\nsetup(name=\"shop\", version=\"1\", ext_modules=[Extension(\"shop\", [\"shop.c\"])])\n" > setup.py; printf "#include <absent.h>\nint x;\n" > shop.c; v/bin/pip install -v .'
tool=uv
record failure_unsatisfiable 'rm -rf u; uv venv -q u; for i in 1 2 3 4; do VIRTUAL_ENV=u uv pip install "django==4.2" "asgiref<3"; VIRTUAL_ENV=u uv pip install "nothing-of-this-name-here==9"; done'
tool=tox
printf '[tox]\nenvlist = py,lint\n[testenv]\nskip_install = true\ndeps = nothing-of-this-name-here\ncommands = pytest\n[testenv:lint]\nskip_install = true\ncommands = python -c "import sys; print(chr(10).join(str(i) + \x27 of 60 rows\x27 for i in range(60))); sys.exit(4)"\n' >"$project/tox.ini" && owned
record failure_two_envs 'tox'
tool=mypy
printf '[mypy]\nplugins = absent_plugin\n' >"$project/mypy.ini" && owned
record failure_crash 'for i in 1 2 3 4 5 6; do mypy --show-traceback test_shop.py; mypy --config-file /dev/null --python-version 2.7 test_shop.py; done'
tool=go
fresh
mkdir -p "$project/a" "$project/b"
printf 'module example.com/shop\ngo 1.21\nrequire github.com/pkg/errors v0.9.1\n' >"$project/go.mod"
printf 'package a\nimport ("github.com/pkg/errors"; "os")\nfunc F() error { x := 3; return errors.New("a") }\nfunc G() int { return "a" }\n' >"$project/a/a.go"
{ printf 'package b\nimport ("testing"; "time"; "fmt")\n'; for i in $(seq 1 30); do printf 'func TestOrder%s(t *testing.T) { fmt.Println("order", %s); t.Run("sub", func(t *testing.T) { t.Log(%s) }) }\n' "$i" "$i" "$i"; done; printf 'func TestRace(t *testing.T) { m := map[int]int{}; for i := 0; i < 4; i++ { go func() { m[1]++ }() }; time.Sleep(50 * time.Millisecond) }\nfunc TestNil(t *testing.T) { var p *struct{ x int }; fmt.Println(p.x) }\nfunc TestSlow(t *testing.T) { time.Sleep(9 * time.Second) }\n'; } >"$project/b/b_test.go" && owned
record failure_nil_pointer 'go test -v ./b'
record failure_timeout 'go test -run TestSlow -timeout 1s ./b'
record failure_race 'go test -race -v -run "TestRace|TestOrder" ./b'
record failure_module 'for i in 1 2 3 4 5; do go build ./...; go vet ./...; go mod tidy; go get example.com/none; done'
tool=make
fresh
printf 'all: $(foreach i,$(shell seq 1 40),part$i) last\npart%%:\n\t@echo building $@ of 40\nlast: absent.h\n\tcc -c x.c\nbad:\n  echo spaces\n' >"$project/Makefile" && owned
record failure_spaces 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do make; make -C none; done'
printf 'all: $(foreach i,$(shell seq 1 60),part$i) last\npart%%:\n\t@echo building $@ of 60\nlast: absent.h\n\tcc -c x.c\n' >"$project/Makefile" && owned
record failure_no_rule 'make -k -j2'
record failure_ignored 'printf "all:\n\t@for i in 1 2 3 4 5 6 7 8; do echo copied \$\$i of 8 to s3://backup/\$\$i; done\n\t-rm /nonexistent/a\n\t-false\n\t@rm -v -rf old-backups id_rsa .env; seq 1 300\n" > M; touch id_rsa .env; make -f M'
tool=cmake
printf 'cmake_minimum_required(VERSION 3.20)\nproject(shop C CXX)\nfind_package(Nothing 3.1 REQUIRED)\nadd_executable(shop none.c)\n' >"$project/CMakeLists.txt" && owned
record failure_package 'cmake -S . -B out --debug-find-pkg=Nothing'
printf 'cmake_minimum_required(VERSION 3.20)\nproject(shop C)\n%s\nadd_executable(shop main.c)\ntarget_link_libraries(shop nothinglib)\n' "$(for i in $(seq 1 20); do echo "add_library(part$i part$i.c)"; done)" >"$project/CMakeLists.txt"
for i in $(seq 1 20); do echo "int part$i(void) { return $i; }" >"$project/part$i.c"; done; echo 'int main(void) { return 0; }' >"$project/main.c" && owned
record failure_link 'rm -rf out; cmake -S . -B out && cmake --build out'
tool=meson
printf "project('shop', 'c')\ndependency('nothing-of-this-name', version: '>=3')\nexecutable('shop', 'none.c')\n" >"$project/meson.build" && owned
record failure_dependency 'for i in 1 2 3; do meson setup out$i; done'
tool=gcc
printf '#include <stdio.h>\n#define TWICE(x) ((x) + (x)\ntemplate<typename T> struct A { T x; };\nint main() { int a = TWICE(3; printf("%%s\\n", 3); return undefined_name; }\n' >"$project/bad.c"
printf '#include <map>\n#include <string>\n#include <algorithm>\n#include <list>\nint main() { std::list<std::string> l; std::sort(l.begin(), l.end()); std::map<std::string, int> m; m[3.5] = "x"; return m.size().none; }\n' >"$project/bad.cc" && owned
record failure_templates 'g++ -std=c++17 -c bad.cc'
record failure_syntax 'gcc -Wall -c bad.c; gcc main.c -lnothing -L/nowhere; gcc -c absent.c; gcc -o x main.c bad.c part1.c main.c'
tool=clang
record failure_templates 'clang++ -std=c++17 -c bad.cc'
record failure_sanitizer 'printf "#include <stdlib.h>\nint main(void) { int *p = malloc(8); p[2] = 1; free(p); return p[0]; }\n" > san.c; clang -g -fsanitize=address,undefined san.c -o san && ./san'
tool=configure
one=$(chosen debian-configure 1)
debian_source "$one"
record failure_compiler './configure CC=/nowhere/cc; tail -60 config.log; ./configure --host=none-none-none --with-nothing'
tool=git
fresh
quietly 'git init -q -b main; git config user.name "Ada Brown"; git config user.email ada@example.com; for i in $(seq 1 60); do seq 1 $i > f$i; done; git add -A; git commit -qm one; git checkout -qb other; for i in $(seq 1 60); do echo other >> f$i; done; git commit -qam two; git checkout -q main; for i in $(seq 1 60); do echo main >> f$i; done; git rm -q f7; git commit -qam three; git init -q --bare ../refuse.git; printf "#!/bin/sh\nfor i in 1 2 3 4 5 6 7 8 9 10; do echo \"scan: file \$i of 10\"; done\necho \"error: secret AKIA0000EXAMPLE in config/.env:3\"\necho \"see https://hub.example.com/docs/secrets\"\nexit 1\n" > ../refuse.git/hooks/pre-receive; chmod +x ../refuse.git/hooks/pre-receive'
record failure_many_conflicts 'git merge other'
quietly 'git merge --abort'
record failure_cherry_pick 'git cherry-pick other; git status; git diff --stat; exit 1'
quietly 'git cherry-pick --abort'
record failure_hook_refuses 'for i in 1 2; do git push --progress ../refuse.git main; done'
record failure_overwritten 'for i in $(seq 1 60); do echo mine >> f$i; done; git checkout other; git pull ../refuse.git none'
record failure_corrupt 'find .git/objects -type f | sort | head -20 | xargs chmod u+w; find .git/objects -type f | sort | head -20 | xargs truncate -s 3; git fsck; git log --stat | head -50'
tool=rsync
record failure_permission 'mkdir -p a/b; for i in $(seq 1 40); do echo $i > a/b/$i; done; chmod 000 a/b/7 a/b/13; rsync -av a/ out/; rsync -av a/ /nowhere/deep/; rsync -av none/ out/'
tool=tar
record failure_truncated 'tar czf a.tgz --warning=no-file-changed f* ; head -c 700 a.tgz > b.tgz; tar xvzf b.tgz; tar xvf f1; tar cvf c.tar f* none'
tool=unzip
record failure_crc 'zip -q a.zip f*; printf "xx" | dd of=a.zip bs=1 seek=90 conv=notrunc 2>/dev/null; unzip -o a.zip -d z; head -c 900 a.zip > c.zip; unzip -t c.zip'
tool=curl
record failure_hosts 'for h in nowhere.invalid:9 127.0.0.1:1 "[::1]:1"; do curl -v --max-time 3 https://$h/; curl -sSf -v --max-time 3 http://$h/x; done'
tool=apt
record_root failure_unmet 'apt-get install -y nothing-of-this-name nginx=99.1; apt-get -s install libc6=1.0; apt-get -s -o Debug::pkgProblemResolver=yes install python3=1 git=2'
record failure_not_root 'for i in 1 2 3 4; do apt-get install hello; apt-get update; dpkg -i none.deb; done'
tool=psql
fresh
quietly '/usr/lib/postgresql/*/bin/pg_ctl -D /tmp/pg/data -o "-k /tmp/pg -c listen_addresses=" -l /tmp/pg/log -w start'
{ for i in $(seq 1 40); do echo "insert into ledger values ($i, 'row $i');"; done; } >"$project/rows.sql"
owned
record failure_deadline "psql -h /tmp/pg shop -c 'create table ledger (id int primary key, t varchar(6))' -f rows.sql; psql -h /tmp/pg shop -v ON_ERROR_STOP=1 -f rows.sql; psql -h /tmp/pg shop -c 'set statement_timeout = 50' -c 'select pg_sleep(3)'; psql -h /nowhere shop; psql -h /tmp/pg none"
quietly '/usr/lib/postgresql/*/bin/pg_ctl -D /tmp/pg/data -m fast stop'
tool=sqlite3
record failure_script 'for i in 1 2 3; do printf "create table t (a int not null unique);\n$(for n in $(seq 1 12); do echo "insert into t values ($n); select * from t;"; done)\ninsert into t values (3);\ninsert into t values (null);\nselect * from none;\nselec 1;\n" | sqlite3 :memory:; done'
tool=ansible
printf -- '- hosts: all\n  gather_facts: false\n  connection: local\n  tasks:\n%s\n    - name: Copy what is not there\n      ansible.builtin.copy: { src: none.conf, dest: /tmp/none.conf }\n    - name: Never reached\n      ansible.builtin.debug: { msg: no }\n' "$(for i in $(seq 1 12); do printf '    - { name: Step %s, ansible.builtin.debug: { msg: "row %s of 12" } }\n' "$i" "$i"; done)" >"$project/site.yml"
printf 'web1\nweb2\ndb1 ansible_connection=ssh ansible_host=127.0.0.1 ansible_port=1\n' >"$project/hosts" && owned
record failure_unreachable 'ansible-playbook -i hosts site.yml -vv; ansible -i hosts db1 -c ssh -m ping'
record failure_syntax 'sed -i "s/- name: Never/ - name: Never/" site.yml; for i in 1 2 3; do ansible-playbook -i hosts site.yml; done'
tool=terraform
printf 'resource "terraform_data" "a" {\n  count = 8\n  provisioner "local-exec" { command = "echo moving row ${count.index} of 8; test ${count.index} != 5 || { echo disk quota exceeded >&2; exit 9; }" }\n}\n' >"$project/main.tf" && owned
record failure_provisioner 'terraform init >/dev/null; terraform apply -auto-approve'
printf 'resource "terraform_data" "a" { input = var.none }\nresource "terraform_data" "a" { nothing = 3 }\nmodule "m" { source = "./absent" }\nprovider "aws" { region = "x" }\noutput "o" { value = terraform_data.b.output }\n' >"$project/main.tf" && owned
record failure_configuration 'terraform init; terraform validate; terraform plan'
tool=kubectl
printf 'apiVersion: v1\nkind: Pod\nmetadata: { name: shop }\nspec: { containers: [ { name: a, imag: x } ] }\n---\napiVersion: nothing/v9\nkind: Thing\nmetadata: { name: x }\n' >"$project/pod.yaml" && owned
record failure_apply 'for i in 1 2 3; do kubectl apply -f pod.yaml; kubectl apply -f none.yaml; kubectl logs shop; kubectl rollout status deploy/shop --timeout=1s; done'
tool=docker
printf 'FROM alpine\nRUN false\n' >"$project/Dockerfile" && owned
record failure_build 'for i in 1 2 3 4 5 6 7 8; do docker build --progress=plain -t shop .; docker push shop; docker exec -it shop sh; done'
tool=buildah
record_root failure_step 'printf "FROM scratch\nCOPY . /all\nRUN [\"/bin/none\"]\n" > C; for i in 1 2 3; do buildah --storage-driver vfs bud --isolation chroot -f C .; buildah --storage-driver vfs pull nowhere.invalid/shop:1; done'
tool=gradle
mkdir -p "$project/src/main/java" && printf 'class A { int x() { return "a"; } void y() { new B().z(); } }\n' >"$project/src/main/java/A.java"
printf 'apply plugin: "java"\nrepositories { mavenLocal() }\ndependencies { compile "com.example:absent:1.0" }\n' >"$project/build.gradle" && owned
record failure_dependency 'gradle --offline build --stacktrace'
printf 'apply plugin: "java"\ntask early { doLast { (1..40).each { println "✔ row $it of 40" } } }\ncompileJava.dependsOn early\n' >"$project/build.gradle" && owned
record failure_compile 'gradle --offline build'
tool=maven
printf '<project><modelVersion>4.0.0</modelVersion><groupId>g</groupId><artifactId>a</artifactId><version>1</version><dependencies><dependency><groupId>com.example</groupId><artifactId>absent</artifactId><version>1</version></dependency></dependencies></project>' >"$project/pom.xml" && owned
record failure_dependency 'mvn -o -B -e -Dmaven.repo.local=/usr/share/maven-repo package'
tool=journalctl
record failure_corrupt 'head -c 5000 /tmp/journal/all.journal > /tmp/cut.journal; for i in 1 2 3 4 5 6 7 8; do journalctl --file /tmp/cut.journal --verify; journalctl --file /tmp/none.journal; journalctl --file /tmp/cut.journal --since nonsense; done'
tool=find
record failure_exec_masked 'mkdir -p x; for i in $(seq 1 30); do echo $i > x/$i; done; find x -type f -exec sh -c "echo checking \$1; test \$1 != x/17 || { echo \"ERROR: \$1 is damaged\" >&2; exit 1; }" _ {} \; ; find /nowhere x -printf "%M %u %s %p\n"'
