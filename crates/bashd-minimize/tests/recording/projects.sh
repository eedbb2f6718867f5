# Projects that several tools are recorded in.

# A crate's sources.
crate_sources() { # name-version
    fresh
    local name=${1%%-[0-9]*}
    [ -d "$home/src/$1" ] || (mkdir -p "$home/src" && rm -rf /tmp/fetched && mkdir /tmp/fetched && cd /tmp/fetched &&
        neutral bash -c "cargo init -q --lib --name fetched . && cargo add -q '$name@=${1#"$name"-}' && cargo fetch -q" &&
        cp -a "$home"/.cargo/registry/src/*/"$1" "$home/src/")
    cp -a "$home/src/$1/." "$project/"
    rm -f "$project/Cargo.toml.orig"
}

# A C project of many files, with warnings.
c_project() {
    fresh
    quietly 'mkdir -p src include tests
cat > include/shapes.h <<X
#ifndef SHAPES_H
#define SHAPES_H
#include <stddef.h>
struct shape { const char *name; double width, height; };
double area(const struct shape *shape);
#endif
X
for n in $(seq 1 14); do cat > src/part_$n.c <<X
#include "shapes.h"
#include <stdio.h>
#include <string.h>
int part_$n(int argc, char **argv) {
    int unused_$n;
    char buffer[8];
    unsigned int limit = argc;
    for (int i = 0; i < limit; i++) { strncpy(buffer, argv[i], sizeof(buffer)); }
    if (argc = $n) { printf("%d %s\n", buffer, argc); }
    return area(0) > 3.0f;
}
X
done
cat > src/main.c <<X
#include "shapes.h"
double area(const struct shape *shape) { return shape ? shape->width * shape->height : 0; }
int main(int argc, char **argv) { return 0; }
X
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do cat > tests/test_$n.c <<X
#include "shapes.h"
#include <assert.h>
#include <stdio.h>
int main(void) { struct shape s = {"box", $n, 2}; printf("area of box %d: %f\n", $n, s.width * s.height); assert(s.width * s.height < 20); return 0; }
X
done
cat > Makefile <<X
CFLAGS ?= -Wall -Wextra -Iinclude -O1
SOURCES := \$(wildcard src/*.c)
OBJECTS := \$(SOURCES:src/%.c=build/%.o)
app: \$(OBJECTS)
	\$(CC) -o \$@ \$^
build/%.o: src/%.c include/shapes.h | build
	\$(CC) \$(CFLAGS) -MMD -MP -c -o \$@ \$<
build:
	mkdir -p build
sub:
	\$(MAKE) -C src -f ../Makefile nothing
clean:
	rm -rf build app
X
cat > CMakeLists.txt <<X
cmake_minimum_required(VERSION 3.20)
project(shapes C)
enable_testing()
include_directories(include)
find_package(Threads REQUIRED)
file(GLOB parts src/*.c)
add_executable(app \${parts})
foreach(n RANGE 1 12)
  add_executable(test_\${n} tests/test_\${n}.c)
  add_test(NAME shapes.area.\${n} COMMAND test_\${n})
endforeach()
X'
}

# A project for Node, with tests and mistakes.
node_project() {
    fresh
    quietly 'mkdir -p src tests
cat > package.json <<X
{"name":"shop","version":"1.0.0","private":true,"scripts":{"build":"tsc -p .","lint":"eslint .","test":"jest","fail":"node -e \"process.exit(3)\""}}
X
for n in $(seq 1 14); do cat > src/part$n.ts <<X
export interface Item$n { name: string; price: number; tags?: string[] }
export function total$n(items: Item$n[]): number { return items.reduce((sum, item) => sum + item.price, 0); }
export const describe$n = (item: Item$n): string => { const unused = 1; return item.nmae + item.price.toFixed("2"); };
export async function load$n(path: string) { const data: Item$n = await fetch(path); if (data == null) { return undefined } else { return data.tags.length } }
X
cat > src/part$n.js <<X
function total(items) { var sum = 0; for (const item of items) { sum += item.price } return sum }
function describe(item) { if (item == null) { console.log("nothing"); } var unused = 3; let never = 4; return itme.name; }
module.exports = { total };
X
cat > tests/part$n.test.js <<X
const { total } = require("../src/part$n.js");
describe("total of part $n", () => {
  it("adds prices", () => { expect(total([{ price: $n }, { price: 2 }])).toBe($n + 2); });
  it("is zero for nothing", () => { expect(total([])).toBe(0); });
  it("refuses what is no list", () => { expect(() => total(null)).toThrow(); });
  it("keeps the order of tags of item number $n", () => { expect({ name: "box", tags: ["a", "b"] }).toEqual({ name: "box", tags: ["a", "b"] }); });
});
X
done
printf "{\"compilerOptions\":{\"strict\":true,\"noEmit\":true,\"noUnusedLocals\":true,\"target\":\"es2022\",\"moduleResolution\":\"bundler\",\"module\":\"esnext\",\"types\":[]},\"include\":[\"src/*.ts\"]}" > tsconfig.json
printf "export default [{ files: [\"**/*.js\"], languageOptions: { sourceType: \"commonjs\" }, rules: { \"no-unused-vars\": \"warn\", \"no-undef\": \"error\", \"no-var\": \"error\", eqeqeq: \"error\", semi: \"warn\", \"prefer-const\": \"warn\", \"no-console\": \"warn\" } }];\n" > eslint.config.mjs'
}

# Breaks some of its tests.
break_tests='for n in 2 5 9; do sed -i "s/toBe(0)/toBe(1)/; s/\"a\", \"b\"\] });/\"b\", \"c\"] });/" tests/part$n.test.js; done; echo "require(\"../src/absent.js\");" >> tests/part11.test.js'
