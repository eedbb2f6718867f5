# git: a history made of a real project's releases, with merges and conflicts.
python_sources click==8.1.7
quietly 'git config --global user.name "Dev Eloper"; git config --global user.email dev@example.com
git config --global init.defaultBranch main; git config --global safe.directory "*"; git config --global advice.detachedHead true
git init; git add -A; git commit -m "Import the sources"
for n in $(seq 1 70); do
  f=$(git ls-files "src/*.py" "tests/*.py" "docs/*.rst" | sed -n "$((n * 7 % 60 + 1))p")
  sed -i "$((n * 3 % 80 + 2))s/\$/  # revised $n/" "$f"
  [ $((n % 3)) = 0 ] && sed -i "$((n * 5 % 90 + 4))d" "$f"
  GIT_AUTHOR_DATE="2026-0$((n % 9 + 1))-1$((n % 9))T1$((n % 10)):0$((n % 6)):21+0100" GIT_COMMITTER_DATE="2026-0$((n % 9 + 1))-1$((n % 9))T1$((n % 10)):0$((n % 6)):21+0100" \
  git -c user.name="$(echo "Ada Byron,Grace Murray,Dev Eloper,Linus T" | cut -d, -f$((n % 4 + 1)))" -c user.email="dev$((n % 4))@example.com" \
     commit -qam "Revise $(basename $f) in step $n
$([ $((n % 4)) = 0 ] && printf "\nThe old wording was wrong for windows of narrow terminals.\n\nFixes: GH-%d" $((1000 + n)))"
  [ $((n % 10)) = 0 ] && git tag "v0.$n" && git branch "topic/part-$n"
done'
for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do quietly "git branch feature/rework-of-the-parser-$n HEAD~$n; git branch release/2026.$n HEAD~$((n * 2))"; done
record log 'git log'
record log_short 'git log -n 25'
record log_stat 'git log --stat -n 20'
record log_patch 'git log -p -n 6'
record log_oneline 'git log --oneline'
record show 'git show HEAD~3 HEAD~6 HEAD~9'
record show_merge_base 'git show --stat HEAD~20'
record branch_all 'git branch -avv'
record diff_range 'git diff HEAD~12'
record diff_stat 'git diff --stat HEAD~40'
record diff_color 'git -c color.ui=always diff HEAD~8'
record checkout_detached 'git checkout HEAD~5'
quietly 'git checkout main; for f in $(git ls-files "src/*.py"); do echo "# local" >> $f; done; mkdir -p build/cache; for n in $(seq 1 60); do echo $n > build/cache/part-$n.o; echo $n > notes-$n.txt; done; git add docs; git rm -q --cached tests/test_chain.py; git mv CHANGES.rst CHANGES.md; echo x >> README.rst'
record status 'git status'
record status_untracked 'git status -uall'
record status_short 'git status --short -uall'
record diff_worktree 'git diff'
record diff_word_color 'git diff --color=always --word-diff=color HEAD -- src'
record stash 'git stash push -u && git stash list && git stash show -p | cat'
quietly 'git stash drop; git checkout -f main; git clean -fdx; git checkout -qb left HEAD~30; for f in $(git ls-files "src/click/*.py"); do sed -i "10,14s/.*/left side/" $f; done; git commit -qam left; git checkout -qb right main; for f in $(git ls-files "src/click/*.py"); do sed -i "10,14s/.*/right side/" $f; done; git commit -qam right'
record merge_conflict 'git merge left'
record status_conflict 'git status'
record diff_conflict 'git diff'
quietly 'git merge --abort'
record rebase_conflict 'git rebase left'
quietly 'git rebase --abort; git checkout -f main; git clean -fdx'
quietly 'rm -rf /tmp/origin.git /tmp/other; git init --bare /tmp/origin.git; git remote add origin /tmp/origin.git'
record push_all 'git push --all origin'
quietly 'git clone /tmp/origin.git /tmp/other; cd /tmp/other; for n in $(seq 1 40); do echo $n >> more-$n.txt; git add -A; git commit -qm "More $n"; git push origin HEAD:refs/heads/remote-$n; done; git push origin HEAD:main'
record fetch 'git fetch --all'
record pull 'git pull --no-rebase origin main'
quietly 'cd /tmp/other; echo y >> README.rst; git commit -qam y; git push origin HEAD:main'
quietly 'for n in $(seq 1 15); do git branch -f topic/part-$((n * 10)) HEAD~$n; git branch -f feature/rework-of-the-parser-$n HEAD~40; done; echo z >> README.rst; git commit -qam z'
record push_rejected 'git push --all origin'
record pull_conflict 'git pull --no-rebase origin main'
quietly 'git merge --abort; git checkout -f main'
record clone_missing 'git clone /tmp/nowhere.git && cd nowhere && git log'
record gc 'git gc && git fsck --lost-found'
record_terminal clone_progress 'git clone --no-local --progress /tmp/origin.git /tmp/clone-of-it'
record shortlog 'git shortlog'
record worktree_apply 'git diff HEAD~5 > /tmp/a.patch; git apply --check -v /tmp/a.patch'
record ls_files 'git ls-files'
rm -rf /tmp/origin.git /tmp/other /tmp/clone-of-it /tmp/a.patch
