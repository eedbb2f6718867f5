# Python: suites of the sdists themselves, linters on their sources, installers of what they need.
tool=pytest
for one in $(chosen pypi); do
    sdist "$one"
    quietly 'pip install -q -e ".[test]" || pip install -q -e . || true; pip install -q -r requirements-dev.txt -r requirements-test.txt || true'
    tool=pytest
    record "suite_$(name_of "$one")" 'python -m pytest -p no:cacheprovider'
    case $(chosen pypi 6) in *"$one"*)
        record "verbose_$(name_of "$one")" 'python -m pytest -v -x --durations=5' ;;
    esac
    case $(chosen pypi 4) in *"$one"*)
        tool=unittest
        record "discover_$(name_of "$one")" 'python -m unittest discover -v -s tests'
        tool=mypy
        record "strict_$(name_of "$one")" 'mypy --strict $(ls -d src/*/ */ 2>/dev/null | grep -v -E "tests|docs|egg-info|src/$" | head -1)'
        tool=pylint
        record "all_$(name_of "$one")" 'pylint --score=yes --disable=missing-docstring $(git ls-files "*.py" 2>/dev/null; find . -name "*.py" -not -path "*/tests/*" | sort | head -12)'
        tool=black
        record "diff_$(name_of "$one")" 'black --check --diff -l 70 $(find . -name "*.py" | sort | head -6)'
        tool=coverage
        record "report_$(name_of "$one")" 'coverage run -m pytest -q; coverage report -m' ;;
    esac
    case $(chosen pypi 9 | tail -5) in *"$one"*)
        tool=ruff
        record "check_$(name_of "$one")" 'ruff check --select ALL --no-cache $(find . -name "*.py" | sort | head -12)'
        record "concise_$(name_of "$one")" 'ruff check --select E,F,B,SIM,UP,RUF,D --output-format concise --no-cache .'
        tool=flake8
        record "all_$(name_of "$one")" 'flake8 --max-line-length 72 --statistics .'
        tool=isort
        record "diff_$(name_of "$one")" 'isort --check --diff --profile google .'
        tool=bandit
        record "recursive_$(name_of "$one")" 'bandit -r .'
        tool=vulture
        record "unused_$(name_of "$one")" 'vulture . --sort-by-size' ;;
    esac
    case $(chosen pypi 14 | tail -4) in *"$one"*)
        tool=build
        record "sdist_wheel_$(name_of "$one")" 'python -m build'
        tool=tox
        record "list_run_$(name_of "$one")" 'tox run -e py -- -q'
        tool=pydocstyle
        record "all_$(name_of "$one")" 'pydocstyle .' ;;
    esac
done
tool=pip
fresh
quietly 'python3 -m venv v'
for one in $(chosen pypi 5); do
    record "install_verbose_$(name_of "$one")" "v/bin/pip install --no-cache-dir --force-reinstall --no-binary $(printf %s "${one%@*}") ${one/@/==}"
done
record install_flask 'v/bin/pip install flask sqlalchemy celery'
record_terminal install_terminal 'v/bin/pip install django requests rich'
record list_outdated 'v/bin/pip install -q "requests<2.20" "urllib3<1.24" "flask<1" "jinja2<3" "markupsafe<2" && v/bin/pip list --outdated; v/bin/pip check'
record uninstall 'v/bin/pip uninstall -y flask sqlalchemy celery django requests'
record show_files 'v/bin/pip install -q rich && v/bin/pip show -f rich pygments'
tool=uv
fresh
quietly 'uv venv -q'
record pip_install 'uv pip install flask celery sqlalchemy django rich pytest'
record pip_tree 'uv pip tree'
record init_add 'uv init --name shop . && uv add flask celery pydantic && uv tree && uv lock --upgrade'
record pip_compile 'printf "django\ncelery\nboto3\n" > r.in; uv pip compile r.in'
record upgrade 'uv pip install "requests<2.25" && uv pip install -U requests urllib3 idna certifi && uv pip uninstall flask celery django rich'
