import { stat } from 'node:fs/promises'
import { basename, join, normalize } from 'node:path'
import { z } from 'zod'
import { InputError } from '../errors/index.js'
import {
  configChanges,
  findRuns,
  headline,
  isRun,
  type Json,
  metricText,
  Run,
  type RunView,
  syncRun,
} from '../run/index.js'
import { recordedLoggers } from '../train/index.js'
import { explain } from './explain.js'
import { readArguments, UsageError } from './flags.js'

export const help = `Usage: whetstone runs [DIR...]
       whetstone runs compare RUN RUN
       whetstone runs sync RUN...

Lists runs: command, status, step, last reward, accuracy or loss, and the time of the last log
entry. DIR is a run directory or a directory of runs (default: runs); runs one level deeper, such as the stages of a
pipeline, are listed too.

compare shows the options in which two runs differ, and the last value of every metric side by side.

sync sends the entries that the loggers of a run (option loggers) did not receive during the run. Exit code 1 if some are left.

A run is running while its process is alive, then finished, stopped (by Ctrl-C, can be resumed), failed (with an error) or
crashed (its process died; can be resumed).
`

export async function run(args: string[]): Promise<number> {
  const { positionals } = readArguments(args, z.object({}), { positionals: 'keep' })
  const [action, ...rest] = positionals
  if (action === 'compare') return compare(rest)
  if (action === 'sync') return sync(rest)
  return list(positionals.length > 0 ? positionals : ['runs'])
}

async function list(given: readonly string[]): Promise<number> {
  const directories = (await Promise.all(given.map(runsIn))).flat()
  const rows: string[][] = []
  const unreadable: string[] = []
  for (const directory of directories)
    try {
      const view = await readWhole(directory)
      const best = headline(view)
      const result = best ? `${best.name} ${metricText(best.name, best.point.value)}` : '-'
      rows.push([
        directory,
        view.config.command,
        view.status,
        String(view.step),
        result,
        age(Date.now() - view.updated),
      ])
    } catch (error) {
      unreadable.push(explain(error))
    }
  if (rows.length > 0) console.log(columns([['run', 'command', 'status', 'step', 'result', 'last word'], ...rows]))
  for (const message of unreadable) console.error(`whetstone: ${message}`)
  return unreadable.length > 0 ? 1 : 0
}

/** Reads a run and warns about unreadable lines of its logs. */
export async function readView(directory: string): Promise<RunView> {
  const view = await Run.read(directory)
  for (const place of view.badLines) console.error(`whetstone: ${place} is damaged and was skipped`)
  return view
}

/** As `readView`, of a run that this version can also replay and resume. */
async function readWhole(directory: string): Promise<RunView> {
  const view = await readView(directory)
  await view.journal.checkVersion()
  return view
}

/** The directory itself if it is a run, else the runs in it, the last changed one at the end. */
async function runsIn(directory: string): Promise<string[]> {
  if (await isRun(directory)) return [normalize(directory)]
  const names = await findRuns(directory).catch(cause => {
    throw new InputError(`${directory}: there is no such directory`, { cause })
  })
  if (names.length === 0) throw new InputError(`${directory} is not a run and contains no runs`)
  const found: { path: string; time: number }[] = []
  for (const name of names) {
    const path = join(directory, name)
    found.push({ path, time: (await stat(join(path, 'logs')).catch(() => stat(path))).mtimeMs })
  }
  return found.sort((a, b) => a.time - b.time).map(({ path }) => path)
}

async function compare(given: readonly string[]): Promise<number> {
  const [first, second] = given
  if (first === undefined || second === undefined || given.length !== 2) throw new UsageError('compare takes two runs')
  const [a, b] = [await readWhole(first), await readWhole(second)]
  const [left, right] = names(a, b)
  const state = (view: RunView) => `${view.config.command}, ${view.status}, step ${view.step}`
  const rows = [
    ['', left, right],
    ['run', state(a), state(b)],
  ]
  for (const { key, from, to } of configChanges(options(a), options(b))) rows.push([key, shown(from), shown(to)])
  const metrics = [...new Set([...a.metrics.keys(), ...b.metrics.keys()])].sort()
  const last = (view: RunView, name: string): string => {
    const point = view.metrics.get(name)?.at(-1)
    return point ? metricText(name, point.value) : '-'
  }
  console.log(columns([...rows, ['', '', ''], ...metrics.map(name => [name, last(a, name), last(b, name)])]))
  return 0
}

async function sync(given: readonly string[]): Promise<number> {
  if (given.length === 0) throw new UsageError('sync takes a run')
  let isAll = true
  for (const directory of (await Promise.all(given.map(runsIn))).flat()) {
    const { config } = await readView(directory)
    for (const { name, left } of await syncRun(directory, await recordedLoggers(config))) {
      if (left !== undefined) isAll = false
      console.log(`${directory}: ${name}: ${left === undefined ? 'has everything' : `something is left: ${left}`}`)
    }
  }
  return isAll ? 0 : 1
}

/** Options and data of a run. */
function options({ config }: RunView): Json {
  const whole = config.config
  const fields = typeof whole === 'object' && whole !== null && !Array.isArray(whole) ? whole : { config: whole }
  return { ...fields, dataset: { ...config.fingerprints }, versions: { ...config.versions } }
}

/** Short names that tell the two apart. */
function names(a: RunView, b: RunView): [string, string] {
  const [left, right] = [basename(normalize(a.directory)), basename(normalize(b.directory))]
  return left === right ? [a.directory, b.directory] : [left, right]
}

function shown(value: Json | undefined): string {
  if (value === undefined) return '-'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 40 ? `${text.slice(0, 37)}...` : text
}

function age(milliseconds: number): string {
  const seconds = Math.max(0, milliseconds / 1000)
  for (const [unit, name] of [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
  ] as const)
    if (seconds >= unit) return `${Math.floor(seconds / unit)} ${name} ago`
  return `${Math.floor(seconds)} s ago`
}

/** Texts of a foreign directory must not reach the terminal as control codes. */
function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '?')
}

function columns(given: readonly (readonly string[])[]): string {
  const rows = given.map(row => row.map(printable))
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map(row => row[column]!.length)))
  return rows
    .map(row =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
