# Python: pytest, unittest, ruff, mypy, flake8, pylint, pip, uv, poetry on real packages.
tool=pytest
python_sources click==8.1.7
record pass 'PYTHONPATH=src pytest'
record pass_verbose 'PYTHONPATH=src pytest -v tests/test_options.py'
record pass_color 'PYTHONPATH=src pytest --color=yes -v tests/test_arguments.py tests/test_basic.py tests/test_utils.py'
record coverage 'PYTHONPATH=src pytest --cov=click --cov-report=term-missing -q'
record durations 'PYTHONPATH=src python -m pytest --durations=20 -rA tests/test_formatting.py'
quietly "perl -pi -e 's/return rv/return rv + rv/ if /return rv\$/ && \$n++ == 4; s/self.nargs == 1/self.nargs == 2/' src/click/core.py src/click/parser.py"
record fail 'PYTHONPATH=src pytest tests/test_arguments.py'
record fail_verbose 'PYTHONPATH=src pytest -v --tb=short tests/test_options.py'
record fail_line 'PYTHONPATH=src pytest -q --tb=line'
record fail_color 'PYTHONPATH=src pytest --color=yes --maxfail=4'
quietly "echo 'import nothing_here' >> tests/test_types.py; echo 'def broken(:' >> tests/test_utils.py"
record collection_error 'PYTHONPATH=src pytest'
python_sources more-itertools==10.5.0
record many_dots 'pytest tests/test_recipes.py -v'
tool=unittest
record pass_verbose 'python -m unittest -v tests.test_recipes'
quietly "perl -pi -e 's/yield from/return/ if \$n++ < 3' more_itertools/recipes.py"
record fail 'python -m unittest tests.test_recipes'
record fail_verbose 'python -m unittest -v tests.test_recipes'
tool=pytest
record fail_unittest 'pytest tests/test_recipes.py'
tool=mypy
python_sources werkzeug==3.1.3
record strict 'mypy --strict src/werkzeug/datastructures src/werkzeug/http.py'
record pretty 'mypy --pretty --strict --show-error-context src/werkzeug/routing'
python_sources tabulate==0.9.0
record untyped 'mypy --strict tabulate.py'
tool=ruff
record check 'ruff check --select ALL --output-format concise tabulate.py | head -120'
record check_full 'ruff check --select E,F,W,B test'
record check_color 'FORCE_COLOR=1 ruff check --select ALL tabulate.py --output-format full'
record format_diff 'ruff format --diff .'
python_sources humanize==4.11.0
record check_statistics 'ruff check --select ALL --statistics .'
record check_grouped 'ruff check --select ALL --output-format grouped src'
tool=flake8
record long_lines 'flake8 --max-line-length 60 src'
tool=pylint
python_sources itsdangerous==2.2.0
record package 'pylint src/itsdangerous'
tool=black
python_sources tabulate==0.9.0
record diff 'black --diff -l 60 test/common.py test/test_api.py'
tool=pip
fresh
quietly 'python -m venv .v'
record install '.v/bin/pip install flask requests pandas'
record_terminal install_terminal '.v/bin/pip install --no-cache-dir django sqlalchemy matplotlib'
record install_again '.v/bin/pip install flask requests pandas django sqlalchemy'
record list '.v/bin/pip list'
record freeze_show '.v/bin/pip show -f flask requests'
record install_missing '.v/bin/pip install flask==99.0 nothing-of-that-name-here'
record install_conflict '.v/bin/pip install "requests==2.31.0" "urllib3==1.20" "botocore==1.34.0"'
record install_build_error '.v/bin/pip install --no-binary :all: --no-deps mysqlclient==2.2.0'
record uninstall '.v/bin/pip uninstall -y pandas numpy matplotlib'
record install_verbose '.v/bin/pip install -v itsdangerous==2.2.0 --force-reinstall --no-deps'
tool=uv
fresh
quietly 'uv init --name demo .'
record add 'uv add flask requests pandas pytest ruff'
record_terminal sync_terminal 'rm -rf .venv; uv sync'
record pip_install 'uv venv -q .w; VIRTUAL_ENV=.w uv pip install django celery "sqlalchemy[asyncio]" boto3'
record tree 'uv tree'
record conflict 'uv add "requests==2.31.0" "urllib3==1.20" "botocore==1.34.0"'
record missing 'uv add nothing-of-that-name-here flask==99'
tool=poetry
fresh
quietly 'poetry init -n --name demo; poetry config virtualenvs.in-project true --local'
record add 'poetry add flask requests pytest'
record install 'rm -rf .venv; poetry install --no-root'
record show 'poetry show --tree'
record conflict 'poetry add "requests==2.31.0" "urllib3==1.20" "botocore==1.34.0"'
tool=python
python_sources click==8.1.7
record traceback 'PYTHONPATH=src python -c "
import json, functools
def deep(n):
    return json.loads(\"{\") if n == 0 else deep(n - 1)
try:
    deep(40)
except ValueError as error:
    raise RuntimeError(\"the configuration is broken\") from error
"'
record recursion 'python -c "
def f(n):
    return g(n)
def g(n):
    return f(n + 1)
f(0)
"'
record django_migrate '(django-admin startproject site1 . && python manage.py migrate && python manage.py check --deploy && python manage.py showmigrations) 2>&1'
