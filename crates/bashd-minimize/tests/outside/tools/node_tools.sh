# Node: compilers and linters on what packages ship, installers on what needs much.
for one in $(chosen npm-ts); do
    npm_package "$one"
    tool=tsc
    record "strict_$(name_of "$one")" 'tsc --noEmit --strict --target es2022 --module nodenext --exactOptionalPropertyTypes --noUncheckedIndexedAccess --noUnusedLocals $(find src lib -name "*.ts" 2>/dev/null | head -40)'
    record "pretty_$(name_of "$one")" 'tsc --noEmit --pretty --strict --noImplicitReturns --noUnusedParameters --types "" --lib es2015 $(find src lib -name "*.ts" 2>/dev/null | head -10)'
    tool=esbuild
    record "bundle_$(name_of "$one")" 'esbuild $(find src lib -name "*.ts" ! -name "*.d.ts" | head -30) --bundle --outdir=/tmp/esbuild --analyze'
done
for one in $(chosen npm-js); do
    npm_package "$one"
    quietly 'npm install --silent --no-audit --no-fund --ignore-scripts --omit=dev'
    tool=eslint
    printf 'export default [{ files: ["**/*.js"], rules: { "no-var": "error", eqeqeq: "error", "no-unused-vars": "warn", "prefer-const": "warn", "no-undef": "error", curly: "warn", complexity: ["warn", 8] } }];\n' >"$project/eslint.config.mjs"
    record "rules_$(name_of "$one")" 'eslint lib src --no-error-on-unmatched-pattern --no-warn-ignored'
    tool=prettier
    record "check_$(name_of "$one")" 'prettier --check .'
    tool=npm
    record "pack_$(name_of "$one")" 'touch .env.production id_rsa; npm pack --dry-run --ignore-scripts'
    tool=webpack
    record "build_$(name_of "$one")" 'webpack --mode development --target node --entry ./$(node -p "require(\"./package.json\").main || \"index.js\"") --output-path /tmp/webpack'
    tool=rollup
    record "build_$(name_of "$one")" 'rollup --format cjs $(find lib src -name "*.js" | sort | head -12) --dir /tmp/rollup'
    tool=vite
    record "build_$(name_of "$one")" 'vite build --ssr $(find lib src -name "*.js" | sort | head -1) --outDir /tmp/vite --minify false'
    tool=node
    record "check_test_$(name_of "$one")" 'node --test'
done
for one in $(chosen npm-tree); do
    fresh
    quietly 'npm init -y'
    tool=npm
    record "install_$(name_of "$one")" "npm install --no-cache $one express@4.16 request@2 --loglevel http"
    record "audit_$(name_of "$one")" 'npm audit'
    record "outdated_$(name_of "$one")" 'npm outdated; npm ls --all'
    fresh
    quietly 'npm init -y'
    tool=yarn
    record "add_$(name_of "$one")" "yarn add $one request@2 gulp@3 --ignore-scripts && yarn list"
    fresh
    quietly 'npm init -y'
    tool=pnpm
    record "add_$(name_of "$one")" "pnpm add $one request@2 gulp@3 --ignore-scripts && pnpm list --depth 2 && pnpm why inherits"
done
fresh
cat >"$project/package.json" <<'J'
{"name":"shop","version":"1.0.0","scripts":{"migrate":"node migrate.js","predeploy":"node migrate.js","deploy":"node deploy.js"}}
J
printf 'for (let i = 1; i <= 30; i++) console.log(`✔ Dropped table archive_${2000 + i}`);\nconsole.log("[1/3] 0 of 48,112 rows");\nconsole.log("install is complete");\n' >"$project/migrate.js"
printf 'for (let i = 1; i <= 20; i++) console.log(`added ${i} packages of shop-${i} to https://cdn.example.com/shop-${i}.js`);\nconsole.log("✔ Deployed to https://shop.example.com");\n' >"$project/deploy.js"
owned
tool=npm
record run_deploy 'npm run deploy'
record_terminal run_migrate_terminal 'npm run migrate && npm run deploy'
tool=yarn
record run_deploy 'yarn run migrate && yarn run deploy'
tool=pnpm
record run_deploy 'pnpm run migrate && pnpm run deploy'
