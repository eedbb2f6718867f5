# npm, pnpm, yarn, bun, jest, vitest, mocha, tsc, eslint, prettier on a small project.
tool=npm
node_project
record install 'npm install express lodash axios request@2.88.2 mocha@8'
record_terminal install_terminal 'rm -rf node_modules; npm install webpack webpack-cli babel-loader @babel/core'
record install_dev 'npm install --save-dev jest@26 eslint@7 typescript ts-node nodemon'
record ci 'npm ci'
record list 'npm ls --all --depth=2'
record audit 'npm audit'
record outdated 'npm outdated'
record install_missing 'npm install nothing-of-that-name-here-at-all --loglevel verbose'
record install_peer 'npm install react@18 react-dom@17 @testing-library/react@14 --strict-peer-deps'
record run_fail 'npm run fail; npm run nothing'
record run_build 'npm run build'
record test_fail "$break_tests; npm test"
record verbose 'npm install left-pad is-odd --loglevel http'
tool=jest
node_project
quietly 'npm install --save-dev jest'
record pass 'npx jest'
record pass_verbose 'npx jest --verbose'
record coverage 'npx jest --coverage'
quietly "$break_tests"
record fail 'npx jest'
record fail_verbose_color 'npx jest --verbose --colors'
record_terminal fail_terminal 'npx jest tests/part2.test.js tests/part5.test.js tests/part11.test.js'
tool=vitest
node_project
quietly 'npm install --save-dev vitest@2; printf "export default { test: { globals: true, include: [\"tests/*.test.js\"] } };\n" > vitest.config.mjs'
record pass 'npx vitest run --reporter=verbose'
record_terminal pass_terminal 'npx vitest run'
quietly "$break_tests"
record fail 'npx vitest run'
record fail_color 'FORCE_COLOR=1 npx vitest run --reporter=verbose'
tool=mocha
node_project
quietly 'npm install --save-dev mocha expect; printf "global.expect = require(\"expect\").expect;\n" > setup.js'
record pass 'npx mocha -r ./setup.js tests'
quietly "$break_tests"
record fail 'npx mocha -r ./setup.js tests/part2.test.js tests/part5.test.js tests/part9.test.js tests/part1.test.js'
tool=tsc
node_project
quietly 'npm install --save-dev typescript'
record errors 'npx tsc -p .'
record pretty 'npx tsc -p . --pretty'
record list_files 'npx tsc -p . --listFiles'
tool=eslint
quietly 'npm install --save-dev eslint'
record stylish 'npx eslint .'
record color 'FORCE_COLOR=1 npx eslint src --color'
record warnings_only 'npx eslint src --rule "{\"no-undef\":\"off\",\"no-var\":\"off\",\"eqeqeq\":\"off\"}"'
tool=prettier
record check 'prettier --check .; prettier --list-different .; prettier src/part1.js src/part2.js src/part1.ts'
tool=pnpm
node_project
record install 'pnpm add express lodash axios jest eslint'
record_terminal install_terminal 'rm -rf node_modules; pnpm install --force'
record list 'pnpm list --depth 2'
record missing 'pnpm add nothing-of-that-name-here-at-all'
record recursive_fail 'pnpm test'
tool=yarn
node_project
record install 'yarn add express lodash jest@26 request'
record verbose_again 'rm -rf node_modules; yarn install --verbose'
record list 'yarn list --depth=1'
record missing 'yarn add nothing-of-that-name-here-at-all; yarn run nothing; yarn test'
tool=bun
node_project
record install 'bun add express lodash axios jest'
record test 'bun test tests'
record test_fail "$break_tests; bun test tests"
tool=node
record crash 'node -e "
const fs = require(\"fs\");
function deep(n) { if (n === 0) { return JSON.parse(fs.readFileSync(\"/nowhere/config.json\")); } return deep(n - 1); }
process.on(\"warning\", w => console.error(w.stack));
for (let i = 0; i < 12; i++) process.on(\"exit\", () => console.error(\"bye\"));
for (let i = 0; i < 30; i++) console.log(\"processed item\", i, \"of 30\");
deep(30);
"'
