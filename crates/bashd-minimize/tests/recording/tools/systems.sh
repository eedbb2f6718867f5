# Package managers, transfers, infrastructure and databases.
tool=apt
fresh
record update 'apt-get update'
record install 'apt-get install -y --no-install-recommends --reinstall cowsay figlet fortune-mod sl toilet libfribidi0'
record remove 'apt-get remove -y sl toilet figlet'
record show 'apt show python3 curl git'
tool=curl
fresh
quietly 'mkdir www; for n in $(seq 1 20); do head -c 300000 /dev/zero | tr "\0" "x" > www/file$n.bin; done; (cd www; setsid python3 -m http.server 18733 --bind 127.0.0.1 >/tmp/http-server.log 2>&1 & echo $! > /tmp/http-server.pid); sleep 1'
record progress 'curl --limit-rate 4M -O http://127.0.0.1:18733/file[1-20].bin'
record verbose 'curl -v http://127.0.0.1:18733/ http://127.0.0.1:18733/missing http://127.0.0.1:18733/file1.bin -o a -o b -o c'
record refused 'for p in 1 2 3; do curl -v --retry 1 --retry-delay 1 --retry-connrefused http://127.0.0.1:187$p/; done'
tool=wget
record progress 'wget --limit-rate=3m http://127.0.0.1:18733/file1.bin http://127.0.0.1:18733/file2.bin http://127.0.0.1:18733/file3.bin'
record_terminal terminal 'wget --limit-rate=1m http://127.0.0.1:18733/file4.bin http://127.0.0.1:18733/file5.bin'
record recursive 'wget -r -l 1 -np http://127.0.0.1:18733/'
record missing 'wget http://127.0.0.1:18733/a http://127.0.0.1:18733/b http://127.0.0.1:18733/c http://127.0.0.1:18733/d http://127.0.0.1:18733/file6.bin http://127.0.0.1:1/'
tool=rsync
record verbose 'rsync -av --stats www/ copy/'
record_terminal progress 'rm -rf copy; rsync -a --progress --bwlimit=9000 www/ copy/'
record failing 'rsync -av www/ nowhere/at/all/ ; rsync -avn www/ absent/ copy/; chmod 000 www/file3.bin; rsync -av --delete absent1 absent2 copy2/; rsync -avi --checksum www/ copy3/'
tool=logs
record http_server 'python3 - <<X
import urllib.request
for i in range(60):
    urllib.request.urlopen("http://127.0.0.1:18733/file%d.bin" % (i % 20 + 1)).read(10)
X
cat /tmp/http-server.log'
[ -f /tmp/http-server.pid ] && kill "$(cat /tmp/http-server.pid)" && rm -f /tmp/http-server.pid
tool=tar
record list 'tar -czvf www.tgz www copy; tar -tvzf www.tgz'
record missing 'tar -xvf nothing.tar; tar -cvf x.tar absent1 absent2 www'
tool=terraform
fresh
quietly 'cat > main.tf <<X
resource "terraform_data" "node" {
  count = 12
  input = { name = "node-\${count.index}", size = "large", zone = "z\${count.index % 3}" }
}
output "names" { value = [for node in terraform_data.node : node.input.name] }
X'
record init 'terraform init'
record plan 'terraform plan'
record apply 'terraform apply -auto-approve'
record apply_color 'sed -i "s/large/small/" main.tf; TF_CLI_ARGS= terraform apply -auto-approve'
record plan_no_change 'terraform plan -no-color'
record destroy 'terraform destroy -auto-approve -no-color'
record errors 'printf "resource \"terraform_data\" \"a\" { input = var.nothing\n foo = 1 }\noutput \"x\" { value = local.absent }\nmodule \"m\" { source = \"./absent\" }\n" > more.tf; terraform validate; terraform plan -no-color'
tool=ansible
fresh
quietly 'cat > site.yml <<X
- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: make directories
      file: { path: "/tmp/project/out/{{ inventory_hostname }}", state: directory }
    - name: write a file
      copy: { dest: "/tmp/project/out/{{ inventory_hostname }}/a", content: "{{ inventory_hostname }}" }
    - name: look at it
      command: cat /tmp/project/out/{{ inventory_hostname }}/a
      register: seen
    - name: say it
      debug: { var: seen }
    - name: never
      command: "false"
      when: inventory_hostname == "web3"
X
printf "[web]\nweb1\nweb2\nweb3\nweb4\n" > hosts'
record play_fail 'ansible-playbook -i hosts site.yml'
record play_ok 'sed -i "/name: never/,\$d" site.yml; ansible-playbook -i hosts site.yml -v'
record play_color 'ANSIBLE_FORCE_COLOR=1 ansible-playbook -i hosts site.yml'
tool=psql
fresh
export PGHOST=/tmp PGPORT=18734
quietly 'rm -rf /tmp/pgdata; mkdir /tmp/pgdata; chown postgres /tmp/pgdata; P=/usr/lib/postgresql/15/bin; setpriv --reuid=postgres --regid=postgres --clear-groups $P/initdb -D /tmp/pgdata -U dev; setpriv --reuid=postgres --regid=postgres --clear-groups $P/pg_ctl -D /tmp/pgdata -o "-p 18734 -k /tmp -h \"\"" -l /tmp/pgdata/log -w start
psql -h /tmp -p 18734 -U dev postgres -c "create table people (id serial primary key, name text not null, email text unique, born date, balance numeric(12,2), note text)" -c "insert into people (name, email, born, balance, note) select \$\$Person number \$\$ || n, \$\$person\$\$ || n || \$\$@example.com\$\$, date \$\$1980-01-01\$\$ + n * 37, n * 13.37, case when n % 3 = 0 then null else repeat(\$\$note \$\$, n % 5) end from generate_series(1, 120) n"'
record select 'psql -h /tmp -p 18734 -U dev postgres -c "select * from people"'
record expanded 'psql -h /tmp -p 18734 -U dev postgres -x -c "select * from people limit 25"'
record describe 'psql -h /tmp -p 18734 -U dev postgres -c "\d+ people" -c "\l" -c "\dS"'
record explain 'psql -h /tmp -p 18734 -U dev postgres -c "explain (analyze, verbose, buffers) select p.name, count(*) from people p join people q on p.born < q.born where p.balance > 100 group by p.name order by 2 desc"'
record errors 'psql -h /tmp -p 18734 -U dev postgres -c "select * from nothing" -c "insert into people (name, email) values (null, null)" -c "select nmae from people" -c "\d absent"; for n in 1 2 3 4 5 6 7 8; do psql -h /tmp -p 18734 -U dev postgres -c "insert into people (name, email) values (\$\$x\$\$, \$\$person$n@example.com\$\$)"; psql -h /tmp -p 18734 -U dev postgres -c "selct $n"; done; psql -h /tmp -p 18739 -U dev postgres -c "select 1"'
tool=logs
record postgres 'cat /tmp/pgdata/log'
quietly 'setpriv --reuid=postgres --regid=postgres --clear-groups /usr/lib/postgresql/15/bin/pg_ctl -D /tmp/pgdata -m immediate stop; rm -rf /tmp/pgdata'
tool=logs
record dpkg 'tail -n 200 /var/log/dpkg.log'
tool=maven
fresh
quietly 'mkdir -p src/main/java/demo; printf "<project><modelVersion>4.0.0</modelVersion><groupId>demo</groupId><artifactId>shop</artifactId><version>1</version></project>" > pom.xml; echo "package demo; class A { int f() { return \"x\"; } }" > src/main/java/demo/A.java'
record offline 'mvn -B package; mvn -B -o -e test'
tool=gradle
fresh
quietly 'mkdir -p src/main/java/demo; printf "plugins { id \"java\" }\n" > build.gradle; echo "rootProject.name = \"shop\"" > settings.gradle; for n in 1 2 3 4 5 6 7 8; do echo "package demo; class A$n { int f() { return \"x\"; } String g() { int unused; return undefined$n; } void h() { new java.util.Date(99, 1, 1); } }" > src/main/java/demo/A$n.java; done'
record compile_errors 'gradle --no-daemon --offline build'
record tasks 'gradle --no-daemon --offline tasks --all'
record_terminal build_terminal 'rm -rf src/main/java/demo/*; echo "package demo; class A { }" > src/main/java/demo/A.java; gradle --no-daemon --offline build --info'
tool=javac
fresh
quietly 'mkdir -p demo; for n in 1 2 3 4 5 6 7 8; do echo "package demo; class A$n { int f() { return \"x\"; } String g() { int unused; return undefined$n; } java.util.List h() { return new java.util.ArrayList(); } }" > demo/A$n.java; done'
record errors 'javac -Xlint:all demo/*.java'
tool=kubectl
record refused 'kubectl get pods -A; kubectl describe node; kubectl apply -f nothing.yaml; for n in 1 2 3 4; do kubectl get svc,deploy -n team-$n; done'
tool=systemctl
record units 'systemctl list-unit-files --no-pager'
record offline 'systemctl status ssh; systemctl list-units; journalctl -n 50; systemctl cat systemd-journald.service systemd-udevd.service'
