# Python: installers.
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
