# Python: suites of the sdists themselves, linters on their sources.
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
