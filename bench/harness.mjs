/**
 * What every bench needs: timing that survives a busy machine, peers that answer one measurement at a time so that all
 * columns of a row are measured in turns, and a table of ratios with what was promised.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url))

/** @param {number[]} values */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? Number.NaN
}

/**
 * Seconds one call of `work` takes: the median over batches of about 2 ms each, after a warm-up.
 *
 * @param {() => unknown} work
 * @param {number} seconds how long to measure
 */
export async function time(work, seconds = 0.1) {
  const first = work()
  const asynchronous = first instanceof Promise
  await first
  /** @param {number} count */
  const batch = async count => {
    const start = performance.now()
    if (asynchronous) for (let i = 0; i < count; i++) await work()
    else for (let i = 0; i < count; i++) work()
    return (performance.now() - start) / 1e3
  }
  let count = 1
  let took = await batch(count)
  while (took < 0.002 && count < 1e6) {
    count *= 2
    took = await batch(count)
  }
  /** @type {number[]} */
  const found = []
  for (const end = performance.now() + seconds * 1e3; performance.now() < end || found.length < 5; )
    found.push((await batch(count)) / count)
  return median(found)
}

/** A program that is asked for a measurement by a line with its name, and answers with a line of JSON. */
export class Peer {
  /** @type {((line: string | undefined) => void)[]} */
  #waiting = []
  #child

  /** @param {string} command @param {string[]} args @param {NodeJS.ProcessEnv} env */
  constructor(command, args, env = {}) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, ...env } })
    createInterface({ input: this.#child.stdout }).on('line', line => this.#waiting.shift()?.(line))
    this.#child.on('error', () => this.#end())
    this.#child.on('close', () => this.#end())
  }

  #end() {
    for (const answer of this.#waiting.splice(0)) answer(undefined)
  }

  /** @param {string} name @returns {Promise<number | string | null>} null: it does not measure this, or it has gone */
  ask(name) {
    if (this.#child.exitCode !== null) return Promise.resolve(null)
    return new Promise(resolve => {
      this.#waiting.push(line => resolve(line === undefined ? null : JSON.parse(line)))
      this.#child.stdin.write(`${name}\n`, () => {})
    })
  }

  /** Seconds, or null. @param {string} name @returns {Promise<number | null>} */
  async measure(name) {
    const answer = await this.ask(name)
    return typeof answer === 'number' ? answer : null
  }

  close() {
    this.#child.stdin.end()
  }
}

/** A Python that has torch, or undefined. @param {string} script @param {NodeJS.ProcessEnv} env */
export function startPython(script, env = {}) {
  const python = process.env.WHETSTONE_PEER_PYTHON ?? 'python3'
  const found = spawnSync(python, ['-c', 'import torch'], { stdio: 'ignore' })
  if (found.status !== 0) {
    console.log('no Python torch found: column skipped')
    return undefined
  }
  return new Peer(python, [script], env)
}

/** The libtorch the bridge was built with. */
function libtorchPath() {
  try {
    return JSON.parse(readFileSync(join(root, 'build/bridge.json'), 'utf8')).libtorch.path
  } catch {
    if (process.env.LIBTORCH) return process.env.LIBTORCH
  }
  const dynamic = spawnSync('readelf', ['-d', join(root, 'build/whetstone.node')], { encoding: 'utf8' }).stdout ?? ''
  const folder = /R(?:UN)?PATH.*\[([^\]:]+)/i.exec(dynamic)?.[1]
  return folder === undefined ? undefined : join(folder, '..')
}

/** Compiles a C++ file against the bridge's libtorch, as the bridge was compiled, and starts it. @param {string} source @param {string} name */
export function startFloor(source, name, env = {}) {
  const libtorch = libtorchPath()
  if (!libtorch || !existsSync(join(libtorch, 'include'))) {
    console.log('no libtorch headers found: the C++ column is skipped')
    return undefined
  }
  const [compiler = 'g++', ...given] = process.env.CXX?.trim().split(/\s+/).filter(Boolean) ?? []
  const target = join(root, 'build', name)
  mkdirSync(join(root, 'build'), { recursive: true })
  const include = join(libtorch, 'include')
  const lib = join(libtorch, 'lib')
  const built = spawnSync(
    compiler,
    [
      ...[...given, '-std=c++20', '-O2', source, '-o', target],
      ...['-isystem', include, '-isystem', join(include, 'torch/csrc/api/include')],
      ...[`-L${lib}`, `-Wl,-rpath,${lib}`, '-Wl,--disable-new-dtags', '-Wl,--allow-shlib-undefined'],
      ...['-Wl,--no-as-needed', '-ltorch_cpu', '-lc10'],
    ],
    { encoding: 'utf8' },
  )
  if (built.status !== 0) {
    console.log(
      `the C++ column is skipped: ${compiler} failed\n${(built.stderr ?? '').split('\n').slice(0, 5).join('\n')}`,
    )
    return undefined
  }
  return new Peer(target, [], env)
}

/**
 * One measurement of every column, `rounds` times in turns; of each column the least disturbed round. A column that is not
 * there, or whose peer does not measure this, is undefined.
 *
 * @template {Record<string, (() => Promise<number | null>) | undefined>} C
 * @param {C} columns seconds per unit, or null
 * @returns {Promise<{ [K in keyof C]: C[K] extends () => Promise<number> ? number : number | undefined }>}
 */
export async function inTurns(columns, rounds = 5) {
  /** @type {Record<string, number | undefined>} */
  const best = {}
  for (let round = 0; round < rounds; round++)
    for (const [name, measure] of Object.entries(columns)) {
      const value = await measure?.()
      if (typeof value === 'number') best[name] = Math.min(best[name] ?? Infinity, value)
    }
  return /** @type {any} */ (best)
}

/**
 * A promise about a row: what is compared, as text, and whether it holds; undefined where a column it needs is missing.
 *
 * @typedef {{ text: string, holds: boolean | undefined }} Target
 * @typedef {{ name: string, cells: string[], targets: Target[] }} Row
 */

/** @param {string[]} head @param {Row[]} rows @returns {boolean} whether every promise that could be checked is kept */
export function printTable(head, rows) {
  const lines = [[...head, 'target'], ...rows.map(row => [row.name, ...row.cells, row.targets.map(verdict).join('; ')])]
  const widths = lines[0].map((_, i) => Math.max(...lines.map(line => line[i].length)))
  /** @param {string[]} line */
  const format = line =>
    `| ${line.map((cell, i) => (i === 0 || i === line.length - 1 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join(' | ')} |`
  console.log(format(lines[0]))
  console.log(
    `| ${widths.map((width, i) => (i === 0 || i === widths.length - 1 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`,
  )
  for (const line of lines.slice(1)) console.log(format(line))
  return rows.every(row => row.targets.every(target => target.holds !== false))
}

/** @param {Target} target */
function verdict({ text, holds }) {
  return `${holds === undefined ? '-' : holds ? '✓' : '✗'} ${text}`
}
