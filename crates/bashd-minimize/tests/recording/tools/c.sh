# make, gcc, clang, cmake, ninja, ctest on a C project of many files.
tool=make
c_project
record build_warnings 'make'
record build_quiet_flags 'make clean; make CFLAGS="-Iinclude -w"'
record color 'make clean; make CC="gcc -fdiagnostics-color=always" -j2'
quietly 'sed -i "s/return area(0)/return aera(0)/; s/char buffer\[8\];/char buffer[8]/" src/part_7.c src/part_12.c src/part_4.c; sed -i "s/include \"shapes.h\"/include \"shape.h\"/" src/part_9.c'
record errors 'make clean; make -k'
record first_error 'make clean; make'
record sub_make 'make sub; make nothing'
tool=gcc
record errors 'gcc -Wall -Iinclude -c src/part_7.c src/part_12.c src/part_4.c src/part_9.c'
c_project
record warnings 'for n in 1 2 3 4 5; do gcc -Wall -Wextra -Iinclude -c src/part_$n.c -o /dev/null; done'
record link_error 'sed -i "s/^double area/double arae/" src/main.c; gcc -w -Iinclude src/*.c -o app'
record templates 'cat > t.cc <<X
#include <map>
#include <string>
#include <vector>
#include <algorithm>
struct Key { int a; };
int main() { std::map<Key, std::vector<std::string>> m; m[Key{1}] = 3; std::vector<Key> v; std::sort(v.begin(), v.end()); return m; }
X
g++ -std=c++17 -c t.cc'
tool=clang
c_project
record warnings 'clang -Wall -Wextra -Iinclude -c src/part_1.c src/part_2.c src/part_3.c src/part_4.c src/part_5.c src/part_6.c'
record errors 'sed -i "s/char buffer\[8\];/char buffer[8]/" src/*.c; clang -Iinclude -c src/part_1.c src/part_2.c src/part_3.c src/part_4.c src/part_5.c src/part_6.c'
tool=cmake
c_project
record build 'cmake -B out && cmake --build out'
record build_verbose 'rm -rf out; cmake -B out -DCMAKE_BUILD_TYPE=Release && cmake --build out --verbose'
record missing_package 'echo "find_package(Boost 1.70 REQUIRED COMPONENTS filesystem)" >> CMakeLists.txt; rm -rf out; cmake -B out'
tool=ninja
c_project
record build 'cmake -G Ninja -B out && ninja -C out'
record_terminal build_terminal 'ninja -C out -t clean; ninja -C out'
record build_errors 'sed -i "s/return area(0)/return aera(/" src/part_3.c src/part_9.c; ninja -C out -k 0'
tool=ctest
c_project
quietly 'cmake -G Ninja -B out; ninja -C out'
record fail 'ctest --test-dir out'
record fail_output 'ctest --test-dir out --output-on-failure'
record verbose 'ctest --test-dir out -V'
tool=go
fresh
quietly 'go mod init example.com/shop; mkdir -p cart price store
for p in cart price store; do cat > $p/$p.go <<X
package $p
import "errors"
var ErrEmpty = errors.New("$p is empty")
func Sum(values []int) (int, error) { if len(values) == 0 { return 0, ErrEmpty }; total := 0; for _, v := range values { total += v }; return total, nil }
X
{ echo "package $p"; echo "import \"testing\""; for n in $(seq 1 25); do cat <<X
func TestSum$n(t *testing.T) { t.Run("many", func(t *testing.T) { got, err := Sum([]int{$n, 1}); if err != nil || got != $n+1 { t.Errorf("Sum = %d, want %d", got, $n+1) } }); t.Run("none", func(t *testing.T) { t.Log("nothing to add"); if _, err := Sum(nil); err == nil { t.Fatal("no error") } }) }
X
done; } > $p/${p}_test.go; done'
record test_verbose 'go test -v ./...'
quietly 'sed -i "s/total := 0/total := 1/" cart/cart.go; sed -i "s/return 0, ErrEmpty/var p *int; return *p, nil/" store/store.go'
record test_fail 'go test ./...'
record test_fail_verbose 'go test -v ./...'
quietly 'for n in 1 2 3 4 5 6 7 8 9; do printf "package cart\nimport \"fmt\"\nfunc f$n() int { x := $n; fmt.Printf(\"%%d\\\\n\", \"a\"); return undefined$n }\nfunc g$n(a int) string { return a }\n" > cart/more$n.go; done'
record build_errors 'go build ./...'
record vet 'go vet ./...'
record missing_module 'GOFLAGS=-mod=mod GOPROXY=off go get example.com/nothing; go test -race ./... ; go build -x ./price'
