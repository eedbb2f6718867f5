# Databases, machines and containers.
tool=sqlite3
fresh
quietly "sqlite3 shop.db 'create table orders (id integer primary key, customer text not null, total real, state text); with recursive n(i) as (select 1 union all select i + 1 from n where i < 200) insert into orders select i, \"customer \" || (i % 17), i * 1.5, case i % 4 when 0 then \"open\" else \"paid\" end from n;'"
record select_all 'sqlite3 -header -column shop.db "select * from orders limit 120"'
record box 'sqlite3 -box shop.db "select customer, count(*), sum(total) from orders group by customer"'
record dump 'sqlite3 shop.db .dump'
record plan_schema 'sqlite3 shop.db ".schema" ".stats on" "explain select customer, sum(total) from orders group by 1 order by 2" "pragma integrity_check" ".dbinfo"'
tool=psql
quietly_root 'rm -rf /tmp/pg; mkdir /tmp/pg; chown user /tmp/pg'
quietly '/usr/lib/postgresql/*/bin/initdb -D /tmp/pg/data -U user -A trust; /usr/lib/postgresql/*/bin/pg_ctl -D /tmp/pg/data -o "-k /tmp/pg -c listen_addresses=" -l /tmp/pg/log -w start; createdb -h /tmp/pg shop'
record create_fill "psql -h /tmp/pg shop -e -c 'create table orders (id serial primary key, customer text not null, total numeric, state text)' -c 'insert into orders (customer, total, state) select chr(65 + i % 26), i * 1.5, case i % 4 when 0 then chr(79) else chr(80) end from generate_series(1, 300) i' -c 'select * from orders limit 90'"
record describe "psql -h /tmp/pg shop -c '\\d+ orders' -c '\\dS' -c '\\l+'"
record explain "psql -h /tmp/pg shop -c 'explain (analyze, verbose, buffers) select customer, sum(total) from orders where state = chr(79) group by 1 having sum(total) > 3 order by 2 desc' -c 'select customer, count(*), sum(total) from orders group by 1 order by 1'"
record expanded "psql -h /tmp/pg shop -x -c 'select * from orders limit 40'"
printf 'begin;\n%s\ncommit;\n' "$(for i in $(seq 1 60); do echo "insert into orders (customer, total) values ('c$i', $i);"; done)" >"$project/load.sql"
printf 'insert into orders (customer) values (null);\nselect * from nothing;\nselec 1;\nupdate orders set total = '"'x'"';\ncreate table orders (id int);\nselect 1/0;\n' >>"$project/load.sql"
owned
record load_script 'psql -h /tmp/pg shop -a -f load.sql'
tool=pg_dump
record verbose 'pg_dump -h /tmp/pg -v shop'
tool=initdb
record new '/usr/lib/postgresql/*/bin/initdb -D /tmp/pg/other -U user -A trust --debug 2>&1 | head -200'
quietly '/usr/lib/postgresql/*/bin/pg_ctl -D /tmp/pg/data -m fast stop'
tool=ansible
fresh
cat >"$project/site.yml" <<'Y'
- hosts: all
  connection: local
  vars:
    ansible_python_interpreter: /usr/bin/python3
  tasks:
    - name: Make folders
      ansible.builtin.file: { path: "/tmp/ansible-{{ item }}", state: directory, mode: "0750" }
      loop: [a, b, c, d, e, f]
    - name: Write settings
      ansible.builtin.copy: { dest: /tmp/ansible-a/settings.conf, content: "port=8080\nhost={{ inventory_hostname }}\n", mode: "0600" }
      diff: true
    - name: Check a service
      ansible.builtin.command: /bin/false
      ignore_errors: true
    - name: Skip what is not needed
      ansible.builtin.debug: { msg: never }
      when: false
    - name: Tell
      ansible.builtin.debug: { msg: "deployed to https://{{ inventory_hostname }}.example.com" }
Y
printf 'web1\nweb2\nweb3\n' >"$project/hosts"
owned
record playbook 'ansible-playbook -i hosts site.yml'
record playbook_diff 'rm -rf /tmp/ansible-*; ansible-playbook -i hosts --diff --check -v site.yml'
record setup_facts 'ansible -i hosts web1 -c local -m ansible.builtin.setup -a "gather_subset=!all,min"'
record inventory_list 'ansible-playbook -i hosts --list-tasks --list-hosts --list-tags site.yml; ansible-doc -l ansible.builtin | head -60'
tool=ansible-lint
record site 'ansible-lint -v site.yml'
tool=yamllint
record strict 'yamllint -s site.yml /usr/lib/python3/dist-packages/ansible_collections/*/*/meta/runtime.yml | head -200'
tool=terraform
fresh
cat >"$project/main.tf" <<'T'
terraform { required_version = ">= 1.0" }
variable "shops" { default = ["north", "south", "east", "west"] }
resource "terraform_data" "shop" {
  for_each         = toset(var.shops)
  input            = { name = each.key, address = "https://${each.key}.example.com", size = length(each.key) }
  triggers_replace = [each.key]
}
resource "terraform_data" "hello" {
  for_each = terraform_data.shop
  provisioner "local-exec" { command = "for i in 1 2 3 4; do echo step $i of ${each.key}: 0 of 4 rows moved; done" }
}
output "addresses" { value = { for k, v in terraform_data.shop : k => v.output.address } }
T
owned
record init_plan 'terraform init && terraform plan'
record apply 'terraform apply -auto-approve'
record replace 'terraform apply -auto-approve -replace="terraform_data.shop[\"north\"]" && terraform show && terraform state list && terraform output'
record destroy_plan 'terraform plan -destroy'
record destroy 'terraform destroy -auto-approve'
tool=kubectl
fresh
record create_dry 'for n in a b c d e f; do kubectl create deployment shop-$n --image=shop:$n --replicas=3 --dry-run=client -o yaml; done'
record refused 'for n in pods nodes services; do kubectl get $n -A -v=6; done'
record explain_help 'kubectl create --help; kubectl config view; kubectl options'
tool=docker
record no_daemon 'for i in 1 2 3 4 5 6 7; do docker ps; docker build .; docker compose up; docker pull alpine; docker images; done'
record help 'docker --help; docker run --help'
tool=buildah
printf 'FROM scratch\nLABEL shop=1\nCOPY a /a\nENV PATH=/bin\nCOPY b /b\nEXPOSE 8080\nWORKDIR /srv\nVOLUME /data\nUSER 1000\nARG VERSION=1\nLABEL version=$VERSION\nENTRYPOINT ["/a"]\nCMD ["serve"]\n' >"$project/Containerfile"
printf 'a\n' >"$project/a" && printf 'b\n' >"$project/b" && owned
record_root bud 'buildah --storage-driver vfs bud --isolation chroot -t shop:1 . && buildah --storage-driver vfs bud --isolation chroot --layers -t shop:2 . && buildah --storage-driver vfs images'
record_root inspect 'buildah --storage-driver vfs inspect --type image shop:1'
tool=podman
record_root build 'podman --storage-driver vfs build --isolation chroot --no-cache -t shop:3 . && podman --storage-driver vfs images -a && podman --storage-driver vfs history --no-trunc shop:3'
record_root info 'podman --storage-driver vfs info --debug; podman --storage-driver vfs system df -v'
record_root failing_copy 'printf "FROM scratch\nCOPY none /none\n" > Bad; for i in 1 2 3 4 5; do podman --storage-driver vfs build -f Bad .; podman --storage-driver vfs run --rm shop:3; done'
tool=maven
fresh
mkdir -p "$project/src/main/java/shop" "$project/src/test/java/shop"
cat >"$project/pom.xml" <<'P'
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>com.example</groupId><artifactId>shop</artifactId><version>1.0</version>
<properties><maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version><scope>test</scope></dependency></dependencies></project>
P
printf 'package shop;\nimport java.util.*;\npublic class Cart {\n  private final List items = new ArrayList();\n  public int total() { int sum = 0; for (Object o : items) sum += (Integer) o; return sum; }\n  public void add(int price) { items.add(price); }\n  @Deprecated public int size() { return items.size(); }\n}\n' >"$project/src/main/java/shop/Cart.java"
printf 'package shop;\nimport static org.junit.Assert.*;\nimport org.junit.*;\npublic class CartTest {\n  @Test public void adds() { Cart c = new Cart(); c.add(2); assertEquals(2, c.total()); }\n  @Ignore("later") @Test public void later() {}\n  @Test public void fails() { assertEquals(1, new Cart().total()); }\n}\n' >"$project/src/test/java/shop/CartTest.java"
owned
record offline_package 'mvn -o -B -Dmaven.repo.local=/usr/share/maven-repo package'
record offline_compile 'mvn -o -B -e -Dmaven.repo.local=/usr/share/maven-repo compile'
record help_effective 'mvn -o -Dmaven.repo.local=/usr/share/maven-repo dependency:tree; mvn -o -X -Dmaven.repo.local=/usr/share/maven-repo validate'
tool=javac
record lint 'for i in 1 2 3; do javac -Xlint:all -d /tmp/classes src/main/java/shop/Cart.java; done'
record missing_junit 'javac -Xlint:all -d /tmp/classes -cp /tmp/classes src/test/java/shop/CartTest.java src/main/java/shop/Cart.java'
record verbose 'javac -verbose -d /tmp/classes src/main/java/shop/Cart.java'
tool=gradle
printf 'apply plugin: "java"\nsourceCompatibility = 17\nrepositories { mavenLocal() }\ntask hello { doLast { (1..30).each { println "row $it: 0 of ${it * 3} moved" } } }\n' >"$project/build.gradle"
rm -rf "$project/src/test" && owned
record build 'gradle --offline build'
record build_info 'gradle --offline --info clean hello assemble'
record tasks 'gradle --offline tasks --all; gradle --offline properties | head -80; gradle --offline dependencies'
record unknown_task 'gradle --offline --stacktrace nothing'
tool=ant
printf '<project name="shop" default="jar"><target name="compile"><mkdir dir="out"/><javac srcdir="src/main/java" destdir="out" includeantruntime="false" debug="on"><compilerarg value="-Xlint:all"/></javac></target><target name="jar" depends="compile"><jar destfile="shop.jar" basedir="out"/><echo>0 of 3 shops deployed</echo></target></project>\n' >"$project/build.xml"
owned
record jar_verbose 'ant -v jar'
record diagnostics 'ant -diagnostics'
tool=shellcheck
fresh
for one in $(chosen debian-configure 4); do
    debian_source "$one"
    record "scripts_$(name_of "$one")" 'shellcheck -s sh $(grep -rIl "^#!/bin/\(ba\)\?sh" . | sort | grep -v configure$ | head -3)'
    tool=perl
    record "prove_$(name_of "$one")" 'for i in 1 2 3; do printf "use Test::More; for my \$n (1..40) { is(\$n %% 13, \$n == 20 ? 1 : \$n %% 13, \"order \$n\") } done_testing;" > t$i.t; done; prove -v t1.t t2.t t3.t'
    tool=file
    record "all_$(name_of "$one")" 'find . -type f | sort | head -80 | xargs file'
    tool=shellcheck
done
tool=bats
fresh
{ for i in $(seq 1 40); do printf '@test "order %s keeps its total" { run echo %s; [ "$output" = %s ]; }\n' "$i" "$i" "$i"; done; printf '@test "fails" { run false; [ "$status" -eq 0 ]; }\n@test "skipped" { skip "no network"; }\n'; } >"$project/shop.bats"
owned
record tap 'bats --tap shop.bats'
record pretty 'bats --pretty --timing shop.bats'
tool=rake
printf 'task default: [:a]\n%s\n' "$(for i in $(seq 1 30); do echo "task(:t$i) { puts 'row $i of 30: 0 of 9 moved to https://shop.example.com/$i' }"; done; echo "task a: %w[$(seq -s ' ' -f 't%g' 1 30)]")" >"$project/Rakefile"
owned
record trace 'rake --trace'
tool=php
printf '<?php\n%s\nundefined_function();\n' "$(for i in $(seq 1 30); do echo "echo \$missing$i; echo \"row $i\\n\";"; done)" >"$project/shop.php"
owned
record warnings 'php -d display_errors=1 -d error_reporting=E_ALL shop.php'
