# What is not a language: version control, archives, transfers, packages, services, databases, machines.
# The releases of a chosen PyPI project are a history with real changes.
history_of() { # name versions...
    local name=$1 version
    shift
    fresh
    quietly 'git init -q -b main && git config user.name "Ada Brown" && git config user.email ada@example.com'
    local day=10
    for version in "$@"; do
        mv "$project/.git" "$root/home/user/.kept-git"
        sdist "$name@$version"
        rm -rf "$project/.git" && mv "$root/home/user/.kept-git" "$project/.git"
        day=$((day + 1))
        quietly "git add -A -f; GIT_AUTHOR_DATE=2025-03-${day}T10:00:00Z GIT_COMMITTER_DATE=2025-03-${day}T10:00:00Z git commit -q -m 'Release $version'; git tag v$version"
    done
}
tool=git
history_of idna 3.4 3.6 3.7 3.10
record log_stat 'git log --stat'
record log_graph 'git log --graph --decorate --stat --format=fuller'
record diff_tests 'git diff v3.6 v3.7 -- tests/test_idna.py idna/core.py'
record diff_words 'git diff --word-diff v3.7 v3.10 -- idna/core.py README.rst pyproject.toml'
record show_release 'git show --stat --summary v3.4 v3.7'
record blame 'git blame -L 1,120 idna/core.py'
record checkout_detached 'git checkout v3.4 && git status && git checkout -b old && sed -i s/import/imports/ idna/*.py && git status -v'
record stash_reset 'git stash -v -u; git stash list; git reset --hard v3.10; git clean -ndx; git gc --prune=now; git fsck --full --unreachable --verbose | head -60; git count-objects -vH'
quietly 'rm -rf ../hub.git; git init -q --bare ../hub.git; printf "#!/bin/sh\necho \"Resolving deltas: 100%% (3/3), completed with 2 local objects.\"\necho \"warning: GH001: id_rsa holds a private key; rotate it\"\necho \"Create a pull request for old on the hub by visiting:\"\necho \"     https://hub.example.com/shop/pull/new/old\"\nfor i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo \"review bot: file \$i of 12 has 0 of 3 approvals\"; done\n" > ../hub.git/hooks/post-receive; chmod +x ../hub.git/hooks/post-receive; git remote add origin ../hub.git'
record push_hook 'git push --progress --all origin && git push --tags --progress origin'
record clone_progress 'rm -rf /tmp/clone; git clone --progress file:///home/user/hub.git /tmp/clone; cd /tmp/clone && git branch -a -vv && git tag -n && git ls-files | head -60'
record archive_format 'git archive --format=tar -v v3.10 >/dev/null; git format-patch -1 --stdout v3.7 --stat | head -80'
record shortlog_ref 'git for-each-ref; git reflog; git shortlog -sne --all; git cherry -v v3.4 main'
tool=rsync
for one in $(chosen pypi 3); do
    sdist "$one"
    quietly 'mkdir -p .ssh; touch .ssh/authorized_keys .env'
    record "archive_$(name_of "$one")" 'rm -rf /tmp/copy; rsync -av ./ /tmp/copy/'
    record "delete_$(name_of "$one")" 'rm -rf tests/*a*; rsync -avi --delete --stats ./ /tmp/copy/'
    record_terminal "progress_$(name_of "$one")" 'rm -rf /tmp/copy; rsync -a --progress ./ /tmp/copy/ | head -400'
    tool=tar
    record "create_$(name_of "$one")" 'tar cvzf /tmp/it.tar.gz .'
    record "list_$(name_of "$one")" 'tar tvzf /tmp/it.tar.gz'
    tool=zip
    record "add_$(name_of "$one")" 'rm -f /tmp/it.zip; zip -r /tmp/it.zip .'
    tool=unzip
    record "extract_$(name_of "$one")" 'rm -rf /tmp/out; unzip -o /tmp/it.zip -d /tmp/out'
    record "list_$(name_of "$one")" 'unzip -v /tmp/it.zip'
    tool=find
    record "ls_$(name_of "$one")" 'find . -type f -newermt 2000-01-01 -ls'
    tool=ls
    record "recursive_$(name_of "$one")" 'ls -laR .'
    tool=du
    record "all_$(name_of "$one")" 'du -ah . | sort -h'
    tool=tree
    record "sizes_$(name_of "$one")" 'tree -aps .'
    tool=rg
    record "words_$(name_of "$one")" 'rg -n "error|raise|return None" .'
    tool=grep
    record "context_$(name_of "$one")" 'grep -rn -C1 "import" --include=*.py . | head -300'
    tool=diff
    record "trees_$(name_of "$one")" 'rm -rf /tmp/old; cp -r . /tmp/old; find . -name "*.py" | sort | head -5 | xargs sed -i "s/self/this/"; diff -ru /tmp/old .'
    tool=wc
    record "lines_$(name_of "$one")" 'find . -type f | sort | xargs wc'
    tool=rsync
done
for tool in curl wget openssl; do
    fresh
    quietly 'mkdir -p www; for i in $(seq 1 12); do seq 1 20000 > www/part-$i.txt; done; openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 3 -subj "/CN=shop.example.com/O=Shop" -addext subjectAltName=DNS:shop.example.com
printf "import http.server, ssl\ns = http.server.ThreadingHTTPServer((\"127.0.0.1\", 8443), lambda *a: http.server.SimpleHTTPRequestHandler(*a, directory=\"www\"))\nc = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\nc.load_cert_chain(\"cert.pem\", \"key.pem\")\ns.socket = c.wrap_socket(s.socket, server_side=True)\ns.serve_forever()\n" > serve.py'
    serve='python3 serve.py 2>/dev/null & s=$!; trap "kill $s" EXIT; until (: </dev/tcp/127.0.0.1/8443) 2>/dev/null; do sleep 0.1; done;'
    case $tool in
    curl)
        record verbose_insecure "$serve curl -kv https://127.0.0.1:8443/part-1.txt -o /dev/null"
        record verify_fails "$serve curl -v https://127.0.0.1:8443/; curl -v --resolve shop.example.com:8443:127.0.0.1 --cacert cert.pem https://shop.example.com:8443/none"
        record_terminal many "$serve curl -k --remote-name-all \"https://127.0.0.1:8443/part-[1-12].txt\""
        record trace "$serve curl -k -D - -o /dev/null -w \"%{http_code} %{time_total} %{ssl_verify_result}\\n\" -v https://127.0.0.1:8443/part-[1-3].txt" ;;
    wget)
        record recursive "$serve wget --no-check-certificate -r -np https://127.0.0.1:8443/"
        record debug "$serve wget -S --no-check-certificate -O /dev/null https://127.0.0.1:8443/part-1.txt https://127.0.0.1:8443/none https://127.0.0.1:8443/part-2.txt" ;;
    openssl)
        record s_client "$serve openssl s_client -connect 127.0.0.1:8443 -servername shop.example.com </dev/null"
        record x509_text 'openssl x509 -in cert.pem -noout -text -dates'
        record verify_chain "openssl verify -show_chain cert.pem; openssl verify -CAfile cert.pem cert.pem; openssl x509 -in cert.pem -noout -text -ext subjectAltName" ;;
    esac
done
fresh
tool=apt
record_root simulate_install 'apt-get -s install nginx redis-server php-fpm'
record_root simulate_remove 'apt-get -s remove --autoremove clang cmake'
record_root install_download 'apt-get install -y --no-install-recommends figlet cowsay hello'
record_root reinstall 'apt-get install -y --reinstall hello figlet zlib1g'
record_root remove 'apt-get purge -y figlet cowsay hello'
record_root update 'apt-get update'
record policy 'apt-cache policy nginx git curl python3 gcc; apt-cache depends nginx git'
record list_upgradable 'apt list --installed | head -150'
record show 'apt-cache show nginx git'
tool=dpkg
record list 'dpkg -l "lib*" | head -120'
record files 'dpkg -L git-man coreutils'
record status 'dpkg -s coreutils bash git; dpkg --audit; dpkg --verify coreutils bash'
tool=systemd-analyze
fresh
printf '[Unit]\nDescription=Shop\nAfter=nothing-here.service\n[Service]\nExecStart=/usr/bin/absent --serve\nRestart=sometimes\nUser=nobody\nMemoryMax=lots\n[Install]\nWantedBy=multi-user.target\n' >"$project/shop.service"
owned
record verify 'systemd-analyze verify ./shop.service /usr/lib/systemd/system/*.service'
record security 'systemd-analyze security --offline=true ./shop.service'
record calendar 'systemd-analyze calendar --iterations=12 "Mon..Fri *-*-* 09:00" "weekly" "*:0/15"; systemd-analyze unit-paths; systemd-analyze exit-status'
tool=journalctl
quietly_root 'printf "" > /tmp/export; t=1760000000; for i in $(seq 1 160); do t=$((t + i % 7)); [ $i = 90 ] && t=$((t + 1980)); printf "__REALTIME_TIMESTAMP=%s000000\n_HOSTNAME=devbox\nSYSLOG_IDENTIFIER=%s\n_PID=%s\nPRIORITY=%s\n_BOOT_ID=0123456789abcdef0123456789abcdef\nMESSAGE=%s\n\n" $t "$( [ $((i % 3)) = 0 ] && echo sshd || echo shop)" $((400 + i % 5)) $((i % 11 == 0 ? 3 : 6)) "$( [ $((i % 11)) = 0 ] && echo "connection to 10.0.0.$((i % 40)):5432 refused, try $i" || echo "GET /orders/$((i % 4)) 200 $((i * 37 % 90))ms from 192.0.2.$((i % 50))")" >> /tmp/export; done; rm -rf /tmp/journal; mkdir /tmp/journal; /usr/lib/systemd/systemd-journal-remote -o /tmp/journal/all.journal /tmp/export; chmod -R a+rX /tmp/journal'
record all 'journalctl --file /tmp/journal/all.journal --no-pager'
record precise 'journalctl --file /tmp/journal/all.journal -o short-precise --no-pager'
record errors 'journalctl --file /tmp/journal/all.journal -p err -o verbose --no-pager'
record unit 'journalctl --file /tmp/journal/all.journal -t sshd -o cat --no-pager; journalctl --file /tmp/journal/all.journal --list-boots --no-pager; journalctl --file /tmp/journal/all.journal --verify'
