/**
 * The dashboard in a real Chromium, against a run that trains meanwhile: every page, acts and what they change in the run's files,
 * accessibility, phone width, pages of other sites, pictures and episodes, hostile texts, and the report. Installs nothing.
 *
 *   WHETSTONE_CHROMIUM  the browser (default: chromium of this machine)
 *   --screenshots       writes pictures of the pages to docs/images
 *   walk acts ...       names of the steps to do (default: all)
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromiumArguments, chromiumPath as executablePath } from '../../tools/chromium.mjs'
import { hostile } from './hostile.mjs'
import { actsOnRows, kinds } from './kinds.mjs'
import { looks } from './looks.mjs'
import { otherSites } from './other-sites.mjs'
import { returns } from './returns.mjs'
import { acts, hostileTexts, longCurves, openReport, until, walk } from './steps.mjs'

const project = fileURLToPath(new URL('../..', import.meta.url))
const binary = join(project, 'install/whetstone.mjs')
if (!executablePath) {
  console.log('There is no Chromium here, so nothing was tested. Install it (Debian: apt-get install chromium),')
  console.log('or name one with WHETSTONE_CHROMIUM.')
  process.exit(75)
}
const { chromium } = await import('playwright-core')

const folder = mkdtempSync(join(tmpdir(), 'whetstone-browser-'))
const children = []
let browser
try {
  const places = makeRuns()
  const live = start(['grpo', ...training(places, 'sums.jsonl'), '--output', join(places.runs, 'live'), ...places.long])
  const dashboard = start(['dashboard', places.runs, '--port', '0', '--rewards', places.other])
  const url = (await said(dashboard, /http:\S+#token=\S+/))[0]
  await until('the run trains', () => live.printed.includes('grpo') && existsSync(join(places.runs, 'live/journal')))
  browser = await chromium.launch({
    executablePath,
    args: [...chromiumArguments, '--host-resolver-rules=MAP evil.test 127.0.0.1'],
  })
  const images = process.argv.includes('--screenshots') ? join(project, 'docs/images') : undefined
  const context = { browser, url, folder, live, images, binary, start, makeHostile, ...places }
  const all = [walk, looks, returns, acts, hostileTexts, longCurves, openReport, otherSites, actsOnRows, kinds]
  const named = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
  const wrong = named.filter(name => !all.some(step => step.name === name))
  if (wrong.length > 0) throw new Error(`there is no step ${wrong}: ${all.map(step => step.name).join(', ')}`)
  for (const step of all.filter(({ name }) => named.length === 0 || named.includes(name))) {
    const started = performance.now()
    const done = await step(context)
    console.log(`${step.name}: ${done} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
  }
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  await browser?.close()
  for (const child of children) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
}

/** A tiny model that has seen sums, data, and two runs that are over; another will train meanwhile. */
function makeRuns() {
  const runs = join(folder, 'runs')
  mkdirSync(runs)
  const at = name => join(folder, name)
  const digits = [...Array(10).keys()]
  const sums = digits.flatMap(a => digits.map(b => ({ prompt: `${a} + ${b} = ?`, target: String(a + b) })))
  writeFileSync(at('sums.jsonl'), sums.map(row => JSON.stringify(row)).join('\n'))
  writeFileSync(at('hostile.jsonl'), hostile.map(prompt => JSON.stringify({ prompt, target: '1' })).join('\n'))
  // It takes its time, so that the run that trains meanwhile leaves the machine to the browser.
  writeFileSync(
    at('reward.ts'),
    `export default async ({ response, target }) => {
  await new Promise(resolve => setTimeout(resolve, 200))
  return response.trim() === target ? 1 : /^\\d+$/.test(response.trim()) ? 0.3 : 0
}
`,
  )
  writeFileSync(at('other.ts'), 'export default ({ response }) => (response.length % 2)\n')
  whetstone(['tokenizer', 'train', '--input', at('sums.jsonl'), '--vocab-size', '300', '--out', at('tok')])
  whetstone([
    ...['init', '--family', 'qwen2', '--hidden', '32', '--intermediate', '64', '--layers', '1', '--heads', '2'],
    ...['--context', '512', '--tokenizer', at('tok'), '--out', at('model')],
  ])
  const rows = sums.map(({ prompt, target }) => JSON.stringify({ prompt, completion: target }))
  writeFileSync(at('answers.jsonl'), rows.join('\n'))
  whetstone([
    ...['sft', '--model', at('model'), '--data', at('answers.jsonl'), '--output', join(runs, 'sft')],
    ...['--epochs', '30', '--batch-size', '10', '--set', 'optimizer.lr=0.003', '--save-steps', '100000'],
  ])
  const size = ['--rollout-batch-size', '4', '--max-new-tokens', '6', '--save-steps', '5000']
  const places = {
    ...{ runs, model: join(runs, 'sft/final_model'), reward: at('reward.ts'), other: at('other.ts') },
    name: '<img src=x onerror=alert(1)>',
    long: ['--iterations', '100000', '--set', 'optimizer.lr=0.0005', ...size],
  }
  whetstone([
    ...['grpo', ...training(places, 'sums.jsonl'), '--output', join(runs, 'first'), '--iterations', '20', ...size],
    ...['--set', 'optimizer.lr=0.002'],
  ])
  return places
}

/** A run whose name and texts are hostile. */
function makeHostile(places) {
  whetstone([
    ...['grpo', ...training(places, 'hostile.jsonl'), '--output', join(places.runs, places.name)],
    ...['--iterations', '1', '--rollout-batch-size', String(hostile.length), '--max-new-tokens', '4'],
    ...['--n-samples-per-prompt', '2'],
  ])
}

function training({ model, reward }, data) {
  return ['--model', model, '--data', join(folder, data), '--rewards', reward]
}

function whetstone(args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [binary, ...args], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`whetstone ${args.join(' ')}: exit ${status}\n${stdout}\n${stderr}`)
}

function start(args) {
  const child = spawn(process.execPath, [binary, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  child.printed = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      child.printed += text
    })
  children.push(child)
  return child
}

async function said(child, pattern) {
  for (;;) {
    const found = pattern.exec(child.printed)
    if (found) return found
    if (child.exitCode !== null) throw new Error(`a command ended with ${child.exitCode}: ${child.printed}`)
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
