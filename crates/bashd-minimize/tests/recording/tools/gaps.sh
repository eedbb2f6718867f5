# What the other files could not record: tools that need something beside them (a journal to read, a repository to build from).
#
# Not recorded, and why: helm and brew come from no package registry that the recording machines reach; kubectl and docker have no
# server to talk to, so of them there are refusals, and images are built by podman and buildah.

tool=journalctl
fresh
# A journal of real lines: the package manager's log, a web server's, and a program that dies.
quietly 'python3 - <<X > entries
import time
lines = open("/var/log/dpkg.log").read().splitlines()[-260:]
at = 1763200000 * 10**6
def entry(unit, name, pid, priority, text):
    global at
    at += 137_211
    print(f"__REALTIME_TIMESTAMP={at}\n_BOOT_ID=3f0d2c1b4a5e6f708192a3b4c5d6e7f8\n_HOSTNAME=devbox\nSYSLOG_IDENTIFIER={name}\n_PID={pid}\nPRIORITY={priority}\n_SYSTEMD_UNIT={unit}\nMESSAGE={text}\n")
for number, line in enumerate(lines):
    entry("packages.service", "dpkg", 811, 6, line.split(" ", 2)[2])
    if number % 3 == 0:
        entry("web.service", "gunicorn", 902, 6, f"127.0.0.1 - - \"GET /items/{number} HTTP/1.1\" 200 {number * 37}")
    if number % 20 == 0:
        entry("web.service", "gunicorn", 902, 4, "worker timeout is near")
        entry("web.service", "gunicorn", 902, 4, "worker timeout is near")
    if number % 50 == 7:
        entry("web.service", "gunicorn", 902, 3, f"OperationalError: could not connect to server: Connection refused (try {number})")
    if number % 90 == 11:
        entry("init.scope", "systemd", 1, 6, "web.service: Scheduled restart job, restart counter is at 1.")
        entry("init.scope", "systemd", 1, 4, "web.service: Main process exited, code=exited, status=3/NOTIMPLEMENTED")
X
/lib/systemd/systemd-journal-remote --output=system.journal entries'
record last 'journalctl --file system.journal --no-pager -n 200'
record unit 'journalctl --file system.journal --no-pager -u web.service'
record errors 'journalctl --file system.journal --no-pager -p warning'
record precise 'journalctl --file system.journal --no-pager -o short-iso-precise -t dpkg -n 120'
record piped 'journalctl --file system.journal --no-pager | grep -v dpkg | tail -60'
record missing 'journalctl --file system.journal --no-pager --grep "refused|exited" -p err; journalctl --file absent.journal; journalctl --file entries; for unit in a b c d e f g h i j k l m n o p q r s t u v w x y z; do journalctl --file system.journal -u $unit.service --no-pager --since nonsense; done'

tool=poetry
fresh
quietly 'poetry init -n --name shop --python ">=3.11,<4"; mkdir shop; touch shop/__init__.py README.md; poetry source add main '"${SIMPLE_INDEX:?the address of the Python index to record from}"
record add 'poetry add flask requests rich pytest httpx pydantic sqlalchemy uvicorn mypy black pylint'
record install_again 'rm -rf "$(poetry env info -p)"; poetry install'
record show 'poetry show'
record tree 'poetry show --tree'
record update 'poetry update -vv'
record conflict 'poetry add "urllib3<1"; poetry add "jinja2<2" "flask>=3"; poetry add "click<8" -v'

tool=maven
fresh
quietly 'mkdir -p src/main/java/demo src/test/java/demo; cat > pom.xml <<X
<project><modelVersion>4.0.0</modelVersion><groupId>demo</groupId><artifactId>shop</artifactId><version>1</version>
<properties><maven.compiler.source>11</maven.compiler.source><maven.compiler.target>11</maven.compiler.target></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency></dependencies>
</project>
X
for n in 1 2 3 4 5 6; do
echo "package demo; public class Cart$n { public int total(int a, int b) { return a + b; } }" > src/main/java/demo/Cart$n.java
printf "package demo;\nimport org.junit.*;\npublic class Cart${n}Test {\n  @Test public void adds() { Assert.assertEquals(3, new Cart$n().total(1, 2)); }\n  @Test public void addsMore() { Assert.assertEquals($n, new Cart$n().total(1, 2)); }\n}\n" > src/test/java/demo/Cart${n}Test.java
done'
offline='mvn -o -s /etc/maven/settings-debian.xml'
[ -e /etc/maven/settings-debian.xml ] || offline='mvn -o -Dmaven.repo.local=/usr/share/maven-repo'
record failed_tests "$offline test"
record failed_tests_plain "$offline -B -fae test"
record compile_errors "for n in 2 4; do sed -i 's/return a + b/return a + c/' src/main/java/demo/Cart\$n.java; done; $offline -B compile"
record package_passes "sed -i 's/return a + c/return a + b/' src/main/java/demo/*.java; sed -i '/addsMore/d' src/test/java/demo/*.java; rm -rf target; $offline -B package"
record wrong_goal "$offline -B nothing:at-all"

tool=podman
fresh
quietly 'mkdir -p root/bin; cp /bin/busybox root/bin/; for a in sh ls cat echo sleep seq false true mkdir touch cp sed grep find; do ln -sf busybox root/bin/$a; done; tar -C root -cf root.tar .; podman import root.tar localhost/base:1; mkdir app; for n in $(seq 1 25); do echo "print($n)" > app/part$n.py; done; printf "FROM localhost/base:1 AS build\nWORKDIR /src\nCOPY app /src\nRUN for f in /src/*.py; do echo compiling \$f; done\nRUN mkdir /out && cp /src/*.py /out/\nFROM localhost/base:1\nCOPY --from=build /out /app\nLABEL version=1 team=shop\nENV MODE=production PORT=8000\nRUN for n in \$(seq 1 30); do echo installing part \$n; done\nENTRYPOINT [\"sh\"]\n" > Containerfile'
record build_stages 'podman build --isolation=chroot --layers -t shop:2 .'
record build_wrong 'sed -i "s/COPY --from=build/COPY --from=biuld/" Containerfile; podman build --isolation=chroot -t shop:3 .; sed -i "s/biuld/build/; s/RUN mkdir .out/RUN mkdir \/absent\/out/" Containerfile; podman build --isolation=chroot --no-cache -t shop:4 .'
record absent 'podman pull localhost:1/absent:1; podman run --rm localhost:1/absent-image:1 true; podman logs nobody; podman rm nobody; podman exec nobody ls; podman build -f Absent .; podman inspect nobody; podman stop nobody; podman start nobody; podman rmi absent:1 absent:2'
tool=buildah
record bud 'buildah bud --isolation chroot -t shop:5 .'
record images 'for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do buildah tag localhost/base:1 localhost/team/service-$n:1.$n; done; buildah images; buildah containers --all'
quietly 'podman rm -af; podman rmi -af'

tool=pytest
# Breaks what the tests call, in three ways, so that no two runs are alike.
python_sources humanize==4.11.0
quietly "perl -pi -e 's/ < / <= /' src/humanize/filesize.py"
record broken_code 'PYTHONPATH=src python -m pytest --tb=short --maxfail 12 tests/test_filesize.py tests/test_lists.py'
python_sources itsdangerous==2.2.0
quietly "perl -pi -e 's/^import json/import jsonn as json/' src/itsdangerous/_json.py"
record broken_import 'PYTHONPATH=src python -m pytest -v'
