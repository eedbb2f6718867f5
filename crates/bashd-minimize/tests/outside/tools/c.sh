# C and C++: Debian's sources, each with the build system that it ships.
for one in $(chosen debian-configure); do
    debian_source "$one"
    tool=autoreconf
    record "force_$(name_of "$one")" 'autoreconf -fiv'
    tool=configure
    record "run_$(name_of "$one")" './configure'
    tool=make
    record "build_$(name_of "$one")" 'make'
    record "check_$(name_of "$one")" 'make check'
    record "install_$(name_of "$one")" 'make install DESTDIR=/tmp/dest'
    record "clean_$(name_of "$one")" 'make distclean'
done
for one in $(chosen debian-make); do
    debian_source "$one"
    tool=make
    record "build_$(name_of "$one")" 'make CFLAGS="-O1 -Wall -Wextra -Wconversion"'
    record "dry_run_$(name_of "$one")" 'make -n -B'
    record "test_$(name_of "$one")" 'make -k test'
done
for one in $(chosen debian-cmake); do
    debian_source "$one"
    tool=cmake
    record "configure_$(name_of "$one")" 'cmake -S . -B out -DBUILD_TESTING=ON -DCMAKE_BUILD_TYPE=Debug'
    record "build_$(name_of "$one")" 'cmake --build out'
    record "verbose_$(name_of "$one")" 'cmake --build out --clean-first -v'
    tool=ctest
    record "run_$(name_of "$one")" 'ctest --test-dir out --output-on-failure'
    record "verbose_$(name_of "$one")" 'ctest --test-dir out -V'
done
for one in $(chosen debian-meson); do
    debian_source "$one"
    tool=meson
    record "setup_$(name_of "$one")" 'meson setup out --warnlevel 3'
    tool=ninja
    record "build_$(name_of "$one")" 'ninja -C out'
    record "verbose_$(name_of "$one")" 'ninja -C out -t clean && ninja -C out -v'
    tool=meson
    record "test_$(name_of "$one")" 'meson test -C out -v'
    record "introspect_$(name_of "$one")" 'meson configure out'
done
for one in $(chosen debian-make 2) $(chosen debian-configure 3); do
    debian_source "$one"
    quietly './configure'
    for tool in gcc clang; do
        record "wall_$(name_of "$one")" "for f in \$(find . -name '*.c' -not -path './debian/*' | sort | head -14); do $tool -Wall -Wextra -Wconversion -Wshadow -I. -Iinclude -Isrc -DHAVE_CONFIG_H -fsyntax-only \$f; done"
    done
    tool=cppcheck
    record "all_$(name_of "$one")" 'cppcheck --enable=all --quiet .'
    tool=clang-tidy
    record "default_$(name_of "$one")" 'clang-tidy $(find . -name "*.c" | sort | head -4) -- -I. -Iinclude -Isrc -DHAVE_CONFIG_H'
    tool=dpkg-buildpackage
    limit=400 record "binary_$(name_of "$one")" 'dpkg-buildpackage -us -uc -b'
    tool=dpkg-deb
    record "contents_$(name_of "$one")" 'for d in /home/user/*.deb; do dpkg-deb --info $d; dpkg-deb --contents $d; done'
    tool=lintian
    record "all_$(name_of "$one")" 'lintian -i -I --pedantic /home/user/*.changes'
    rm -f "$root"/home/user/*.deb "$root"/home/user/*.changes "$root"/home/user/*.buildinfo "$root"/home/user/*.ddeb
done
tool=gcc
for one in $(chosen debian-make 1); do
    debian_source "$one"
    record "analyzer_$(name_of "$one")" "gcc -fanalyzer -Wall -c -Isrc -Iinclude -I. \$(find . -name '*.c' | sort | head -8)"
done
for one in $(chosen debian-go); do
    debian_source "$one"
    [ -e "$project/go.mod" ] || quietly 'go mod init example.com/it'
    tool=go
    record "test_verbose_$(name_of "$one")" 'go test -v ./...'
    record "test_$(name_of "$one")" 'go test -race -cover ./...; go test -bench . -benchtime 10x ./...'
    record "vet_$(name_of "$one")" 'go vet ./... && go build -v -x ./...'
done
