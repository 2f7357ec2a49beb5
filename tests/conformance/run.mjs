// Runs the public HTTP cache suite against a proxy and prints what came of each test as JSON.
//
//   node run.mjs FOLDER_OF_NODE_MODULES BASE_URL
//
// The suite's own client and judgement are used; added are its rule that a test whose dependency failed counts as
// neither, and the `Cache-Status` of every answer. Not here: starting the suite's origin and the proxy, and what is
// expected (both in main.rs).
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [folder, base] = process.argv.slice(2)
const suite = file => import(pathToFileURL(join(folder, 'node_modules/http-cache-tests', file)))
const fetch = createRequire(join(folder, 'package.json'))('node-fetch')

const { runTests, getResults } = await suite('client/runner.mjs')
const { testUUIDs } = await suite('client/test.mjs')
const suites = [...(await suite('tests/index.mjs')).default, (await suite('tests/surrogate-control.mjs')).default]

const cacheStatus = {}
const noting = (url, init) => fetch(url, init).then(answer => {
  const field = name => (init?.headers ?? []).find?.(([n]) => n === name)?.[1]
  if (field('Test-ID')) {
    (cacheStatus[field('Test-ID')] ??= [])[field('Req-Num') - 1] = answer.headers.get('cache-status')
  }
  return answer
})

// The suite tells of its progress on standard output, which is for the result here.
console.log = console.error
await runTests(suites, noting, false, base)
const results = getResults()
const byId = Object.fromEntries(suites.flatMap(s => s.tests).map(test => [test.id, test]))

function outcome (test) {
  const result = results[test.id]
  if (result === undefined) return ['untested', '']
  const unmet = (test.depends_on ?? []).find(id => outcome(byId[id])[0] !== 'pass')
  if (unmet) return ['dependency', unmet]
  if (result === true) return ['pass', '']
  return [result[0] === 'Setup' ? 'setup' : result[0] === 'Assertion' ? 'fail' : 'harness', result[1]]
}

const report = suites.map(s => ({
  id: s.id,
  tests: s.tests.filter(test => !test.browser_only).map(test => ({
    id: test.id,
    kind: test.kind ?? 'required',
    outcome: outcome(test)[0],
    why: outcome(test)[1],
    uuid: testUUIDs[test.id],
    cache_status: cacheStatus[test.id] ?? []
  }))
}))
process.stdout.write(JSON.stringify(report))
