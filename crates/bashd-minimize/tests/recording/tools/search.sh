# grep, rg, find, fd, ls, tree, wc on a real source tree.
python_sources werkzeug==3.1.3
chown -R dev:dev "$project"
tool=grep
record recursive 'grep -rn "def " src/werkzeug/routing src/werkzeug/debug --include=*.py'
record recursive_context 'grep -rn -B2 -A4 "raise ValueError" src'
record color 'grep -rn --color=always "import" src/werkzeug/debug src/werkzeug/routing'
record files 'grep -rl self .'
record absolute 'grep -rn "class " /tmp/project/src'
record missing 'grep -rn "return None" src nowhere absent'
record count 'grep -rc import src tests'
tool=rg
record plain 'rg -n "def __" src/werkzeug/datastructures'
record heading 'rg --heading -n "return" src/werkzeug/datastructures'
record context 'rg -n -C3 "raise" src/werkzeug/serving.py src/werkzeug/wsgi.py src/werkzeug/utils.py'
record_terminal terminal 'rg "Response" tests/test_wrappers.py tests/test_utils.py src'
tool=find
record all 'find . -type f'
record names 'find /tmp/project -name "*.py" -newer setup.cfg -o -name "*.py"'
record denied 'find . /nowhere /absent -name "*.rst"'
tool=fd
record plain 'fdfind -e py'
tool=ls
record long 'ls -la tests docs src/werkzeug'
record recursive 'ls -R'
record recursive_long 'ls -laR src docs'
record missing 'ls -l src/werkzeug tests nowhere docs'
record system 'ls -la /usr/lib/x86_64-linux-gnu | head -150'
tool=tree
record plain 'tree'
record sizes 'tree -h -L 3 --du'
record color 'tree -C src'
tool=du
record all 'du -a .'
tool=df
record human 'df -hT; df -i'
