/**
 * One bench of two checkouts in alternation: another one, as it was before a change, and this one. Prints one table: of each
 * row the best run of both, the ratio of their speeds, and how far two runs of the same checkout are apart.
 *
 *   npm run bench:compare -- ../before                              model, rollout and tensor, on the CPU
 *   npm run bench:compare -- ../before --bench model:cuda,rollout:cuda --rounds 3
 *   npm run bench:compare -- ../before --bench model -- --model 2m  what follows -- goes to the bench
 *   npm run bench:compare -- ../before --check                      exit code 1 where a row is slower
 *
 * Both have their dist/ and build/. Peers in Python are left out.
 */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from './harness.mjs'

/** Which columns say how fast this side is, and how much slower a row may be. */
const benches = {
  tensor: { script: 'bench/tensor/main.mjs', columns: ['Whetstone'], allowed: 0.05 },
  model: { script: 'bench/model/main.mjs', columns: ['Whetstone'], allowed: 0.05 },
  rollout: { script: 'bench/rollout/main.mjs', columns: ['whetstone tokens/s'], allowed: 0.05 },
  'model:cuda': { script: 'bench/model/cuda.mjs', columns: ['Whetstone', 'MFU', 'peak'], allowed: 0.03 },
  'rollout:cuda': { script: 'bench/rollout/cuda.mjs', columns: ['tokens/s', 'first token', 'step'], allowed: 0.03 },
  cuda: { script: 'bench/cuda/main.mjs', columns: ['time', 'eager', 'program', 'graph'], allowed: 0.03 },
}
/** @typedef {keyof typeof benches} BenchName */
/** @typedef {{ text: string, value: number, better: 'more' | 'less' }} Figure */

const split = process.argv.indexOf('--', 2)
const own = process.argv.slice(2, split < 0 ? undefined : split)
const passed = split < 0 ? [] : process.argv.slice(split + 1)
const { values: options, positionals } = parseArgs({
  args: own,
  allowPositionals: true,
  options: {
    bench: { type: 'string', default: 'model,rollout,tensor' },
    rounds: { type: 'string', default: '3' },
    check: { type: 'boolean' },
  },
})
const rounds = Number(options.rounds)
const names = options.bench.split(',').map(asBench)
const before = resolve(positionals[0] ?? '')
if (positionals.length !== 1 || !existsSync(join(before, 'dist')) || !(rounds >= 2)) {
  console.error('usage: bench/compare.mjs DIRECTORY [--bench NAMES] [--rounds N, at least 2] [--check] [-- ARGUMENTS]')
  console.error('DIRECTORY is a checkout with its dist/ and build/.')
  process.exit(2)
}

/** @param {string} name @returns {BenchName} */
function asBench(name) {
  if (name in benches) return /** @type {BenchName} */ (name)
  console.error(`unknown bench ${name}; there are ${Object.keys(benches).join(', ')}`)
  process.exit(2)
}

/** What a bench of a checkout prints. @param {string} directory @param {string} script @returns {Promise<string>} */
function run(directory, script) {
  return new Promise((resolve, reject) => {
    // A Python and a compiler that always fail: the columns of peers are then skipped.
    const env = { ...process.env, WHETSTONE_PEER_PYTHON: 'false', CXX: 'false' }
    const child = spawn(process.execPath, [script, ...passed], {
      cwd: directory,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', text => {
      output += text
    })
    child.on('error', reject)
    // Exit code 1 says that a promise was not kept, which is not the question here.
    child.on('close', code => {
      if (code === 0 || (code === 1 && output.includes('|'))) resolve(output)
      else reject(new Error(`${script} of ${directory} ended with ${code}:\n${output}`))
    })
  })
}

/** A cell as a figure: `12.3k tok/s`, `1.36 us`, `41.2 %`. @param {string} text @returns {Figure | undefined} */
function parse(text) {
  const match = /^([\d.]+)(k?)\s*(.*)$/.exec(text)
  if (!match) return undefined
  const [, digits, thousand, unit] = match
  const better = /^(us|ms|s|GiB|MiB)$/.test(unit) ? 'less' : 'more'
  return { text, value: Number(digits) * (thousand ? 1000 : 1), better }
}

/** The figures of the tables in a bench's output, by row and column. @param {string} output @param {string[]} columns */
function figuresOf(output, columns) {
  /** @type {Map<string, Figure>} */
  const found = new Map()
  /** @type {string[] | undefined} */
  let head
  for (const line of output.split('\n')) {
    if (!line.startsWith('|')) {
      head = undefined
      continue
    }
    const cells = line
      .slice(1, -1)
      .split('|')
      .map(cell => cell.trim())
    if (!head) head = cells
    for (const [i, cell] of cells.entries()) {
      const figure = cells === head || !columns.includes(head[i]) || i === 0 ? undefined : parse(cell)
      if (figure) found.set(columns.length > 1 ? `${cells[0]}: ${head[i]}` : `${cells[0]}`, figure)
    }
  }
  return found
}

/** The best of several runs, and how far the two best are apart. @param {Figure[]} runs */
function bestOf(runs) {
  const sorted = [...runs].sort((a, b) => (a.better === 'more' ? b.value - a.value : a.value - b.value))
  const [best, second] = sorted
  return { best, apart: second ? Math.abs(best.value - second.value) / best.value : Number.NaN }
}

/** @param {number} share */
const percent = share => (Number.isNaN(share) ? '-' : `${(100 * share).toFixed(1)} %`)

/** @type {('before' | 'after')[]} */
const sides = ['before', 'after']
let slower = 0
/** @type {string[]} */
const lines = []
for (const name of names) {
  const { script, columns, allowed } = benches[name]
  /** @type {Record<'before' | 'after', Map<string, Figure[]>>} */
  const runs = { before: new Map(), after: new Map() }
  for (let round = 0; round < rounds; round++)
    for (const side of round % 2 ? sides.toReversed() : sides) {
      console.error(`${name}, ${side}, run ${round + 1} of ${rounds}`)
      const figures = figuresOf(await run(side === 'before' ? before : root, script), columns)
      for (const [row, figure] of figures) runs[side].set(row, [...(runs[side].get(row) ?? []), figure])
    }
  for (const row of new Set([...runs.before.keys(), ...runs.after.keys()])) {
    const [was, is] = [runs.before.get(row), runs.after.get(row)].map(found => (found ? bestOf(found) : undefined))
    if (!was || !is) {
      lines.push(`| ${name} | ${row} | ${was?.best.text ?? 'absent'} | ${is?.best.text ?? 'absent'} | - | - | |`)
      continue
    }
    const gain = is.best.value / was.best.value
    const ratio = is.best.better === 'more' ? gain : 1 / gain
    const noise = Math.max(was.apart, is.apart)
    const verdict = ratio >= 1 - allowed ? '' : ratio < 1 - noise ? 'slower' : 'within the noise'
    if (verdict === 'slower') slower++
    lines.push(
      `| ${name} | ${row} | ${was.best.text} | ${is.best.text} | ${ratio.toFixed(3)} | ${percent(noise)} | ${verdict} |`,
    )
  }
}
console.log(`best of ${rounds} runs each, in alternation; a ratio above 1 is faster, or less memory, than before\n`)
console.log('| bench | row | before | after | ratio | noise of two runs | |')
console.log('| --- | --- | ---: | ---: | ---: | ---: | --- |')
for (const line of lines) console.log(line)
console.log(
  `\n${slower === 0 ? 'no row is slower by more than 5 % (3 % on CUDA) and the noise' : `${slower} rows are slower`}`,
)
process.exitCode = options.check && slower > 0 ? 1 : 0
