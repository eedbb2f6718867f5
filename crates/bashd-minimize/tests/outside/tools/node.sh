# Node: suites that packages ship.
for runner in mocha jest tape; do
    tool=$runner
    [ "$runner" = tape ] && tool=node
    for one in $(chosen "npm-$runner"); do
        npm_package "$one"
        quietly 'npm pkg delete scripts.prepare scripts.prepublish scripts.pretest scripts.posttest; npm install --silent --no-audit --no-fund --ignore-scripts'
        case $runner in
        mocha) record "suite_$(name_of "$one")" 'npx mocha' ;;
        jest) record "suite_$(name_of "$one")" 'npx jest --verbose' ;;
        tape) record "suite_$(name_of "$one")" 'node $(ls test/index.js test/*.js test.js 2>/dev/null | head -1)' ;;
        esac
        tool=npm
        record "test_$(name_of "$one")" 'npm test'
        record "ls_$(name_of "$one")" 'npm ls --all'
        tool=$runner
        [ "$runner" = tape ] && tool=node
    done
done
# No package of the list ships a suite of vitest, so it runs those that were written for jest.
tool=vitest
for one in $(chosen npm-jest); do
    npm_package "$one"
    quietly 'npm install --silent --no-audit --no-fund --ignore-scripts'
    record "suite_$(name_of "$one")" 'vitest run --globals --reporter verbose'
    record "quiet_$(name_of "$one")" 'vitest run --globals'
done
